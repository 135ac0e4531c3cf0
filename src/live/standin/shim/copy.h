// Copies and fills as work that streams do or graphs keep.
#pragma once

#include <cstddef>

#include "live/standin/shim/stream.h"

namespace flopcast::live {

/// Rows of `width` bytes, each `pitch` behind the one before, in planes of `rows` pitches.
struct Extent {
  std::size_t width = 0, height = 1, depth = 1;
  std::size_t to_pitch = 0, from_pitch = 0;
  std::size_t to_rows = 0, from_rows = 0;
  std::size_t bytes() const { return width * height * depth; }
};

/// @param direction cudaMemcpyKind
Work work_of_copy(void* to, const void* from, std::size_t bytes, int direction);
Work work_of_copy(void* to, const void* from, const Extent& extent, int direction);
/// @param element_bytes 1, 2 or 4, of which a row has `width`
Work work_of_fill(void* to, std::size_t pitch, unsigned value, std::size_t element_bytes,
                  std::size_t width, std::size_t height);
/// Puts it on the stream. @param waits the call returns when it is done
int put_copy(Work work, void* to, void* stream, bool waits);
int put_fill(Work work, void* stream, bool waits);

}  // namespace flopcast::live
