#include "analytic/step_memory.h"

#include <algorithm>

namespace flopcast::training {
namespace {

class Memory {
 public:
  Memory(PlanCosts& costs, const Plan& plan)
      : costs_(costs),
        plan_(plan),
        cost_(costs.kept(plan)),
        shape_(costs.shape(plan)),
        held_(costs.held(cost_, plan)),
        gathered_(gathered_bytes()),
        peaks_(plan.pp == 1 ? nullptr : costs.schedule(plan).peaks.data()) {}

  /// Every chip's.
  std::vector<StageMemory> chips() const {
    std::vector<StageMemory> all;
    for (unsigned chip = 0; chip < plan_.pp; ++chip) {
      all.push_back(of_kind(shape_.chip_kinds[chip], in_flight(chip)));
    }
    return all;
  }

  /// Of chips that hold the same, one keeps most that has most in flight.
  Bytes most() const {
    Bytes most;
    for (std::uint32_t kind = 0; kind < held_.size(); ++kind) {
      unsigned flying = 0;
      for (unsigned chip = 0; chip < plan_.pp; ++chip) {
        if (shape_.chip_kinds[chip] == kind) flying = std::max(flying, in_flight(chip));
      }
      most = std::max(most, of_kind(kind, flying).total());
    }
    return most;
  }

 private:
  unsigned in_flight(unsigned chip) const { return peaks_ == nullptr ? 1 : peaks_[chip]; }

  StageMemory of_kind(std::uint32_t kind, unsigned in_flight) const {
    const Constants& c = costs_.state.constants;
    const ChipHeld& held = held_[kind];
    StageMemory memory;
    const StateBytes state = state_bytes(plan_, held.weights);
    memory.weights = state.weights;
    memory.gradients = state.gradients;
    memory.optimizer = state.optimizer;
    memory.in_flight = in_flight;
    memory.activations = Bytes{held.saved_bytes * in_flight};
    memory.working = Bytes{held.working_bytes + gathered_};
    memory.buffers = Bytes{c.workspace_bytes};
    memory.allocator = (memory.activations + memory.working) * c.allocator;
    return memory;
  }

  /// FSDP: the layer that runs and the next one, whole, and the gradients of one.
  double gathered_bytes() const {
    if (plan_.zero != Zero::kWeights) return 0;
    double most = 0;
    for (const ListCost& layer : cost_.layers) {
      most = std::max(most, static_cast<double>(layer.weights.dense + layer.weights.expert));
    }
    const double element = bytes_per_element(activation_type(plan_.precision));
    if (!plan_.reshard) {
      // Weights stay gathered from forward to backward.
      double all = 0;
      for (std::size_t kind = 0; kind < cost_.layers.size(); ++kind) {
        const ChipWeights& w = cost_.layers[kind].weights;
        all += static_cast<double>(w.dense + w.expert) *
               static_cast<double>(costs_.state.model.count(kind)) / plan_.pp;
      }
      return element * (all + most);
    }
    return element * 3 * most;
  }

  PlanCosts& costs_;
  const Plan& plan_;
  const ExecutionCost& cost_;
  const PipelineShape& shape_;
  const std::vector<ChipHeld>& held_;
  double gathered_;
  const unsigned* peaks_;  ///< of each chip; null: without a pipeline
};

}  // namespace

std::vector<StageMemory> stage_memory(PlanCosts& costs, const Plan& plan) {
  return Memory(costs, plan).chips();
}

Bytes most_memory(PlanCosts& costs, const Plan& plan) { return Memory(costs, plan).most(); }

}  // namespace flopcast::training
