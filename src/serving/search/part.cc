#include "serving/search/part.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "base/numeric/rank.h"

namespace flopcast::serving {
namespace {

using Quantity = ServiceLimit::Quantity;

/// At least this, whatever comes later.
Time least_so_far(const RequestOutcome& request, Quantity quantity, Time end) {
  const Time waited = std::max(Time{}, end - request.sent);
  if (quantity == Quantity::kTtft) {
    return request.first_token == Time::max() ? waited : request.ttft();
  }
  if (request.done == Time::max()) return quantity == Quantity::kLatency ? waited : Time{};
  return quantity == Quantity::kLatency ? request.done - request.sent : request.tpot();
}

}  // namespace

double least_ratio_of(const FleetRun& part, Time end, std::int64_t requests,
                      std::span<const ServiceLimit> limits) {
  double worst = 0;
  std::vector<Time> known;
  for (const ServiceLimit& limit : limits) {
    if (limit.percentile == 0 || limit.quantity == Quantity::kInterToken) continue;
    known.clear();
    for (const RequestOutcome& request : part.requests) {
      if (!request.counted || request.sent == Time::max() || request.sent > end) continue;
      known.push_back(least_so_far(request, limit.quantity, end));
    }
    // So many may be longer than the percentile.
    const std::int64_t longer = requests - 1 - nearest_rank(requests, limit.percentile);
    if (static_cast<std::int64_t>(known.size()) <= longer) continue;
    std::nth_element(known.begin(), known.begin() + longer, known.end(), std::greater<>());
    const Time least = known[static_cast<std::size_t>(longer)];
    worst = std::max(worst, least.seconds() / limit.below.value);
  }
  return worst;
}

}  // namespace flopcast::serving
