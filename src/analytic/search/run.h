// The search itself, over any scores: plans are bounded first, then timed from the lowest bound up
// until no bound is left that could win.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "analytic/search/space.h"
#include "flopcast/analytic/search.h"

namespace flopcast::analytic::search {

/// Time and memory of plans. One per thread; what it answers does not depend on what was asked.
class Scores {
 public:
  Scores() = default;
  Scores(const Scores&) = delete;
  Scores& operator=(const Scores&) = delete;
  virtual ~Scores() = default;

  virtual Bytes memory(const Plan& plan) = 0;
  /// Never more than `memory`, and quicker to tell.
  virtual Bytes memory_at_least(const Plan&) { return Bytes{0}; }
  /// Between the two.
  virtual Bytes memory_counted(const Plan& plan) { return memory_at_least(plan); }
  /// Never more than the time at any of these placements: all that the plan has.
  virtual Seconds time_at_least(const Plan& plan, std::span<const Placement> placements) = 0;
  /// Never more than `time`.
  virtual Seconds time_at_least(const Plan& plan, const Placement& placement) = 0;
  virtual Seconds time(const Plan& plan, const Placement& placement) = 0;
};

struct Task {
  const Space& space;
  const PlanSearchOptions& options;
  std::span<const unsigned> tiers;
  Bytes capacity;
  std::function<std::unique_ptr<Scores>()> make_scores;
};
PlanSearch run(const Task& task);

}  // namespace flopcast::analytic::search
