// NVML: how devices are joined, with each other and with the host.
#include <unistd.h>

#include <algorithm>
#include <climits>

#include "live/standin/api/api.h"
#include "live/standin/observe/nvml.h"

namespace flopcast::live {
namespace {

/// nvmlIntNvLinkDeviceType_t
enum NvlinkRemote : int { kRemoteGpu = 0, kRemoteSwitch = 2 };
/// nvmlGpuTopologyLevel_t
enum Ancestor : int { kSameBoard = 0, kSameSystem = 50 };
/// nvmlGpuP2PCapsIndex_t
enum P2pCapability : int { kRead, kWrite, kNvlink, kAtomics, kPci, kP2pCapabilities };
/// nvmlGpuP2PStatus_t
enum P2pStatus : int { kP2pOk = 0, kP2pNotSupported = 5 };

/// Whether NVLinks join two devices: those of one group, by a switch or each with each.
bool are_joined(unsigned one, unsigned other) {
  const unsigned group = chip_facts().nvlink_group;
  return chip_facts().nvlinks > 0 && group > 0 && one != other && one / group == other / group;
}

/// Links go to the other devices of the group in turn.
unsigned neighbour(unsigned device, unsigned link) {
  const DeviceFacts& chip = chip_facts();
  const unsigned others = chip.nvlink_group - 1;
  const unsigned place = link * others / chip.nvlinks;
  const unsigned first = device / chip.nvlink_group * chip.nvlink_group;
  return first + place + (first + place >= device ? 1 : 0);
}

/// What there is to say of a link: where there are none, NVML has nothing to say of any.
int check_link(void* handle, unsigned link, const void* out) {
  if (!is_handle(handle) || !out) return kNvmlInvalidArgument;
  if (chip_facts().nvlinks == 0) return kNvmlNotSupported;
  return link < chip_facts().nvlinks ? kNvmlSuccess : kNvmlInvalidArgument;
}
template <typename T, typename Value>
int give_of_link(void* handle, unsigned link, T* out, Value value) {
  const int status = check_link(handle, link, out);
  if (status == kNvmlSuccess) *out = static_cast<T>(value);
  return status;
}

/// Where sockets and bridges are is not known: every processor is as near as any other.
int give_all_processors(void* handle, unsigned words, unsigned long* set) {
  if (!is_handle(handle) || !set || words == 0) return kNvmlInvalidArgument;
  constexpr unsigned long kBits = sizeof(unsigned long) * CHAR_BIT;
  std::fill_n(set, words, 0UL);
  const auto processors = static_cast<unsigned long>(std::max(::sysconf(_SC_NPROCESSORS_ONLN), 1L));
  for (unsigned long i = 0; i < std::min(processors, words * kBits); ++i)
    set[i / kBits] |= 1UL << i % kBits;
  return kNvmlSuccess;
}

}  // namespace
}  // namespace flopcast::live

using namespace flopcast::live;

FLOPCAST_API int nvmlDeviceGetNvLinkState(void* handle, unsigned link, int* active) {
  return give_of_link(handle, link, active, 1);
}
FLOPCAST_API int nvmlDeviceGetNvLinkVersion(void* handle, unsigned link, unsigned* version) {
  return give_of_link(handle, link, version, chip_facts().nvlink_version);
}
FLOPCAST_API int nvmlDeviceGetNvLinkCapability(void* handle, unsigned link, int which,
                                               unsigned* has) {
  constexpr int kP2p = 0, kP2pAtomics = 2, kValid = 5, kCapabilities = 6;
  if (which < 0 || which >= kCapabilities) return kNvmlInvalidArgument;
  return give_of_link(handle, link, has, which == kP2p || which == kP2pAtomics || which == kValid);
}
FLOPCAST_API int nvmlDeviceGetNvLinkRemoteDeviceType(void* handle, unsigned link, int* type) {
  return give_of_link(handle, link, type,
                      chip_facts().nvlink_switch != 0 ? kRemoteSwitch : kRemoteGpu);
}
/// Where a switch lies on the bus is not known.
FLOPCAST_API int nvmlDeviceGetNvLinkRemotePciInfo_v2(void* handle, unsigned link, PciInfo* info) {
  if (const int status = check_link(handle, link, info); status != kNvmlSuccess) return status;
  if (chip_facts().nvlink_switch != 0) return kNvmlNotSupported;
  *info = pci_info(neighbour(device_of_handle(handle), link));
  return kNvmlSuccess;
}
/// A simulated link makes no errors.
FLOPCAST_API int nvmlDeviceGetNvLinkErrorCounter(void* handle, unsigned link, int,
                                                 unsigned long long* count) {
  return give_of_link(handle, link, count, 0);
}

