// The system's random numbers: drawn anew in each run they would make each run another one, as PyTorch seeds its
// generators by them and its ranks compare what came of it. Here they differ between ranks, threads and draws alone.
#include <cstdint>
#include <cstdlib>

#include "base/numeric/mix.h"
#include "live/clock/real.h"

using namespace flopcast::live;

namespace {
constinit Real<unsigned(void*)> real_getval{"_ZNSt13random_device9_M_getvalEv"};
}  // namespace

/// std::random_device::_M_getval() of libstdc++: what its operator() returns.
FLOPCAST_INTERPOSED unsigned _ZNSt13random_device9_M_getvalEv(void* device) {
  Speaker* const me = followed();
  if (!me) return real_getval(device);
  const char* const rank = std::getenv("RANK");
  const std::uint64_t process = rank ? std::strtoull(rank, nullptr, 10) : 0;
  const std::uint64_t thread = flopcast::mix(flopcast::mix(process) + me->name);
  return static_cast<unsigned>(flopcast::mix(thread + ++me->draws) >> 32U);
}
