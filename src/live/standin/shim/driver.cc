// The CUDA driver: contexts, and where its functions are.
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

#include "live/standin/api/api.h"
#include "live/standin/link/link.h"
#include "live/standin/memory/memory.h"

namespace flopcast::live {
namespace {

/// Answers of cudaGetDriverEntryPoint and cuGetProcAddress.
enum Found : int { kIsThere = 0, kIsNotThere = 1 };

/// Functions whose plain name means their second version since CUDA 4.
constexpr std::string_view kSecondVersions[] = {"cuCtxDestroy",
                                                "cuCtxPopCurrent",
                                                "cuCtxPushCurrent",
                                                "cuDevicePrimaryCtxRelease",
                                                "cuDevicePrimaryCtxReset",
                                                "cuDevicePrimaryCtxSetFlags",
                                                "cuDeviceTotalMem",
                                                "cuDeviceGetUuid",
                                                "cuEventDestroy",
                                                "cuGetProcAddress",
                                                "cuMemAlloc",
                                                "cuMemAllocHost",
                                                "cuMemFree",
                                                "cuMemGetAddressRange",
                                                "cuMemGetInfo",
                                                "cuMemHostGetDevicePointer",
                                                "cuMemHostRegister",
                                                "cuMemcpyDtoD",
                                                "cuMemcpyDtoDAsync",
                                                "cuMemcpyDtoH",
                                                "cuMemcpyDtoHAsync",
                                                "cuMemcpyHtoD",
                                                "cuMemcpyHtoDAsync",
                                                "cuMemsetD16",
                                                "cuMemsetD32",
                                                "cuMemsetD8",
                                                "cuModuleGetGlobal",
                                                "cuStreamDestroy",
                                                "cuLinkCreate",
                                                "cuLinkAddData",
                                                "cuLinkAddFile"};

int find(const char* name, void** function) {
  const bool second = std::find(std::begin(kSecondVersions), std::end(kSecondVersions), name) !=
                      std::end(kSecondVersions);
  *function = ::dlsym(RTLD_DEFAULT, second ? (std::string(name) + "_v2").c_str() : name);
  return *function ? kIsThere : kIsNotThere;
}

/// A device has one context, whose handle is never looked into.
void* context_of(int device) {
  return reinterpret_cast<void*>(std::uintptr_t{0x1000} + static_cast<unsigned>(device));
}
int device_of(void* context) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(context) - 0x1000);
}
bool is_there(int device) {
  return device >= 0 && device < static_cast<int>(Link::get().common().devices);
}

}  // namespace
}  // namespace flopcast::live

using namespace flopcast::live;

FLOPCAST_API int cudaSetDevice(int device);

FLOPCAST_API int cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned,
                                                  unsigned long long, int* found) {
  const int status = find(name, function);
  if (found) *found = status;
  return kSuccess;
}
FLOPCAST_API int cudaGetDriverEntryPoint(const char* name, void** function, unsigned long long,
                                         int* found) {
  return cudaGetDriverEntryPointByVersion(name, function, 0, 0, found);
}
FLOPCAST_API int cuGetProcAddress_v2(const char* name, void** function, int, std::uint64_t,
                                     int* found) {
  const int status = find(name, function);
  if (found) *found = status;
  return status == kIsThere ? kSuccess : kNotFound;
}
/// Of before CUDA 12: who asks it for itself means itself.
FLOPCAST_API int cuGetProcAddress(const char* name, void** function, int version,
                                  std::uint64_t flags) {
  if (std::strcmp(name, "cuGetProcAddress") != 0)
    return cuGetProcAddress_v2(name, function, version, flags, nullptr);
  *function = reinterpret_cast<void*>(&cuGetProcAddress);
  return kSuccess;
}

FLOPCAST_API int cuInit(unsigned) { return kSuccess; }
FLOPCAST_API int cuDeviceGetCount(int* count) {
  *count = static_cast<int>(Link::get().common().devices);
  return kSuccess;
}
FLOPCAST_API int cuDeviceGet(int* device, int ordinal) {
  if (!is_there(ordinal)) return kInvalidDevice;
  *device = ordinal;
  return kSuccess;
}
FLOPCAST_API int cuDeviceGetName(char* name, int size, int) {
  std::snprintf(name, static_cast<std::size_t>(size), "%s", Link::get().common().device.name);
  return kSuccess;
}
FLOPCAST_API int cuDeviceTotalMem_v2(std::size_t* bytes, int) {
  *bytes = Memory::capacity();
  return kSuccess;
}
FLOPCAST_API int cuDeviceGetUuid_v2(void* uuid, int device) {
  std::memset(uuid, 0, 16);
  static_cast<unsigned char*>(uuid)[0] = 1;
  static_cast<unsigned char*>(uuid)[15] = static_cast<unsigned char>(device + 1);
  return kSuccess;
}
FLOPCAST_API int cuDeviceComputeCapability(int* major, int* minor, int) {
  *major = static_cast<int>(Link::get().common().device.major);
  *minor = static_cast<int>(Link::get().common().device.minor);
  return kSuccess;
}

FLOPCAST_API int cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* active) {
  if (!is_there(device)) return kInvalidDevice;
  if (flags) *flags = 0;
  if (active) *active = 1;
  return kSuccess;
}
FLOPCAST_API int cuDevicePrimaryCtxRetain(void** context, int device) {
  if (!is_there(device)) return kInvalidDevice;
  *context = context_of(device);
  return kSuccess;
}
FLOPCAST_API int cuDevicePrimaryCtxRelease_v2(int) { return kSuccess; }
FLOPCAST_API int cuDevicePrimaryCtxSetFlags_v2(int, unsigned) { return kSuccess; }
FLOPCAST_API int cuCtxGetCurrent(void** context) {
  *context = context_of(current_device());
  return kSuccess;
}
FLOPCAST_API int cuCtxSetCurrent(void* context) {
  return context ? cudaSetDevice(device_of(context)) : kSuccess;
}
FLOPCAST_API int cuCtxPushCurrent_v2(void* context) { return cuCtxSetCurrent(context); }
FLOPCAST_API int cuCtxPopCurrent_v2(void** context) {
  return context ? cuCtxGetCurrent(context) : kSuccess;
}
FLOPCAST_API int cuCtxGetDevice(int* device) {
  *device = current_device();
  return kSuccess;
}
FLOPCAST_API int cudaDeviceSynchronize();
FLOPCAST_API int cuCtxSynchronize() { return cudaDeviceSynchronize(); }
