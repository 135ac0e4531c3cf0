// The CUDA runtime's calls about memory.
#include <cerrno>

#include "live/standin/api/api.h"
#include "live/standin/link/link.h"
#include "live/standin/memory/memory.h"

namespace flopcast::live {
namespace {

void tell(Act act, const Block& block) {
  Record record;
  record.act = act;
  record.device = static_cast<std::uint16_t>(block.device);
  record.duration_ns = kCallNs;
  record.word[0] = block.address;
  record.word[1] = block.bytes;
  record.word[2] = block.taken;
  Link::get().say(record);
  Memory::get().tell_used(block.device);
}

int allocate(void** pointer, std::size_t bytes, Place place) {
  if (!pointer) return kInvalidValue;
  *pointer = nullptr;
  if (bytes == 0) return kSuccess;
  const std::optional<Block> block = Memory::get().allocate(bytes, current_device(), place);
  if (!block) return kOutOfMemory;
  *pointer = reinterpret_cast<void*>(block->address);
  tell(Act::kAllocate, *block);
  return kSuccess;
}

int release(void* pointer) {
  if (!pointer) return kSuccess;
  const std::optional<Block> block = Memory::get().free(pointer);
  if (!block) return kInvalidValue;
  tell(Act::kFree, *block);
  return kSuccess;
}

/// cudaPointerAttributes; both major versions lay it out alike.
struct PointerAttributes {
  int type;  ///< 0 unregistered, 1 host, 2 device, 3 managed
  int device;
  void *device_pointer, *host_pointer;
};

int type_of(Place place) {
  switch (place) {
    case Place::kDevice:
    case Place::kMapped:
      return 2;
    case Place::kManaged:
      return 3;
    default:
      return 1;
  }
}

}  // namespace
}  // namespace flopcast::live

using namespace flopcast::live;

FLOPCAST_API int cudaMalloc(void** pointer, std::size_t bytes) {
  return remembered(allocate(pointer, bytes, Place::kDevice));
}
FLOPCAST_API int cudaMallocManaged(void** pointer, std::size_t bytes, unsigned) {
  return remembered(allocate(pointer, bytes, Place::kManaged));
}
FLOPCAST_API int cudaMallocHost(void** pointer, std::size_t bytes) {
  return remembered(allocate(pointer, bytes, Place::kPinned));
}
FLOPCAST_API int cudaHostAlloc(void** pointer, std::size_t bytes, unsigned) {
  return remembered(allocate(pointer, bytes, Place::kPinned));
}
FLOPCAST_API int cudaFree(void* pointer) { return remembered(release(pointer)); }
FLOPCAST_API int cudaFreeHost(void* pointer) { return remembered(release(pointer)); }

FLOPCAST_API int cudaHostRegister(void* pointer, std::size_t bytes, unsigned) {
  const bool fresh = Memory::get().add(pointer, bytes, current_device());
  return remembered(fresh ? kSuccess : kInvalidValue);
}
FLOPCAST_API int cudaHostUnregister(void* pointer) {
  return remembered(Memory::get().free(pointer) ? kSuccess : kInvalidValue);
}
FLOPCAST_API int cudaHostGetDevicePointer(void** device, void* host, unsigned) {
  *device = host;
  return kSuccess;
}

FLOPCAST_API int cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  Memory::get().open(current_device());
  *total = Memory::capacity();
  *free = *total - Memory::get().used(current_device());
  return kSuccess;
}

FLOPCAST_API int cudaPointerGetAttributes(void* attributes, const void* pointer) {
  auto& answer = *static_cast<PointerAttributes*>(attributes);
  const std::optional<Block> block = Memory::get().find(pointer);
  if (!block) {
    answer = {0, -1, nullptr, nullptr};
    return kSuccess;
  }
  void* const at = const_cast<void*>(pointer);
  const bool host = type_of(block->place) != 2;  // managed memory is both's
  answer = {type_of(block->place), block->device, at, host ? at : nullptr};
  return kSuccess;
}

/// cudaHostAllocMapped, cudaHostAllocPortable: all is mapped, and for every device.
FLOPCAST_API int cudaHostGetFlags(unsigned* flags, void* pointer) {
  const std::optional<Block> block = Memory::get().find(pointer);
  if (!block || of_device(block->place)) return remembered(kInvalidValue);
  *flags = 3;
  return kSuccess;
}
FLOPCAST_API int cudaMallocPitch(void** pointer, std::size_t* pitch, std::size_t width,
                                 std::size_t height) {
  constexpr std::size_t kPitch = 512;
  *pitch = (width + kPitch - 1) / kPitch * kPitch;
  return remembered(allocate(pointer, *pitch * height, Place::kDevice));
}
#if FLOPCAST_CUDA_MAJOR == 12
FLOPCAST_API int cudaMemPrefetchAsync(const void*, std::size_t, int, void*) { return kSuccess; }
FLOPCAST_API int cudaMemAdvise(const void*, std::size_t, int, int) { return kSuccess; }
#endif
