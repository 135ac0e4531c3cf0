// Prices of everything plans of one model on one cluster are made of, remembered between plans.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "analytic/pass_time.h"
#include "analytic/training_state.h"

namespace flopcast::training {

/// All lists of an Execution, priced.
struct ExecutionCost {
  ListCost embedding, head;
  std::vector<ListCost> layers;  ///< by Model::kinds
  Bytes boundary;
};

/// The same, timed where its groups lie.
struct ExecutionTime {
  ListTime embedding, head;
  std::vector<ListTime> layers;
};

/// A schedule that reaches its steady state, and what memory needs of it.
struct ScheduleEntry {
  Schedule schedule;  ///< of few enough microbatches
  Schedule longer;    ///< `step` microbatches more; empty where `schedule` is the whole
  std::int64_t step = 0;
  std::vector<unsigned> peaks;
};

/// Not thread-safe; its answers do not depend on what was asked before.
class PlanCosts {
 public:
  explicit PlanCosts(const TrainingModel::State& state);

  const TrainingModel::State& state;
  GroupTimes times;

  /// Valid until it is asked for another plan.
  const ExecutionCost& execution(const Plan& plan);
  const ExecutionTime& timed(const ExecutionCost& cost, const Plan& plan, const Layouts& layouts);
  const ScheduleEntry& schedule(const Plan& plan);

 private:
  struct ExecutionHash {
    std::size_t operator()(const Execution& run) const;
  };
  struct Placed {
    Layouts layouts;
    Overlap overlap;
    std::unique_ptr<ExecutionTime> time;
  };
  struct ScheduleKey {
    ScheduleKind kind;
    unsigned pp, vpp;
    std::int64_t microbatches;
    bool operator==(const ScheduleKey&) const = default;
  };
  struct ScheduleHash {
    std::size_t operator()(const ScheduleKey& key) const;
  };
  std::unordered_map<Execution, std::unique_ptr<ExecutionCost>, ExecutionHash> executions_;
  std::unordered_map<const ExecutionCost*, std::vector<Placed>> placed_;
  std::unordered_map<ScheduleKey, std::unique_ptr<ScheduleEntry>, ScheduleHash> schedules_;
};

Layouts layouts_of(const Plan& plan, const Placement& placement);

}  // namespace flopcast::training
