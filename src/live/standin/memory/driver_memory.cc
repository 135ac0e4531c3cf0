// The CUDA driver's virtual memory: memory without an address, addresses without memory, and one at the other.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "live/standin/api/api.h"
#include "live/standin/link/link.h"
#include "live/standin/memory/memory.h"
#include "live/standin/memory/shared_memory.h"
#include "live/standin/values/movement.h"

namespace flopcast::live {
namespace {

/// Behind a handle; lives as long as somebody holds or maps it.
struct Physical {
  std::size_t bytes = 0;
  int device = 0;
  bool own = true;  ///< charged to this process
  int holders = 1;
  std::optional<SharedPart> part = {};  ///< other processes may have it, too
  std::vector<void*> places = {};       ///< where it is mapped
};

/// What is mapped, by address. The lock is that of all physical memory, too.
struct Mapped {
  std::mutex lock;
  std::map<void*, Physical*> by_address;
  static Mapped& get() {
    static Mapped* const mapped = new Mapped;
    return *mapped;
  }
};

void let_go(Physical* memory) {
  if (--memory->holders > 0) return;
  if (memory->own) {
    Memory::get().give_back(memory->device, memory->bytes);
    Memory::get().tell_used(memory->device);
  }
  delete memory;
}

int map_physical(void* at, std::size_t bytes, Physical& memory) {
  Mapped& mapped = Mapped::get();
  const std::lock_guard guard(mapped.lock);
  Memory::get().map(at, bytes, memory.device);
  if (memory.part && !map_shared(*memory.part, at)) return kOutOfMemory;
  mapped.by_address[at] = &memory;
  memory.places.push_back(at);
  ++memory.holders;
  return kSuccess;
}

/// The addresses stay the program's. @return bytes that were mapped there
std::size_t unmap_physical(void* at) {
  Mapped& mapped = Mapped::get();
  const std::lock_guard guard(mapped.lock);
  const auto found = mapped.by_address.find(at);
  if (found == mapped.by_address.end()) return Memory::kPage;
  Physical* const memory = found->second;
  mapped.by_address.erase(found);
  std::erase(memory->places, at);
  const std::size_t bytes = memory->bytes;
  if (memory->part) {
    unmap_shared(at);
    ::mmap(at, bytes, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  }
  Memory::get().free(at);
  let_go(memory);
  return bytes;
}

/// The memory lies where other processes can have it from now on.
bool make_shareable(Physical& memory) {
  const std::lock_guard guard(Mapped::get().lock);
  if (memory.part) return true;
  // Memory that is not mapped has no bytes yet, and must have them somewhere.
  void* const at = memory.places.empty() ? Memory::reserve(memory.bytes) : memory.places.front();
  if (!at) return false;
  memory.part = share_memory(at, memory.bytes, memory.device);
  return memory.part.has_value();
}

/// CUmemAllocationHandleType
enum HandleType : int { kFileDescriptor = 1, kFabric = 8 };

/// A descriptor of nothing but the words about the part, or the words themselves.
int export_part(void* out, const SharedPart& part, int type) {
  if (type == kFabric) {
    std::memset(out, 0, 64);
    std::memcpy(out, &part, sizeof part);
    return kSuccess;
  }
  if (type != kFileDescriptor) return kNotSupported;
  const int descriptor = ::memfd_create("flopcast-part", MFD_CLOEXEC);
  if (descriptor < 0) return kOutOfMemory;
  if (::write(descriptor, &part, sizeof part) != static_cast<ssize_t>(sizeof part)) {
    ::close(descriptor);
    return kOutOfMemory;
  }
  std::memcpy(out, &descriptor, sizeof descriptor);
  return kSuccess;
}

std::optional<SharedPart> import_part(const void* from, int type) {
  unsigned char words[sizeof(SharedPart)] = {};
  if (type != kFabric) {
    const auto descriptor = static_cast<int>(reinterpret_cast<std::uintptr_t>(from));
    if (::pread(descriptor, words, sizeof words, 0) != static_cast<ssize_t>(sizeof words))
      return std::nullopt;
    from = words;
  }
  const SharedPart part = part_in(from);
  if (part.mark != SharedPart::kMark || part.bytes == 0) return std::nullopt;
  return part;
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
  *handle = new Physical{bytes, how->location};
  Memory::get().tell_used(how->location);
  return kSuccess;
}
FLOPCAST_API int cuMemRelease(Physical* handle) {
  const std::lock_guard guard(Mapped::get().lock);
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
  return map_physical(reinterpret_cast<void*>(address), bytes, *handle);
}
FLOPCAST_API int cuMemUnmap(std::uintptr_t address, std::size_t bytes) {
  // A range may hold several maps, each as it was made.
  for (std::uintptr_t at = address; at < address + bytes;)
    at += unmap_physical(reinterpret_cast<void*>(at));
  return kSuccess;
}
FLOPCAST_API int cuMemExportToShareableHandle(void* out, Physical* handle, int type,
                                              unsigned long long) {
  if (!out || !handle) return kInvalidValue;
  return make_shareable(*handle) ? export_part(out, *handle->part, type) : kOutOfMemory;
}
FLOPCAST_API int cuMemImportFromShareableHandle(Physical** handle, void* from, int type) {
  const std::optional<SharedPart> part = import_part(from, type);
  if (!handle || !part) return kInvalidValue;
  *handle = new Physical{part->bytes, part->device, false, 1, part};
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
