// Copies and fills of device bytes: which really move, and whether they are then what a GPU would have there.
#pragma once

#include <cstddef>
#include <cstdint>

namespace flopcast::live {

/// Copies from the host and fills up to this are made, and so are those of as many elements as operators are executed on
/// (--values execute:N); what is larger is weights and activations, which would only take memory.
inline constexpr std::size_t kMovedBytes = std::size_t{1} << 20;

/// Host to device.
void move_in(void* to, const void* from, std::size_t bytes);
/// Within a device, and between devices: what is valid moves, and is valid there.
void move_within(void* to, const void* from, std::size_t bytes);
/// Device to host. Tainted bytes are read as zero, which is finite in every type, and the read is counted; a strict run ends
/// with it.
void read_back(void* to, const void* from, std::size_t bytes);
/// `count` times the low `width` bytes of the value.
void fill(void* to, std::uint32_t value, std::size_t width, std::size_t count);
/// Memory of the host that devices reach: what lies there is what a GPU would read, until a kernel that nobody ran
/// writes there.
void hold_what_the_host_writes(const void* at, std::size_t bytes);
/// Memory that is a device's no more.
void forget(const void* at, std::size_t bytes);

}  // namespace flopcast::live
