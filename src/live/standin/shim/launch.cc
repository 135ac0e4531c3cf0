// Kernels: how programs register them, and their launches.
#include <cstdlib>
#include <mutex>

#include "live/standin/api/api.h"
#include "live/standin/link/link.h"
#include "live/standin/shim/arguments.h"
#include "live/standin/shim/counted.h"
#include "live/standin/shim/executed.h"
#include "live/standin/shim/kernels.h"
#include "live/standin/shim/symmetric.h"
#include "live/standin/values/launches.h"
#include "live/wire/named_arguments.h"

namespace flopcast::live {
namespace {

/// What <<<...>>> put down for the stub function that it calls then.
struct CallConfiguration {
  LaunchSize size;
  void* stream = nullptr;
};
thread_local CallConfiguration pushed;

/// cudaLaunchConfig_t; CUlaunchConfig is its own, with 32 bits of shared memory.
struct RuntimeConfiguration {
  Dim3 grid, block;
  std::size_t shared;
  void* stream;
};
struct DriverConfiguration {
  Dim3 grid, block;
  unsigned shared;
  void* stream;
};

/// No grid or block is empty, and a block has so many threads at most.
bool is_possible(const LaunchSize& size) {
  return size.grid.product() > 0 && size.block.product() > 0 && size.block.product() <= 1024;
}

/// Arguments of the kernel that the engine wants to know.
const std::vector<NamedArgument>& asked_of(KernelObject& kernel) {
  static std::mutex& lock = *new std::mutex;
  const std::lock_guard guard(lock);
  if (!kernel.asked) {
    const char* const text = std::getenv(kArgumentsVariable);
    kernel.asked = named_arguments(kernel.name, text ? text : "");
  }
  return *kernel.asked;
}

}  // namespace

Kernels& Kernels::get() {
  static Kernels* const kernels = new Kernels;  // launches come while the process ends
  return *kernels;
}

void Kernels::add(const void* function, std::string_view name, const void* fat_binary) {
  const std::lock_guard guard(lock_);
  KernelObject*& kernel = known_[function];
  if (!kernel) kernel = new KernelObject;
  kernel->name = name;
  kernel->signature = 0;
  kernel->fat_binary = fat_binary;
  known_[kernel] = kernel;
}

KernelObject& Kernels::find(const void* function) {
  const std::lock_guard guard(lock_);
  KernelObject*& kernel = known_[function];
  if (!kernel) kernel = new KernelObject("unregistered");
  return *kernel;
}

KernelObject& Kernels::make(std::string_view name) {
  const std::lock_guard guard(lock_);
  auto* const kernel = new KernelObject(name);
  known_[kernel] = kernel;
  return *kernel;
}

Work work_of(KernelObject& kernel, const LaunchSize& size) {
  if (kernel.signature == 0) kernel.signature = Link::get().number("kernel " + kernel.name);
  Work work;
  work.record.act = Act::kKernel;
  work.record.duration_ns = 3 * kCallNs;
  work.record.signature = kernel.signature;
  work.record.word[0] = size.grid.product();
  work.record.word[1] = size.block.product();
  work.grid = size.grid;
  work.block = size.block;
  work.shared = size.shared;
  work.kernel = &kernel;
  return work;
}

int launch(KernelObject& kernel, const LaunchSize& size, void* stream, void* const* arguments) {
  if (!is_possible(size)) return kInvalidConfiguration;
  if (const auto barrier = barrier_of(kernel, arguments, stream)) {
    put(stream, Work{*barrier});
    return kSuccess;
  }
  Work work = work_of(kernel, size);
  const Record where = record_on(stream, Act::kKernel);
  work.record.device = where.device;
  work.record.stream = where.stream;
  const auto counted = counted_launch(kernel, size, arguments);
  if (counted) {
    work.record.signature = Link::get().number(counted->signature);
  } else if (const auto cycles = cycles_by_arguments(kernel, arguments)) {
    work.record.signature =
        Link::get().number("spin " + std::to_string(*cycles) + ' ' + kernel.name);
  } else if (arguments && !asked_of(kernel).empty()) {
    work.record.signature = Link::get().number(told_launch(kernel.name, *kernel.asked, arguments));
  } else if (const auto bytes = bytes_by_arguments(kernel, size, arguments)) {
    const std::string text = "arguments " + std::to_string(bytes->read) + ' ' +
                             std::to_string(bytes->written) + ' ' +
                             std::to_string(bytes_behind(kernel, arguments)) + ' ' + kernel.name;
    work.record.signature = Link::get().number(text);
  }
  work.effect = counted && counted->all_writes ? effect_of_writes(counted->writes)
                                               : effect_of_launch(kernel.parameters, arguments);
  if (counted) work.effect = executed_launch(kernel, size, arguments, *counted, work.effect);
  put(stream, std::move(work));
  return kSuccess;
}

}  // namespace flopcast::live

