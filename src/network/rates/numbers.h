// Numbers of the flow simulator: integers only, so that sums do not depend on their order.
//
//   time   int64   ps
//   rate   int64   2^-10 byte/s
//   level  int64   rate a plain flow has when it is held back at that level of the water
//   work   int128  rate x ps: 1 byte is 1024 * 10^12
//
// A flow in a fairness group of n active flows has the fraction 1/n of a plain flow's share:
// rate = level * fraction / 2^28, rounded down. Plain flows have fraction 2^28, rate == level.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace flopcast::network::flow {

using Ps = std::int64_t;
using Level = std::int64_t;
__extension__ using Work = __int128;

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
constexpr Ps kNever = std::numeric_limits<Ps>::max();
constexpr Level kInactive = -1;                                     ///< of a flow on no link
constexpr Level kOpen = -1;                                         ///< of a flow not frozen yet
constexpr Level kUnbounded = std::numeric_limits<Level>::max();     ///< of a link with slack
constexpr Level kMaxLevel = std::numeric_limits<Level>::max() / 2;  ///< of a flow
constexpr int kFractionBits = 28;
constexpr std::uint32_t kWhole = std::uint32_t{1} << kFractionBits;  ///< fraction of a plain flow
constexpr Work kWorkPerByte = Work{1024} * 1'000'000'000'000;

/// Level that `avail` gives to flows whose weight x fraction sums to `weight`.
inline Level share(std::int64_t avail, std::uint64_t weight) {
  if (weight == 0) return kUnbounded;
  if (avail <= 0) return 0;
  if ((weight & (kWhole - 1)) == 0) return avail / static_cast<Level>(weight >> kFractionBits);
  const Work level = (static_cast<Work>(avail) << kFractionBits) / static_cast<Work>(weight);
  return static_cast<Level>(std::min<Work>(level, kMaxLevel));
}

inline std::int64_t rate_at(Level level, std::uint32_t fraction) {
  if (fraction == kWhole) return level;
  return static_cast<std::int64_t>((static_cast<Work>(level) * fraction) >> kFractionBits);
}

/// When `left` is done that goes on at `rate` from `now` on: rounded up to whole ps.
inline Ps end_of(Work left, std::int64_t rate, Ps now) {
  if (left <= 0) return now;
  if (rate <= 0) return kNever;
  const Work wait = (left + rate - 1) / rate;
  return wait < static_cast<Work>(kNever - now) ? now + static_cast<Ps>(wait) : kNever;
}

}  // namespace flopcast::network::flow
