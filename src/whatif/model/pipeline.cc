#include "whatif/model/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "whatif/model/layers.h"

namespace flopcast::whatif {
namespace {

using replaying::kNoIndex;
using replaying::Recording;

PipelineOp op_of(Pass pass, bool split_backward) {
  if (pass == Pass::kForward) return PipelineOp::kForward;
  if (pass == Pass::kWeights) return PipelineOp::kBackwardWeight;
  return split_backward ? PipelineOp::kBackwardInput : PipelineOp::kBackward;
}

/// A rank's passes of one step, in order.
using StepPasses = std::vector<std::uint32_t>;

class PipelineFinder {
 public:
  PipelineFinder(const Recording& recording, const std::vector<Program>& programs,
                 const std::vector<ModelGroup>& groups, std::vector<Passes>& passes)
      : recording_(recording), programs_(programs), groups_(groups), passes_(passes) {}

  Pipeline run() {
    find_stages();
    for (std::uint32_t r = 0; r < passes_.size(); ++r) steps_.push_back(by_step(r));
    count_forwards();
    find_schedule();
    for (std::uint32_t r = 0; r < passes_.size(); ++r) {
      for (const StepPasses& step : steps_[r]) number(r, step);
    }
    return std::move(found_);
  }

 private:
  /// Ranks that send to one another, directly or through others, are one pipeline; its stages follow
  /// each other as ranks do. A planned step has one chip of each stage.
  void find_stages() {
    if (std::all_of(programs_.begin(), programs_.end(),
                    [](const Program& p) { return p.planned; })) {
      found_.stages = static_cast<std::uint32_t>(programs_.size());
      for (std::uint32_t r = 0; r < found_.stages; ++r) found_.stage.push_back(r);
      found_.replica.assign(found_.stages, 0);
      return;
    }
    std::map<std::int32_t, std::int32_t> root;
    const auto find = [&root](std::int32_t rank) {
      while (root.try_emplace(rank, rank).first->second != rank) rank = root[rank];
      return rank;
    };
    for (const ModelGroup& g : groups_) {
      if (g.use != GroupUse::kPipeline || g.ranks.empty()) continue;
      for (const std::int32_t rank : g.ranks) {
        const std::int32_t a = find(g.ranks.front()), b = find(rank);
        root[std::max(a, b)] = std::min(a, b);
      }
    }
    std::map<std::int32_t, std::vector<std::int32_t>> members;
    for (const auto& [rank, ignored] : root) members[find(rank)].push_back(rank);
    std::map<std::int32_t, std::uint32_t> numbers;
    for (std::uint32_t r = 0; r < recording_.ranks.size(); ++r) {
      const std::int32_t rank = recording_.ranks[r].rank;
      const auto known = root.find(rank);
      const std::int32_t first = known == root.end() ? rank : find(rank);
      const std::vector<std::int32_t>& line = members[first];
      found_.stages = std::max(found_.stages, static_cast<std::uint32_t>(line.size()));
      const auto at = std::find(line.begin(), line.end(), rank);
      found_.stage.push_back(line.empty() ? 0 : static_cast<std::uint32_t>(at - line.begin()));
      found_.replica.push_back(
          numbers.try_emplace(first, static_cast<std::uint32_t>(numbers.size())).first->second);
    }
  }

  std::vector<StepPasses> by_step(std::uint32_t r) const {
    std::vector<StepPasses> steps(std::max(programs_[r].steps, 1U));
    const std::vector<Stretch>& stretches = passes_[r].stretches;
    for (std::uint32_t s = 0; s < stretches.size(); ++s) {
      if (stretches[s].sort == Stretch::Sort::kPass) steps[stretches[s].step].push_back(s);
    }
    return steps;
  }

  const StepPasses& middle_step(std::uint32_t r) const { return steps_[r][steps_[r].size() / 2]; }

  /// Forward passes of a step: microbatches times chunks; the most common count over ranks.
  void count_forwards() {
    std::map<std::uint32_t, std::uint32_t> ranks;
    for (std::uint32_t r = 0; r < passes_.size(); ++r) {
      std::uint32_t count = 0;
      for (const std::uint32_t s : middle_step(r)) {
        if (passes_[r].stretches[s].pass == Pass::kForward) ++count;
        split_backward_ = split_backward_ || passes_[r].stretches[s].pass == Pass::kWeights;
        has_backward_ = has_backward_ || passes_[r].stretches[s].pass == Pass::kBackward;
      }
      ++ranks[count];
    }
    forwards_ = 0;
    std::uint32_t most = 0;
    for (const auto& [count, of] : ranks) {
      if (count == 0 || of <= most) continue;
      most = of;
      forwards_ = count;
    }
    found_.microbatches = std::max(forwards_, 1U);
  }

