#include "whatif/band.h"

#include <algorithm>
#include <cmath>

#include "base/numeric/clock.h"
#include "base/numeric/mix.h"
#include "base/numeric/quantile.h"

namespace flopcast::whatif {

using namespace replaying;

namespace {

constexpr std::size_t kDraws = 200;

/// GPU steps: [step][rank], of the steps that were judged.
std::vector<std::vector<Time>> gpu_steps(const StepsOfRanks& steps, const TimedRun& run,
                                         const Judged& judged) {
  std::vector<std::vector<Time>> times;
  for (const JudgedStep& step : judged.steps) {
    if (!step.counts) continue;
    std::vector<Time> of_ranks;
    for (std::size_t r = 0; r < steps.size(); ++r) {
      for (std::size_t s = 0; s < steps[r].size(); ++s) {
        const std::optional<Time> gpu = run.steps[r][s].gpu();
        if (gpu && steps[r][s].name == step.name) of_ranks.push_back(*gpu);
      }
    }
    if (!of_ranks.empty()) times.push_back(std::move(of_ranks));
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

WhatIfBand::Source resampled(const StepsOfRanks& steps, const TimedRun& run, const Judged& judged) {
  const std::vector<std::vector<Time>> times = gpu_steps(steps, run, judged);
  WhatIfBand::Source source{"steps and ranks drawn anew", {}, {}};
  if (times.empty()) return source;
  Draw draw;
  std::vector<double> answers;
  for (std::size_t n = 0; n < kDraws; ++n) {
    std::vector<Time> drawn;
    for (std::size_t s = 0; s < times.size(); ++s) {
      const std::vector<Time>& ranks = times[draw(times.size())];
      WidePs sum = 0;
      for (std::size_t r = 0; r < ranks.size(); ++r) sum += ranks[draw(ranks.size())].ps;
      drawn.push_back(Time{static_cast<std::int64_t>(sum / static_cast<WidePs>(ranks.size()))});
    }
    answers.push_back(static_cast<double>(usual(drawn).ps));
  }
  std::sort(answers.begin(), answers.end());
  const auto width = [](double ps) { return Time{std::max<std::int64_t>(0, std::llround(ps))}; };
  const auto answer = static_cast<double>(judged.gpu->ps);
  source.below = width(answer - quantile(answers, 0.1));
  source.above = width(quantile(answers, 0.9) - answer);
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
  band.low = std::max(Time{}, answer - on_clock({std::sqrt(below)}));
  band.high = sum_on_clock(answer, on_clock({std::sqrt(above)}));
  band.sources = std::move(sources);
  return band;
}

}  // namespace flopcast::whatif
