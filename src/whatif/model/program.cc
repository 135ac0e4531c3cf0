#include "whatif/model/program.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "flopcast/replay/network_times.h"
#include "flopcast/trace.h"

namespace flopcast::whatif {
namespace {

using replaying::GpuTask;
using replaying::kNoIndex;
using replaying::RankModel;
using replaying::Recording;

constexpr std::string_view kModulePrefix = "nn.Module: ";

template <std::size_t Count>
bool holds_any(std::string_view text, const std::array<std::string_view, Count>& parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return text.find(part) != text.npos; });
}

/// What a name says of communication. Long names are lists of types or shapes.
std::optional<CollectiveOp> operation_named(std::string_view text) {
  if (text.find("deep_ep") != text.npos || text.find("dpsk::ep") != text.npos) {
    return CollectiveOp::kAllToAll;
  }
  constexpr std::size_t kLongName = 200;
  if (text.size() > kLongName) return std::nullopt;
  if (text.find("all2all") != text.npos) return CollectiveOp::kAllToAll;
  return replaying::operation_of(text);
}

/// What the rows around a launch tell.
struct Around {
  std::uint32_t outermost = kNoIndex;  ///< operator
  std::uint32_t innermost = kNoIndex;  ///< operator
  std::uint32_t module = kNoIndex;
  std::int64_t sequence = kNoId;
  std::optional<CollectiveOp>
      operation;  ///< of the innermost operator or annotation that names one
  bool backward = false, recomputed = false, optimizer = false, between = false;
};

/// Goes through the rows of every thread with the rows that are open around each.
class Surroundings {
 public:
  Surroundings(const NameFacts& facts, const RankModel& rank)
      : facts_(facts), trace_(*rank.trace), open_(trace_.tracks.size()) {
    call_of_.assign(trace_.events.size(), kNoIndex);
    for (std::uint32_t c = 0; c < rank.calls.size(); ++c) call_of_[rank.calls[c].row] = c;
    around_.resize(rank.calls.size());
  }

  /// One entry a call.
  std::vector<Around> run() {
    const Events& ev = trace_.events;
    for (std::uint32_t row = 0; row < ev.size(); ++row) {
      if (call_of_[row] != kNoIndex) {
        around_[call_of_[row]] = look(stack_at(row));
      } else if (tells(row)) {
        stack_at(row).push_back(row);
        note_gradient(row);
      }
    }
    return std::move(around_);
  }
  std::vector<GradientRow>& gradients() { return gradients_; }

 private:
  bool is_gradient(std::uint32_t row) const {
    const Events& ev = trace_.events;
    if (ev.category[row] != Category::kCpuOp) return false;
    return facts_.is_gradient(ev.name[row]) ||
           (ev.detail[row] != kNoDetail && trace_.ops[ev.detail[row]].forward_thread > 0);
  }

  void note_gradient(std::uint32_t row) {
    const Events& ev = trace_.events;
    if (ev.detail[row] == kNoDetail || !is_gradient(row)) return;
    const std::int64_t number = trace_.ops[ev.detail[row]].sequence_number;
    if (number >= 0) gradients_.push_back({ev.track[row], ev.start[row], number, false});
  }

  bool tells(std::uint32_t row) const {
    const Category category = trace_.events.category[row];
    return category == Category::kCpuOp || category == Category::kUserAnnotation ||
           (category == Category::kPythonFunction && facts_.is_module(trace_.events.name[row]));
  }

  std::vector<std::uint32_t>& stack_at(std::uint32_t row) {
    const Events& ev = trace_.events;
    std::vector<std::uint32_t>& stack = open_[ev.track[row]];
    while (!stack.empty() && ev.end(stack.back()) <= ev.start[row]) stack.pop_back();
    return stack;
  }

  Around look(const std::vector<std::uint32_t>& stack) const {
    Around a;
    std::int64_t own = kNoId, gradient = kNoId;  // sequence numbers, innermost first
    const Events& ev = trace_.events;
    for (auto it = stack.rbegin(); it != stack.rend(); ++it) {
      const std::uint32_t name = ev.name[*it];
      a.optimizer = a.optimizer || facts_.is_optimizer(name);
      a.between = a.between || facts_.is_between(name);
      if (ev.category[*it] == Category::kPythonFunction) {
        if (a.module == kNoIndex) a.module = *it;
        continue;
      }
      if (!a.operation) a.operation = facts_.operation(name);
      if (ev.category[*it] != Category::kCpuOp) continue;
      if (a.innermost == kNoIndex) a.innermost = *it;
      a.outermost = *it;
      const OpDetail* op = ev.detail[*it] == kNoDetail ? nullptr : &trace_.ops[ev.detail[*it]];
      const bool of_backward = is_gradient(*it);
      a.backward = a.backward || of_backward;
      if (op == nullptr || op->sequence_number < 0) continue;
      std::int64_t& sequence = of_backward ? gradient : own;
      if (sequence == kNoId && (of_backward || gradient == kNoId)) sequence = op->sequence_number;
    }
    a.recomputed = a.backward && own != kNoId;
    a.sequence = a.backward && !a.recomputed ? gradient : own;
    return a;
  }

