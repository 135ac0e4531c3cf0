#include "whatif/timed_run.h"

#include <algorithm>
#include <cmath>

#include "base/numeric/clock.h"

namespace flopcast::whatif {

using namespace replaying;

namespace {

/// Steps further from the median than this part of it are out of the ordinary.
constexpr double kOrdinary = 0.25;

}  // namespace

Result<TimedRun> time_run(const ChangedRun& run, const Lags& lags) {
  return time_run(run, run.durations, lags);
}

Result<TimedRun> time_run(const ChangedRun& run, const Durations& durations, const Lags& lags) {
  TimedRun timed;
  timed.assembly = assemble(*run.recording, durations, lags, *run.bindings, Baseline::kNone);
  Result<Run> result = simulate(timed.assembly.graph, timed.assembly.release, &run.set->strings);
  if (!result) return result.error();
  timed.run = std::move(*result);
  for (std::size_t r = 0; r < run.steps->size(); ++r) {
    timed.steps.push_back(step_times((*run.steps)[r], timed.assembly.map.ranks[r], timed.run));
  }
  return timed;
}

bool is_judged(const std::string& step, const std::vector<std::string>& names) {
  return names.empty() || std::any_of(names.begin(), names.end(), [&](const std::string& name) {
           return step == name || step == "ProfilerStep#" + name;
         });
}

Time usual(const std::vector<Time>& values) {
  std::vector<Time> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  const Time below = sorted[(sorted.size() - 1) / 2];
  const Time median = below + Time{(sorted[sorted.size() / 2] - below).ps / 2};
  double sum = 0;
  std::int64_t count = 0;
  for (const Time value : values) {
    if (std::abs((value - median).seconds()) > kOrdinary * median.seconds()) continue;
    sum += static_cast<double>(value.ps);
    ++count;
  }
  return count == 0 ? median : Time{std::llround(sum / static_cast<double>(count))};
}

Judged judge(const StepsOfRanks& steps, const std::vector<std::vector<StepTime>>& times,
             const std::vector<std::string>& names) {
  struct Sum {
    std::string name;
    WidePs gpu = 0, host = 0;
    std::int64_t with_gpu = 0, ranks = 0;
  };
  std::vector<Sum> sums;
  for (std::size_t r = 0; r < steps.size(); ++r) {
    for (std::size_t s = 0; s < steps[r].size(); ++s) {
      const std::string& name = steps[r][s].name;
      if (!is_judged(name, names)) continue;
      auto sum =
          std::find_if(sums.begin(), sums.end(), [&](const Sum& x) { return x.name == name; });
      if (sum == sums.end()) sum = sums.insert(sum, {name, 0, 0, 0, 0});
      const StepTime& time = times[r][s];
      sum->host += (time.host_end - time.host_start).ps;
      ++sum->ranks;
      if (!time.gpu()) continue;
      sum->gpu += time.gpu()->ps;
      ++sum->with_gpu;
    }
  }
  const auto has_gpu = [](const Sum& sum) { return sum.with_gpu > 0; };
  // The first step starts cold; it counts where no other one can.
  const bool first_counts =
      !names.empty() || sums.size() < 2 || std::none_of(sums.begin() + 1, sums.end(), has_gpu);
  Judged judged;
  std::vector<Time> gpu, host;
  for (const Sum& sum : sums) {
    JudgedStep step{sum.name, std::nullopt, Time{static_cast<std::int64_t>(sum.host / sum.ranks)},
                    true};
    step.counts = first_counts || &sum != &sums.front();
    if (has_gpu(sum)) step.gpu = Time{static_cast<std::int64_t>(sum.gpu / sum.with_gpu)};
    if (step.counts && step.gpu) gpu.push_back(*step.gpu);
    if (step.counts) host.push_back(step.host);
    judged.steps.push_back(std::move(step));
  }
  if (!gpu.empty()) judged.gpu = usual(gpu);
  if (!host.empty()) judged.host = usual(host);
  return judged;
}

}  // namespace flopcast::whatif