  void find_schedule() {
    if (found_.stages == 1) {
      found_.evidence = "one stage";
      return;
    }
    if (!has_backward_ || forwards_ == 0) {
      found_.evidence = "no backward passes were found";
      return;
    }
    using enum ScheduleKind;
    for (const bool strict : {true, false}) {
      for (const ScheduleKind kind : {kOneFOneB, kGpipe, kZeroBubbleH1}) {
        if (fits(kind, 1, strict)) return;
      }
      for (std::uint32_t chunks = 2; strict && chunks <= forwards_; ++chunks) {
        if (forwards_ % chunks != 0) continue;
        for (const ScheduleKind kind : {kInterleaved, kZeroBubbleV, kDualPipeV}) {
          if (fits(kind, chunks, true)) return;
        }
      }
    }
    if (split_backward_ && fits_apart_from_weights()) return;
    if (fits_interleaved()) return;
    found_.evidence = "the order of passes is none of the known schedules'";
  }

  /// Whether every recorded stage runs its passes in this schedule's order; strictly, passes of one
  /// chunk must run the same kernels, too.
  bool fits(ScheduleKind kind, std::uint32_t chunks, bool strict) {
    const auto schedule = make_schedule(kind, found_.stages, forwards_ / chunks, chunks);
    if (!schedule) return false;
    for (std::uint32_t r = 0; r < passes_.size(); ++r) {
      if (!fits(schedule->actions[found_.stage[r]], r, strict)) return false;
    }
    take(*schedule, std::string(name(kind)));
    return true;
  }

  void take(const Schedule& schedule, std::string schedule_name) {
    found_.schedule = std::move(schedule_name);
    found_.chunks = schedule.chunks;
    found_.microbatches = static_cast<std::uint32_t>(schedule.microbatches);
    found_.v_shaped = schedule.v_shaped();
    found_.evidence =
        fmt::format("order of passes on {} of {} stages", recorded_stages(), found_.stages);
    orders_.clear();
    for (std::uint32_t r = 0; r < passes_.size(); ++r) {
      orders_.push_back(schedule.actions[found_.stage[r]]);
    }
  }

  std::uint32_t recorded_stages() const {
    std::vector<std::uint32_t> stages = found_.stage;
    std::sort(stages.begin(), stages.end());
    return static_cast<std::uint32_t>(std::unique(stages.begin(), stages.end()) - stages.begin());
  }

  bool fits(const std::vector<PipelineAction>& actions, std::uint32_t r, bool strict) const {
    const StepPasses& step = middle_step(r);
    if (actions.size() != step.size()) return false;
    std::map<std::uint32_t, std::vector<std::uint32_t>> kernels;  // of a chunk's forward
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> forward_of;
    for (std::size_t i = 0; i < step.size(); ++i) {
      const Stretch& s = passes_[r].stretches[step[i]];
      if (op_of(s.pass, split_backward_) != actions[i].op) return false;
      if (s.pass == Pass::kForward) {
        forward_of[{actions[i].microbatch, actions[i].chunk}] = step[i];
      } else if (strict && s.forward != kNoIndex &&
                 forward_of[{actions[i].microbatch, actions[i].chunk}] != s.forward) {
        return false;  // autograd's numbers say otherwise
      }
      if (!strict || s.pass != Pass::kForward) continue;
      std::vector<std::uint32_t> own = tokens_of(programs_[r].works, s.works, Level::kName);
      const auto [known, fresh] = kernels.try_emplace(actions[i].chunk, own);
      if (!fresh && known->second != own) return false;
    }
    return true;
  }

  /// Zero-bubble schedules differ in when they run the gradients of weights: the rest is 1F1B.
  bool fits_apart_from_weights() {
    const auto schedule = make_schedule(ScheduleKind::kOneFOneB, found_.stages, forwards_);
    if (!schedule) return false;
    for (std::uint32_t r = 0; r < passes_.size(); ++r) {
      const auto& actions = schedule->actions[found_.stage[r]];
      std::size_t next = 0;
      for (const std::uint32_t s : middle_step(r)) {
        const Pass pass = passes_[r].stretches[s].pass;
        if (pass == Pass::kWeights) continue;
        if (next == actions.size() || op_of(pass, false) != actions[next++].op) return false;
      }
      if (next != actions.size()) return false;
    }
    found_.schedule = name(ScheduleKind::kZeroBubbleH1);
    found_.evidence = "order of 1f1b, with the gradients of weights apart and late";
    return true;
  }

