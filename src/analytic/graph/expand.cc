#include "analytic/graph/expand.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>
#include <utility>

#include "base/numeric/clock.h"

namespace flopcast::analytic {
namespace {

constexpr std::uint32_t kHubName = 0;  // the empty string

class Expander {
 public:
  explicit Expander(const StepWork& work)
      : work_(work),
        schedule_(work.schedule),
        slots_(schedule_.stages() * static_cast<std::size_t>(schedule_.microbatches)) {
    for (Side* side : {&forward_, &backward_}) {
      side->made.assign(slots_, kNoTask);
      side->arrival.assign(slots_, kNoTask);
    }
  }

  Expanded run() {
    reserve();
    for (unsigned chip = 0; chip < schedule_.chips; ++chip) add_chip(chip);
    add_end();
    for (unsigned chip = 0; chip < schedule_.chips; ++chip) connect(chip);
    out_.graph = std::move(builder_).build();
    return std::move(out_);
  }

 private:
  /// Passes of one direction, by stage and microbatch.
  struct Side {
    std::vector<TaskId> made;     ///< the pass itself
    std::vector<TaskId> arrival;  ///< the send that brings its result to another chip
  };
  struct Chip {
    TaskId first_pass = kNoTask, last_pass = kNoTask;
    TaskId gather = kNoTask, reduce = kNoTask;
    TaskId optimizer = kNoTask, fixed = kNoTask;
  };

  std::size_t slot(unsigned stage, std::uint32_t microbatch) const {
    return stage * static_cast<std::size_t>(schedule_.microbatches) + microbatch;
  }
  bool elsewhere(unsigned a, unsigned b) const {
    return schedule_.chip_of(a) != schedule_.chip_of(b);
  }

  void reserve() {
    std::size_t passes = 0;
    for (const auto& actions : schedule_.actions) passes += actions.size();
    constexpr std::size_t kOthers = 8;  // of a chip
    const std::size_t tasks = 2 * passes + kOthers * schedule_.chips;
    builder_.reserve(tasks, 2 * tasks);
    out_.tasks.reserve(tasks);
  }

  TaskId add(StepTask what, std::string_view name, double seconds) {
    const bool moves =
        what == StepTask::kSend || what == StepTask::kGather || what == StepTask::kReduce;
    out_.tasks.push_back(what);
    return builder_.add_task(moves ? TaskKind::kTransfer : TaskKind::kCompute,
                             out_.names.intern(name), on_clock({seconds * work_.stretch}), Time{});
  }
  void depend(TaskId source, TaskId target) {
    builder_.add_edge({source, target, Time{}, EdgeKind::kEvent, false});
  }

  std::string label(const PipelineAction& action) const {
    constexpr std::array<std::string_view, 4> kOps = {"forward", "backward", "backward input",
                                                      "backward weight"};
    const std::string_view op = kOps[static_cast<std::size_t>(action.op)];
    return schedule_.chunks == 1 ? fmt::format("{} m{}", op, action.microbatch)
                                 : fmt::format("{} m{} c{}", op, action.microbatch, action.chunk);
  }

  /// The actions of a chip by what runs as one task: one, or two at the same time.
  template <typename Visit>
  void for_passes(unsigned chip, Visit visit) const {
    const std::span<const PipelineAction> all = schedule_.actions[chip];
    for (std::size_t i = 0; i < all.size();) {
      const std::size_t count = all[i].with_next && i + 1 < all.size() ? 2 : 1;
      visit(all.subspan(i, count));
      i += count;
    }
  }

  TaskId add_pass(unsigned chip, std::span<const PipelineAction> pass) {
    std::string label_of;
    for (const PipelineAction& action : pass) {
      label_of += (label_of.empty() ? "" : " & ") + label(action);
    }
    const StepTask what = pass.size() > 1                      ? StepTask::kBoth
                          : pass[0].op == PipelineOp::kForward ? StepTask::kForward
                                                               : StepTask::kBackward;
    const TaskId task = add(what, label_of, pass_time(schedule_, work_.stages, chip, pass).value);
    for (const PipelineAction& action : pass) {
      const std::size_t at = slot(schedule_.stage_of(chip, action.chunk), action.microbatch);
      if (action.op == PipelineOp::kForward) forward_.made[at] = task;
      if (action.op == PipelineOp::kBackward || action.op == PipelineOp::kBackwardInput) {
        backward_.made[at] = task;
      }
    }
    return task;
  }

