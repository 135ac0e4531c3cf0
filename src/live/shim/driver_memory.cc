// The CUDA driver's virtual memory: memory without an address, addresses without memory, and one at the other.
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "live/link/link.h"
#include "live/shim/api.h"
#include "live/shim/memory.h"
#include "live/shim/stream.h"
#include "live/values/movement.h"

namespace flopcast::live {
namespace {

/// Behind a handle; lives as long as somebody holds or maps it.
struct Physical {
  std::size_t bytes = 0;
  int device = 0;
  std::atomic<int> holders{1};
};

void let_go(Physical* memory) {
  if (--memory->holders > 0) return;
  Memory::get().give_back(memory->device, memory->bytes);
  delete memory;
}

/// The head of CUmemAllocationProp.
struct AllocationProperties {
  int type, handle_types;
  int location_type, location;
};

/// CUpointer_attribute
enum PointerAttribute : int {
  kMemoryType = 2,
  kDevicePointer = 3,
  kHostPointer = 4,
  kBufferId = 7,
  kIsManaged = 8,
  kDeviceOrdinal = 9,
  kLegacyIpc = 10,
  kRangeStart = 11,
  kRangeSize = 12,
  kIsMapped = 13,
};

template <typename T>
int give_value(void* out, T value) {
  std::memcpy(out, &value, sizeof value);
  return kSuccess;
}

int pointer_attribute(void* out, int attribute, const Block& block, std::uintptr_t address) {
  const bool on_device = of_device(block.place);
  switch (attribute) {
    case kMemoryType:
      return give_value(out, on_device ? 2 : 1);
    case kDevicePointer:
      return give_value(out, address);
    case kHostPointer:
      return block.place == Place::kDevice || block.place == Place::kMapped
                 ? kInvalidValue
                 : give_value(out, address);
    case kBufferId:
    case kRangeStart:
      return give_value(out, block.address);
    case kIsManaged:
      return give_value(out, block.place == Place::kManaged ? 1 : 0);
    case kDeviceOrdinal:
      return give_value(out, block.device);
    case kLegacyIpc:
      return give_value(out, block.place == Place::kDevice ? 1 : 0);
    case kRangeSize:
      return give_value(out, block.bytes);
    case kIsMapped:
      return give_value(out, 1);
    default:
      return give_value(out, 0);
  }
}

}  // namespace
}  // namespace flopcast::live

using namespace flopcast::live;

FLOPCAST_API int cuMemGetAllocationGranularity(std::size_t* bytes, const void*, int) {
  *bytes = Memory::kPage;
  return kSuccess;
}
FLOPCAST_API int cuMemCreate(Physical** handle, std::size_t bytes, const AllocationProperties* how,
                             unsigned long long) {
  if (bytes == 0 || bytes % Memory::kPage != 0) return kInvalidValue;
  if (!Memory::get().charge(how->location, bytes)) return kOutOfMemory;
  *handle = new Physical{bytes, how->location, {1}};
  return kSuccess;
}
FLOPCAST_API int cuMemRelease(Physical* handle) {
  let_go(handle);
  return kSuccess;
}
FLOPCAST_API int cuMemAddressReserve(std::uintptr_t* address, std::size_t bytes, std::size_t,
                                     std::uintptr_t, unsigned long long) {
  void* const at = Memory::reserve(bytes);
  *address = reinterpret_cast<std::uintptr_t>(at);
  return at ? kSuccess : kOutOfMemory;
}
FLOPCAST_API int cuMemAddressFree(std::uintptr_t address, std::size_t bytes) {
  ::munmap(reinterpret_cast<void*>(address), bytes);
  return kSuccess;
}
FLOPCAST_API int cuMemMap(std::uintptr_t address, std::size_t bytes, std::size_t, Physical* handle,
                          unsigned long long) {
  Memory::get().map(reinterpret_cast<void*>(address), bytes, handle->device);
  return kSuccess;
}
FLOPCAST_API int cuMemUnmap(std::uintptr_t address, std::size_t bytes) {
  // A range may hold several maps, each as it was made.
  for (std::uintptr_t at = address; at < address + bytes;) {
    const auto block = Memory::get().free(reinterpret_cast<void*>(at));
    at += block ? block->bytes : Memory::kPage;
  }
  return kSuccess;
}
FLOPCAST_API int cuMemSetAccess(std::uintptr_t, std::size_t, const void*, std::size_t) {
  return kSuccess;
}
FLOPCAST_API int cuMemGetAddressRange_v2(std::uintptr_t* base, std::size_t* bytes,
                                         std::uintptr_t address) {
  const auto block = Memory::get().find(reinterpret_cast<void*>(address));
  if (!block) return kNotFound;
  if (base) *base = block->address;
  if (bytes) *bytes = block->bytes;
  return kSuccess;
}

FLOPCAST_API int cuPointerGetAttribute(void* out, int attribute, std::uintptr_t address) {
  const auto block = Memory::get().find(reinterpret_cast<void*>(address));
  return block ? pointer_attribute(out, attribute, *block, address) : kInvalidValue;
}
FLOPCAST_API int cuPointerGetAttributes(unsigned count, const int* attributes, void** out,
                                        std::uintptr_t address) {
  const auto block = Memory::get().find(reinterpret_cast<void*>(address));
  for (unsigned i = 0; i < count; ++i) {
    if (!block || pointer_attribute(out[i], attributes[i], *block, address) != kSuccess)
      give_value(out[i], 0);
  }
  return kSuccess;
}
