// Runs a schedule: checks that it is complete and can end, and times it.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "flopcast/parallel/schedule.h"
#include "parallel/schedule/sends.h"

namespace flopcast {
namespace {

constexpr double kNever = -1;

/// One pass over all actions: each chip runs its list until an input is missing, and goes on when
/// the chip that makes it has. Every action is looked at once or twice.
class Run {
 public:
  Run(const Schedule& schedule, std::span<const StageTime> stages)
      : schedule_(schedule),
        stages_(stages),
        forward_(schedule.stages() * static_cast<std::size_t>(schedule.microbatches), kNever),
        backward_(forward_.size(), kNever),
        next_(schedule.chips, 0),
        is_ready_(schedule.chips, 0),
        sent_(schedule.chips, 0) {
    for (unsigned stage = 0; stage < schedule.stages(); ++stage) {
      chip_of_.push_back(schedule.chip_of(stage));
    }
    for (unsigned chip = 0; chip < schedule.chips; ++chip) {
      for (unsigned chunk = 0; chunk < schedule.chunks; ++chunk) {
        stage_of_.push_back(schedule.stage_of(chip, chunk));
      }
    }
    time_.start.resize(schedule.chips);
    time_.end.resize(schedule.chips);
    time_.busy.resize(schedule.chips);
  }

  /// The chips that could not run their whole list; empty when all ended.
  std::vector<unsigned> run() {
    for (unsigned chip = 0; chip < schedule_.chips; ++chip) make_ready(chip);
    while (!ready_.empty()) {
      const unsigned chip = ready_.back();
      ready_.pop_back();
      is_ready_[chip] = 0;
      while (advance(chip)) {
      }
    }
    std::vector<unsigned> stuck;
    for (unsigned chip = 0; chip < schedule_.chips; ++chip) {
      if (next_[chip] < schedule_.actions[chip].size()) stuck.push_back(chip);
      time_.total = std::max(time_.total, time_.end[chip]);
    }
    if (!stuck.empty()) time_.total = Seconds{std::numeric_limits<double>::infinity()};
    return stuck;
  }

  std::size_t position(unsigned chip) const { return next_[chip]; }
  PipelineTime take() { return std::move(time_); }

 private:
  std::size_t slot(unsigned stage, std::uint32_t microbatch) const {
    return stage * static_cast<std::size_t>(schedule_.microbatches) + microbatch;
  }

  unsigned stage_of(unsigned chip, const PipelineAction& action) const {
    return stage_of_[chip * std::size_t{schedule_.chunks} + action.chunk];
  }

  void make_ready(unsigned chip) {
    if (is_ready_[chip] != 0) return;
    is_ready_[chip] = 1;
    ready_.push_back(chip);
  }

  double arrival(const std::vector<double>& made, unsigned from, unsigned to,
                 std::uint32_t microbatch) const {
    const double end = made[slot(from, microbatch)];
    if (end == kNever || chip_of_[from] == chip_of_[to]) return end;
    return end + stages_[std::min(from, to)].send.value;
  }

  /// When its inputs are there; kNever while one is not.
  double ready_at(unsigned stage, const PipelineAction& action) const {
    switch (action.op) {
      case PipelineOp::kForward:
        return stage == 0 ? 0 : arrival(forward_, stage - 1, stage, action.microbatch);
      case PipelineOp::kBackward:
      case PipelineOp::kBackwardInput: {
        const double own = forward_[slot(stage, action.microbatch)];
        if (own == kNever || stage + 1 == schedule_.stages()) return own;
        const double next = arrival(backward_, stage + 1, stage, action.microbatch);
        return next == kNever ? kNever : std::max(own, next);
      }
      case PipelineOp::kBackwardWeight:
        return backward_[slot(stage, action.microbatch)];
    }
    return kNever;
  }

  void finish(unsigned stage, const PipelineAction& action, double end) {
    if (action.op == PipelineOp::kForward) {
      forward_[slot(stage, action.microbatch)] = end;
      if (stage + 1 < schedule_.stages()) make_ready(chip_of_[stage + 1]);
    } else if (action.op != PipelineOp::kBackwardWeight) {
      backward_[slot(stage, action.microbatch)] = end;
      if (stage > 0) make_ready(chip_of_[stage - 1]);
    }
  }