  void add_chip(unsigned chip) {
    const auto rank = static_cast<std::int32_t>(chip);
    Chip& own = chips_.emplace_back();
    builder_.add_processor(Processor::Kind::kStream, rank, kCompute);
    for_passes(chip, [&](std::span<const PipelineAction> pass) {
      own.last_pass = add_pass(chip, pass);
      if (own.first_pass == kNoTask) own.first_pass = own.last_pass;
    });
    const ChipWork& around = work_.chips[chip];
    own.optimizer = add(StepTask::kOptimizer, "optimizer", around.optimizer.value);
    own.fixed = add(StepTask::kFixed, "fixed costs", work_.fixed.value);
    builder_.add_processor(Processor::Kind::kStream, rank, kActivations);
    add_sends(chip, forward_, PipelineOp::kForward);
    builder_.add_processor(Processor::Kind::kStream, rank, kGradients);
    add_sends(chip, backward_, PipelineOp::kBackward);
    builder_.add_processor(Processor::Kind::kStream, rank, kData);
    own.gather = add(StepTask::kGather, "gather weights", around.gather.value);
    own.reduce = add(StepTask::kReduce, "reduce gradients", around.reduce.value);
  }

  /// Results of one direction that another chip needs, in the order in which they are made.
  void add_sends(unsigned chip, Side& side, PipelineOp direction) {
    const bool forwards = direction == PipelineOp::kForward;
    for (const PipelineAction& action : schedule_.actions[chip]) {
      const bool is_forward = action.op == PipelineOp::kForward;
      if (is_forward != forwards || action.op == PipelineOp::kBackwardWeight) continue;
      const unsigned stage = schedule_.stage_of(chip, action.chunk);
      if (forwards ? stage + 1 == schedule_.stages() : stage == 0) continue;
      const unsigned to = forwards ? stage + 1 : stage - 1;
      if (!elsewhere(stage, to)) continue;
      const TaskId send = add(StepTask::kSend, "send " + label(action),
                              work_.stages[std::min(stage, to)].send.value);
      const std::size_t at = slot(stage, action.microbatch);
      depend(side.made[at], send);
      side.arrival[at] = send;
    }
  }

  /// All chips end their step together.
  void add_end() {
    builder_.add_processor(Processor::Kind::kHub, 0, 0);
    const TaskId hub = builder_.add_task(TaskKind::kRendezvous, kHubName, Time{}, Time{});
    out_.tasks.push_back(StepTask::kFixed);
    for (const Chip& chip : chips_) {
      builder_.add_edge({chip.optimizer, hub, Time{}, EdgeKind::kRendezvous, false});
      builder_.add_edge({hub, chip.fixed, Time{}, EdgeKind::kRendezvous, false});
    }
  }

  void connect(unsigned chip) {
    const Chip& own = chips_[chip];
    depend(own.gather, own.first_pass);
    depend(own.last_pass, own.reduce);
    depend(own.reduce, own.optimizer);
    wait_for_sends(chip);
    for (const PipelineAction& action : schedule_.actions[chip]) {
      const unsigned stage = schedule_.stage_of(chip, action.chunk);
      if (action.op == PipelineOp::kForward) {
        if (stage > 0) receive(forward_, stage - 1, stage, action.microbatch);
      } else if (action.op != PipelineOp::kBackwardWeight && stage + 1 < schedule_.stages()) {
        receive(backward_, stage + 1, stage, action.microbatch);
      }
    }
  }

  /// Passes behind those whose send nothing hides.
  void wait_for_sends(unsigned chip) {
    const std::vector<PipelineAction>& actions = schedule_.actions[chip];
    for (std::size_t at = 0; at + 1 < actions.size(); ++at) {
      if (!waits_for_send(schedule_, work_.stages, chip, at)) continue;
      const Side& side = actions[at].op == PipelineOp::kForward ? forward_ : backward_;
      const auto slot_of = [&](const PipelineAction& action) {
        return slot(schedule_.stage_of(chip, action.chunk), action.microbatch);
      };
      depend(side.arrival[slot_of(actions[at])], side.made[slot_of(actions[at + 1])]);
    }
  }

  /// On one chip the order of its passes says as much.
  void receive(const Side& side, unsigned from, unsigned to, std::uint32_t microbatch) {
    const TaskId arrival = side.arrival[slot(from, microbatch)];
    if (arrival != kNoTask) depend(arrival, side.made[slot(to, microbatch)]);
  }

  const StepWork& work_;
  const Schedule& schedule_;
  std::size_t slots_;
  Side forward_, backward_;
  std::vector<Chip> chips_;
  GraphBuilder builder_;
  Expanded out_;
};

}  // namespace

Expanded expand(const StepWork& work) { return Expander(work).run(); }

}  // namespace flopcast::analytic
