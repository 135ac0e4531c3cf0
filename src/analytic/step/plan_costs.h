// Prices of everything plans of one model on one cluster are made of, remembered between plans.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "analytic/step/dynamic_memory.h"
#include "analytic/step/pass_time.h"
#include "analytic/step/pipeline_shape.h"
#include "analytic/step/training_state.h"
#include "flopcast/parallel/schedule_program.h"

namespace flopcast::analytic {

/// All lists of an Execution.
struct ExecutionCost {
  ListCost embedding, head;
  std::vector<ListCost> layers;  ///< by Model::kinds
  Bytes boundary;
  bool predicts = false;  ///< further tokens: the last stage embeds them as well
  bool priced = false;    ///< passes too; else only what is kept
};

/// What a chip of a pipeline holds, whatever of it is sharded.
struct ChipHeld {
  ChipWeights weights;
  double saved_bytes = 0;  ///< of one microbatch, by the layers of the chunk that keeps most
  std::vector<std::uint32_t> layers;       ///< of that chunk, by kind
  bool first = false, last = false;        ///< holds the embedding, the head
  double first_bytes = 0, last_bytes = 0;  ///< of one microbatch, by these
};

/// The same, timed where its groups lie.
struct ExecutionTime {
  ListTime embedding, head;
  std::vector<ListTime> layers;
};

/// A schedule of few enough microbatches that reaches its steady state: what memory needs of it, and its run.
struct ScheduleEntry {
  std::int64_t microbatches = 0;
  std::int64_t step =
      0;  ///< microbatches more of the longer one that the program runs; 0: the schedule is the whole
  std::optional<ScheduleProgram> program;  ///< made when it is first asked for
  std::vector<unsigned> peaks;
  unsigned first_peak = 1, last_peak = 1;  ///< of the first and the last virtual stage alone
};

/// Not thread-safe; its answers do not depend on what was asked before.
class PlanCosts {
 public:
  explicit PlanCosts(const TrainingModel::State& state);

  const TrainingModel::State& state;
  GroupTimes times;
  DynamicMemory dynamic;

  // Both valid until they are asked for another plan.
  const ExecutionCost& kept(const Plan& plan);  ///< enough for memory
  const ExecutionCost& priced(const Plan& plan);
  const ExecutionTime& timed(const ExecutionCost& cost, const Plan& plan, const Layouts& layouts);
  const ScheduleEntry& schedule(const Plan& plan);
  /// With its program.
  ScheduleEntry& run_schedule(const Plan& plan);
  const PipelineShape& shape(const Plan& plan);
  /// By kind of chip.
  const std::vector<ChipHeld>& held(const ExecutionCost& cost, const Plan& plan);
  /// Time of the optimiser's kernel.
  KernelTimes::Answer optimizer(const OptimizerTraffic& traffic);
  /// Chips that share a host.
  unsigned chips_of_node() const;

 private:
  ExecutionCost& execution(const Plan& plan);
  /// Where experts' rows go by this dispatcher.
  const Constants& constants_of(DispatcherKind dispatcher);
  ScheduleEntry& entry_of(const Plan& plan);

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
  struct ShapeKey {
    unsigned pp, vpp;
    bool folded, count_embedding, count_loss;
    std::vector<unsigned> stage_layers;
    bool operator==(const ShapeKey&) const = default;
  };
  struct ShapeHash {
    std::size_t operator()(const ShapeKey& key) const;
  };
  struct HeldKey {
    const ExecutionCost* cost;
    const PipelineShape* shape;
    bool operator==(const HeldKey&) const = default;
  };
  struct HeldHash {
    std::size_t operator()(const HeldKey& key) const;
  };
  KernelTimes kernels_;
  std::array<std::optional<Constants>, kDispatchers> dispatched_;  ///< by DispatcherKind
  ExecutionCost* last_cost_ = nullptr;                             ///< of last_run_
  Execution last_run_;
  std::optional<OperatorGraph> last_graph_;  ///< of last_run_, where it had to be made
  std::unordered_map<Execution, std::unique_ptr<ExecutionCost>, ExecutionHash> executions_;
  std::unordered_map<const ExecutionCost*, std::vector<Placed>> placed_;
  std::unordered_map<ScheduleKey, std::unique_ptr<ScheduleEntry>, ScheduleHash> schedules_;
  std::unordered_map<ShapeKey, PipelineShape, ShapeHash> shapes_;
  std::unordered_map<HeldKey, std::vector<ChipHeld>, HeldHash> held_;
};

Layouts layouts_of(const Plan& plan, const Placement& placement);

}  // namespace flopcast::analytic
