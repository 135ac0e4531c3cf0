#include "whatif/band.h"

#include <algorithm>
#include <cmath>

#include "base/numeric/mix.h"
#include "base/numeric/quantile.h"

namespace flopcast::whatif {

using namespace replaying;

namespace {

constexpr std::size_t kDraws = 200;

/// GPU steps: [step][rank], of the steps that are judged.
std::vector<std::vector<double>> gpu_steps(const StepsOfRanks& steps, const TimedRun& run,
                                           const std::vector<std::string>& names) {
  std::vector<std::string> order;
  std::vector<std::vector<double>> times;
  for (std::size_t r = 0; r < steps.size(); ++r) {
    for (std::size_t s = 0; s < steps[r].size(); ++s) {
      const std::optional<Time> gpu = run.steps[r][s].gpu();
      if (!gpu || !is_judged(steps[r][s].name, names)) continue;
      auto at = std::find(order.begin(), order.end(), steps[r][s].name);
      if (at == order.end()) {
        at = order.insert(at, steps[r][s].name);
        times.emplace_back();
      }
      times[static_cast<std::size_t>(at - order.begin())].push_back(gpu->seconds());
    }
  }
  return times;
}

/// Numbers below n, one after the other, the same in every run.
class Draw {
 public:
  std::size_t operator()(std::size_t n) { return mix(++state_) % n; }

 private:
  std::uint64_t state_ = 0;
};

}  // namespace

WhatIfBand::Source resampled(const StepsOfRanks& steps, const TimedRun& run,
                             const std::vector<std::string>& names, Time answer) {
  const std::vector<std::vector<double>> times = gpu_steps(steps, run, names);
  WhatIfBand::Source source{"steps and ranks drawn anew", {}, {}};
  if (times.empty()) return source;
  Draw draw;
  std::vector<double> answers;
  for (std::size_t n = 0; n < kDraws; ++n) {
    std::vector<Time> drawn;
    for (std::size_t s = 0; s < times.size(); ++s) {
      const std::vector<double>& ranks = times[draw(times.size())];
      double sum = 0;
      for (std::size_t r = 0; r < ranks.size(); ++r) sum += ranks[draw(ranks.size())];
      drawn.push_back(Time{std::llround(sum / static_cast<double>(ranks.size()) * 1e12)});
    }
    answers.push_back(usual(drawn).seconds());
  }
  std::sort(answers.begin(), answers.end());
  const auto width = [&](double seconds) {
    return Time{std::max<std::int64_t>(0, std::llround(seconds * 1e12))};
  };
  source.below = width(answer.seconds() - quantile(answers, 0.1));
  source.above = width(quantile(answers, 0.9) - answer.seconds());
  return source;
}

WhatIfBand combined(Time answer, std::vector<WhatIfBand::Source> sources) {
  std::erase_if(sources,
                [](const WhatIfBand::Source& s) { return s.below <= Time{} && s.above <= Time{}; });
  std::stable_sort(sources.begin(), sources.end(), [](const auto& a, const auto& b) {
    return a.below + a.above > b.below + b.above;
  });
  double below = 0, above = 0;
  for (const WhatIfBand::Source& s : sources) {
    below += s.below.seconds() * s.below.seconds();
    above += s.above.seconds() * s.above.seconds();
  }
  WhatIfBand band;
  band.low = std::max(Time{}, answer - Time{std::llround(std::sqrt(below) * 1e12)});
  band.high = answer + Time{std::llround(std::sqrt(above) * 1e12)};
  band.sources = std::move(sources);
  return band;
}

}  // namespace flopcast::whatif
