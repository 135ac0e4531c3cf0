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
    // Past what all replicas may run at once clients only queue.
    const std::int64_t most = std::clamp<std::int64_t>(
        4 * load.users, 64,
        std::max(load.users, fleet.pool.deployment.settings.max_requests *
                                 std::int64_t{fleet.pool.deployment.layout.dp} *
                                 (fleet.decode ? fleet.decode->replicas : fleet.pool.replicas)));
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

ServingWorkload with_load(ServingWorkload workload, double load) {
  switch (workload.kind) {
    case LoadKind::kClosed:
      workload.users = std::llround(load);
      workload.count = 10 * workload.users;
      break;
    case LoadKind::kRate:
      workload.rate = load;
      break;
    case LoadKind::kTrace:
      workload.time_scale = load;
      break;
  }
  return workload;
}

}  // namespace

void run_curve(const PreparedFleet& fleet, const ServeOptions& options, ServeAnswer& answer) {
  const ServingWorkload& workload = answer.question.workload;
  answer.curve_of = workload.kind == LoadKind::kClosed ? "users"
                    : workload.kind == LoadKind::kRate ? "requests/s"
                                                       : "times the trace's rate";
  const std::vector<double> loads = loads_of(workload, fleet.fleet());
  std::vector<std::optional<ServeSummary>> summaries(loads.size());
  parallel_for(loads.size(), options.threads, [&](std::size_t i) {
    FleetOptions run_options;
    run_options.leap = options.leap;
    const Result<FleetRun> run = fleet.run(with_load(workload, loads[i]), run_options);
    if (run) summaries[i] = summarize_serving(*run, fleet.fleet(), answer.question);
  });
  for (std::size_t i = 0; i < loads.size(); ++i) {
    if (summaries[i]) answer.curve.push_back({loads[i], *std::move(summaries[i])});
  }
}

}  // namespace flopcast::question
