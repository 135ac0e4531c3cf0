#include "serving/fleet/router.h"

#include <algorithm>

namespace flopcast::serving {
namespace {

// Defaults of sgl-model-gateway's cache_aware policy: docs/concepts/routing/cache-aware.md of lightseekorg/smg.
constexpr double kCacheThreshold = 0.3;
constexpr std::int64_t kBalanceAbsolute = 64;
constexpr double kBalanceRelative = 1.5;

}  // namespace

/// The next in turn that has this load.
std::size_t RequestRouter::next_with(std::span<const std::int64_t> loads, std::int64_t load) const {
  const auto next = loads.begin() + static_cast<std::ptrdiff_t>((last_ + 1) % loads.size());
  auto found = std::find(next, loads.end(), load);
  if (found == loads.end()) found = std::find(loads.begin(), next, load);
  return static_cast<std::size_t>(found - loads.begin());
}

std::size_t RequestRouter::next_in_turn(const Seats& seats) const {
  std::size_t index = (last_ + 1) % seats.size();
  while (!seats.open(index)) index = (index + 1) % seats.size();
  return index;
}

std::size_t RequestRouter::least_loaded(const Seats& seats) const {
  const std::span<const std::int64_t> loads = seats.loads();
  std::int64_t least = Seats::kClosed;
  for (const std::int64_t load : loads) least = std::min(least, load);
  return next_with(loads, least);
}

bool RequestRouter::out_of_balance(const Seats& seats) {
  std::int64_t least = Seats::kClosed, most = 0;
  for (const std::int64_t load : seats.loads()) {
    least = std::min(least, load);
    if (load != Seats::kClosed) most = std::max(most, load);
  }
  return most > least + kBalanceAbsolute &&
         static_cast<double>(most) > kBalanceRelative * static_cast<double>(least);
}

std::optional<std::size_t> RequestRouter::holder(const Seats& seats,
                                                 const RoutedRequest& request) const {
  std::optional<std::size_t> best;
  auto most = static_cast<std::int64_t>(kCacheThreshold * static_cast<double>(request.input));
  for (std::size_t i = 0; i < seats.size() && !request.prefix.empty(); ++i) {
    if (!seats.open(i)) continue;
    const std::int64_t held = seats[i].engine->cached_tokens(request.prefix, request.prefix_block);
    const bool better =
        held > most || (best && held == most && seats.loads()[i] < seats.loads()[*best]);
    if (better) best = i, most = held;
  }
  if (best || request.session == 0) return best;
  const auto known = of_session_.find(request.session);
  if (known != of_session_.end() && seats.open(known->second)) best = known->second;
  return best;
}

std::optional<std::size_t> RequestRouter::choose(const Seats& seats, const RoutedRequest& request) {
  if (!seats.any_open()) return std::nullopt;
  std::optional<std::size_t> chosen;
  if (rule_ == Router::kRoundRobin) chosen = next_in_turn(seats);
  if (rule_ == Router::kPrefixAware && !out_of_balance(seats)) chosen = holder(seats, request);
  if (!chosen) chosen = least_loaded(seats);
  last_ = *chosen;
  if (rule_ == Router::kPrefixAware && request.session != 0) of_session_[request.session] = *chosen;
  return chosen;
}

}  // namespace flopcast::serving
