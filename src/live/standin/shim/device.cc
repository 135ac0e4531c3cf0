// Which devices there are and what they say of themselves.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "live/standin/api/api.h"
#include "live/standin/link/link.h"
#include "live/standin/memory/memory.h"
#include "live/standin/values/loader.h"

namespace flopcast::live {
namespace {

thread_local int device_of_thread = 0;

const DeviceFacts& facts() { return Link::get().common().device; }
int devices() { return static_cast<int>(Link::get().common().devices); }
bool is_device(int device) { return device >= 0 && device < devices(); }

/// What every chip since Volta has.
constexpr int kWarp = 32, kThreadsOfBlock = 1024, kThreadsOfCore = 2048, kRegisters = 65536;
constexpr std::size_t kSharedOfBlock = 48 << 10, kConstant = 64 << 10;

/// Shared memory of a core by compute capability (CUDA C++ programming guide, technical specifications).
std::size_t shared_of_core() {
  switch (facts().major * 10 + facts().minor) {
    case 70:
      return 96 << 10;
    case 75:
      return 64 << 10;
    case 80:
      return 164 << 10;
    case 86:
    case 89:
    case 120:
      return 100 << 10;
    default:
      return 228 << 10;
  }
}
/// One KiB of each block is the system's.
std::size_t shared_opt_in() { return shared_of_core() - 1024; }

/// A field of cudaDeviceProp: where it is in CUDA 12 (1032 bytes) and 13 (1008 bytes), -1: not there.
struct Field {
  std::string_view name;
  int bytes;
  int in_12, in_13;
};
constexpr Field kFields[] = {
    {"totalGlobalMem", 8, 288, 288},
    {"sharedMemPerBlock", 8, 296, 296},
    {"regsPerBlock", 4, 304, 304},
    {"warpSize", 4, 308, 308},
    {"memPitch", 8, 312, 312},
    {"maxThreadsPerBlock", 4, 320, 320},
    {"maxThreadsDim.x", 4, 324, 324},
    {"maxThreadsDim.y", 4, 328, 328},
    {"maxThreadsDim.z", 4, 332, 332},
    {"maxGridSize.x", 4, 336, 336},
    {"maxGridSize.y", 4, 340, 340},
    {"maxGridSize.z", 4, 344, 344},
    {"clockRate", 4, 348, -1},
    {"totalConstMem", 8, 352, 352},
    {"major", 4, 360, 360},
    {"minor", 4, 364, 364},
    {"textureAlignment", 8, 368, 368},
    {"texturePitchAlignment", 8, 376, 376},
    {"multiProcessorCount", 4, 388, 384},
    {"canMapHostMemory", 4, 400, 392},
    {"concurrentKernels", 4, 576, 560},
    {"pciBusID", 4, 584, 568},
    {"asyncEngineCount", 4, 600, 584},
    {"unifiedAddressing", 4, 604, 588},
    {"memoryBusWidth", 4, 612, 592},
    {"l2CacheSize", 4, 616, 596},
    {"maxThreadsPerMultiProcessor", 4, 624, 604},
    {"streamPrioritiesSupported", 4, 628, 608},
    {"globalL1CacheSupported", 4, 632, 612},
    {"localL1CacheSupported", 4, 636, 616},
    {"sharedMemPerMultiprocessor", 8, 640, 624},
    {"regsPerMultiprocessor", 4, 648, 632},
    {"managedMemory", 4, 652, 636},
    {"cooperativeLaunch", 4, 688, 668},
    {"sharedMemPerBlockOptin", 8, 696, 672},
    {"maxBlocksPerMultiProcessor", 4, 712, 688},
    {"reservedSharedMemPerBlock", 8, 720, 696},
    {"hostRegisterSupported", 4, 728, 704},
    {"memoryPoolsSupported", 4, 744, 720},
    {"clusterLaunch", 4, 772, 748},
};
#if FLOPCAST_CUDA_MAJOR == 12
constexpr std::size_t kPropertiesSize = 1032;
constexpr int Field::*kOffset = &Field::in_12;
#else
constexpr std::size_t kPropertiesSize = 1008;
constexpr int Field::*kOffset = &Field::in_13;
#endif

std::uint64_t value_of(std::string_view name, int device) {
  const DeviceFacts& chip = facts();
  struct Value {
    std::string_view name;
    std::uint64_t value;
  };
  const Value values[] = {
      {"totalGlobalMem", Memory::capacity()},
      {"sharedMemPerBlock", kSharedOfBlock},
      {"regsPerBlock", kRegisters},
      {"warpSize", kWarp},
      {"memPitch", 0x7fffffff},
      {"maxThreadsPerBlock", kThreadsOfBlock},
      {"maxThreadsDim.x", kThreadsOfBlock},
      {"maxThreadsDim.y", kThreadsOfBlock},
      {"maxThreadsDim.z", 64},
      {"maxGridSize.x", 0x7fffffff},
      {"maxGridSize.y", 65535},
      {"maxGridSize.z", 65535},
      {"clockRate", chip.clock_khz},
      {"totalConstMem", kConstant},
      {"major", chip.major},
      {"minor", chip.minor},
      {"textureAlignment", 512},
      {"texturePitchAlignment", 32},
      {"multiProcessorCount", chip.cores},
      {"pciBusID", static_cast<std::uint64_t>(device) + 1},
      {"asyncEngineCount", 3},
      {"memoryBusWidth", 5120},
      {"l2CacheSize", chip.l2_bytes},
      {"maxThreadsPerMultiProcessor", kThreadsOfCore},
      {"sharedMemPerMultiprocessor", shared_of_core()},
      {"regsPerMultiprocessor", kRegisters},
      {"sharedMemPerBlockOptin", shared_opt_in()},
      {"maxBlocksPerMultiProcessor", 32},
      {"reservedSharedMemPerBlock", 1024},
      {"clusterLaunch", chip.major >= 9 ? 1u : 0u},
  };
  for (const Value& value : values) {
    if (value.name == name) return value.value;
  }
  return 1;  // a capability that they all have
}

/// By number, where it is not simply there (1) or not (0): cudaDeviceAttr and CUdevice_attribute agree.
struct Attribute {
  int number;
  std::string_view field;
};
constexpr Attribute kAttributes[] = {
    {1, "maxThreadsPerBlock"},
    {2, "maxThreadsDim.x"},
    {3, "maxThreadsDim.y"},
    {4, "maxThreadsDim.z"},
    {5, "maxGridSize.x"},
    {6, "maxGridSize.y"},
    {7, "maxGridSize.z"},
    {8, "sharedMemPerBlock"},
    {9, "totalConstMem"},
    {10, "warpSize"},
    {11, "memPitch"},
    {12, "regsPerBlock"},
    {13, "clockRate"},
    {14, "textureAlignment"},
    {16, "multiProcessorCount"},
    {33, "pciBusID"},
    {37, "memoryBusWidth"},
    {38, "l2CacheSize"},
    {39, "maxThreadsPerMultiProcessor"},
    {40, "asyncEngineCount"},
    {75, "major"},
    {76, "minor"},
    {81, "sharedMemPerMultiprocessor"},
    {82, "regsPerMultiprocessor"},
    {97, "sharedMemPerBlockOptin"},
    {106, "maxBlocksPerMultiProcessor"},
    {111, "reservedSharedMemPerBlock"},
};
/// A time-out on kernels, an integrated GPU, a compute mode, ECC, PCI domain and device, TCC; a board of several GPUs;
/// memory of the host's pages; multicast, fabric handles.
constexpr int kAbsent[] = {17, 18, 20, 32, 34, 35, 50, 84, 88, 100, 101, 128, 132};

int attribute(int number, int device) {
  for (const Attribute& known : kAttributes) {
    if (known.number == number) return static_cast<int>(value_of(known.field, device));
  }
  return std::find(std::begin(kAbsent), std::end(kAbsent), number) == std::end(kAbsent) ? 1 : 0;
}

int properties(void* out, int device) {
  if (!is_device(device)) return kInvalidDevice;
  auto* const bytes = static_cast<unsigned char*>(out);
  std::memset(bytes, 0, kPropertiesSize);
  std::memcpy(bytes, facts().name, sizeof facts().name);
  bytes[256] = 1;  // a UUID that tells devices apart
  bytes[271] = static_cast<unsigned char>(device + 1);
  for (const Field& field : kFields) {
    if (field.*kOffset < 0) continue;
    const std::uint64_t value = value_of(field.name, device);
    std::memcpy(bytes + field.*kOffset, &value, static_cast<std::size_t>(field.bytes));
  }
  return kSuccess;
}

}  // namespace

int current_device() { return device_of_thread; }

}  // namespace flopcast::live