  /// Runs the chip's next action, or two that go together. False where it has none or must wait.
  bool advance(unsigned chip) {
    const std::vector<PipelineAction>& actions = schedule_.actions[chip];
    const std::size_t at = next_[chip];
    if (at >= actions.size()) return false;
    const bool both = actions[at].with_next && at + 1 < actions.size();
    double start = std::max(time_.end[chip].value, sent_[chip]);
    for (std::size_t i = at; i <= at + both; ++i) {
      const unsigned stage = stage_of(chip, actions[i]);
      const double ready = ready_at(stage, actions[i]);
      if (ready == kNever) return false;
      start = std::max(start, ready);
    }
    const StageTime& first = stages_[stage_of(chip, actions[at])];
    const double spent =
        (both ? pass_time(schedule_, stages_, chip, std::span(actions).subspan(at, 2))
              : first.of(actions[at].op))
            .value;
    if (at == 0) time_.start[chip] = Seconds{start};
    time_.end[chip] = Seconds{start + spent};
    time_.busy[chip] += Seconds{spent};
    next_[chip] += both ? 2 : 1;
    if (first.send_alone && waits_for_send(schedule_, stages_, chip, at + both)) {
      const unsigned by = parallel::sends_by(schedule_, chip, actions[at + both]);
      sent_[chip] = start + spent + stages_[by].send.value;
    }
    for (std::size_t i = at; i <= at + both; ++i) {
      finish(stage_of(chip, actions[i]), actions[i], start + spent);
    }
    return true;
  }

