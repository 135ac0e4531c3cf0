// Copies and fills.
#include <cstring>

#include "live/standin/api/api.h"
#include "live/standin/link/link.h"
#include "live/standin/memory/memory.h"
#include "live/standin/shim/copy.h"
#include "live/standin/values/movement.h"

namespace flopcast::live {
namespace {

/// cudaMemcpyKind
enum Direction : int { kHostToHost, kToDevice, kToHost, kOnDevice, kByAddress };

/// The device that holds it; none if the host does.
std::optional<int> device_of(const void* pointer) {
  const std::optional<Block> block = Memory::get().find(pointer);
  if (!block || !of_device(block->place)) return std::nullopt;
  return block->device;
}

bool is_pageable(const void* pointer) { return !Memory::get().find(pointer); }

CopyKind kind_of(void* to, const void* from, int direction) {
  const std::optional<int> target = device_of(to), source = device_of(from);
  if (direction == kByAddress)
    direction = target ? (source ? kOnDevice : kToDevice) : (source ? kToHost : kHostToHost);
  switch (direction) {
    case kToDevice:
      return CopyKind::kHostToDevice;
    case kToHost:
      return CopyKind::kDeviceToHost;
    case kOnDevice:
      return target && source && target != source ? CopyKind::kPeer : CopyKind::kDeviceToDevice;
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

/// Bytes by rows: what overlaps stays right within a row only, as on a GPU.
void move_rows(CopyKind kind, void* to, const void* from, const Extent& extent) {
  auto* const target = static_cast<unsigned char*>(to);
  const auto* const source = static_cast<const unsigned char*>(from);
  for (std::size_t plane = 0; plane < extent.depth; ++plane) {
    for (std::size_t row = 0; row < extent.height; ++row) {
      move(kind, target + (plane * extent.to_rows + row) * extent.to_pitch,
           source + (plane * extent.from_rows + row) * extent.from_pitch, extent.width);
    }
  }
}

Work copy_record(void* to, const void* from, std::size_t bytes, int direction) {
  Work work;
  work.record.act = Act::kCopy;
  work.record.duration_ns = kCallNs;
  work.record.word[0] = bytes;
  work.record.word[1] = static_cast<std::uint64_t>(kind_of(to, from, direction));
  return work;
}

CopyKind kind_of(const Work& work) { return static_cast<CopyKind>(work.record.word[1]); }

int put_on(Work work, void* stream, bool waits) {
  if (work.record.word[0] == 0) return kSuccess;
  const bool captured = captures(stream);
  if (captured && waits) return refuse_in_capture(stream);
  const Record where = record_on(stream, work.record.act);
  work.record.device = where.device;
  work.record.stream = where.stream;
  if (waits) {
    tell_and_wait(work);
    if (work.effect) work.effect();
  } else {
    put(stream, std::move(work));
  }
  return kSuccess;
}

/// A copy on the default stream that the call waits for.
int copy_now(void* to, const void* from, std::size_t bytes, int direction) {
  return put_copy(work_of_copy(to, from, bytes, direction), to, nullptr, true);
}
int copy_soon(void* to, const void* from, std::size_t bytes, int direction, void* stream) {
  return put_copy(work_of_copy(to, from, bytes, direction), to, stream, false);
}

Extent rows(std::size_t to_pitch, std::size_t from_pitch, std::size_t width, std::size_t height) {
  return {width, height, 1, to_pitch, from_pitch, height, height};
}

int fill_elements(std::uintptr_t to, unsigned value, std::size_t element_bytes, std::size_t count,
                  void* stream) {
  return put_fill(work_of_fill(reinterpret_cast<void*>(to), 0, value, element_bytes, count, 1),
                  stream, false);
}

/// cudaMemcpy3DParms without arrays
struct Copy3D {
  void* from_array;
  std::size_t from_at[3];
  struct Pitched {
    unsigned char* memory;
    std::size_t pitch, width, height;
  } from;
  void* to_array;
  std::size_t to_at[3];
  Pitched to;
  std::size_t width, height, depth;
  int direction;
};

int copy_3d(const Copy3D& how, void* stream, bool waits) {
  if (how.from_array || how.to_array) return kNotSupported;
  const auto at = [](const Copy3D::Pitched& memory, const std::size_t* place) {
    return memory.memory + (place[2] * memory.height + place[1]) * memory.pitch + place[0];
  };
  unsigned char* const to = at(how.to, how.to_at);
  const Extent extent{how.width,      how.height,    how.depth,      how.to.pitch,
                      how.from.pitch, how.to.height, how.from.height};
  return put_copy(work_of_copy(to, at(how.from, how.from_at), extent, how.direction), to, stream,
                  waits);
}

}  // namespace

Work work_of_copy(void* to, const void* from, std::size_t bytes, int direction) {
  Work work = copy_record(to, from, bytes, direction);
  work.effect = [=, kind = kind_of(work)] { move(kind, to, from, bytes); };
  return work;
}

Work work_of_copy(void* to, const void* from, const Extent& extent, int direction) {
  Work work = copy_record(to, from, extent.bytes(), direction);
  work.effect = [=, kind = kind_of(work)] { move_rows(kind, to, from, extent); };
  return work;
}

Work work_of_fill(void* to, std::size_t pitch, unsigned value, std::size_t element_bytes,
                  std::size_t width, std::size_t height) {
  Work work;
  work.record.act = Act::kFill;
  work.record.duration_ns = kCallNs;
  work.record.word[0] = element_bytes * width * height;
  work.effect = [=] {
    for (std::size_t row = 0; row < height; ++row)
      fill(static_cast<unsigned char*>(to) + row * pitch, value, element_bytes, width);
  };
  return work;
}

int put_copy(Work work, void* to, void* stream, bool waits) {
  // A copy to memory of the host that is not pinned is done when the call returns.
  const bool to_host = kind_of(work) == CopyKind::kDeviceToHost;
  const bool host_waits = waits || (to_host && !captures(stream) && is_pageable(to));
  return put_on(std::move(work), stream, host_waits);
}

int put_fill(Work work, void* stream, bool waits) { return put_on(std::move(work), stream, waits); }

}  // namespace flopcast::live

using namespace flopcast::live;

FLOPCAST_API int cudaMemcpy(void* to, const void* from, std::size_t bytes, int direction) {
  return remembered(copy_now(to, from, bytes, direction));
}
FLOPCAST_API int cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, int direction,
                                 void* stream) {
  return remembered(copy_soon(to, from, bytes, direction, stream));
}
FLOPCAST_API int cudaMemcpyPeer(void* to, int, const void* from, int, std::size_t bytes) {
  return remembered(copy_now(to, from, bytes, kOnDevice));
}
FLOPCAST_API int cudaMemcpyPeerAsync(void* to, int, const void* from, int, std::size_t bytes,
                                     void* stream) {
  return remembered(copy_soon(to, from, bytes, kOnDevice, stream));
}
FLOPCAST_API int cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from,
                              std::size_t from_pitch, std::size_t width, std::size_t height,
                              int direction) {
  const Extent extent = rows(to_pitch, from_pitch, width, height);
  return remembered(put_copy(work_of_copy(to, from, extent, direction), to, nullptr, true));
}
FLOPCAST_API int cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from,
                                   std::size_t from_pitch, std::size_t width, std::size_t height,
                                   int direction, void* stream) {
  const Extent extent = rows(to_pitch, from_pitch, width, height);
  return remembered(put_copy(work_of_copy(to, from, extent, direction), to, stream, false));
}
FLOPCAST_API int cudaMemcpy3D(const Copy3D* how) {
  return remembered(copy_3d(*how, nullptr, true));
}
FLOPCAST_API int cudaMemcpy3DAsync(const Copy3D* how, void* stream) {
  return remembered(copy_3d(*how, stream, false));
}

