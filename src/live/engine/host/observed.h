// What a run's recording says of the host.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "flopcast/live/host.h"

namespace flopcast::live {

/// Of one run, all ranks together.
struct Observed {
  std::array<std::vector<std::int64_t>, kHostCosts>
      calls;  ///< nanoseconds of each, by what it costs
  std::array<std::uint64_t, kHostCosts>
      made{};          ///< calls that did not wait, operators, launches outside
  double host_s = 0;   ///< of threads that launch kernels: all but calls, and without the profiler
  double calls_s = 0;  ///< their calls that did not wait
  double profiler_s = 0;  ///< what recording took of their time

  std::uint64_t count(HostCost cost) const { return made[static_cast<std::size_t>(cost)]; }
  std::vector<std::int64_t>& of(HostCost cost) { return calls[static_cast<std::size_t>(cost)]; }
};

Observed observe(const TraceSet& run);

}  // namespace flopcast::live
