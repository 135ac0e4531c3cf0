// What the stages of a plan cost, and what its chips do once a step.
#include <algorithm>
#include <cmath>

#include "analytic/step/time.h"

namespace flopcast::analytic {
namespace {

class Stages {
 public:
  Stages(PlanCosts& costs, const Plan& plan, const Layouts& layouts)
      : costs_(costs),
        plan_(plan),
        c_(costs.state.constants),
        layouts_(layouts),
        cost_(costs.priced(plan)),
        time_(costs.timed(cost_, plan, layouts_)),
        shape_(costs.shape(plan)),
        held_(costs.held(cost_, plan)) {}

  StepCosts run() {
    gathered();
    stages();
    send_times();
    tails();
    return std::move(out_);
  }

  StepPartsList lists() {
    gathered();
    StepPartsList out;
    for (const std::uint32_t kind : shape_.stage_kinds) {
      out.stages.push_back(lists_of(shape_.stages[kind]));
    }
    for (const std::uint32_t kind : shape_.chip_kinds) out.tails.push_back(tail_parts(kind));
    return out;
  }

 private:
  /// What ZeRO 2 and 3 expose around one list, each microbatch: its weights are gathered behind the
  /// list before it (3), and its gradients reduced behind the next.
  struct Sharded {
    double forward_s = 0, gather_s = 0, reduce_s = 0, hidden_s = 0;
    double add_s = 0;  ///< of adding its gradients to those of other microbatches
  };

  /// @param chips that send so.
  double transfer_s(const std::vector<Transfer>& transfers, double chips = 1) {
    double seconds = 0;
    for (const Transfer& t : transfers) {
      const GroupTimes::Answer answer = costs_.times.time(t.op, t.size, t.type, layouts_[t.group]);
      seconds += answer.seconds / c_.collective_share;
      out_.rests_on_s[static_cast<std::size_t>(answer.basis)] += answer.seconds * chips;
    }
    return seconds;
  }

  /// Of adding gradients to those of other microbatches: by a pass of its own, or by the products that make them,
  /// which then read the sum besides and write it in its own type.
  double added_s(const ChipWeights& weights) {
    OptimizerTraffic traffic = accumulation_traffic(plan_, weights);
    if (c_.adds_apart == 0) {
      // Shards are added up as they arrive. What the products write anyway is what a pass of its own reads of them.
      if (plan_.zero >= Zero::kGradients) return 0;
      const Bytes sum = traffic.written, product = traffic.read - sum;
      traffic.read = sum;
      traffic.written = sum - product;
    }
    return costs_.optimizer(traffic).seconds / c_.memory_share;
  }

