#include "serving/fleet/totals.h"

#include <algorithm>
#include <cmath>

#include "base/numeric/rank.h"

namespace flopcast {

using namespace serving;

Time RequestOutcome::tpot() const {
  return output > 1 ? Time{(done - first_token).ps / (output - 1)} : Time{};
}

ServingPercentiles percentiles_of(std::vector<Time>& times) {
  ServingPercentiles all;
  all.count = times.size();
  if (times.empty()) return all;
  __extension__ __int128 sum = 0;
  for (const Time time : times) sum += time.ps;
  const auto count = static_cast<std::int64_t>(times.size());
  all.mean = {static_cast<double>(sum) / static_cast<double>(count) * 1e-12};
  auto begin = times.begin();
  const auto at = [&](double percent) {
    const auto rank = times.begin() + nearest_rank(count, percent);
    std::nth_element(begin, rank, times.end());  // what is before it is below it already
    begin = rank;
    return Seconds{rank->seconds()};
  };
  all.p50 = at(50);
  all.p90 = at(90);
  all.p95 = at(95);
  all.p99 = at(99);
  all.max = at(100);
  return all;
}

double FleetRun::within(Seconds most_ttft, Seconds most_tpot) const {
  std::uint64_t all = 0, good = 0;
  for (const RequestOutcome& request : requests) {
    if (!request.counted) continue;
    ++all;
    if (request.done == Time::max()) continue;
    good +=
        request.ttft().seconds() <= most_ttft.value && request.tpot().seconds() <= most_tpot.value;
  }
  return all == 0 ? 0 : static_cast<double>(good) / static_cast<double>(all);
}

bool outpaced(const FleetRun& run) {
  constexpr double kShare = 0.05, kDeviations = 3;
  Time first = Time::max(), last;
  for (const RequestOutcome& request : run.requests) {
    if (!request.counted || request.sent == Time::max()) continue;
    first = std::min(first, request.sent);
    last = std::max(last, request.sent);
  }
  if (last <= first) return false;
  const Time middle = first + Time{(last - first).ps / 2};
  double came = 0, before = 0, after = 0;
  for (const RequestOutcome& request : run.requests) {
    if (!request.counted || request.sent == Time::max()) continue;
    came += request.sent > middle;
    before += request.sent <= middle && request.first_token > middle;
    after += request.first_token > last;
  }
  return after - before > kShare * came && after - before > kDeviations * std::sqrt(before + 1);
}

}  // namespace flopcast

namespace flopcast::serving {
namespace {

ServingPercentiles of_gaps(const TokenGaps& gaps) {
  ServingPercentiles all;
  all.count = static_cast<std::uint64_t>(gaps.count());
  all.mean = gaps.mean();
  all.p50 = {gaps.percentile(50).seconds()};
  all.p90 = {gaps.percentile(90).seconds()};
  all.p95 = {gaps.percentile(95).seconds()};
  all.p99 = {gaps.percentile(99).seconds()};
  all.max = {gaps.max().seconds()};
  return all;
}

}  // namespace

void add_totals(FleetRun& run, const TokenGaps& gaps) {
  std::vector<Time> ttft, tpot, latency;
  std::int64_t input = 0, output = 0;
  std::uint64_t counted = 0;
  run.begin = Time::max();
  run.end = Time{};
  for (const RequestOutcome& request : run.requests) {
    if (!request.counted) continue;
    ++counted;
    run.begin = std::min(run.begin, request.sent);
    if (request.done == Time::max()) continue;
    run.end = std::max(run.end, request.done);
    ttft.push_back(request.ttft());
    if (request.output > 1) tpot.push_back(request.tpot());
    latency.push_back(request.done - request.sent);
    input += request.input;
    output += request.output;
  }
  if (run.begin == Time::max()) run.begin = Time{};
  run.end = std::max(run.end, run.begin);
  run.answered = latency.size();
  run.unanswered = counted - run.answered - run.lost;
  run.ttft = percentiles_of(ttft);
  run.tpot = percentiles_of(tpot);
  run.latency = percentiles_of(latency);
  run.inter_token = of_gaps(gaps);
  const double span = (run.end - run.begin).seconds();
  if (span <= 0) return;
  run.output_tokens_per_s = static_cast<double>(output) / span;
  run.total_tokens_per_s = static_cast<double>(input + output) / span;
  run.requests_per_s = static_cast<double>(run.answered) / span;
}

}  // namespace flopcast::serving
