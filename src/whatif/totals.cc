#include "whatif/totals.h"

#include <fmt/format.h>

#include "flopcast/hardware.h"
#include "whatif/durations/chip.h"

namespace flopcast::whatif {
namespace {

std::optional<Chip> chip_of(const ChangedRun& run, const WhatIfChanges& asked) {
  const Catalog& catalog = Catalog::builtin();
  if (!asked.chip.empty()) {
    Result<Chip> chip = catalog.chip(asked.chip);
    return chip ? std::optional(std::move(*chip)) : std::nullopt;
  }
  for (const replaying::RankModel& rank : run.recording->ranks) {
    for (const Device& device : rank.trace->devices) {
      if (auto chip = chip_of_device(device.name, catalog)) return chip;
    }
  }
  return std::nullopt;
}

}  // namespace

WhatIfTotals totals_of(const ChangedRun& run, const WhatIfChanges& asked, Time step) {
  WhatIfTotals totals = run.totals;
  const std::optional<Chip> chip = chip_of(run, asked);
  const auto say = [&](const std::string& text) {
    totals.basis += (totals.basis.empty() ? "" : "; ") + text;
  };
  if (!totals.energy_j && chip && chip->power_w > 0) {
    totals.energy_j =
        static_cast<double>(run.recording->ranks.size()) * chip->power_w * step.seconds();
    say(fmt::format("energy: every GPU at the power limit of {}, {:.0f} W", chip->name,
                    chip->power_w));
  } else if (!totals.energy_j) {
    say(chip ? fmt::format("no energy: the catalogue has no power of {}", chip->name)
             : "no energy: the recording names no GPU of the catalogue");
  }
  if (!totals.tokens_per_s) say("no throughput: a recording does not tell its tokens");
  if (!totals.cost_usd) say("no cost: a recording does not tell the price of its GPUs");
  return totals;
}

}  // namespace flopcast::whatif
