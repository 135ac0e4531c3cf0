// What the stages of a plan cost, and what its chips do once a step.
#include <algorithm>
#include <cmath>

#include "analytic/step_time.h"

namespace flopcast::training {
namespace {

bool folded(const Plan& plan) {
  return plan.schedule == ScheduleKind::kZeroBubbleV || plan.schedule == ScheduleKind::kDualPipeV;
}

void add_weights(ChipWeights& to, const ChipWeights& from, std::int64_t times = 1) {
  to.dense += from.dense * times;
  to.expert += from.expert * times;
  to.dense_trainable += from.dense_trainable * times;
  to.expert_trainable += from.expert_trainable * times;
}

/// First layer of every virtual stage, and the number of layers at the end.
std::vector<unsigned> first_layers(const std::vector<unsigned>& split) {
  std::vector<unsigned> first(split.size() + 1, 0);
  for (std::size_t i = 0; i < split.size(); ++i) first[i + 1] = first[i] + split[i];
  return first;
}

class Stages {
 public:
  Stages(PlanCosts& costs, const Plan& plan, const Layouts& layouts)
      : costs_(costs),
        plan_(plan),
        c_(costs.state.constants),
        layouts_(layouts),
        cost_(costs.execution(plan)),
        time_(costs.timed(cost_, plan, layouts_)),
        split_(layers_per_stage(plan, costs.state.model.layers())),
        first_(first_layers(split_)) {}

  StepCosts run() {
    gathered();
    const std::size_t stages = split_.size();
    for (std::size_t i = 0; i < stages; ++i) out_.stages.push_back(stage(i));
    send_times();
    for (unsigned chip = 0; chip < plan_.pp; ++chip) out_.tails.push_back(tail(chip));
    return std::move(out_);
  }

 private:
  /// What ZeRO 2 and 3 expose around one list, each microbatch: its weights are gathered behind the
  /// list before it (3), and its gradients reduced behind the next.
  struct Sharded {
    double forward_s = 0, gather_s = 0, reduce_s = 0, hidden_s = 0;
  };

  double transfer_s(const std::vector<Transfer>& transfers) {
    double seconds = 0;
    for (const Transfer& t : transfers) {
      const GroupTimes::Answer answer = costs_.times.time(t.op, t.size, t.type, layouts_[t.group]);
      seconds += answer.seconds / c_.collective_share;
      out_.rests_on_s[static_cast<std::size_t>(answer.basis)] += answer.seconds;
    }
    return seconds;
  }

  Sharded sharded(const ListCost& cost, const ListTime& time) {
    Sharded s;
    if (plan_.zero < Zero::kGradients) return s;
    const WeightTransfers t = weight_transfers(plan_, cost.weights);
    const bool gathers = plan_.zero == Zero::kWeights;
    const double before = gathers ? transfer_s(t.before_forward) : 0;
    const double again = gathers ? transfer_s(t.before_backward) : 0;
    const double after = transfer_s(t.after_backward);
    const double cover = plan_.overlap.weights ? c_.weight_overlap : 0;
    const double backward_s = time.input_s + time.weight_s;
    const double hidden_f = std::min(before, cover * time.forward_s);
    const double hidden_b = std::min(again + after, cover * backward_s);
    const double exposed = again + after - hidden_b;
    s.forward_s = before - hidden_f;
    s.gather_s = again + after > 0 ? exposed * again / (again + after) : 0;
    s.reduce_s = exposed - s.gather_s;
    s.hidden_s = hidden_f + hidden_b;
    return s;
  }

  void gathered() {
    embedding_ = sharded(cost_.embedding, time_.embedding);
    for (std::size_t k = 0; k < cost_.layers.size(); ++k) {
      layers_.push_back(sharded(cost_.layers[k], time_.layers[k]));
    }
    head_ = sharded(cost_.head, time_.head);
  }

  void add_list(StageCost& stage, const ListTime& time, const Sharded& s, double times) {
    add(stage.parts, time.forward, times);
    add(stage.parts, time.backward_input, times);
    add(stage.parts, time.backward_weight, times);
    at(stage.parts, TimePart::kWeights) += (s.forward_s + s.gather_s) * times;
    at(stage.parts, TimePart::kGradients) += s.reduce_s * times;
    const double lost = c_.contention * s.hidden_s;
    at(stage.parts, TimePart::kContention) += lost * times;
    stage.forward_s += (time.forward_s + s.forward_s) * times;
    stage.input_s += (time.input_s + s.gather_s + s.reduce_s + lost) * times;
    stage.weight_s += time.weight_s * times;
    for (std::size_t i = 0; i < time.rests_on_s.size(); ++i) {
      out_.rests_on_s[i] += time.rests_on_s[i] * times * static_cast<double>(plan_.microbatches());
    }
  }

  std::uint32_t layers_of(std::size_t kind, std::size_t from, std::size_t to) const {
    const std::vector<std::uint32_t>& before = costs_.state.layers_before[kind];
    return before[to] - before[from];
  }

  StageCost stage(std::size_t index) {
    StageCost stage;
    stage.layers = split_[index];
    if (index == 0) add_list(stage, time_.embedding, embedding_, 1);
    for (std::size_t kind = 0; kind < layers_.size(); ++kind) {
      const std::uint32_t layers = layers_of(kind, first_[index], first_[index + 1]);
      if (layers > 0) add_list(stage, time_.layers[kind], layers_[kind], layers);
    }
    if (index + 1 == split_.size()) add_list(stage, time_.head, head_, 1);
    const double host = c_.microbatch_s / plan_.vpp;
    at(stage.parts, TimePart::kHost) += host;
    stage.forward_s += host / 2;
    stage.input_s += host / 2;
    return stage;
  }

