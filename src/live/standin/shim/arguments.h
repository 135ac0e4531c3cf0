// What a launch's arguments say of the bytes that its kernel moves.
#pragma once

#include <cstdint>
#include <optional>

#include "live/standin/shim/kernels.h"

namespace flopcast::live {

struct ArgumentBytes {
  std::uint64_t read = 0, written = 0;
};
/// Of a kernel whose module tells its parameters. What a pointer leads to is read or written once, but no more than there
/// is: up to the next pointer, or to the end of the allocation. None where nothing points to a device's memory, and where
/// parameters are structures.
///
/// Inductor's kernels (triton_...) have the sizes of their loops behind the pointers, in numbers of 32 bits: each pointer
/// leads to so many elements of four bytes, and the last one is written. What a reduction writes is less, and lies in a
/// small allocation, which limits it.
/// Of others the grid tells: a thread moves 16 bytes by each pointer, half of the pointers are written.
std::optional<ArgumentBytes> bytes_by_arguments(const KernelObject& kernel, const LaunchSize& size,
                                                void* const* arguments);

/// Of the allocations that its pointers lead to, from there to the end or to the next pointer; 0 where nothing is known of
/// its parameters.
std::uint64_t bytes_behind(const KernelObject& kernel, void* const* arguments);

/// Of PyTorch's kernel that only waits (torch.cuda._sleep): how many cycles of the clock.
std::optional<std::int64_t> cycles_by_arguments(const KernelObject& kernel, void* const* arguments);

}  // namespace flopcast::live
