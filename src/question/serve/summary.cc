// A run in the numbers that are compared.
#include <algorithm>

#include "flopcast/question/serve.h"

namespace flopcast {
namespace {

bool keeps(const RequestOutcome& request, const ServiceLimit& limit) {
  using Quantity = ServiceLimit::Quantity;
  switch (limit.quantity) {
    case Quantity::kTtft:
      return request.ttft().seconds() < limit.below.value;
    case Quantity::kTpot:
      return request.tpot().seconds() < limit.below.value;
    case Quantity::kLatency:
      return (request.done - request.sent).seconds() < limit.below.value;
    case Quantity::kInterToken:
      return true;  // gaps are counted over all requests
  }
  return true;
}

/// Share of the requests that count which keep every limit.
double share_within(const FleetRun& run, std::span<const ServiceLimit> limits) {
  std::uint64_t counted = 0, within = 0;
  for (const RequestOutcome& request : run.requests) {
    if (!request.counted) continue;
    ++counted;
    if (request.done == Time::max()) continue;
    within += std::ranges::all_of(limits,
                                  [&](const ServiceLimit& limit) { return keeps(request, limit); });
  }
  return counted == 0 ? 0 : static_cast<double>(within) / static_cast<double>(counted);
}

/// Chips that are paid for, on average over the run.
double paid_chips(const FleetRun& run, const Fleet& fleet) {
  const double seconds = (run.end - run.begin).seconds();
  if (!fleet.autoscaling || !(seconds > 0)) return fleet.chips();
  return run.replica_seconds * fleet.pool.deployment.layout.chips() / seconds;
}

}  // namespace

ServeSummary summarize_serving(const FleetRun& run, const Fleet& fleet,
                               std::span<const ServiceLimit> limits, double usd_per_chip_hour) {
  ServeSummary summary;
  summary.chips = fleet.chips();
  summary.ttft = run.ttft;
  summary.tpot = run.tpot;
  summary.inter_token = run.inter_token;
  summary.latency = run.latency;
  summary.output_tokens_per_s = run.output_tokens_per_s;
  summary.total_tokens_per_s = run.total_tokens_per_s;
  summary.requests_per_s = run.requests_per_s;
  summary.answered = run.answered;
  summary.lost = run.lost;
  summary.unanswered = run.unanswered;
  summary.preemptions = run.counts.preemptions;
  summary.within = share_within(run, limits);
  const double counted = static_cast<double>(run.answered + run.lost + run.unanswered);
  const double answered = counted > 0 ? static_cast<double>(run.answered) / counted : 0;
  if (answered > 0) {
    summary.goodput_requests_per_s = run.requests_per_s * summary.within / answered;
  }
  summary.meets = meets(run, limits);
  if (run.output_tokens_per_s > 0) {
    summary.usd_per_million_tokens =
        usd_per_chip_hour * paid_chips(run, fleet) / 3600 / run.output_tokens_per_s * 1e6;
  }
  return summary;
}

}  // namespace flopcast