FLOPCAST_API int nvmlDeviceGetTopologyCommonAncestor(void* one, void* other, int* level) {
  if (!is_handle(other)) return kNvmlInvalidArgument;
  return give(one, level, one == other ? kSameBoard : kSameSystem);
}
FLOPCAST_API int nvmlDeviceGetTopologyNearestGpus(void* handle, int level, unsigned* count,
                                                  void** nearest) {
  if (!is_handle(handle) || !count) return kNvmlInvalidArgument;
  const unsigned room = *count, devices = Link::get().common().devices;
  *count = level == kSameSystem ? devices - 1 : 0;
  if (!nearest) return kNvmlSuccess;
  unsigned filled = 0;
  for (unsigned i = 0; *count > 0 && i < devices && filled < room; ++i) {
    if (handle_of(i) != handle) nearest[filled++] = handle_of(i);
  }
  return kNvmlSuccess;
}
FLOPCAST_API int nvmlDeviceGetP2PStatus(void* one, void* other, int capability, int* status) {
  if (!is_handle(other) || one == other || capability < 0 || capability >= kP2pCapabilities)
    return kNvmlInvalidArgument;
  const bool joined = are_joined(device_of_handle(one), device_of_handle(other));
  // As cudaDeviceCanAccessPeer has it, all devices of a node reach each other; atomics go by NVLink alone.
  const bool can = joined || (capability != kNvlink && capability != kAtomics);
  return give(one, status, can ? kP2pOk : kP2pNotSupported);
}

FLOPCAST_API int nvmlDeviceGetCurrPcieLinkGeneration(void* handle, unsigned* generation) {
  return give_known(handle, generation, chip_facts().pcie_generation);
}
FLOPCAST_API int nvmlDeviceGetMaxPcieLinkGeneration(void* handle, unsigned* generation) {
  return give_known(handle, generation, chip_facts().pcie_generation);
}
FLOPCAST_API int nvmlDeviceGetGpuMaxPcieLinkGeneration(void* handle, unsigned* generation) {
  return give_known(handle, generation, chip_facts().pcie_generation);
}
FLOPCAST_API int nvmlDeviceGetCurrPcieLinkWidth(void* handle, unsigned* lanes) {
  return give_known(handle, lanes, chip_facts().pcie_lanes);
}
FLOPCAST_API int nvmlDeviceGetMaxPcieLinkWidth(void* handle, unsigned* lanes) {
  return give_known(handle, lanes, chip_facts().pcie_lanes);
}
/// A simulated bus sends nothing again.
FLOPCAST_API int nvmlDeviceGetPcieReplayCounter(void* handle, unsigned* count) {
  return give(handle, count, 0);
}

FLOPCAST_API int nvmlDeviceGetCpuAffinity(void* handle, unsigned words, unsigned long* set) {
  return give_all_processors(handle, words, set);
}
FLOPCAST_API int nvmlDeviceGetCpuAffinityWithinScope(void* handle, unsigned words,
                                                     unsigned long* set, unsigned) {
  return give_all_processors(handle, words, set);
}
/// To all processors: where it runs already.
FLOPCAST_API int nvmlDeviceSetCpuAffinity(void* handle) {
  return is_handle(handle) ? kNvmlSuccess : kNvmlInvalidArgument;
}
FLOPCAST_API int nvmlDeviceClearCpuAffinity(void* handle) {
  return is_handle(handle) ? kNvmlSuccess : kNvmlInvalidArgument;
}
