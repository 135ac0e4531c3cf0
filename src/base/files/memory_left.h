// How much memory is left for whoever is about to fill it.
#pragma once

#include <cstdint>

namespace flopcast {

/// Bytes that this process may still have: what the kernel reckons for new programs, or what a container has left.
std::int64_t memory_left();

}  // namespace flopcast
