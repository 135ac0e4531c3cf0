// NVML: what monitoring programs ask of devices.
#include <cstdio>
#include <cstring>

#include "live/link/link.h"
#include "live/shim/api.h"
#include "live/shim/memory.h"

namespace flopcast::live {
namespace {

/// nvmlReturn_t
enum NvmlStatus : int { kNvmlSuccess = 0, kNvmlInvalidArgument = 2, kNvmlNotSupported = 3 };

/// A device's handle is its number and one more, so that none is null.
void* handle_of(unsigned device) { return reinterpret_cast<void*>(std::uintptr_t{device} + 1); }
int device_of_handle(void* handle) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(handle) - 1);
}

int copy_text(char* to, unsigned size, const char* text) {
  std::snprintf(to, size, "%s", text);
  return kNvmlSuccess;
}

struct MemoryInfo {
  unsigned long long total, free, used;
};
struct MemoryInfo2 {
  unsigned version;
  unsigned long long total, reserved, free, used;
};

MemoryInfo memory_of(void* handle) {
  const std::size_t total = Link::get().common().device.memory_bytes;
  const std::size_t used = Memory::get().used(device_of_handle(handle));
  return {total, total - used, used};
}

}  // namespace
}  // namespace flopcast::live

using namespace flopcast::live;

FLOPCAST_API int nvmlInit_v2() { return kNvmlSuccess; }
FLOPCAST_API int nvmlInit() { return kNvmlSuccess; }
FLOPCAST_API int nvmlInitWithFlags(unsigned) { return kNvmlSuccess; }
FLOPCAST_API int nvmlShutdown() { return kNvmlSuccess; }
FLOPCAST_API const char* nvmlErrorString(int status) {
  return status == kNvmlSuccess ? "Success" : "Not Supported";
}
FLOPCAST_API int nvmlSystemGetDriverVersion(char* text, unsigned size) {
  return copy_text(text, size, FLOPCAST_CUDA_MAJOR == 12 ? "570.86.15" : "595.45.04");
}
FLOPCAST_API int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = Link::get().common().devices;
  return kNvmlSuccess;
}
FLOPCAST_API int nvmlDeviceGetHandleByIndex_v2(unsigned device, void** handle) {
  if (device >= Link::get().common().devices) return kNvmlInvalidArgument;
  *handle = handle_of(device);
  return kNvmlSuccess;
}
/// "0000:03:00.0", as cudaDeviceGetPCIBusId writes it: bus numbers count from 1.
FLOPCAST_API int nvmlDeviceGetHandleByPciBusId_v2(const char* text, void** handle) {
  unsigned domain = 0, bus = 0;
  if (std::sscanf(text, "%x:%x", &domain, &bus) != 2 || bus == 0) return kNvmlInvalidArgument;
  return nvmlDeviceGetHandleByIndex_v2(bus - 1, handle);
}
FLOPCAST_API int nvmlDeviceGetIndex(void* handle, unsigned* device) {
  *device = static_cast<unsigned>(device_of_handle(handle));
  return kNvmlSuccess;
}
FLOPCAST_API int nvmlDeviceGetName(void*, char* text, unsigned size) {
  return copy_text(text, size, Link::get().common().device.name);
}
FLOPCAST_API int nvmlDeviceGetUUID(void* handle, char* text, unsigned size) {
  std::snprintf(text, size, "GPU-01000000-0000-0000-0000-0000000000%02x",
                device_of_handle(handle) + 1);
  return kNvmlSuccess;
}
FLOPCAST_API int nvmlDeviceGetMemoryInfo(void* handle, MemoryInfo* info) {
  *info = memory_of(handle);
  return kNvmlSuccess;
}
FLOPCAST_API int nvmlDeviceGetMemoryInfo_v2(void* handle, MemoryInfo2* info) {
  const MemoryInfo facts = memory_of(handle);
  *info = {info->version, facts.total, 0, facts.free, facts.used};
  return kNvmlSuccess;
}
FLOPCAST_API int nvmlDeviceGetCudaComputeCapability(void*, int* major, int* minor) {
  *major = static_cast<int>(Link::get().common().device.major);
  *minor = static_cast<int>(Link::get().common().device.minor);
  return kNvmlSuccess;
}
