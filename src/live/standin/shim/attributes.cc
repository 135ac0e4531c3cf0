// What kernels say of themselves. Of one whose code nobody read nothing is known but its name: the answers are those of a
// kernel that uses registers and shared memory in moderation.
#include <algorithm>
#include <cstring>

#include "live/standin/api/api.h"
#include "live/standin/link/link.h"
#include "live/standin/shim/fat_binary.h"
#include "live/standin/shim/kernels.h"
#include "live/standin/shim/tensor_map.h"

namespace flopcast::live {
namespace {

/// cudaFuncAttributes up to what both majors have.
struct FunctionAttributes {
  std::size_t shared, constant, local;
  int max_threads, registers, ptx_version, binary_version, cache_mode, max_dynamic_shared, carveout;
};

/// cudaFuncAttribute and CUfunction_attribute agree on those of both.
enum FunctionAttribute : int {
  kMaxThreadsOf = 0,
  kSharedBytes = 1,
  kRegistersOf = 4,
  kPtxVersion = 5,
  kBinaryVersion = 6,
  kMaxDynamicShared = 8,
  kCarveout = 9,
};

/// A core's limits, alike on every chip since Volta but for its shared memory, which is not asked here.
constexpr int kThreadsOfOneCore = 2048, kRegistersOfOneCore = 65536, kBlocksOfOneCore = 32;

/// Programs look for what they were compiled for (cub chooses sizes by it), so it is a version that their code has. Modules
/// that are loaded were compiled for the chip.
CodeVersions versions_of(const KernelObject& kernel) {
  const DeviceFacts& device = Link::get().common().device;
  const auto chip = static_cast<int>(10 * device.major + device.minor);
  return versions_for(kernel.fat_binary, chip).value_or(CodeVersions{chip, chip});
}

int attribute_of(const KernelObject& kernel, int attribute) {
  switch (attribute) {
    case kMaxThreadsOf:
      return kernel.max_threads;
    case kSharedBytes:
      return kernel.shared;
    case kRegistersOf:
      return kernel.registers;
    case kPtxVersion:
      return versions_of(kernel).assembly;
    case kBinaryVersion:
      return versions_of(kernel).binary;
    case kMaxDynamicShared:
      return kernel.max_dynamic_shared;
    case kCarveout:
      return -1;
    default:
      return 0;
  }
}

int set_attribute(KernelObject& kernel, int attribute, int value) {
  if (attribute == kMaxDynamicShared) kernel.max_dynamic_shared = value;
  return kSuccess;
}

/// Blocks that a core holds by its threads and registers.
int blocks_of_core(const KernelObject& kernel, int threads) {
  if (threads <= 0) return 0;
  const int by_registers = kRegistersOfOneCore / std::max(1, kernel.registers * threads);
  return std::clamp(std::min(kThreadsOfOneCore / threads, by_registers), 0, kBlocksOfOneCore);
}

int give_blocks(int* blocks, const void* function, int threads) {
  *blocks = std::max(1, blocks_of_core(Kernels::get().find(function), threads));
  return kSuccess;
}

/// As many blocks as the chip holds, of as many threads as a kernel of moderate size has.
int give_block_size(int* grid, int* block, const void* function) {
  constexpr int kModerate = 256;
  *block = std::min(kModerate, Kernels::get().find(function).max_threads);
  give_blocks(grid, function, *block);
  *grid *= static_cast<int>(Link::get().common().device.cores);
  return kSuccess;
}

/// A cluster is of neighbours: half of the cores, which leaves those out whose neighbours are missing.
int give_clusters(int* clusters) {
  *clusters = static_cast<int>(Link::get().common().device.cores) / 2;
  return kSuccess;
}

}  // namespace
}  // namespace flopcast::live

using namespace flopcast::live;