using namespace flopcast::live;

FLOPCAST_API void** __cudaRegisterFatBinary(void* binary) {
  return static_cast<void**>(binary);  // its handle is itself
}
FLOPCAST_API void __cudaRegisterFatBinaryEnd(void**) {}
FLOPCAST_API void __cudaUnregisterFatBinary(void**) {}
FLOPCAST_API signed char __cudaInitModule(void**) { return 1; }
FLOPCAST_API void __cudaRegisterFunction(void** binary, const char* function, char*,
                                         const char* name, int, void*, void*, void*, void*, int*) {
  Kernels::get().add(function, name, binary);
}

FLOPCAST_API unsigned __cudaPushCallConfiguration(Dim3 grid, Dim3 block, std::size_t shared,
                                                  void* stream) {
  pushed = {{grid, block, shared}, stream};
  return 0;
}
FLOPCAST_API int __cudaPopCallConfiguration(Dim3* grid, Dim3* block, std::size_t* shared,
                                            void* stream) {
  *grid = pushed.size.grid;
  *block = pushed.size.block;
  *shared = pushed.size.shared;
  *static_cast<void**>(stream) = pushed.stream;
  return kSuccess;
}

FLOPCAST_API int cudaLaunchKernel(const void* function, Dim3 grid, Dim3 block, void** arguments,
                                  std::size_t shared, void* stream) {
  return remembered(
      launch(Kernels::get().find(function), {grid, block, shared}, stream, arguments));
}
FLOPCAST_API int cudaLaunchCooperativeKernel(const void* function, Dim3 grid, Dim3 block,
                                             void** arguments, std::size_t shared, void* stream) {
  return cudaLaunchKernel(function, grid, block, arguments, shared, stream);
}
/// CUDA 13: programs ask for a handle once, and launch that.
FLOPCAST_API int __cudaGetKernel(void** kernel, const void* function) {
  *kernel = &Kernels::get().find(function);
  return kSuccess;
}
FLOPCAST_API int cudaGetKernel(void** kernel, const void* function) {
  return __cudaGetKernel(kernel, function);
}
FLOPCAST_API int __cudaLaunchKernel(void* kernel, Dim3 grid, Dim3 block, void** arguments,
                                    std::size_t shared, void* stream) {
  return remembered(
      launch(*static_cast<KernelObject*>(kernel), {grid, block, shared}, stream, arguments));
}

FLOPCAST_API int cudaLaunchKernelExC(const RuntimeConfiguration* how, const void* function,
                                     void** arguments) {
  return remembered(launch(Kernels::get().find(function), {how->grid, how->block, how->shared},
                           how->stream, arguments));
}
/// Of CUTLASS's DSL (api/cute.tsv).
FLOPCAST_API int _cudaLaunchKernel(const void* function, unsigned grid_x, unsigned grid_y,
                                   unsigned grid_z, unsigned block_x, unsigned block_y,
                                   unsigned block_z, void** arguments, std::size_t shared,
                                   void* stream) {
  return cudaLaunchKernel(function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z},
                          arguments, shared, stream);
}
FLOPCAST_API int _cudaLaunchKernelEx(const RuntimeConfiguration* how, const void* function,
                                     void** arguments) {
  return cudaLaunchKernelExC(how, function, arguments);
}
FLOPCAST_API int cuLaunchKernelEx(const DriverConfiguration* how, void* function, void** arguments,
                                  void**) {
  return launch(Kernels::get().find(function), {how->grid, how->block, how->shared}, how->stream,
                arguments);
}
FLOPCAST_API int cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                unsigned block_x, unsigned block_y, unsigned block_z,
                                unsigned shared, void* stream, void** arguments, void**) {
  return launch(Kernels::get().find(function),
                {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared}, stream, arguments);
}
FLOPCAST_API int cuLaunchCooperativeKernel(void* function, unsigned grid_x, unsigned grid_y,
                                           unsigned grid_z, unsigned block_x, unsigned block_y,
                                           unsigned block_z, unsigned shared, void* stream,
                                           void** arguments) {
  return launch(Kernels::get().find(function),
                {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared}, stream, arguments);
}
