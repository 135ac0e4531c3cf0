// Which kernels are communication. Names only: metadata is missing outside the recorded window.
#include <array>

#include "flopcast/trace.h"

namespace flopcast {

bool is_communication_kernel(std::string_view name) {
  static constexpr std::array<std::string_view, 3> kPrefixes = {"nccl", "rccl", "hccl"};
  static constexpr std::array<std::string_view, 6> kInside = {
      "dpsk::ep::",          "deep_ep::",   "multimem_all_reduce",
      "cross_device_reduce", "mscclKernel", "nvshmem"};
  for (const std::string_view prefix : kPrefixes) {
    if (name.starts_with(prefix)) return true;
  }
  for (const std::string_view part : kInside) {
    if (name.find(part) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace flopcast
