// The system's random numbers: drawn anew in each run they would make each run another one, as PyTorch seeds its
// generators by them and its ranks compare what came of it. Here they differ between ranks, threads and draws alone.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

#include "base/numeric/mix.h"
#include "live/standin/clock/real.h"

using namespace flopcast::live;

/// std::random_device::_M_getval() of libstdc++: what its operator() returns. In real time, and in a child of a rank,
/// the kernel's: libstdc++ may be loaded out of this library's sight.
FLOPCAST_INTERPOSED unsigned _ZNSt13random_device9_M_getvalEv(void* /*device*/) {
  Speaker* const me = followed();
  if (!me) {
    unsigned value = 0;
    if (::getentropy(&value, sizeof value) != 0) std::abort();
    return value;
  }
  const char* const rank = std::getenv("RANK");
  const std::uint64_t process = rank ? std::strtoull(rank, nullptr, 10) : 0;
  const std::uint64_t thread = flopcast::mix(flopcast::mix(process) + me->name);
  return static_cast<unsigned>(flopcast::mix(thread + ++me->draws) >> 32U);
}