FLOPCAST_API int cudaFuncGetAttributes(FunctionAttributes* attributes, const void* function) {
  const KernelObject& kernel = Kernels::get().find(function);
  const CodeVersions versions = versions_of(kernel);
  if (versions.binary == 0) return remembered(kNoImageForDevice);
  *attributes = {static_cast<std::size_t>(kernel.shared),
                 0,
                 0,
                 kernel.max_threads,
                 kernel.registers,
                 versions.assembly,
                 versions.binary,
                 0,
                 kernel.max_dynamic_shared,
                 -1};
  return kSuccess;
}
FLOPCAST_API int cudaFuncSetAttribute(const void* function, int attribute, int value) {
  return set_attribute(Kernels::get().find(function), attribute, value);
}
FLOPCAST_API int cudaKernelSetAttributeForDevice(void* kernel, int attribute, int value, int) {
  return set_attribute(Kernels::get().find(kernel), attribute, value);
}
FLOPCAST_API int cudaFuncSetCacheConfig(const void*, int) { return kSuccess; }
FLOPCAST_API int cuFuncGetAttribute(int* value, int attribute, void* function) {
  *value = attribute_of(Kernels::get().find(function), attribute);
  return kSuccess;
}
FLOPCAST_API int cuFuncSetAttribute(void* function, int attribute, int value) {
  return set_attribute(Kernels::get().find(function), attribute, value);
}
FLOPCAST_API int cuFuncSetCacheConfig(void*, int) { return kSuccess; }
FLOPCAST_API int cuKernelGetAttribute(int* value, int attribute, void* kernel, int) {
  return cuFuncGetAttribute(value, attribute, kernel);
}
FLOPCAST_API int cuKernelSetAttribute(int attribute, int value, void* kernel, int) {
  return cuFuncSetAttribute(kernel, attribute, value);
}

FLOPCAST_API int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function,
                                                               int threads, std::size_t) {
  return give_blocks(blocks, function, threads);
}
FLOPCAST_API int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks,
                                                                        const void* function,
                                                                        int threads, std::size_t,
                                                                        unsigned) {
  return give_blocks(blocks, function, threads);
}
FLOPCAST_API int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void* function,
                                                             int threads, std::size_t) {
  return give_blocks(blocks, function, threads);
}
FLOPCAST_API int cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, void* function,
                                                                      int threads, std::size_t,
                                                                      unsigned) {
  return give_blocks(blocks, function, threads);
}
FLOPCAST_API int cudaOccupancyMaxActiveClusters(int* clusters, const void*, const void*) {
  return give_clusters(clusters);
}
FLOPCAST_API int cuOccupancyMaxActiveClusters(int* clusters, void*, const void*) {
  return give_clusters(clusters);
}
FLOPCAST_API int cuOccupancyMaxPotentialBlockSize(int* grid, int* block, void* function,
                                                  std::size_t (*)(int), std::size_t, int) {
  return give_block_size(grid, block, function);
}
FLOPCAST_API int cuOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block, void* function,
                                                           std::size_t (*)(int), std::size_t, int,
                                                           unsigned) {
  return give_block_size(grid, block, function);
}

/// A map of a tensor is opaque to programs. The kernels that would read it do not run, but what they do is counted by it.
FLOPCAST_API int cuTensorMapEncodeTiled(void* map, int, unsigned rank, void* address,
                                        const std::uint64_t* sizes, const std::uint64_t* strides,
                                        const unsigned*, const unsigned*, int, int, int, int) {
  if (!map || !sizes || rank == 0 || rank > TensorMap::kMostDims || (rank > 1 && !strides))
    return kInvalidValue;
  TensorMap told{TensorMap::kMark, reinterpret_cast<std::uintptr_t>(address), rank, {}, {}};
  std::copy_n(sizes, rank, told.sizes);
  if (rank > 1) std::copy_n(strides, rank - 1, told.strides);
  std::memset(map, 0, 128);
  std::memcpy(map, &told, sizeof told);
  return kSuccess;
}
FLOPCAST_API int cuTensorMapEncodeIm2col(void* map, int, unsigned, void*, const std::uint64_t*,
                                         const std::uint64_t*, const int*, const int*, unsigned,
                                         unsigned, const unsigned*, int, int, int, int) {
  std::memset(map, 0, 128);
  return kSuccess;
}