using namespace flopcast::live;

FLOPCAST_API int cudaGetDeviceCount(int* count) {
  load_plugin();
  *count = devices();
  return kSuccess;
}
FLOPCAST_API int cudaGetDevice(int* device) {
  *device = device_of_thread;
  return kSuccess;
}
FLOPCAST_API int cudaSetDevice(int device) {
  if (!is_device(device)) return remembered(kInvalidDevice);
  device_of_thread = device;
  return kSuccess;
}
FLOPCAST_API int cudaGetDeviceProperties(void* out, int device) {
  return remembered(properties(out, device));
}
FLOPCAST_API int cudaGetDeviceProperties_v2(void* out, int device) {
  return remembered(properties(out, device));
}
FLOPCAST_API int cudaDeviceGetAttribute(int* value, int number, int device) {
  if (!is_device(device)) return remembered(kInvalidDevice);
  *value = attribute(number, device);
  return kSuccess;
}
FLOPCAST_API int cuDeviceGetAttribute(int* value, int number, int device) {
  if (!is_device(device)) return kInvalidDevice;
  *value = attribute(number, device);
  return kSuccess;
}
FLOPCAST_API int cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  *can = device != peer ? 1 : 0;
  return kSuccess;
}
FLOPCAST_API int cudaDeviceEnablePeerAccess(int, unsigned) { return kSuccess; }
FLOPCAST_API int cudaDeviceGetPCIBusId(char* text, int size, int device) {
  std::snprintf(text, static_cast<std::size_t>(size), "0000:%02X:00.0", device + 1);
  return kSuccess;
}
FLOPCAST_API int cudaDriverGetVersion(int* version) {
  *version = FLOPCAST_CUDA_MAJOR == 12 ? 12080 : 13020;
  return kSuccess;
}
FLOPCAST_API int cudaRuntimeGetVersion(int* version) { return cudaDriverGetVersion(version); }
FLOPCAST_API int cuDriverGetVersion(int* version) { return cudaDriverGetVersion(version); }
