// The largest load that a fleet takes within limits, by its forecast and at both ends of the band.
#include <fmt/format.h>

#include <algorithm>

#include "question/serve/answer.h"

namespace flopcast::question {

std::string load_unit(ServingWorkload::Kind kind) {
  if (kind == ServingWorkload::Kind::kClosed) return "users";
  return kind == ServingWorkload::Kind::kRate ? "requests/s" : "times the trace's rate";
}

Result<ServeLargest> largest_within(BandedFleet& fleet, const ServingWorkload& workload,
                                    const std::vector<ServiceLimit>& limits,
                                    const std::function<bool(std::uint64_t)>& progress) {
  const LoadRange range = load_range(workload.kind, seats_of(fleet.forecast().fleet()));
  std::uint64_t runs = 0;
  const auto find = [&](BandEnd end) {
    return largest_load(range, [&](double load) -> Result<TriedLoad> {
      if (progress && !progress(++runs)) {
        return Diagnostic{ErrorCode::kNoAnswer, "search", "was stopped", "ask again"};
      }
      return fleet.try_load(end, workload, load, limits);
    });
  };
  Result<LargestLoad> forecast = find(BandEnd::kForecast);
  if (!forecast) return forecast.error();
  Result<LargestLoad> slow = find(BandEnd::kSlow);
  if (!slow) return slow.error();
  Result<LargestLoad> fast = find(BandEnd::kFast);
  if (!fast) return fast.error();
  // A percentile's noise may put an end on the wrong side of the forecast: it is none there.
  return ServeLargest{{forecast->load, forecast->next(), std::min(slow->load, forecast->load),
                       std::max(fast->load, forecast->load)},
                      std::move(forecast->tried),
                      std::move(slow->tried),
                      std::move(fast->tried)};
}

Diagnostic no_load_holds(const ServeQuestion& question, const ServeLargest& largest) {
  Diagnostic none{ErrorCode::kNoAnswer, "slo", "", "allow looser limits, or use a faster fleet"};
  const std::string unit = load_unit(question.workload.kind);
  const TriedLoad& least = largest.tried.front();
  none.what = fmt::format("no load holds {}: at {} {} the fleet exceeds it {:.3g} times",
                          question.slo, least.load, unit, least.ratio);
  if (largest.margin.fast > 0) {
    none.what += fmt::format("; at the fast end of the band {} {} hold", largest.margin.fast, unit);
  }
  return none;
}

}  // namespace flopcast::question