  Sharded sharded(const ListCost& cost, const ListTime& time) {
    Sharded s;
    s.add_s = added_s(cost.weights);
    if (plan_.zero < Zero::kGradients || plan_.gathers_once()) return s;
    const WeightTransfers t = weight_transfers(plan_, cost.weights);
    const bool gathers = plan_.zero == Zero::kWeights;
    const double before = gathers ? transfer_s(t.before_forward) : 0;
    const double again = gathers ? transfer_s(t.before_backward) : 0;
    const double after =
        transfer_s(t.after_backward) / static_cast<double>(plan_.passes_a_reduction());
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

  void add_list(StageCost& stage, const ListTime& time, const Sharded& s, double times) const {
    add(stage.parts, time.forward, times);
    add(stage.parts, time.backward_input, times);
    add(stage.parts, time.backward_weight, times);
    at(stage.parts, TimePart::kWeights) += (s.forward_s + s.gather_s) * times;
    at(stage.parts, TimePart::kGradients) += s.reduce_s * times;
    at(stage.parts, TimePart::kMemoryBound) += s.add_s * times;
    const double lost = c_.contention * s.hidden_s;
    at(stage.parts, TimePart::kContention) += lost * times;
    stage.forward_sent_s += sent_s(time.forward) * times;
    stage.input_sent_s += sent_s(time.backward_input) * times;
    stage.forward_s += (time.forward_s + s.forward_s) * times;
    stage.input_s += (time.input_s + s.gather_s + s.reduce_s + lost) * times;
    stage.weight_s += (time.weight_s + s.add_s) * times;
  }

  void stages() {
    std::vector<StageCost> kinds;
    for (const PipelineShape::Stage& stage : shape_.stages) kinds.push_back(stage_cost(stage));
    out_.stages.reserve(shape_.stage_kinds.size());
    for (const std::uint32_t kind : shape_.stage_kinds) {
      out_.stages.push_back(kinds[kind]);
      rest_on(shape_.stages[kind]);
    }
  }

  StageCost stage_cost(const PipelineShape::Stage& of) const {
    StageCost stage;
    stage.layers = of.layers;
    if (of.first) add_list(stage, time_.embedding, embedding_, 1);
    for (std::size_t kind = 0; kind < layers_.size(); ++kind) {
      if (of.of_kind[kind] > 0) {
        add_list(stage, time_.layers[kind], layers_[kind], of.of_kind[kind]);
      }
    }
    if (of.last) add_list(stage, time_.head, head_, 1);
    const double host = c_.microbatch_s;
    at(stage.parts, TimePart::kHost) += host;
    stage.forward_s += host / 2;
    stage.input_s += host / 2;
    return stage;
  }

  StageLists lists_of(const PipelineShape::Stage& of) const {
    StageLists lists;
    lists.layers.layers = of.layers;
    if (of.first) add_list(lists.embedding, time_.embedding, embedding_, 1);
    for (std::size_t kind = 0; kind < layers_.size(); ++kind) {
      add_list(lists.layers, time_.layers[kind], layers_[kind], of.of_kind[kind]);
    }
    if (of.last) add_list(lists.head, time_.head, head_, 1);
    return lists;
  }

  void rest_on(const PipelineShape::Stage& stage) {
    const auto add = [&](const ListTime& time, double times) {
      times *= static_cast<double>(plan_.microbatches());
      for (std::size_t i = 0; i < time.rests_on_s.size(); ++i) {
        out_.rests_on_s[i] += time.rests_on_s[i] * times;
      }
    };
    if (stage.first) add(time_.embedding, 1);
    for (std::size_t kind = 0; kind < layers_.size(); ++kind) {
      add(time_.layers[kind], stage.of_kind[kind]);
    }
    if (stage.last) add(time_.head, 1);
  }

  /// What a stage hands on, to the next one's chips. The chips of a tensor group all hold it where no sequence
  /// parallelism shares it out: each sends its part, and the next stage's gather the parts (Narayanan et al. 2021,
  /// section 4.1; DeepSpeed's pipeline does the same).
  double send_s(bool between_nodes) {
    const DataType type = activation_type(plan_.precision);
    const bool parts = plan_.tp > 1 && !plan_.sequence_parallel;
    const Bytes sent = parts ? cost_.boundary / plan_.tp : cost_.boundary;
    double seconds = costs_.times.send(sent, type, between_nodes).seconds;
    if (parts) {
      const GroupLayout& group = layouts_[Group::kTensor];
      seconds += costs_.times.time(CollectiveOp::kAllGather, cost_.boundary, type, group).seconds;
    }
    return seconds / c_.collective_share;
  }

  void send_times() {
    const GroupLayout& chain = layouts_[Group::kPipeline];
    if (chain.members() < 2) return;
    const unsigned near = std::max(1U, chain.inside[0]);
    const double inside_s = near > 1 ? send_s(false) : 0, between_s = send_s(true);
    for (std::size_t i = 0; i + 1 < out_.stages.size(); ++i) {
      const unsigned from = static_cast<unsigned>(i % plan_.pp), to = (from + 1) % plan_.pp;
      out_.stages[i].send_s = from / near != to / near ? between_s : inside_s;
    }
    if (!plan_.overlap.pipeline) return wait_for_sends();
    out_.sends_wait = c_.sends_wait > 0 && plan_.schedule == ScheduleKind::kInterleaved;
  }

  /// Where sends do not overlap, a chip waits for each: for its activations to go on (while gradients
  /// come back), and for its gradients to go back (while activations come).
  void wait_for_sends() {
    for (std::size_t i = 0; i + 1 < out_.stages.size(); ++i) {
      out_.stages[i].forward_s += out_.stages[i].send_s;
      out_.stages[i + 1].input_s += out_.stages[i].send_s;
      out_.stages[i].send_s = 0;
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

  void tails() {
    std::vector<ChipTail> kinds;
    for (std::uint32_t kind = 0; kind < shape_.chips.size(); ++kind) kinds.push_back(tail(kind));
    out_.tails.reserve(plan_.pp);
    for (const std::uint32_t kind : shape_.chip_kinds) out_.tails.push_back(kinds[kind]);
  }

  bool gathers_in_tail() const { return plan_.zero != Zero::kWeights || plan_.gathers_once(); }
  bool reduces_in_tail() const { return plan_.zero < Zero::kGradients || plan_.gathers_once(); }

  TailParts tail_parts(std::uint32_t kind) {
    TailParts parts;
    if (gathers_in_tail()) {
      const WeightTransfers t = weight_transfers(plan_, held_[kind].weights);
      parts.gathers = whole(t.before_forward);
      if (reduces_in_tail()) parts.reduces = whole(t.after_backward);
    }
    const unsigned chip = shape_.chips[kind];
    for (unsigned chunk = 0; chunk < plan_.vpp; ++chunk) {
      const PipelineShape::Stage& stage = shape_.stage(stage_of(plan_, chip, chunk));
      if (stage.first) parts.embedding_s += optimizer_s(cost_.embedding.weights);
      for (std::size_t k = 0; k < stage.of_kind.size(); ++k) {
        parts.layers_s += optimizer_s(cost_.layers[k].weights) * stage.of_kind[k];
      }
    }
    // The rest, with a copy of the embedding where head and embedding share their weights.
    const double rest = optimizer_s(held_[kind].weights) - parts.embedding_s - parts.layers_s;
    if (chip == plan_last_chip()) parts.head_s = std::max(0.0, rest);
    return parts;
  }
  unsigned plan_last_chip() const { return is_folded(plan_) ? 0 : plan_.pp - 1; }
  std::vector<TailTransfer> whole(const std::vector<Transfer>& transfers) {
    std::vector<TailTransfer> out;
    for (const Transfer& t : transfers) {
      out.push_back({t, layouts_[t.group].members(), transfer_s({t})});
    }
    return out;
  }
  double optimizer_s(const ChipWeights& weights) {
    const OptimizerTraffic traffic = optimizer_traffic(plan_, weights);
    return costs_.optimizer(traffic).seconds / c_.memory_share + host_s(traffic);
  }

  /// What is sent once a step (gradients of ZeRO 0 and 1, weights of ZeRO 1 and 2) and the optimiser.
  ChipTail tail(std::uint32_t kind) {
    ChipTail tail;
    const unsigned chip = shape_.chips[kind];
    const auto chips =
        static_cast<double>(std::count(shape_.chip_kinds.begin(), shape_.chip_kinds.end(), kind));
    const ChipWeights& weights = held_[kind].weights;
    double forward_s = 0, backward_s = 0;
    unsigned layers = 0;
    for (unsigned chunk = 0; chunk < plan_.vpp; ++chunk) {
      const StageCost& stage = out_.stages[stage_of(plan_, chip, chunk)];
      forward_s += stage.forward_s;
      backward_s += stage.input_s + stage.weight_s;
      layers += stage.layers;
    }
    const double buckets = std::max(1U, layers);
    if (gathers_in_tail()) {
      const WeightTransfers t = weight_transfers(plan_, weights);
      const double gather = transfer_s(t.before_forward, chips);
      const double reduce = reduces_in_tail() ? transfer_s(t.after_backward, chips) : 0;
      const double rounds = cover_rounds();
      const double ahead = plan_.overlap.weights ? c_.weight_overlap * forward_s * rounds : 0;
      const double behind = plan_.overlap.gradients ? c_.gradient_overlap * backward_s * rounds : 0;
      // The first bucket gathered and the last one reduced have nothing to hide behind; what is hidden slows the
      // kernels beside it.
      const auto exposed = [&](double all, double cover) {
        const double seen = std::max(all - cover, all / buckets);
        return seen + c_.contention * (all - seen);
      };
      tail.gather_s = exposed(gather, ahead);
      tail.reduce_s = exposed(reduce, behind);
    }
    const OptimizerTraffic traffic = optimizer_traffic(plan_, weights);
    const KernelTimes::Answer optimizer = costs_.optimizer(traffic);
    tail.optimizer_s = optimizer.seconds / c_.memory_share + host_s(traffic);
    out_.rests_on_s[static_cast<std::size_t>(optimizer.basis)] += tail.optimizer_s * chips;
    return tail;
  }

  /// What the host's share of the optimizer takes: gradients down, Adam on the processors that all chips
  /// of a node share, weights back, one after the other.
  double host_s(const OptimizerTraffic& traffic) const {
    // Ren et al., ZeRO-Offload, arXiv:2101.06840: 0.25 s for 1e9 weights on two sockets.
    constexpr double kSecondsPerWeight = 0.25e-9;
    constexpr double kLink = 25e9;  // bytes/s that PCIe 4.0 x16 gives of its 31.5e9
    if (traffic.hosted == 0) return 0;
    return traffic.hosted * kSecondsPerWeight * costs_.chips_of_node() +
           traffic.to_host.value / kLink;
  }

  PlanCosts& costs_;
  const Plan& plan_;
  const Constants& c_;
  Layouts layouts_;
  const ExecutionCost& cost_;
  const ExecutionTime& time_;
  const PipelineShape& shape_;
  const std::vector<ChipHeld>& held_;
  Sharded embedding_, head_;
  std::vector<Sharded> layers_;
  StepCosts out_;
};

}  // namespace

StepCosts step_costs(PlanCosts& costs, const Plan& plan, const Layouts& layouts) {
  return Stages(costs, plan, layouts).run();
}

StepPartsList step_lists(PlanCosts& costs, const Plan& plan, const Placement& placement) {
  return Stages(costs, plan, layouts_of(plan, placement)).lists();
}

}  // namespace flopcast::analytic