  const NameFacts& facts_;
  const Trace& trace_;
  std::vector<std::vector<std::uint32_t>> open_;  ///< rows, by track
  std::vector<std::uint32_t> call_of_;            ///< by row
  std::vector<Around> around_;
  std::vector<GradientRow> gradients_;
};

/// Makes the works of one rank.
class ProgramMaker {
 public:
  ProgramMaker(const TraceSet& set, const NameFacts& facts, const RankModel& rank, Tokens& tokens)
      : set_(set), facts_(facts), rank_(rank), tokens_(tokens) {}

  Program run() {
    steps_ = find_steps(set_, *rank_.trace);
    program_.has_steps = !steps_.empty() && steps_.front().event != kNoDetail;
    program_.steps = static_cast<std::uint32_t>(steps_.size());
    Surroundings surroundings(facts_, rank_);
    around_ = surroundings.run();
    program_.gradients = std::move(surroundings.gradients());
    program_.has_host = std::any_of(rank_.gpu.begin(), rank_.gpu.end(),
                                    [](const GpuTask& t) { return t.call != kNoIndex; });
    for (const std::uint32_t task : launch_order()) add(task);
    if (is_planned()) {
      name_planned();
      return std::move(program_);
    }
    settle_threads();
    if (!program_.has_steps) find_steps_by_optimizers();
    return std::move(program_);
  }

 private:
  std::string_view name_of(const Work& work) const {
    return set_.strings[rank_.trace->events.name[rank_.gpu[work.task].row]];
  }

  bool is_planned() const {
    return !program_.has_host && !program_.works.empty() &&
           std::all_of(program_.works.begin(), program_.works.end(), [&](const Work& w) {
             return planned_name(name_of(w)).task != PlannedTask::kNone;
           });
  }

  void name_planned() {
    program_.planned = true;
    std::erase_if(program_.works, [&](const Work& w) {
      return planned_name(name_of(w)).task == PlannedTask::kReceive;
    });
    for (Work& w : program_.works) {
      const PlannedName name = planned_name(name_of(w));
      w.send = name.task == PlannedTask::kSend;
      w.pass = name.task == PlannedTask::kForward     ? Pass::kForward
               : name.task == PlannedTask::kBackward  ? Pass::kBackward
               : name.task == PlannedTask::kWeights   ? Pass::kWeights
               : name.task == PlannedTask::kOptimizer ? Pass::kOptimizer
                                                      : Pass::kOther;
      const bool of_step = w.pass == Pass::kOther && !w.send;  // alike: once a step
      const auto task = of_step ? PlannedTask::kFixed : name.task;
      w.token = tokens_.of({5, static_cast<std::uint64_t>(task), name.backward ? 1U : 0U, 0});
      w.kernel = w.token;
    }
  }

