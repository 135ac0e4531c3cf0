// Structures and numbers of NVML, as its callers know them.
#pragma once

namespace flopcast::live {

/// nvmlReturn_t
enum NvmlStatus : int {
  kNvmlSuccess = 0,
  kNvmlUninitialized = 1,
  kNvmlInvalidArgument = 2,
  kNvmlNotSupported = 3,
  kNvmlNotFound = 6,
  kNvmlInsufficientSize = 7,
  kNvmlVersionMismatch = 25,
};

/// nvmlUtilization_t, nvmlMemory_t, nvmlMemory_v2_t
struct Utilization {
  unsigned gpu, memory;
};

struct MemoryInfo {
  unsigned long long total, free, used;
};
struct MemoryInfo2 {
  unsigned version;
  unsigned long long total, reserved, free, used;
};

/// nvmlProcessInfo_t; the first version of it ends after the memory.
struct ProcessInfo {
  unsigned process;
  unsigned long long memory;
  unsigned instances[2];
};

/// nvmlPciInfo_t
struct PciInfo {
  char legacy[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char id[32];
};

}  // namespace flopcast::live
