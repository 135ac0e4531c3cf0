#include "serving/fleet/router.h"

#include <algorithm>
#include <limits>

namespace flopcast::serving {
namespace {

// Defaults of sgl-model-gateway's cache_aware policy: docs/concepts/routing/cache-aware.md of lightseekorg/smg.
constexpr double kCacheThreshold = 0.3;
constexpr std::int64_t kBalanceAbsolute = 64;
constexpr double kBalanceRelative = 1.5;

}  // namespace

std::optional<std::size_t> RequestRouter::next_in_turn(const Seats& seats) const {
  for (std::size_t i = 1; i <= seats.size(); ++i) {
    const std::size_t index = (last_ + i) % seats.size();
    if (seats[index].open) return index;
  }
  return std::nullopt;
}

std::optional<std::size_t> RequestRouter::least_loaded(const Seats& seats) const {
  std::optional<std::size_t> best;
  std::size_t index = last_ + 1 < seats.size() ? last_ + 1 : 0;
  for (std::size_t i = 0; i < seats.size(); ++i, index = index + 1 < seats.size() ? index + 1 : 0) {
    const Seat& seat = seats[index];
    if (seat.open && (!best || seat.outstanding < seats[*best].outstanding)) best = index;
  }
  return best;
}

bool RequestRouter::out_of_balance(const Seats& seats) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max(), most = 0;
  for (std::size_t i = 0; i < seats.size(); ++i) {
    if (!seats[i].open) continue;
    least = std::min(least, seats[i].outstanding);
    most = std::max(most, seats[i].outstanding);
  }
  return most > least + kBalanceAbsolute &&
         static_cast<double>(most) > kBalanceRelative * static_cast<double>(least);
}

std::optional<std::size_t> RequestRouter::holder(const Seats& seats,
                                                 const RoutedRequest& request) const {
  std::optional<std::size_t> best;
  std::int64_t most =
      static_cast<std::int64_t>(kCacheThreshold * static_cast<double>(request.input));
  for (std::size_t i = 0; i < seats.size() && !request.prefix.empty(); ++i) {
    if (!seats[i].open) continue;
    const std::int64_t held = seats[i].engine->cached_tokens(request.prefix, request.prefix_block);
    const bool better =
        held > most || (best && held == most && seats[i].outstanding < seats[*best].outstanding);
    if (better) best = i, most = held;
  }
  if (best || request.session == 0) return best;
  const auto known = of_session_.find(request.session);
  if (known != of_session_.end() && seats[known->second].open) best = known->second;
  return best;
}

std::optional<std::size_t> RequestRouter::choose(const Seats& seats, const RoutedRequest& request) {
  std::optional<std::size_t> chosen;
  if (rule_ == Router::kRoundRobin) chosen = next_in_turn(seats);
  if (rule_ == Router::kPrefixAware && !out_of_balance(seats)) chosen = holder(seats, request);
  if (!chosen) chosen = least_loaded(seats);
  if (!chosen) return chosen;
  last_ = *chosen;
  if (rule_ == Router::kPrefixAware && request.session != 0) of_session_[request.session] = *chosen;
  return chosen;
}

}  // namespace flopcast::serving