  std::vector<std::uint32_t> launch_order() const {
    std::vector<std::uint32_t> order;
    for (std::uint32_t t = 0; t < rank_.gpu.size(); ++t) {
      if (!program_.has_host || rank_.gpu[t].call != kNoIndex) order.push_back(t);
    }
    if (!program_.has_host) return order;  // by start
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return rank_.gpu[a].call < rank_.gpu[b].call;  // calls are by start
    });
    return order;
  }

  /// The step that a time of the aligned clock is in, kNoIndex outside.
  std::uint32_t step_at(Time time) const {
    for (std::uint32_t s = 0; s < steps_.size(); ++s) {
      const Time start = steps_[s].start + rank_.host_offset;
      if (time >= start && time <= steps_[s].end + rank_.host_offset) return s;
    }
    return kNoIndex;
  }

  void add(std::uint32_t index) {
    const GpuTask& task = rank_.gpu[index];
    const Events& ev = rank_.trace->events;
    Work work;
    work.task = index;
    if (task.call != kNoIndex) {
      const replaying::Call& call = rank_.calls[task.call];
      if (program_.has_steps) work.step = step_at(call.start);
      if (work.step == kNoIndex) return;
      work.thread = call.thread;
      describe(around_[task.call], work);
    } else if (program_.has_steps) {
      work.step = step_at(task.start);
      if (work.step == kNoIndex) return;
    }
    const std::uint32_t name = ev.name[task.row];
    if (ev.category[task.row] == Category::kKernel) {
      work.kind = facts_.kind(name);
    } else {
      work.copy = true;
    }
    if (!program_.has_host && (facts_.is_backward_kernel(name) || facts_.is_optimizer_op(name))) {
      program_.hidden_passes = true;
    }
    if (work.pass == Pass::kForward && work.sequence == kNoId && facts_.is_optimizer_op(name)) {
      work.pass = Pass::kOptimizer;
    }
    name_work(task, work);
    program_.works.push_back(work);
  }

  void describe(const Around& a, Work& work) {
    work.op_row = a.innermost;
    work.module = a.module;
    work.sequence = a.sequence;
    work.recomputed = a.recomputed;
    work.pass = a.optimizer ? Pass::kOptimizer : a.backward ? Pass::kBackward : Pass::kForward;
    const Events& ev = rank_.trace->events;
    if (work.pass == Pass::kForward && a.between) work.pass = Pass::kOther;
    if (a.outermost != kNoIndex) {
      const std::uint32_t name = ev.name[a.outermost];
      if (work.pass == Pass::kForward && a.sequence == kNoId &&
          (facts_.is_optimizer_op(name) || facts_.is_optimizer_op(ev.name[a.innermost]))) {
        work.pass = Pass::kOptimizer;
      }
      work.op = tokens_.of({2, name, dims_of(a.outermost), 0});
    }
    program_.has_sequence = program_.has_sequence || a.sequence != kNoId;
  }

  std::uint32_t dims_of(std::uint32_t row) const {
    const std::uint32_t detail = rank_.trace->events.detail[row];
    return detail == kNoDetail ? 0 : rank_.trace->ops[detail].input_dims;
  }

  /// Kernels by name and launch shape; collectives by operation and size, since the algorithm in a
  /// kernel's name is NCCL's choice.
  void name_work(const GpuTask& task, Work& work) {
    const Events& ev = rank_.trace->events;
    const std::uint32_t name = ev.name[task.row], detail = ev.detail[task.row];
    std::uint64_t blocks = 0, other = 0;
    if (task.communication) {
      name_collective(task, work);
      return;
    }
    if (ev.category[task.row] == Category::kKernel && detail != kNoDetail) {
      blocks = rank_.trace->kernels[detail].blocks;
      other = rank_.trace->kernels[detail].threads_per_block;
    } else if (detail != kNoDetail) {
      blocks = static_cast<std::uint64_t>(rank_.trace->copies[detail].bytes);
    }
    work.token = tokens_.of({0, name, blocks, other});
    work.kernel = tokens_.of({1, name, 0, 0});
  }

  void name_collective(const GpuTask& task, Work& work) {
    const Events& ev = rank_.trace->events;
    const std::uint32_t name = ev.name[task.row], about = ev.collective[task.row];
    const CollectiveDetail* detail =
        about == kNoDetail ? nullptr : &rank_.trace->collectives[about];
    std::uint64_t size = 0, ranks = 0, operation = name;
    if (detail != nullptr) {
      operation = detail->name != 0 ? detail->name : name;
      size = static_cast<std::uint64_t>(std::max(detail->in_elements, detail->out_elements));
      ranks = static_cast<std::uint64_t>(detail->group_size);
    }
    work.operation = operation_at(task, detail);
    work.token = tokens_.of({3, operation, size, ranks});
    work.kernel = tokens_.of({4, operation, ranks, 0});
  }

  /// As recorded; else as the operator or the kernel is named.
  std::optional<CollectiveOp> operation_at(const GpuTask& task, const CollectiveDetail* detail) {
    const Events& ev = rank_.trace->events;
    if (detail != nullptr && detail->name != 0) {
      if (const auto op = facts_.operation(detail->name)) return op;
    }
    if (task.call != kNoIndex && around_[task.call].operation) return around_[task.call].operation;
    return facts_.operation(ev.name[task.row]);
  }

  /// On a thread that does backward work mostly, work without a sign of its own is backward work,
  /// and forward operators are run again.
  void settle_threads() {
    std::vector<std::uint64_t> forward(rank_.threads.size(), 0), backward(rank_.threads.size(), 0);
    for (const Work& w : program_.works) {
      if (w.thread == kNoIndex) continue;
      if (w.pass == Pass::kBackward) ++backward[w.thread];
      if (w.pass == Pass::kForward && w.sequence != kNoId) ++forward[w.thread];
    }
    for (Work& w : program_.works) {
      if (w.thread == kNoIndex || w.pass != Pass::kForward) continue;
      if (backward[w.thread] == 0 || forward[w.thread] > backward[w.thread]) continue;
      w.pass = Pass::kBackward;
      w.recomputed = w.sequence != kNoId;
    }
    fill_recomputed();
    find_gradients_of_recomputed();
    find_hidden_passes();
  }

  /// Kernels of a backward among those of a forward: a graph that holds both.
  void find_hidden_passes() {
    for (const Work& w : program_.works) {
      const std::string_view name = name_of(w);
      const bool backward = name.find("backward") != name.npos || name.find("_bwd") != name.npos;
      if (w.pass == Pass::kForward && backward) program_.hidden_passes = true;
    }
  }

  /// Steps that nobody marked end with their optimizer: the next begins with the first operator of a
  /// forward, or, where those have no numbers, its first product.
  void find_steps_by_optimizers() {
    std::uint32_t step = 0;
    bool ended = false;
    for (Work& w : program_.works) {
      if (w.pass == Pass::kOptimizer) ended = true;
      const bool begins = program_.has_sequence
                              ? w.sequence != kNoId
                              : w.kind == KernelKind::kGemm || w.kind == KernelKind::kAttention;
      if (ended && w.pass == Pass::kForward && begins) {
        ++step;
        ended = false;
      }
      w.step = step;
    }
    if (step == 0) return;
    program_.steps = step + 1;
    program_.has_steps = true;
  }

  /// Work without a number between forward operators that are run again (collectives) is run again,
  /// too.
  void fill_recomputed() {
    std::vector<Work*> between;
    bool open = false;
    for (Work& w : program_.works) {
      if (w.recomputed) {
        for (Work* one : between) one->recomputed = open;
        between.clear();
        open = true;
      } else if (w.pass == Pass::kBackward && w.sequence == kNoId) {
        between.push_back(&w);
      } else {
        between.clear();
        open = false;
      }
    }
  }

  /// A gradient belongs to the last forward operator numbered as it is or lower.
  void find_gradients_of_recomputed() {
    std::vector<std::pair<std::int64_t, bool>> made;
    for (const Work& w : program_.works) {
      const bool forward = w.pass == Pass::kForward || w.recomputed;
      if (forward && w.sequence != kNoId) made.push_back({w.sequence, w.recomputed});
    }
    std::sort(made.begin(), made.end());
    const auto of_recomputed = [&made](std::int64_t number) {
      const auto next = std::upper_bound(made.begin(), made.end(), std::pair(number, true));
      return next != made.begin() && std::prev(next)->second;
    };
    for (Work& w : program_.works) {
      if (w.pass != Pass::kBackward || w.recomputed || w.sequence == kNoId) continue;
      w.of_recomputed = of_recomputed(w.sequence);
    }
    for (GradientRow& g : program_.gradients) g.of_recomputed = of_recomputed(g.number);
  }

  const TraceSet& set_;
  const NameFacts& facts_;
  const RankModel& rank_;
  Tokens& tokens_;
  std::vector<Step> steps_;
  std::vector<Around> around_;
  Program program_;
};

}  // namespace

