// What kernels say of themselves. Nothing of a kernel is known but its name: the answers are those of a kernel that
// uses registers and shared memory in moderation.
#include <cstring>

#include "live/shim/api.h"

namespace flopcast::live {
namespace {

/// cudaFuncAttributes up to what both majors have.
struct FunctionAttributes {
  std::size_t shared, constant, local;
  int max_threads, registers, ptx_version, binary_version, cache_mode, max_dynamic_shared, carveout;
};

constexpr int kBlocksOfCore = 2;

}  // namespace
}  // namespace flopcast::live

using namespace flopcast::live;

FLOPCAST_API int cudaFuncGetAttributes(FunctionAttributes* attributes, const void*) {
  *attributes = {0, 0, 0, 1024, 64, 90, 90, 0, 227 << 10, -1};
  return kSuccess;
}
FLOPCAST_API int cudaFuncSetAttribute(const void*, int, int) { return kSuccess; }
FLOPCAST_API int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int,
                                                               std::size_t) {
  *blocks = kBlocksOfCore;
  return kSuccess;
}
FLOPCAST_API int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void*,
                                                                        int, std::size_t,
                                                                        unsigned) {
  *blocks = kBlocksOfCore;
  return kSuccess;
}
