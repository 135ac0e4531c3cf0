#include "analytic/step_memory.h"

#include <algorithm>

#include "analytic/step_time.h"

namespace flopcast::training {
namespace {

struct Kept {
  double saved = 0;    ///< of one microbatch
  double working = 0;  ///< above that, while the list with most of it runs
};

void add_list(Kept& kept, const ListCost& cost, double times) {
  kept.saved += cost.saved_bytes * times;
  kept.working = std::max(kept.working, cost.live_bytes - cost.saved_bytes);
}

class Memory {
 public:
  Memory(PlanCosts& costs, const Plan& plan)
      : costs_(costs),
        plan_(plan),
        cost_(costs.execution(plan)),
        split_(layers_per_stage(plan, costs.state.model.layers())),
        first_(split_.size() + 1, 0) {
    for (std::size_t i = 0; i < split_.size(); ++i) first_[i + 1] = first_[i] + split_[i];
  }

  StageMemory chip(unsigned chip) {
    const Constants& c = costs_.state.constants;
    StageMemory memory;
    const ChipWeights weights = weights_of_chip(costs_, cost_, plan_, split_, chip);
    const StateBytes state = state_bytes(plan_, weights);
    memory.weights = state.weights;
    memory.gradients = state.gradients;
    memory.optimizer = state.optimizer;

    double most = 0, working = 0;
    for (unsigned chunk = 0; chunk < plan_.vpp; ++chunk) {
      const Kept kept = stage(stage_of(plan_, chip, chunk));
      most = std::max(most, kept.saved);
      working = std::max(working, kept.working);
    }
    memory.in_flight = plan_.pp == 1 ? 1 : costs_.schedule(plan_).peaks[chip];
    memory.activations = Bytes{most * memory.in_flight};
    memory.working = Bytes{working + gathered_bytes()};
    memory.buffers = Bytes{c.workspace_bytes};
    memory.allocator = (memory.activations + memory.working) * c.allocator;
    return memory;
  }

 private:
  Kept stage(std::size_t index) const {
    Kept kept;
    if (index == 0) add_list(kept, cost_.embedding, 1);
    for (std::size_t kind = 0; kind < cost_.layers.size(); ++kind) {
      const std::vector<std::uint32_t>& before = costs_.state.layers_before[kind];
      const std::uint32_t layers = before[first_[index + 1]] - before[first_[index]];
      if (layers > 0) add_list(kept, cost_.layers[kind], layers);
    }
    if (index + 1 == split_.size()) add_list(kept, cost_.head, 1);
    return kept;
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
  std::vector<unsigned> split_, first_;
};

}  // namespace

std::vector<StageMemory> stage_memory(PlanCosts& costs, const Plan& plan) {
  Memory memory(costs, plan);
  std::vector<StageMemory> stages;
  for (unsigned chip = 0; chip < plan.pp; ++chip) stages.push_back(memory.chip(chip));
  return stages;
}

}  // namespace flopcast::training
