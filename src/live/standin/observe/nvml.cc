// NVML: which devices there are, and what they are.
#include <cstdio>
#include <cstring>

#include "live/standin/api/api.h"
#include "live/standin/observe/nvml.h"

namespace flopcast::live {
namespace {

int copy_text(char* to, unsigned size, const char* text) {
  std::snprintf(to, size, "%s", text);
  return kNvmlSuccess;
}

/// nvmlDeviceArchitecture_t by compute capability.
unsigned architecture() {
  const DeviceFacts& chip = chip_facts();
  if (chip.major == 7) return chip.minor >= 5 ? 6 : 5;
  if (chip.major == 8) return chip.minor >= 9 ? 8 : 7;
  return chip.major == 9 ? 9 : 10;
}

/// Chips for machine rooms have memory that corrects its errors; whether others do is up to their owners.
bool corrects() {
  const DeviceFacts& chip = chip_facts();
  return (chip.major >= 7 && chip.major <= 10) && (chip.minor == 0 || chip.major == 10);
}
/// Since Ampere those can be divided (MIG). These are not.
bool divides() { return corrects() && chip_facts().major >= 8; }

struct StatusText {
  int status;
  const char* text;
};
constexpr StatusText kStatusTexts[] = {{kNvmlSuccess, "Success"},
                                       {kNvmlUninitialized, "Uninitialized"},
                                       {kNvmlInvalidArgument, "Invalid Argument"},
                                       {kNvmlNotSupported, "Not Supported"},
                                       {kNvmlNotFound, "Not Found"},
                                       {kNvmlInsufficientSize, "Insufficient Size"},
                                       {kNvmlVersionMismatch, "Argument Version Mismatch"}};

}  // namespace
}  // namespace flopcast::live

using namespace flopcast::live;

