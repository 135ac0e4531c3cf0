// Kernels, however programs come by them: registered with their host functions, or out of a module.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "live/standin/memory/named_arguments.h"
#include "live/standin/shim/stream.h"

namespace flopcast::live {

namespace triton {
struct Kernel;
}

/// Behind the handles of kernels and functions (cudaKernel_t, CUkernel, CUfunction).
struct KernelObject {
  explicit KernelObject(std::string_view called = {}) : name(called) {}

  std::string name;
  std::uint32_t signature = 0;          ///< its number in this process, 0: not told yet
  void* module = nullptr;               ///< that it is out of
  const void* fat_binary = nullptr;     ///< that it was registered with
  std::vector<std::size_t> parameters;  ///< sizes, where the module says so
  int max_threads = 1024, registers = 64, shared = 0;
  int max_dynamic_shared = 48 << 10;
  std::shared_ptr<const triton::Kernel> triton;  ///< its program, where Triton's compiler made it
  std::optional<std::vector<NamedArgument>>
      asked;  ///< arguments that the engine wants to know, once it was looked up
};

class Kernels {
 public:
  static Kernels& get();
  /// A kernel and the host function that stands for it.
  void add(const void* function, std::string_view name, const void* fat_binary);
  /// By host function or handle; one of no name if neither.
  KernelObject& find(const void* function);
  /// A kernel that has a handle only.
  KernelObject& make(std::string_view name);

 private:
  std::mutex lock_;
  std::unordered_map<const void*, KernelObject*> known_;
};

struct LaunchSize {
  Dim3 grid, block;
  std::size_t shared = 0;
};
/// @param arguments an address for each parameter
int launch(KernelObject& kernel, const LaunchSize& size, void* stream, void* const* arguments);
/// What a launch puts on a stream, but for the stream.
Work work_of(KernelObject& kernel, const LaunchSize& size);

}  // namespace flopcast::live
