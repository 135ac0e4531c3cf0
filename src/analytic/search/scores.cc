#include "analytic/search/scores.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "analytic/step/memory.h"
#include "analytic/step/time.h"

namespace flopcast::analytic::search {
namespace {

using namespace analytic;

/// A list of operators, one microbatch.
struct ListSeconds {
  double forward = std::numeric_limits<double>::infinity(), input = forward, weight = forward;
  double forward_sent = forward, input_sent = forward;  ///< transfers of operators
  double forward_rest = forward, input_rest = forward;  ///< without them

  void lower(const ListTime& time) {
    const double forward_sends = sent_s(time.forward), input_sends = sent_s(time.backward_input);
    forward = std::min(forward, time.forward_s);
    input = std::min(input, time.input_s);
    weight = std::min(weight, time.weight_s);
    forward_sent = std::min(forward_sent, forward_sends);
    input_sent = std::min(input_sent, input_sends);
    forward_rest = std::min(forward_rest, time.forward_s - forward_sends);
    input_rest = std::min(input_rest, time.input_s - input_sends);
  }
  /// Each is the least of another placement.
  double unsure() const {
    return std::max(0.0, forward - forward_sent - forward_rest) +
           std::max(0.0, input - input_sent - input_rest);
  }
};

class ModelScores final : public Scores {
  /// Stages of the least times, and the bounds they make.
  struct Staged {
    unsigned vpp = 0;
    StepCosts step;
    std::array<double, 6> bounds;  ///< by schedule; below 0: not asked for
  };

 public:
  explicit ModelScores(const TrainingModel& model) : state_(model.state()), costs_(model.state()) {}

  Bytes memory(const Plan& plan) override { return most_memory(costs_, plan); }
  Bytes memory_counted(const Plan& plan) override { return counted_memory(costs_, plan); }
  Bytes memory_at_least(const Plan& plan) override { return least_memory(costs_, plan); }

  Seconds time_at_least(const Plan& plan, std::span<const Placement> placements) override {
    const Execution execution = execution_of(plan, state_.model);
    const std::array<std::int64_t, 3> cut = {plan.pp, plan.dp, plan.global_batch};
    if (!(least_of_ == execution) || cut != least_cut_) {
      least_of_ = execution;
      least_cut_ = cut;
      set_least(plan, placements);
    }
    Staged& staged = staged_as(plan);
    double& bound = staged.bounds[static_cast<std::size_t>(plan.schedule)];
    if (bound < 0) bound = step_at_least(costs_, plan, staged.step);
    return rounded(bound);
  }

  Seconds time_at_least(const Plan& plan, const Placement& placement) override {
    return rounded(step_at_least(costs_, plan, costs_of(plan, placement)));
  }

  Seconds time(const Plan& plan, const Placement& placement) override {
    return Seconds{step_time(costs_, plan, costs_of(plan, placement)).step_s};
  }

 private:
  /// Bounds and times sum the same numbers in different orders.
  static Seconds rounded(double bound) {
    constexpr double kRounding = 1e-9;
    return Seconds{bound * (1 - kRounding)};
  }

  StepCosts costs_of(const Plan& plan, const Placement& placement) {
    return step_costs(costs_, plan, layouts_of(plan, placement));
  }

  void set_least(const Plan& plan, std::span<const Placement> placements) {
    const ExecutionCost& cost = costs_.priced(plan);
    staged_.clear();
    embedding_ = head_ = {};
    layers_.assign(cost.layers.size(), {});
    for (const Placement& placement : placements) {
      const ExecutionTime& time = costs_.timed(cost, plan, layouts_of(plan, placement));
      embedding_.lower(time.embedding);
      for (std::size_t kind = 0; kind < layers_.size(); ++kind) {
        layers_[kind].lower(time.layers[kind]);
      }
      head_.lower(time.head);
    }
  }

  Staged& staged_as(const Plan& plan) {
    for (Staged& known : staged_) {
      if (known.vpp == plan.vpp) return known;
    }
    Staged& staged = staged_.emplace_back();
    staged.vpp = plan.vpp;
    staged.bounds.fill(-1);
    StepCosts& step = staged.step;
    step.tails.resize(plan.pp);
    const std::vector<unsigned> split = layers_per_stage(plan, state_.model.layers());
    unsigned from = 0;
    for (std::size_t i = 0; i < split.size(); ++i) {
      const unsigned to = from + split[i];
      step.stages.push_back(stage(plan, from, to, i == 0, i + 1 == split.size()));
      from = to;
    }
    return staged;
  }

  StageCost stage(const Plan& plan, unsigned from, unsigned to, bool first, bool last) const {
    StageCost stage;
    const auto add = [&](const ListSeconds& list, double times) {
      stage.forward_s += list.forward * times;
      stage.input_s += list.input * times;
      stage.weight_s += list.weight * times;
      stage.forward_sent_s += list.forward_sent * times;
      stage.input_sent_s += list.input_sent * times;
      stage.unsure_s += list.unsure() * times;
    };
    if (first) add(embedding_, 1);
    for (std::size_t kind = 0; kind < layers_.size(); ++kind) {
      const std::vector<std::uint32_t>& before = state_.layers_before[kind];
      if (before[to] > before[from]) add(layers_[kind], before[to] - before[from]);
    }
    if (last) add(head_, 1);
    const double host = state_.constants.microbatch_s / plan.vpp;
    stage.forward_s += host / 2;
    stage.input_s += host / 2;
    return stage;
  }

  const TrainingModel::State& state_;
  PlanCosts costs_;
  // What follows is of this Execution, pp, dp and global batch.
  std::optional<Execution> least_of_;
  std::array<std::int64_t, 3> least_cut_{};
  ListSeconds embedding_, head_;
  std::vector<ListSeconds> layers_;
  std::vector<Staged> staged_;
};

}  // namespace

std::unique_ptr<Scores> make_scores(const TrainingModel& model) {
  return std::make_unique<ModelScores>(model);
}

}  // namespace flopcast::analytic::search
