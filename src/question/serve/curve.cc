// Latency against throughput: the same fleet under other loads.
#include <algorithm>
#include <cmath>

#include "question/serve/answer.h"

namespace flopcast::question {
namespace {

using LoadKind = ServingWorkload::Kind;

/// 1, 2, 4, ... users; parts and multiples of a rate.
std::vector<double> loads_of(const ServingWorkload& load, const Fleet& fleet) {
  std::vector<double> loads;
  if (load.kind == LoadKind::kClosed) {
    // Past what all replicas may run at once clients only queue; past the requests they have nothing to ask.
    const std::int64_t most = std::clamp<std::int64_t>(
        std::max<std::int64_t>(4 * load.users, 64), load.users,
        std::max(load.users,
                 load.count > 0 ? std::min(load.count, seats_of(fleet)) : seats_of(fleet)));
    for (std::int64_t users = 1; users < most; users *= 2) {
      loads.push_back(static_cast<double>(users));
    }
    loads.push_back(static_cast<double>(most));
    loads.push_back(static_cast<double>(load.users));
    std::ranges::sort(loads);
    loads.erase(std::unique(loads.begin(), loads.end()), loads.end());
    return loads;
  }
  const double now = load.kind == LoadKind::kRate ? load.rate : load.time_scale;
  for (const double times : {0.125, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0}) {
    loads.push_back(now * times);
  }
  return loads;
}

}  // namespace

void run_curve(const PreparedFleet& fleet, const ServeOptions& options, ServeAnswer& answer) {
  const ServingWorkload& workload = answer.question.workload;
  const std::vector<double> loads = loads_of(workload, fleet.fleet());
  std::vector<std::optional<ServeSummary>> summaries(loads.size());
  parallel_for(loads.size(), options.threads, [&](std::size_t i) {
    FleetOptions run_options;
    run_options.leap = options.leap;
    const Result<FleetRun> run = fleet.run(at_load(workload, loads[i]), run_options);
    if (run)
      summaries[i] = summarize_serving(*run, fleet.fleet(), answer.question.limits,
                                       answer.question.usd_per_chip_hour);
  });
  for (std::size_t i = 0; i < loads.size(); ++i) {
    if (summaries[i]) answer.curve.push_back({loads[i], *std::move(summaries[i])});
  }
}

}  // namespace flopcast::question
