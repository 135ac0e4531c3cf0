// Memory and events that programs hand to other processes as handles of 64 bytes.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <mutex>

#include "live/standin/api/api.h"
#include "live/standin/link/link.h"
#include "live/standin/memory/memory.h"
#include "live/standin/memory/shared_memory.h"
#include "live/standin/shim/stream.h"

namespace flopcast::live {
namespace {

/// cudaIpcMemHandle_t, cudaIpcEventHandle_t and their namesakes of the driver: passed by value.
struct IpcHandle {
  unsigned char bytes[64];
};

/// What other processes' handles have brought here, by place in the file.
struct Opened {
  char* address = nullptr;
  std::size_t bytes = 0;
  int handles = 0;
};
struct OpenedParts {
  std::mutex lock;
  std::map<std::uint64_t, Opened> parts;
  static OpenedParts& get() {
    static OpenedParts* const opened = new OpenedParts;
    return *opened;
  }
};

/// Small blocks share a page of the device, and so do those who get a handle of one.
int get_memory_handle(IpcHandle* handle, void* address) {
  const std::optional<Block> block = Memory::get().find(address);
  if (!handle || !block || block->place != Place::kDevice) return kInvalidValue;
  const std::uintptr_t begin = block->address / Memory::kPage * Memory::kPage;
  const std::size_t bytes = block->taken > 0 ? block->taken : Memory::kPage;
  std::optional<SharedPart> part =
      share_memory(reinterpret_cast<void*>(begin), bytes, block->device);
  if (!part) return kOutOfMemory;
  part->offset = block->address - begin;
  part->length = block->bytes;
  *handle = {};
  std::memcpy(handle, &*part, sizeof *part);
  return kSuccess;
}

/// A part that was not here yet. It is charged to the process that made it.
int open_part(const SharedPart& part, Opened& opened) {
  void* const at = Memory::reserve(part.bytes);
  if (!at) return kOutOfMemory;
  if (!map_shared(part, at)) {
    ::munmap(at, part.bytes);
    return kInvalidHandle;
  }
  Memory::get().map(at, part.bytes, part.device);
  opened = {static_cast<char*>(at), part.bytes, 0};
  return kSuccess;
}

int open_memory(void** address, const IpcHandle& handle) {
  const SharedPart part = part_in(&handle);
  if (!address || part.mark != SharedPart::kMark) return kInvalidHandle;
  if (part.owner == ::getpid()) return kInvalidContext;
  OpenedParts& all = OpenedParts::get();
  const std::lock_guard guard(all.lock);
  Opened& opened = all.parts[part.place];
  if (opened.handles == 0) {
    const int status = open_part(part, opened);
    if (status != kSuccess) {
      all.parts.erase(part.place);
      return status;
    }
  }
  ++opened.handles;
  *address = opened.address + part.offset;
  return kSuccess;
}

int close_memory(void* address) {
  OpenedParts& all = OpenedParts::get();
  const std::lock_guard guard(all.lock);
  for (auto& [place, opened] : all.parts) {
    if (address < opened.address || address >= opened.address + opened.bytes) continue;
    if (--opened.handles > 0) return kSuccess;
    unmap_shared(opened.address);
    Memory::get().free(opened.address);
    ::munmap(opened.address, opened.bytes);
    all.parts.erase(place);
    return kSuccess;
  }
  return kInvalidValue;
}

/// Whoever opens an event has one of its own, that has happened: what one process puts on a GPU does not wait for
/// what another has put there. Its bytes are there, since effects come with the calls.
int open_event(void** event, const IpcHandle& handle) {
  std::uint64_t mark = 0;
  std::memcpy(&mark, &handle, sizeof mark);
  if (!event || mark != SharedPart::kMark) return kInvalidHandle;
  *event = new EventObject{next_event(), false};
  return kSuccess;
}

int get_event_handle(IpcHandle* handle, const EventObject* event) {
  if (!handle || !event || event->keeps_times) return kInvalidValue;
  *handle = {};
  std::memcpy(handle, &SharedPart::kMark, sizeof SharedPart::kMark);
  return kSuccess;
}

}  // namespace
}  // namespace flopcast::live

using namespace flopcast::live;

FLOPCAST_API int cudaIpcGetMemHandle(IpcHandle* handle, void* address) {
  return remembered(get_memory_handle(handle, address));
}
FLOPCAST_API int cudaIpcOpenMemHandle(void** address, IpcHandle handle, unsigned) {
  return remembered(open_memory(address, handle));
}
FLOPCAST_API int cudaIpcCloseMemHandle(void* address) { return remembered(close_memory(address)); }
FLOPCAST_API int cudaIpcGetEventHandle(IpcHandle* handle, void* event) {
  return remembered(get_event_handle(handle, static_cast<EventObject*>(event)));
}
FLOPCAST_API int cudaIpcOpenEventHandle(void** event, IpcHandle handle) {
  return remembered(open_event(event, handle));
}