  /// Interleaved schedules also differ in how many forwards run ahead: the order of forwards, and that
  /// of backwards, are the same.
  bool fits_interleaved() {
    for (std::uint32_t chunks = 2; chunks <= forwards_; ++chunks) {
      if (forwards_ % chunks != 0) continue;
      const auto schedule =
          make_schedule(ScheduleKind::kInterleaved, found_.stages, forwards_ / chunks, chunks);
      if (!schedule) continue;
      std::vector<std::vector<PipelineAction>> orders;
      for (std::uint32_t r = 0; r < passes_.size(); ++r) {
        orders.push_back(as_run(schedule->actions[found_.stage[r]], r));
        if (!fits(orders.back(), r, true)) break;
        if (r + 1 < passes_.size()) continue;
        take(*schedule, std::string(name(ScheduleKind::kInterleaved)));
        orders_ = std::move(orders);
        return true;
      }
    }
    return false;
  }

  /// A schedule's forwards and backwards, each in its order, put together as the rank ran them.
  std::vector<PipelineAction> as_run(const std::vector<PipelineAction>& actions,
                                     std::uint32_t r) const {
    std::vector<PipelineAction> forwards, backwards, order;
    for (const PipelineAction& a : actions) {
      (a.op == PipelineOp::kForward ? forwards : backwards).push_back(a);
    }
    std::size_t f = 0, b = 0;
    for (const std::uint32_t s : middle_step(r)) {
      const bool forward = passes_[r].stretches[s].pass == Pass::kForward;
      if (forward ? f == forwards.size() : b == backwards.size()) break;
      order.push_back(forward ? forwards[f++] : backwards[b++]);
    }
    return order;
  }

  /// Microbatch and chunk: as the schedule has them; else forwards in order, and each backward that
  /// of its forward, or the next.
  void number(std::uint32_t r, const StepPasses& step) {
    std::vector<Stretch>& stretches = passes_[r].stretches;
    if (!orders_.empty() && orders_[r].size() == step.size()) {
      for (std::size_t i = 0; i < step.size(); ++i) {
        const PipelineAction& action = orders_[r][i];
        stretches[step[i]].microbatch = action.microbatch;
        stretches[step[i]].chunk = action.chunk;
      }
      return link(r, step);
    }
    std::uint32_t forward = 0, backward = 0, weights = 0;
    for (const std::uint32_t i : step) {
      Stretch& s = stretches[i];
      if (s.pass == Pass::kForward) {
        s.microbatch = forward++;
      } else if (s.forward != kNoIndex && stretches[s.forward].step == s.step) {
        s.microbatch = stretches[s.forward].microbatch;
      } else {
        s.microbatch = s.pass == Pass::kWeights ? weights++ : backward++;
      }
    }
    link(r, step);
  }

  /// The forward of every backward that autograd's numbers did not tell.
  void link(std::uint32_t r, const StepPasses& step) {
    std::vector<Stretch>& stretches = passes_[r].stretches;
    for (const std::uint32_t b : step) {
      if (stretches[b].pass == Pass::kForward) continue;
      if (stretches[b].forward != kNoIndex) continue;
      for (const std::uint32_t f : step) {
        if (stretches[f].pass == Pass::kForward &&
            stretches[f].microbatch == stretches[b].microbatch &&
            stretches[f].chunk == stretches[b].chunk) {
          stretches[b].forward = f;
        }
      }
    }
  }

  const Recording& recording_;
  const std::vector<Program>& programs_;
  const std::vector<ModelGroup>& groups_;
  std::vector<Passes>& passes_;
  std::vector<std::vector<StepPasses>> steps_;
  std::uint32_t forwards_ = 0;
  bool split_backward_ = false, has_backward_ = false;
  std::vector<std::vector<PipelineAction>> orders_;  ///< of each rank's step; empty: unknown
  Pipeline found_;
};

}  // namespace

Pipeline find_pipeline(const Recording& recording, const std::vector<Program>& programs,
                       const std::vector<ModelGroup>& groups, std::vector<Passes>& passes) {
  return PipelineFinder(recording, programs, groups, passes).run();
}

}  // namespace flopcast::whatif
