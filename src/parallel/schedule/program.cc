// Schedules run as programs.
#include "flopcast/parallel/schedule_program.h"

#include <algorithm>

#include "parallel/schedule/steps.h"

namespace flopcast {

using namespace parallel;  // the room's own names

namespace {

/// How many actions each chip's lists begin with alike, whatever follows them.
std::vector<std::size_t> alike(const Schedule& a, const Schedule& b) {
  std::vector<std::size_t> counts;
  for (unsigned chip = 0; chip < a.chips; ++chip) {
    const std::vector<PipelineAction>& x = a.actions[chip];
    const std::vector<PipelineAction>& y = b.actions[chip];
    const auto differs = std::ranges::mismatch(x, y).in1;
    auto count = static_cast<std::size_t>(differs - x.begin());
    // Whether a chip waits for what it sends depends on what comes next; and two that go together stay so.
    if (count > 0) --count;
    if (count > 0 && x[count - 1].with_next) --count;
    counts.push_back(count);
  }
  return counts;
}

std::vector<std::size_t> lengths(const Schedule& schedule) {
  std::vector<std::size_t> counts;
  for (const auto& actions : schedule.actions) counts.push_back(actions.size());
  return counts;
}

}  // namespace

struct ScheduleProgram::State {
  /// What a pass takes of the stages of a run.
  struct PassCost {
    double spent = 0, input = 0, waits = 0;
  };

  struct ChipState {
    double end = 0;   ///< of its last pass
    double free = 0;  ///< when its next one may start
    double busy = 0;
  };

  Schedule shape;  ///< without actions
  std::vector<Pass> passes;
  /// Each chip's list as far as both schedules have it, and the rest of each.
  Part both, rest, rest_of_longer;
  std::vector<StepWriter::First> first, first_of_longer;
  bool has_longer = false;
  // Of a run.
  std::vector<PassCost> costs;
  bool any_waits = false;
  std::vector<ChipState> chips;
  std::vector<double> ends;  ///< of steps, from 1 on

  void price(std::span<const StageTime> stages) {
    costs.clear();
    any_waits = false;
    for (const Pass& pass : passes) {
      PassCost cost;
      if (!pass.actions.empty()) {
        cost.spent = pass_time(shape, stages, pass.chip, pass.actions).value;
      }
      if (pass.input != kNoStage) cost.input = stages[pass.input].send.value;
      if (pass.waits != kNoStage && waits_alone(pass, stages)) {
        cost.waits = stages[pass.waits].send.value;
        any_waits = true;
      }
      costs.push_back(cost);
    }
  }

  bool waits_alone(const Pass& pass, std::span<const StageTime> stages) const {
    return std::ranges::all_of(pass.actions, [&](const PipelineAction& action) {
      return stages[shape.stage_of(pass.chip, action.chunk)].send_alone;
    });
  }

  /// @param kWaits whether any chip waits for what it sends.
  template <bool kWaits>
  void run(const Part& part, std::size_t from) {
    const Step* step = part.steps.data();
    double* out = ends.data() + from;
    for (const Burst& burst : part.bursts) {
      ChipState chip = chips[burst.chip];
      for (const Step* const last = step + burst.steps; step != last; ++step) {
        const PassCost& cost = costs[step->pass];
        chip.end = std::max(chip.free, ends[step->source] + cost.input) + cost.spent;
        chip.busy += cost.spent;
        chip.free = kWaits ? chip.end + cost.waits : chip.end;
        *out++ = chip.end;
      }
      chips[burst.chip] = chip;
    }
  }
  void run(const Part& part, std::size_t from) {
    any_waits ? run<true>(part, from) : run<false>(part, from);
  }

  PipelineTime time(const std::vector<StepWriter::First>& first_steps) const {
    PipelineTime time;
    for (std::size_t i = 0; i < chips.size(); ++i) {
      double start = 0;
      for (const Step& step : first_steps[i]) {
        start = std::max(start, ends[step.source] + costs[step.pass].input);
      }
      time.start.push_back(Seconds{start});
      time.end.push_back(Seconds{chips[i].end});
      time.busy.push_back(Seconds{chips[i].busy});
      time.total = std::max(time.total, time.end.back());
    }
    return time;
  }
};

ScheduleProgram::ScheduleProgram(const Schedule& schedule, const Schedule& longer)
    : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.shape = {schedule.kind, schedule.chips, schedule.chunks, schedule.microbatches, {}};
  s.has_longer = &schedule != &longer;
  StepWriter writer(schedule, std::max(schedule.microbatches, longer.microbatches));
  if (s.has_longer) s.both = writer.add(schedule, alike(schedule, longer));
  StepWriter::Progress begun = writer.progress();
  s.rest = writer.add(schedule, lengths(schedule));
  s.first = writer.progress().first;
  if (s.has_longer) {
    writer.go_back(std::move(begun));
    s.rest_of_longer = writer.add(longer, lengths(longer));
    s.first_of_longer = writer.progress().first;
  }
  s.passes = std::move(writer).passes();
  const std::size_t rest = std::max(s.rest.steps.size(), s.rest_of_longer.steps.size());
  s.ends.assign(1 + s.both.steps.size() + rest, 0);
}

ScheduleProgram::ScheduleProgram(const Schedule& schedule) : ScheduleProgram(schedule, schedule) {}
ScheduleProgram::ScheduleProgram(ScheduleProgram&&) noexcept = default;
ScheduleProgram& ScheduleProgram::operator=(ScheduleProgram&&) noexcept = default;
ScheduleProgram::~ScheduleProgram() = default;

ScheduleProgram::Times ScheduleProgram::run(std::span<const StageTime> stages) {
  State& s = *state_;
  s.price(stages);
  s.chips.assign(s.shape.chips, {});
  s.run(s.both, 1);
  const auto begun = s.chips;
  const std::size_t from = 1 + s.both.steps.size();
  s.run(s.rest, from);
  Times times;
  times.schedule = s.time(s.first);
  if (!s.has_longer) {
    times.longer = times.schedule;
    return times;
  }
  s.chips = begun;
  s.run(s.rest_of_longer, from);
  times.longer = s.time(s.first_of_longer);
  return times;
}

}  // namespace flopcast
