// Kernels: how programs register them, and their launches.
#include <mutex>
#include <string>
#include <unordered_map>

#include "live/link/link.h"
#include "live/shim/api.h"
#include "live/shim/stream.h"

namespace flopcast::live {
namespace {

/// A kernel by its host function, or by a handle of a library that was loaded.
struct KernelObject {
  std::string signature;     ///< "kernel NAME"
  std::uint32_t number = 0;  ///< of the signature in this process, 0: not told yet
};

class Kernels {
 public:
  static Kernels& get() {
    static Kernels* const kernels = new Kernels;
    return *kernels;
  }
  KernelObject& add(const void* function, std::string_view name) {
    const std::lock_guard guard(lock_);
    KernelObject& kernel = by_function_[function];
    kernel.signature = "kernel " + std::string(name);
    return kernel;
  }
  KernelObject& find(const void* function) {
    const std::lock_guard guard(lock_);
    const auto found = by_function_.find(function);
    if (found != by_function_.end()) return found->second;
    KernelObject& kernel = by_function_[function];
    kernel.signature = "kernel unregistered";
    return kernel;
  }

 private:
  std::mutex lock_;
  std::unordered_map<const void*, KernelObject> by_function_;  ///< references stay valid
};

/// What <<<...>>> put down for the stub function that it calls then.
struct CallConfiguration {
  Dim3 grid, block;
  std::size_t shared = 0;
  void* stream = nullptr;
};
thread_local CallConfiguration pushed;

int launch(KernelObject& kernel, const Dim3& grid, const Dim3& block, void* stream) {
  Link& link = Link::get();
  if (kernel.number == 0) kernel.number = link.number(kernel.signature);
  Record record = record_on(stream, Act::kKernel);
  record.duration_ns = 3 * kCallNs;
  record.signature = kernel.number;
  record.word[0] = grid.product();
  record.word[1] = block.product();
  link.say(record);
  return kSuccess;
}

}  // namespace
}  // namespace flopcast::live

using namespace flopcast::live;

FLOPCAST_API void** __cudaRegisterFatBinary(void* binary) {
  return static_cast<void**>(binary);  // a handle that is told apart
}
FLOPCAST_API void __cudaRegisterFatBinaryEnd(void**) {}
FLOPCAST_API void __cudaUnregisterFatBinary(void**) {}
FLOPCAST_API void __cudaRegisterFunction(void**, const char* function, char*, const char* name, int,
                                         void*, void*, void*, void*, int*) {
  Kernels::get().add(function, name);
}
FLOPCAST_API void __cudaRegisterVar(void**, char*, char*, const char*, int, std::size_t, int, int) {
}

FLOPCAST_API unsigned __cudaPushCallConfiguration(Dim3 grid, Dim3 block, std::size_t shared,
                                                  void* stream) {
  pushed = {grid, block, shared, stream};
  return 0;
}
FLOPCAST_API int __cudaPopCallConfiguration(Dim3* grid, Dim3* block, std::size_t* shared,
                                            void* stream) {
  *grid = pushed.grid;
  *block = pushed.block;
  *shared = pushed.shared;
  *static_cast<void**>(stream) = pushed.stream;
  return kSuccess;
}

FLOPCAST_API int cudaLaunchKernel(const void* function, Dim3 grid, Dim3 block, void**, std::size_t,
                                  void* stream) {
  return remembered(launch(Kernels::get().find(function), grid, block, stream));
}
FLOPCAST_API int cudaLaunchCooperativeKernel(const void* function, Dim3 grid, Dim3 block, void**,
                                             std::size_t, void* stream) {
  return remembered(launch(Kernels::get().find(function), grid, block, stream));
}
/// CUDA 13: programs ask for a handle once, and launch that.
FLOPCAST_API int __cudaGetKernel(void** kernel, const void* function) {
  *kernel = &Kernels::get().find(function);
  return kSuccess;
}
FLOPCAST_API int __cudaLaunchKernel(void* kernel, Dim3 grid, Dim3 block, void**, std::size_t,
                                    void* stream) {
  return remembered(launch(*static_cast<KernelObject*>(kernel), grid, block, stream));
}