FLOPCAST_API int cudaMemsetAsync(void* to, int value, std::size_t bytes, void* stream) {
  const Work work = work_of_fill(to, bytes, static_cast<unsigned>(value), 1, bytes, 1);
  return remembered(put_fill(work, stream, false));
}
FLOPCAST_API int cudaMemset(void* to, int value, std::size_t bytes) {
  return cudaMemsetAsync(to, value, bytes, nullptr);
}
FLOPCAST_API int cudaMemset2D(void* to, std::size_t pitch, int value, std::size_t width,
                              std::size_t height) {
  const Work work = work_of_fill(to, pitch, static_cast<unsigned>(value), 1, width, height);
  return remembered(put_fill(work, nullptr, false));
}
FLOPCAST_API int cudaMemset2DAsync(void* to, std::size_t pitch, int value, std::size_t width,
                                   std::size_t height, void* stream) {
  const Work work = work_of_fill(to, pitch, static_cast<unsigned>(value), 1, width, height);
  return remembered(put_fill(work, stream, false));
}

// The driver's: addresses are numbers.

FLOPCAST_API int cuMemcpy(std::uintptr_t to, std::uintptr_t from, std::size_t bytes) {
  return copy_now(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes, kByAddress);
}
FLOPCAST_API int cuMemcpyAsync(std::uintptr_t to, std::uintptr_t from, std::size_t bytes,
                               void* stream) {
  return copy_soon(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes, kByAddress,
                   stream);
}
FLOPCAST_API int cuMemcpyHtoD_v2(std::uintptr_t to, const void* from, std::size_t bytes) {
  return copy_now(reinterpret_cast<void*>(to), from, bytes, kToDevice);
}
FLOPCAST_API int cuMemcpyHtoDAsync_v2(std::uintptr_t to, const void* from, std::size_t bytes,
                                      void* stream) {
  return copy_soon(reinterpret_cast<void*>(to), from, bytes, kToDevice, stream);
}
FLOPCAST_API int cuMemcpyDtoH_v2(void* to, std::uintptr_t from, std::size_t bytes) {
  return copy_now(to, reinterpret_cast<void*>(from), bytes, kToHost);
}
FLOPCAST_API int cuMemcpyDtoHAsync_v2(void* to, std::uintptr_t from, std::size_t bytes,
                                      void* stream) {
  return copy_soon(to, reinterpret_cast<void*>(from), bytes, kToHost, stream);
}
FLOPCAST_API int cuMemcpyDtoD_v2(std::uintptr_t to, std::uintptr_t from, std::size_t bytes) {
  return copy_now(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes, kOnDevice);
}
FLOPCAST_API int cuMemcpyDtoDAsync_v2(std::uintptr_t to, std::uintptr_t from, std::size_t bytes,
                                      void* stream) {
  return copy_soon(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes, kOnDevice,
                   stream);
}

FLOPCAST_API int cuMemsetD8_v2(std::uintptr_t to, unsigned char value, std::size_t count) {
  return fill_elements(to, value, 1, count, nullptr);
}
FLOPCAST_API int cuMemsetD8Async(std::uintptr_t to, unsigned char value, std::size_t count,
                                 void* stream) {
  return fill_elements(to, value, 1, count, stream);
}
FLOPCAST_API int cuMemsetD16_v2(std::uintptr_t to, unsigned short value, std::size_t count) {
  return fill_elements(to, value, 2, count, nullptr);
}
FLOPCAST_API int cuMemsetD16Async(std::uintptr_t to, unsigned short value, std::size_t count,
                                  void* stream) {
  return fill_elements(to, value, 2, count, stream);
}
FLOPCAST_API int cuMemsetD32_v2(std::uintptr_t to, unsigned value, std::size_t count) {
  return fill_elements(to, value, 4, count, nullptr);
}
FLOPCAST_API int cuMemsetD32Async(std::uintptr_t to, unsigned value, std::size_t count,
                                  void* stream) {
  return fill_elements(to, value, 4, count, stream);
}
