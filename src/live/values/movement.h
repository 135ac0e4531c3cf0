// Copies and fills of device bytes: which bytes really move, and whether they are then what a GPU would have.
#pragma once

#include <cstddef>

namespace flopcast::live {

/// Host to device.
void move_in(void* to, const void* from, std::size_t bytes);
/// Within a device, and between devices.
void move_within(void* to, const void* from, std::size_t bytes);
/// Device to host. Tainted bytes are read as zero, which is finite in every type, and are counted.
void read_back(void* to, const void* from, std::size_t bytes);
/// A memset, `count` times an element of `width` bytes (1, 2 or 4).
void fill_in(void* to, unsigned value, std::size_t width, std::size_t count);

/// Whether calls of this thread move bytes and change what is valid; not while a plug-in makes the values.
bool values_move();

}  // namespace flopcast::live
