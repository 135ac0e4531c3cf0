#include "mapping/explore/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace flopcast {

using namespace mapping;  // the room's own names

namespace {

constexpr double kWorthSaying = 0.005;

std::string_view limit_words(MappingLimit limit) {
  constexpr std::string_view kWords[] = {"computing", "memory", "the network"};
  return kWords[static_cast<std::size_t>(limit)];
}

std::string resource_words(std::string_view resource) {
  if (resource == "sram") return "SRAM";
  if (resource == "peak") return "peak rate";
  std::string words(resource);
  std::replace(words.begin(), words.end(), '-', ' ');
  return words;
}

/// Shares of a layer, the largest first: "62 % of a layer's time is limited by computing, ...".
std::string limits_text(const Mapping& mapping) {
  const auto shares = limit_shares(mapping);
  std::array<std::size_t, 3> order = {0, 1, 2};
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return shares[a] > shares[b]; });
  std::string text;
  for (const std::size_t i : order) {
    if (shares[i] < kWorthSaying) continue;
    text += fmt::format("{}{:.0f} %{} by {}", text.empty() ? "" : ", ", 100 * shares[i],
                        text.empty() ? " of a layer's time is limited" : "",
                        limit_words(static_cast<MappingLimit>(i)));
  }
  return text.empty() ? "Nothing takes time." : text + '.';
}

/// What a step spends outside full pipelines.
std::string ends_text(const Mapping& mapping) {
  const double bubble = mapping.bubble > 1 ? 1 - 1 / mapping.bubble : 0;
  const double ends =
      mapping.step.value > 0 ? (mapping.gradients + mapping.optimizer) / mapping.step : 0;
  std::string text;
  if (bubble >= kWorthSaying) {
    text += fmt::format(" Filling and draining the pipeline takes {:.1f} %.", 100 * bubble);
  }
  if (ends >= kWorthSaying) {
    text += fmt::format(" Gradients and optimiser take {:.1f} % of the step.", 100 * ends);
  }
  return text;
}

/// The resource that helps most, and how far the next is behind.
std::string gains_text(const std::vector<ExploreGain>& gains) {
  if (gains.empty()) return {};
  if (gains[0].speedup < 1 + kWorthSaying) return " Twice of no single resource makes it faster.";
  std::string text = fmt::format(" Twice the {} would make the step {:.2f} times as fast",
                                 resource_words(gains[0].resource), gains[0].speedup);
  if (gains.size() > 1 && gains[1].speedup >= 1 + kWorthSaying) {
    text += fmt::format(", twice the {} {:.2f} times", resource_words(gains[1].resource),
                        gains[1].speedup);
  }
  return text + '.';
}

}  // namespace

std::array<double, 3> limit_shares(const Mapping& mapping) {
  std::array<double, 3> shares{};
  double all = 0;
  for (const MappedPartition& partition : mapping.partitions) all += partition.time.value;
  if (all <= 0) return shares;
  for (const MappedPartition& partition : mapping.partitions) {
    shares[static_cast<std::size_t>(partition.limit)] += partition.time.value / all;
  }
  return shares;
}

std::string mapping::bottleneck_text(const Mapping& mapping,
                                     const std::vector<ExploreGain>& gains) {
  return limits_text(mapping) + ends_text(mapping) + gains_text(gains);
}

std::string mapping::refusal_text(const Diagnostic& refusal,
                                  const std::vector<ExploreGain>& gains) {
  std::string text = refusal.code == ErrorCode::kTooLarge ? "Does not fit" : "Cannot be mapped";
  text += fmt::format(": {}.", refusal.what);
  if (gains.empty()) return text;
  std::string helpful;
  for (const ExploreGain& gain : gains) {
    if (gain.speedup <= 0) continue;
    helpful +=
        fmt::format("{}{}", helpful.empty() ? "" : " or the ", resource_words(gain.resource));
  }
  return text + (helpful.empty() ? std::string(" Twice of no single resource makes it fit.")
                                 : fmt::format(" Twice the {} would make it fit.", helpful));
}

}  // namespace flopcast