  const Schedule& schedule_;
  std::span<const StageTime> stages_;
  std::vector<double> forward_, backward_;  ///< ends, by stage and microbatch
  std::vector<std::size_t> next_;           ///< of each chip's list
  std::vector<unsigned> chip_of_;           ///< of stages
  std::vector<unsigned> stage_of_;          ///< of chips and their chunks
  std::vector<unsigned> ready_;             ///< chips that may go on
  std::vector<std::uint8_t> is_ready_;      ///< in ready_
  std::vector<double> sent_;                ///< when each chip's last send ends that it waits for
  PipelineTime time_;
};

std::string text(unsigned chip, const PipelineAction& action) {
  constexpr std::string_view kOps[] = {"forward", "backward", "backward_input", "backward_weight"};
  return fmt::format("chip {}: {} of microbatch {}, chunk {}", chip,
                     kOps[static_cast<int>(action.op)], action.microbatch, action.chunk);
}

Diagnostic flaw(std::string what) {
  return {ErrorCode::kBadInput, "schedule", std::move(what),
          "every chip runs each forward and backward of its chunks once"};
}

/// Each microbatch and chunk: one forward, one input gradient, one weight gradient.
std::optional<Diagnostic> incomplete(const Schedule& schedule, unsigned chip) {
  enum : std::uint8_t { kF = 1, kB = 2, kW = 4 };
  std::vector<std::uint8_t> seen(schedule.chunks * static_cast<std::size_t>(schedule.microbatches));
  for (const PipelineAction& action : schedule.actions[chip]) {
    if (action.chunk >= schedule.chunks || action.microbatch >= schedule.microbatches) {
      return flaw(text(chip, action) + " does not exist");
    }
    constexpr std::uint8_t kMakes[] = {kF, kB | kW, kB, kW};
    std::uint8_t& done =
        seen[action.chunk * static_cast<std::size_t>(schedule.microbatches) + action.microbatch];
    if ((done & kMakes[static_cast<int>(action.op)]) != 0) {
      return flaw(text(chip, action) + " comes twice");
    }
    done |= kMakes[static_cast<int>(action.op)];
  }
  const auto missing = std::find_if(seen.begin(), seen.end(),
                                    [](std::uint8_t done) { return done != (kF | kB | kW); });
  if (missing == seen.end()) return std::nullopt;
  const auto index = missing - seen.begin();
  return flaw(fmt::format("chip {}: microbatch {} of chunk {} lacks a forward or backward", chip,
                          index % schedule.microbatches, index / schedule.microbatches));
}

/// The most of these actions' microbatches that wait for their last gradient at once.
template <typename Counts>
unsigned peak_held(const std::vector<PipelineAction>& actions, const Counts& counts) {
  unsigned held = 0, peak = 0;
  for (const PipelineAction& action : actions) {
    if (!counts(action)) continue;
    if (action.op == PipelineOp::kForward) peak = std::max(peak, ++held);
    if (action.op == PipelineOp::kBackward || action.op == PipelineOp::kBackwardWeight) --held;
  }
  return peak;
}

}  // namespace

Seconds StageTime::of(PipelineOp op) const {
  switch (op) {
    case PipelineOp::kForward:
      return forward;
    case PipelineOp::kBackward:
      return backward_input + backward_weight;
    case PipelineOp::kBackwardInput:
      return backward_input;
    case PipelineOp::kBackwardWeight:
      return backward_weight;
  }
  return {};
}

Seconds StageTime::sent(PipelineOp op) const {
  if (op == PipelineOp::kForward) return forward_sent;
  return op == PipelineOp::kBackwardWeight ? Seconds{} : backward_sent;
}

Seconds pass_time(const Schedule& schedule, std::span<const StageTime> stages, unsigned chip,
                  std::span<const PipelineAction> pass) {
  const StageTime& first = stages[schedule.stage_of(chip, pass[0].chunk)];
  const Seconds a = first.of(pass[0].op);
  if (pass.size() == 1) return a;
  const StageTime& second = stages[schedule.stage_of(chip, pass[1].chunk)];
  const Seconds b = second.of(pass[1].op);
  const Seconds sent = first.sent(pass[0].op) + second.sent(pass[1].op);
  const Seconds best = std::max({a, b, sent, a + b - sent});
  return best + std::max(first.contention, second.contention) * (a + b - best);
}

bool parallel::sent_before_next(const Schedule& schedule, unsigned chip, std::size_t at) {
  const std::vector<PipelineAction>& actions = schedule.actions[chip];
  const PipelineAction& action = actions[at];
  if (at + 1 >= actions.size() || action.with_next || action.op == PipelineOp::kBackwardWeight ||
      actions[at + 1].op == PipelineOp::kBackwardWeight) {
    return false;
  }
  const bool forward = action.op == PipelineOp::kForward;
  if (forward != (actions[at + 1].op == PipelineOp::kForward)) return false;
  const unsigned stage = schedule.stage_of(chip, action.chunk);
  if (forward ? stage + 1 == schedule.stages() : stage == 0) return false;
  return schedule.chip_of(stage) != schedule.chip_of(forward ? stage + 1 : stage - 1);
}

unsigned parallel::sends_by(const Schedule& schedule, unsigned chip, const PipelineAction& action) {
  const unsigned stage = schedule.stage_of(chip, action.chunk);
  return action.op == PipelineOp::kForward ? stage : stage - 1;
}

bool waits_for_send(const Schedule& schedule, std::span<const StageTime> stages, unsigned chip,
                    std::size_t at) {
  const unsigned stage = schedule.stage_of(chip, schedule.actions[chip][at].chunk);
  return stages[stage].send_alone && parallel::sent_before_next(schedule, chip, at);
}

std::optional<Diagnostic> schedule_problem(const Schedule& schedule) {
  if (schedule.chips < 1 || schedule.chunks < 1 || schedule.microbatches < 1 ||
      schedule.actions.size() != schedule.chips) {
    return flaw("expected at least one chip, chunk and microbatch, and a list for every chip");
  }
  for (unsigned chip = 0; chip < schedule.chips; ++chip) {
    if (auto problem = incomplete(schedule, chip)) return problem;
  }
  const std::vector<StageTime> unit(schedule.stages(), {Seconds{1}, Seconds{1}, Seconds{1}, {}});
  Run run(schedule, unit);
  const std::vector<unsigned> stuck = run.run();
  if (stuck.empty()) return std::nullopt;
  const PipelineAction& first = schedule.actions[stuck[0]][run.position(stuck[0])];
  return Diagnostic{ErrorCode::kNoAnswer, "schedule",
                    text(stuck[0], first) + " waits for something that waits for it",
                    "change the order of the actions"};
}

std::vector<unsigned> peak_in_flight(const Schedule& schedule) {
  std::vector<unsigned> peaks;
  for (const std::vector<PipelineAction>& actions : schedule.actions) {
    peaks.push_back(peak_held(actions, [](const PipelineAction&) { return true; }));
  }
  return peaks;
}

unsigned peak_in_flight(const Schedule& schedule, unsigned stage) {
  const unsigned chunk = schedule.chunk_of(stage);
  return peak_held(schedule.actions[schedule.chip_of(stage)],
                   [&](const PipelineAction& action) { return action.chunk == chunk; });
}

Seconds PipelineTime::bubble() const {
  const auto busiest = std::max_element(busy.begin(), busy.end());
  return busiest == busy.end() ? total : total - *busiest;
}

PipelineTime pipeline_time(const Schedule& schedule, std::span<const StageTime> stages) {
  Run run(schedule, stages);
  run.run();
  return run.take();
}

}  // namespace flopcast