FLOPCAST_API int nvmlInit_v2() { return kNvmlSuccess; }
FLOPCAST_API int nvmlInit() { return kNvmlSuccess; }
FLOPCAST_API int nvmlInitWithFlags(unsigned) { return kNvmlSuccess; }
FLOPCAST_API int nvmlShutdown() { return kNvmlSuccess; }
FLOPCAST_API const char* nvmlErrorString(int status) {
  for (const StatusText& known : kStatusTexts) {
    if (known.status == status) return known.text;
  }
  return "Unknown Error";
}
FLOPCAST_API int nvmlSystemGetDriverVersion(char* text, unsigned size) {
  return copy_text(text, size, FLOPCAST_CUDA_MAJOR == 12 ? "570.86.15" : "595.45.04");
}
FLOPCAST_API int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = Link::get().common().devices;
  return kNvmlSuccess;
}
FLOPCAST_API int nvmlDeviceGetCount(unsigned* count) { return nvmlDeviceGetCount_v2(count); }
FLOPCAST_API int nvmlDeviceGetHandleByIndex_v2(unsigned device, void** handle) {
  if (device >= Link::get().common().devices) return kNvmlInvalidArgument;
  *handle = handle_of(device);
  return kNvmlSuccess;
}
FLOPCAST_API int nvmlDeviceGetHandleByIndex(unsigned device, void** handle) {
  return nvmlDeviceGetHandleByIndex_v2(device, handle);
}
/// "0000:03:00.0", as cudaDeviceGetPCIBusId writes it: bus numbers count from 1.
FLOPCAST_API int nvmlDeviceGetHandleByPciBusId_v2(const char* text, void** handle) {
  unsigned domain = 0, bus = 0;
  if (std::sscanf(text, "%x:%x", &domain, &bus) != 2 || bus == 0) return kNvmlInvalidArgument;
  return nvmlDeviceGetHandleByIndex_v2(bus - 1, handle);
}
FLOPCAST_API int nvmlDeviceGetHandleByPciBusId(const char* text, void** handle) {
  return nvmlDeviceGetHandleByPciBusId_v2(text, handle);
}
FLOPCAST_API int nvmlDeviceGetIndex(void* handle, unsigned* device) {
  return give(handle, device, device_of_handle(handle));
}
FLOPCAST_API int nvmlDeviceGetName(void*, char* text, unsigned size) {
  return copy_text(text, size, chip_facts().name);
}
FLOPCAST_API int nvmlDeviceGetUUID(void* handle, char* text, unsigned size) {
  std::snprintf(text, size, "GPU-01000000-0000-0000-0000-0000000000%02x",
                device_of_handle(handle) + 1);
  return kNvmlSuccess;
}
FLOPCAST_API int nvmlDeviceGetCudaComputeCapability(void*, int* major, int* minor) {
  *major = static_cast<int>(chip_facts().major);
  *minor = static_cast<int>(chip_facts().minor);
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
  return is_handle(handle) && info ? (*info = pci_info(device_of_handle(handle)), kNvmlSuccess)
                                   : kNvmlInvalidArgument;
}
FLOPCAST_API int nvmlDeviceGetArchitecture(void* handle, unsigned* number) {
  return give(handle, number, architecture());
}
/// NVML_BRAND_NVIDIA
FLOPCAST_API int nvmlDeviceGetBrand(void* handle, int* brand) { return give(handle, brand, 14); }
FLOPCAST_API int nvmlDeviceGetNumGpuCores(void* handle, unsigned* count) {
  return give_known(handle, count, chip_facts().cores * chip_facts().lanes);
}
FLOPCAST_API int nvmlDeviceGetPersistenceMode(void* handle, int* on) { return give(handle, on, 1); }
FLOPCAST_API int nvmlDeviceGetComputeMode(void* handle, int* mode) { return give(handle, mode, 0); }
FLOPCAST_API int nvmlDeviceGetDisplayMode(void* handle, int* on) { return give(handle, on, 0); }
FLOPCAST_API int nvmlDeviceGetDisplayActive(void* handle, int* on) { return give(handle, on, 0); }
FLOPCAST_API int nvmlDeviceGetMultiGpuBoard(void* handle, unsigned* is_one) {
  return give(handle, is_one, 0);
}
FLOPCAST_API int nvmlDeviceIsMigDeviceHandle(void* handle, unsigned* is_part) {
  return give(handle, is_part, 0);
}
FLOPCAST_API int nvmlDeviceGetMigMode(void* handle, unsigned* now, unsigned* pending) {
  if (!divides()) return give_known(handle, now, 0);
  if (pending) *pending = 0;
  return give(handle, now, 0);
}
FLOPCAST_API int nvmlDeviceGetEccMode(void* handle, int* now, int* pending) {
  if (!corrects()) return give_known(handle, now, 0);
  if (pending) *pending = 1;
  return give(handle, now, 1);
}
FLOPCAST_API int nvmlDeviceGetDefaultEccMode(void* handle, int* on) {
  return corrects() ? give(handle, on, 1) : give_known(handle, on, 0);
}
/// Simulated memory makes no errors.
FLOPCAST_API int nvmlDeviceGetTotalEccErrors(void* handle, int, int, unsigned long long* count) {
  return corrects() ? give(handle, count, 0) : give_known(handle, count, 0);
}
FLOPCAST_API int nvmlDeviceGetMemoryErrorCounter(void* handle, int, int, int,
                                                 unsigned long long* count) {
  return corrects() ? give(handle, count, 0) : give_known(handle, count, 0);
}

// What power a device may take is that which it is rated for: nobody can set another.
FLOPCAST_API int nvmlDeviceGetPowerManagementMode(void* handle, int* on) {
  return chip_facts().power_mw > 0 ? give(handle, on, 1) : give_known(handle, on, 0);
}
FLOPCAST_API int nvmlDeviceGetPowerManagementLimit(void* handle, unsigned* milliwatt) {
  return give_known(handle, milliwatt, chip_facts().power_mw);
}
FLOPCAST_API int nvmlDeviceGetPowerManagementDefaultLimit(void* handle, unsigned* milliwatt) {
  return give_known(handle, milliwatt, chip_facts().power_mw);
}
FLOPCAST_API int nvmlDeviceGetEnforcedPowerLimit(void* handle, unsigned* milliwatt) {
  return give_known(handle, milliwatt, chip_facts().power_mw);
}
