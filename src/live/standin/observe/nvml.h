// What the parts of NVML share: status codes, handles, and how an answer is given.
#pragma once

#include <cstdint>
#include <cstdio>

#include "live/standin/link/link.h"
#include "live/standin/observe/nvml_types.h"

namespace flopcast::live {

inline const DeviceFacts& chip_facts() { return Link::get().common().device; }

/// A device's handle is its number and one more, so that none is null.
inline void* handle_of(unsigned device) {
  return reinterpret_cast<void*>(std::uintptr_t{device} + 1);
}
inline unsigned device_of_handle(void* handle) {
  return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(handle) - 1);
}
inline bool is_handle(void* handle) {
  return handle && device_of_handle(handle) < Link::get().common().devices;
}

/// @param fact 0: not known of this chip, and said so
template <typename T, typename Fact>
int give_known(void* handle, T* out, Fact fact) {
  if (!is_handle(handle) || !out) return kNvmlInvalidArgument;
  if (fact == 0) return kNvmlNotSupported;
  *out = static_cast<T>(fact);
  return kNvmlSuccess;
}
template <typename T, typename Value>
int give(void* handle, T* out, Value value) {
  if (!is_handle(handle) || !out) return kNvmlInvalidArgument;
  *out = static_cast<T>(value);
  return kNvmlSuccess;
}

/// As cudaDeviceGetPCIBusId has it: bus numbers count from 1.
inline PciInfo pci_info(unsigned device) {
  PciInfo info{};
  info.bus = (device + 1) & 0xff;
  std::snprintf(info.legacy, sizeof info.legacy, "0000:%02X:00.0", info.bus);
  std::snprintf(info.id, sizeof info.id, "00000000:%02X:00.0", info.bus);
  return info;
}

}  // namespace flopcast::live