  void send_times() {
    const GroupLayout& chain = layouts_[Group::kPipeline];
    if (chain.members() < 2) return;
    const unsigned near = std::max(1U, chain.inside[0]);
    const DataType type = activation_type(plan_.precision);
    for (std::size_t i = 0; i + 1 < out_.stages.size(); ++i) {
      const unsigned from = static_cast<unsigned>(i % plan_.pp), to = (from + 1) % plan_.pp;
      const GroupTimes::Answer answer =
          costs_.times.send(cost_.boundary, type, from / near != to / near);
      out_.stages[i].send_s = answer.seconds / c_.collective_share;
    }
  }

  /// Passes over the chip's layers that transfers of weights may hide behind: gradients are complete
  /// after the last microbatch's backward. Interleaved schedules run up to pp microbatches of one
  /// chunk before those of the next, which all but one chunk's transfers hide behind.
  double cover_rounds() const {
    const auto together =
        static_cast<double>(std::min<std::int64_t>(plan_.microbatches(), plan_.pp));
    return std::max(1.0, together * (plan_.vpp - 1) / plan_.vpp);
  }

  /// What is sent once a step (gradients of ZeRO 0 and 1, weights of ZeRO 1 and 2) and the optimiser.
  ChipTail tail(unsigned chip) {
    ChipTail tail;
    const ChipWeights weights = weights_of_chip(costs_, cost_, plan_, split_, chip);
    double forward_s = 0, backward_s = 0;
    unsigned layers = 0;
    for (unsigned chunk = 0; chunk < plan_.vpp; ++chunk) {
      const StageCost& stage = out_.stages[stage_of(plan_, chip, chunk)];
      forward_s += stage.forward_s;
      backward_s += stage.input_s + stage.weight_s;
      layers += stage.layers;
    }
    const double buckets = std::max(1U, layers);
    if (plan_.zero != Zero::kWeights) {
      const WeightTransfers t = weight_transfers(plan_, weights);
      const double gather = transfer_s(t.before_forward);
      const double reduce = plan_.zero < Zero::kGradients ? transfer_s(t.after_backward) : 0;
      const double rounds = cover_rounds();
      const double ahead = plan_.overlap.weights ? c_.weight_overlap * forward_s * rounds : 0;
      const double behind = plan_.overlap.gradients ? c_.gradient_overlap * backward_s * rounds : 0;
      // The first bucket gathered and the last one reduced have nothing to hide behind.
      tail.gather_s = std::max(gather - ahead, gather / buckets);
      tail.reduce_s = std::max(reduce - behind, reduce / buckets);
    }
    const OptimizerTraffic traffic = optimizer_traffic(plan_, weights);
    MemoryBound kernel{MemoryOp::kOptimizer, 1, 1, DataType::kFp32, false, traffic.read,
                       traffic.written};
    constexpr std::int64_t kRow = 4096;
    kernel.columns = kRow;
    kernel.rows = std::max<std::int64_t>(
        1, static_cast<std::int64_t>((traffic.read + traffic.written).value) / (28 * kRow));
    const KernelTime time = costs_.state.system->kernels.time(kernel);
    tail.optimizer_s = traffic.read.value > 0 ? time.time.value / c_.memory_share : 0;
    out_.rests_on_s[static_cast<std::size_t>(time.basis)] += tail.optimizer_s;
    return tail;
  }

  PlanCosts& costs_;
  const Plan& plan_;
  const Constants& c_;
  Layouts layouts_;
  const ExecutionCost& cost_;
  const ExecutionTime& time_;
  std::vector<unsigned> split_, first_;
  Sharded embedding_, head_;
  std::vector<Sharded> layers_;
  StepCosts out_;
};

}  // namespace

unsigned stage_of(const Plan& plan, unsigned chip, unsigned chunk) {
  if (folded(plan)) return chunk == 0 ? chip : 2 * plan.pp - 1 - chip;
  return chip + chunk * plan.pp;
}

ChipWeights weights_of_chip(const PlanCosts& costs, const ExecutionCost& cost, const Plan& plan,
                            const std::vector<unsigned>& split, unsigned chip) {
  ChipWeights weights;
  const std::vector<unsigned> first = first_layers(split);
  for (unsigned chunk = 0; chunk < plan.vpp; ++chunk) {
    const unsigned stage = stage_of(plan, chip, chunk);
    if (stage == 0) add_weights(weights, cost.embedding.weights);
    if (stage + 1 == split.size()) {
      add_weights(weights, cost.head.weights);
      // A tied head on another chip than the embedding is a copy of its own.
      if (costs.state.model.tied_embeddings && stage != 0) {
        add_weights(weights, cost.embedding.weights);
      }
    }
    for (std::size_t kind = 0; kind < cost.layers.size(); ++kind) {
      const std::vector<std::uint32_t>& before = costs.state.layers_before[kind];
      add_weights(weights, cost.layers[kind].weights,
                  before[first[stage + 1]] - before[first[stage]]);
    }
  }
  return weights;
}

StepCosts step_costs(PlanCosts& costs, const Plan& plan, const Layouts& layouts) {
  return Stages(costs, plan, layouts).run();
}

}  // namespace flopcast::training
