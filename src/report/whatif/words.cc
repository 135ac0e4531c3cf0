#include "report/whatif/words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <string_view>

#include "base/text/amounts.h"
#include "base/text/format.h"
#include "report/replay/summary.h"

namespace flopcast::report {

std::vector<std::string> change_list(const WhatIfChanges& changes) {
  std::vector<std::string> list;
  for (const auto& [knob, value] : changes.set)
    list.push_back(fmt::format("set {}={}", knob, value));
  for (const std::string& what : changes.add) list.push_back("add " + what);
  for (const std::string& what : changes.remove) list.push_back("remove " + what);
  if (!changes.kernels_from.empty()) {
    list.push_back("kernels from " + changes.kernels_from.string());
  }
  if (!changes.chip.empty()) list.push_back("chip " + changes.chip);
  if (!changes.on.empty()) list.push_back("on " + changes.on);
  for (const ScaleChange& scale : changes.scale) {
    list.push_back(fmt::format("scale {}={}", scale.what, exact_number(scale.factor)));
  }
  if (changes.scale_only) list.push_back("collectives alone");
  return list;
}

std::string changes_line(const WhatIfChanges& changes) {
  const std::vector<std::string> list = change_list(changes);
  return list.empty() ? "nothing changed" : fmt::format("{}", fmt::join(list, ", "));
}

JudgedStep judged_step(const WhatIfAnswer& answer) {
  if (answer.before.ps > 0) return {"GPU step", answer.before, answer.after};
  return {"host step", answer.host_before, answer.host_after};
}

std::string change_words(Time before, Time after) {
  if (before == after) return "no change";
  if (before.ps <= 0 || after.ps <= 0) return signed_percent(relative_error(before, after));
  const double ratio = before.seconds() / after.seconds();
  if (std::abs(ratio - 1) < 0.005) return signed_percent(relative_error(before, after));
  const std::string factor = ratio >= 1 ? fmt::format("{:.2f} x faster", ratio)
                                        : fmt::format("{:.2f} x slower", 1 / ratio);
  return fmt::format("{}, {}", signed_percent(relative_error(before, after)), factor);
}

std::string signed_time(Time time) {
  if (time.ps == 0) return "0";
  return (time.ps > 0 ? "+" : "") + short_time(time);
}

std::string step_part_title(const std::string& part) {
  if (part == "transfer") return "transfer that nothing hides";
  if (part == "waiting") return "waiting for another rank";
  if (part == "idle") return "idle";
  return work_part_title(part);
}

std::string worth_title(const std::string& part) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kWorkKinds = {
      {{"kernel:", ""}, {"collective:", ""}}};
  for (const auto& [begin, instead] : kWorkKinds) {
    if (part.starts_with(begin)) {
      return std::string(instead) + work_part_title(part.substr(begin.size()));
    }
  }
  if (part.starts_with("network:")) return "network, " + part.substr(8);
  if (part.starts_with("rank:")) return "rank " + part.substr(5) + ": its own work";
  return work_part_title(part);
}

std::span<const TotalRow> total_rows() {
  using Totals = WhatIfTotals;
  static constexpr auto kWhole = [](double n) { return grouped_whole(n); };
  static constexpr auto kPercent = [](double n) { return percent(n); };
  static constexpr auto kBytes = [](double n) { return short_bytes(Bytes{n}); };
  static constexpr auto kEnergy = [](double n) { return fmt::format("{:.3g} kJ", n * 1e-3); };
  static constexpr auto kMoney = [](double n) { return fmt::format("{:.3g} USD", n); };
  static constexpr TotalRow kRows[] = {
      {"tokens_per_step", "tokens of a step", &Totals::tokens_per_step, kWhole},
      {"tokens_per_s", "tokens per second", &Totals::tokens_per_s, kWhole},
      {"mfu", "MFU", &Totals::mfu, kPercent},
      {"memory_bytes", "memory of the fullest rank", &Totals::memory_bytes, kBytes},
      {"energy_j", "energy of a step", &Totals::energy_j, kEnergy},
      {"cost_usd", "cost of a step", &Totals::cost_usd, kMoney},
      {"usd_per_million_tokens", "cost of a million tokens", &Totals::usd_per_million_tokens,
       kMoney},
  };
  return kRows;
}

std::string ranks_words(const WhatIfAnswer& answer) {
  if (answer.ranks_before == answer.ranks_after) return counted(answer.ranks_before, "rank");
  return fmt::format("{} -> {}", counted(answer.ranks_before, "rank"),
                     counted(answer.ranks_after, "rank"));
}

}  // namespace flopcast::report
