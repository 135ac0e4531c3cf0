// What a run costs beside time: tokens, memory, FLOPs, energy, money.
#pragma once

#include <mutex>
#include <optional>
#include <vector>

#include "flopcast/workload.h"
#include "whatif/totals/forward_work.h"
#include "whatif/totals/model_estimate.h"
#include "whatif/totals/run_shape.h"

namespace flopcast::whatif {

/// Totals of one recording before and after changes. What the recording tells is looked for when it
/// is first needed. Const calls may be made from several threads.
class TotalsFinder {
 public:
  /// @param model of the facts, loaded; nothing where none is named
  TotalsFinder(WhatIfFacts facts, std::optional<Model> model)
      : facts_(std::move(facts)), model_(std::move(model)) {}

  /// Of the recorded run.
  WhatIfTotals before(const ChangedRun& recorded, Time step) const;
  /// Of the run after these changes.
  WhatIfTotals after(const ChangedRun& recorded, const ChangedRun& run,
                     const std::vector<Change>& changes, Time step) const;

 private:
  struct Told {
    totals::ForwardWork work;
    totals::RunShape shape;
    totals::Training training;
  };
  const Told& told(const ChangedRun& recorded) const;

  WhatIfFacts facts_;
  std::optional<Model> model_;
  mutable std::once_flag once_;
  mutable std::optional<Told> told_;
};

}  // namespace flopcast::whatif
