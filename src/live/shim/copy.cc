// Copies and fills.
#include <cstring>

#include "live/link/link.h"
#include "live/shim/api.h"
#include "live/shim/memory.h"
#include "live/shim/stream.h"
#include "live/values/movement.h"

namespace flopcast::live {
namespace {

/// cudaMemcpyKind
enum Direction : int { kHostToHost, kToDevice, kToHost, kOnDevice, kByAddress };

bool on_device(const void* pointer) {
  const std::optional<Block> block = Memory::get().find(pointer);
  return block && of_device(block->place);
}

bool is_pageable(const void* pointer) { return !Memory::get().find(pointer); }

CopyKind kind_of(void* to, const void* from, int direction) {
  if (direction == kByAddress) {
    direction = on_device(to) ? (on_device(from) ? kOnDevice : kToDevice)
                              : (on_device(from) ? kToHost : kHostToHost);
  }
  switch (direction) {
    case kToDevice:
      return CopyKind::kHostToDevice;
    case kToHost:
      return CopyKind::kDeviceToHost;
    case kOnDevice:
      return CopyKind::kDeviceToDevice;
    default:
      return CopyKind::kHost;
  }
}

void move(CopyKind kind, void* to, const void* from, std::size_t bytes) {
  switch (kind) {
    case CopyKind::kHostToDevice:
      return move_in(to, from, bytes);
    case CopyKind::kDeviceToHost:
      return read_back(to, from, bytes);
    case CopyKind::kDeviceToDevice:
    case CopyKind::kPeer:
      return move_within(to, from, bytes);
    case CopyKind::kHost:
      std::memmove(to, from, bytes);
  }
}

/// @param waits the call returns when the copy is done
int copy(void* to, const void* from, std::size_t bytes, int direction, void* stream, bool waits) {
  if (bytes == 0) return kSuccess;
  const CopyKind kind = kind_of(to, from, direction);
  Record record = record_on(stream, Act::kCopy);
  record.word[0] = bytes;
  record.word[1] = static_cast<std::uint64_t>(kind);
  // A copy to memory of the host that is not pinned is done when the call returns.
  const bool host_waits = waits || (kind == CopyKind::kDeviceToHost && is_pageable(to));
  if (host_waits) {
    Link::get().ask(record);
  } else {
    Link::get().say(record);
  }
  move(kind, to, from, bytes);
  return kSuccess;
}

int set(void* to, int value, std::size_t bytes, void* stream) {
  Record record = record_on(stream, Act::kFill);
  record.word[0] = bytes;
  Link::get().say(record);
  live::fill(to, static_cast<std::uint32_t>(value), 1, bytes);
  return kSuccess;
}

}  // namespace
}  // namespace flopcast::live

using namespace flopcast::live;

FLOPCAST_API int cudaMemcpy(void* to, const void* from, std::size_t bytes, int direction) {
  return remembered(copy(to, from, bytes, direction, nullptr, true));
}
FLOPCAST_API int cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, int direction,
                                 void* stream) {
  return remembered(copy(to, from, bytes, direction, stream, false));
}
FLOPCAST_API int cudaMemcpyPeerAsync(void* to, int, const void* from, int, std::size_t bytes,
                                     void* stream) {
  return remembered(copy(to, from, bytes, kOnDevice, stream, false));
}
FLOPCAST_API int cudaMemset(void* to, int value, std::size_t bytes) {
  return remembered(set(to, value, bytes, nullptr));
}
FLOPCAST_API int cudaMemsetAsync(void* to, int value, std::size_t bytes, void* stream) {
  return remembered(set(to, value, bytes, stream));
}
