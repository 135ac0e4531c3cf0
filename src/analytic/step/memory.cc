#include "analytic/step/memory.h"

#include <algorithm>
#include <cstdint>

namespace flopcast::analytic {
namespace {

/// What comes and goes while a step runs: left out, as tensors are counted, or as the allocator has it.
enum class Dynamic : std::uint8_t { kNone, kCounted, kPlayed };

class Memory {
 public:
  Memory(PlanCosts& costs, const Plan& plan)
      : costs_(costs),
        plan_(plan),
        cost_(costs.kept(plan)),
        shape_(costs.shape(plan)),
        held_(costs.held(cost_, plan)),
        schedule_(plan.pp == 1 ? nullptr : &costs.schedule(plan)) {}

  /// Every chip's.
  std::vector<StageMemory> chips() const {
    std::vector<StageMemory> all;
    for (unsigned chip = 0; chip < plan_.pp; ++chip) {
      all.push_back(of_kind(shape_.chip_kinds[chip], in_flight(chip)));
    }
    return all;
  }

  /// Of chips that hold the same, one keeps most that has most in flight.
  Bytes most(Dynamic dynamic) const {
    Bytes most;
    for (std::uint32_t kind = 0; kind < held_.size(); ++kind) {
      unsigned flying = 0;
      for (unsigned chip = 0; chip < plan_.pp; ++chip) {
        if (shape_.chip_kinds[chip] == kind) flying = std::max(flying, in_flight(chip));
      }
      most = std::max(most, of_kind(kind, flying, dynamic).total());
    }
    return most;
  }

 private:
  unsigned in_flight(unsigned chip) const {
    if (schedule_ == nullptr) return 1;
    // GPipe's grows with the microbatches; the schedule that stands for it has few of them.
    if (plan_.schedule == ScheduleKind::kGpipe) return static_cast<unsigned>(plan_.microbatches());
    return schedule_->peaks[chip];
  }

  StageMemory of_kind(std::uint32_t kind, unsigned in_flight,
                      Dynamic dynamic = Dynamic::kPlayed) const {
    const Constants& c = costs_.state.constants;
    const ChipHeld& held = held_[kind];
    StageMemory memory;
    const StateBytes state = state_bytes(plan_, held.weights);
    memory.weights = state.weights;
    memory.gradients = state.gradients;
    memory.optimizer = state.optimizer;
    if (plan_.fp32_gradients && plan_.zero != Zero::kWeights) {
      const std::int64_t trained = held.weights.dense_trainable + held.weights.expert_trainable;
      memory.gradients += Bytes{c.gradient_copies * static_cast<double>(trained)};
    }
    memory.in_flight = in_flight;
    memory.activations = Bytes{activation_bytes(held, in_flight)};
    memory.buffers = Bytes{c.workspace_bytes};
    if (dynamic == Dynamic::kNone) return memory;
    const DynamicPeak peak = dynamic == Dynamic::kPlayed
                                 ? costs_.dynamic.peak(cost_, held, plan_, in_flight, c)
                                 : costs_.dynamic.counted(cost_, held, plan_, in_flight, c);
    memory.working = Bytes{peak.working};
    memory.allocator = Bytes{peak.holes};
    return memory;
  }

  double activation_bytes(const ChipHeld& held, unsigned in_flight) const {
    if (schedule_ == nullptr) return held.saved_bytes + held.first_bytes + held.last_bytes;
    // With several chunks, few of those in flight are at an end of the model.
    const bool one = plan_.vpp == 1;
    return (held.saved_bytes + costs_.state.constants.boundary_copies * cost_.boundary.value) *
               in_flight +
           held.first_bytes * (one ? in_flight : schedule_->first_peak) +
           held.last_bytes * (one ? in_flight : schedule_->last_peak);
  }

  PlanCosts& costs_;
  const Plan& plan_;
  const ExecutionCost& cost_;
  const PipelineShape& shape_;
  const std::vector<ChipHeld>& held_;
  const ScheduleEntry* schedule_;  ///< null: without a pipeline
};

}  // namespace

std::vector<StageMemory> stage_memory(PlanCosts& costs, const Plan& plan) {
  return Memory(costs, plan).chips();
}

Bytes most_memory(PlanCosts& costs, const Plan& plan) {
  return Memory(costs, plan).most(Dynamic::kPlayed);
}

Bytes counted_memory(PlanCosts& costs, const Plan& plan) {
  return Memory(costs, plan).most(Dynamic::kCounted);
}

Bytes least_memory(PlanCosts& costs, const Plan& plan) {
  return Memory(costs, plan).most(Dynamic::kNone);
}

}  // namespace flopcast::analytic
