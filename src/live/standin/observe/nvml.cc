// NVML: what monitoring programs ask of devices.
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "live/standin/api/api.h"
#include "live/standin/link/link.h"
#include "live/standin/memory/memory.h"

namespace flopcast::live {
namespace {

/// nvmlReturn_t
enum NvmlStatus : int {
  kNvmlSuccess = 0,
  kNvmlInvalidArgument = 2,
  kNvmlNotSupported = 3,
  kNvmlNotFound = 6,
  kNvmlInsufficientSize = 7
};

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
  const std::size_t total = Memory::capacity();
  const std::size_t used = Memory::get().used(device_of_handle(handle));
  return {total, total - used, used};
}

/// nvmlProcessInfo_t; the first version of it ends after the memory.
struct ProcessInfo {
  unsigned process;
  unsigned long long memory;
  unsigned instances[2];
};

/// A process sees itself: what others of the run hold is theirs to say.
int give_processes(void* handle, unsigned* count, void* out, std::size_t bytes_each) {
  const std::size_t used = Memory::get().used(device_of_handle(handle));
  const unsigned room = *count;
  *count = used > 0 ? 1 : 0;
  if (used == 0) return kNvmlSuccess;
  if (room == 0 || !out) return kNvmlInsufficientSize;
  const ProcessInfo own{static_cast<unsigned>(::getpid()), used, {~0u, ~0u}};
  std::memcpy(out, &own, bytes_each);
  return kNvmlSuccess;
}

/// nvmlPciInfo_t
struct PciInfo {
  char legacy[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char id[32];
};

/// nvmlDeviceArchitecture_t by compute capability.
unsigned architecture() {
  const DeviceFacts& chip = Link::get().common().device;
  if (chip.major == 7) return chip.minor >= 5 ? 6 : 5;
  if (chip.major == 8) return chip.minor >= 9 ? 8 : 7;
  return chip.major == 9 ? 9 : 10;
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

FLOPCAST_API int nvmlDeviceGetComputeRunningProcesses(void* handle, unsigned* count, void* out) {
  return give_processes(handle, count, out, 16);
}
FLOPCAST_API int nvmlDeviceGetComputeRunningProcesses_v2(void* handle, unsigned* count, void* out) {
  return give_processes(handle, count, out, sizeof(ProcessInfo));
}
FLOPCAST_API int nvmlDeviceGetComputeRunningProcesses_v3(void* handle, unsigned* count, void* out) {
  return give_processes(handle, count, out, sizeof(ProcessInfo));
}
FLOPCAST_API int nvmlDeviceGetGraphicsRunningProcesses_v3(void*, unsigned* count, void*) {
  *count = 0;
  return kNvmlSuccess;
}
FLOPCAST_API int nvmlSystemGetProcessName(unsigned process, char* text, unsigned size) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%u/comm", process);
  std::FILE* const file = std::fopen(path, "r");
  if (!file) return kNvmlNotFound;
  if (!std::fgets(text, static_cast<int>(size), file)) *text = 0;
  text[std::strcspn(text, "\n")] = 0;
  std::fclose(file);
  return kNvmlSuccess;
}
FLOPCAST_API int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  *version = FLOPCAST_CUDA_MAJOR == 12 ? 12080 : 13020;
  return kNvmlSuccess;
}
FLOPCAST_API int nvmlSystemGetCudaDriverVersion(int* version) {
  return nvmlSystemGetCudaDriverVersion_v2(version);
}
FLOPCAST_API int nvmlSystemGetNVMLVersion(char* text, unsigned size) {
  return copy_text(text, size, FLOPCAST_CUDA_MAJOR == 12 ? "12.570.86.15" : "13.595.45.04");
}
FLOPCAST_API int nvmlDeviceGetHandleByUUID(const char* uuid, void** handle) {
  char own[64];
  for (unsigned device = 0; device < Link::get().common().devices; ++device) {
    nvmlDeviceGetUUID(handle_of(device), own, sizeof own);
    if (std::strcmp(own, uuid) == 0) return nvmlDeviceGetHandleByIndex_v2(device, handle);
  }
  return kNvmlNotFound;
}
FLOPCAST_API int nvmlDeviceGetMinorNumber(void* handle, unsigned* number) {
  return nvmlDeviceGetIndex(handle, number);
}
FLOPCAST_API int nvmlDeviceGetPciInfo_v3(void* handle, PciInfo* info) {
  *info = {};
  info->bus = static_cast<unsigned>(device_of_handle(handle)) + 1;
  std::snprintf(info->legacy, sizeof info->legacy, "0000:%02X:00.0", info->bus);
  std::snprintf(info->id, sizeof info->id, "00000000:%02X:00.0", info->bus);
  return kNvmlSuccess;
}
FLOPCAST_API int nvmlDeviceGetArchitecture(void*, unsigned* number) {
  *number = architecture();
  return kNvmlSuccess;
}
/// NVML_BRAND_NVIDIA
FLOPCAST_API int nvmlDeviceGetBrand(void*, int* brand) {
  *brand = 14;
  return kNvmlSuccess;
}
FLOPCAST_API int nvmlDeviceGetNumGpuCores(void*, unsigned* count) {
  *count = Link::get().common().device.cores * 128;
  return kNvmlSuccess;
}
FLOPCAST_API int nvmlDeviceGetPersistenceMode(void*, int* on) {
  *on = 1;
  return kNvmlSuccess;
}
FLOPCAST_API int nvmlDeviceGetComputeMode(void*, int* mode) {
  *mode = 0;
  return kNvmlSuccess;
}
FLOPCAST_API int nvmlDeviceIsMigDeviceHandle(void*, unsigned* is_part) {
  *is_part = 0;
  return kNvmlSuccess;
}