NameFacts::NameFacts(const TraceSet& set) {
  static constexpr std::array<std::string_view, 6> kOptimizerNames = {
      "multi_tensor_apply", "FusedAdam", "_fused_adam",
      "_fused_sgd",         "_foreach_", "FusedOptimizer"};
  static constexpr std::array<std::string_view, 5> kBackwardNames = {"backward", "Backward", "_bwd",
                                                                     "dgrad", "wgrad"};
  facts_.assign(set.strings.size(), 0);
  kinds_.assign(set.strings.size(), KernelKind::kOther);
  operations_.resize(set.strings.size());
  for (std::uint32_t id = 0; id < set.strings.size(); ++id) {
    const std::string_view text = set.strings[id];
    std::uint8_t facts = 0;
    if (text.starts_with("autograd::engine::evaluate_function")) facts |= kGradient;
    if (text.starts_with("Optimizer.step")) facts |= kOptimizer;
    if (text.starts_with("Optimizer.zero_grad") || text.starts_with("enumerate(DataLoader)")) {
      facts |= kBetween;
    }
    if (holds_any(text, kOptimizerNames)) facts |= kOptimizerOp;
    if (holds_any(text, kBackwardNames)) facts |= kBackwardKernel;
    if (text.starts_with(kModulePrefix)) facts |= kModule;
    facts_[id] = facts;
    kinds_[id] = kernel_kind(text);
    operations_[id] = operation_named(text);
  }
}

Program make_program(const TraceSet& set, const NameFacts& facts, const Recording& recording,
                     std::uint32_t rank, Tokens& tokens) {
  return ProgramMaker(set, facts, recording.ranks[rank], tokens).run();
}

ModuleName module_name(std::string_view row_name) {
  if (!row_name.starts_with(kModulePrefix)) return {};
  row_name.remove_prefix(kModulePrefix.size());
  const std::size_t line = row_name.rfind('_');
  if (line == row_name.npos) return {row_name, kNoIndex};
  const std::string_view digits = row_name.substr(line + 1);
  ModuleName found{row_name.substr(0, line), 0};
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), found.number);
  if (error != std::errc() || end != digits.data() + digits.size()) return {row_name, kNoIndex};
  return found;
}

}  // namespace flopcast::whatif
