// Times of an estimate in words.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text/format.h"
#include "report/estimate/report.h"

namespace flopcast::report {

std::string_view meaning(TimePart part) {
  constexpr std::array<std::string_view, kTimeParts> kMeanings = {
      "matrix products",
      "attention",
      "norms, activations, loss",
      "recomputed forward",
      "tensor-parallel transfers",
      "context-parallel transfers",
      "expert-parallel transfers",
      "gathering weights",
      "reducing gradients",
      "pipeline bubble and sends",
      "optimizer step",
      "launches and fixed costs",
      "contention and stragglers",
  };
  return kMeanings[static_cast<std::size_t>(part)];
}

std::vector<PartShare> ranked_parts(const TrainingEstimate& estimate) {
  std::vector<PartShare> parts;
  for (std::size_t i = 0; i < kTimeParts; ++i) {
    if (!(estimate.parts[i].value > 0)) continue;
    parts.push_back(
        {static_cast<TimePart>(i), estimate.parts[i], estimate.parts[i] / estimate.step});
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const PartShare& a, const PartShare& b) { return a.time > b.time; });
  return parts;
}

std::string rests_on_words(const TrainingEstimate& estimate) {
  constexpr double kLeast = 0.0005;  // what would print as 0.0 %
  std::string text;
  for (std::size_t i = 0; i < estimate.rests_on.size(); ++i) {
    if (estimate.rests_on[i] < kLeast) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", percent(estimate.rests_on[i]),
                        name(static_cast<Basis>(i)));
  }
  return text;
}

std::string title_of(const EstimateReport& report) {
  return fmt::format("{} on {}", report.model, report.cluster);
}

}  // namespace flopcast::report
