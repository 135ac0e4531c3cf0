// Runs an expanded step.
#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "analytic/graph/expand.h"

namespace flopcast {
namespace {

// Times are int64 picoseconds, which hold 106 days.
constexpr double kLongest = 50.0 * 86400;

Seconds seconds(Time time) { return {time.seconds()}; }

/// No task can end later than the sum of all.
double longest_possible(const StepWork& work) {
  double sum = work.fixed.value;
  const auto rounds = static_cast<double>(work.schedule.microbatches);
  for (const StageTime& s : work.stages) {
    sum += (s.forward + s.backward_input + s.backward_weight + s.send * 2).value * rounds;
  }
  for (const ChipWork& c : work.chips) sum += (c.gather + c.reduce + c.optimizer).value;
  return sum * work.stretch;
}

std::optional<Diagnostic> problem_of(const StepWork& work) {
  if (auto problem = schedule_problem(work.schedule)) return problem;
  if (work.stages.size() != work.schedule.stages() || work.chips.size() != work.schedule.chips) {
    return Diagnostic{
        ErrorCode::kUsage, "step",
        fmt::format("{} stages on {} chips, the schedule has {} on {}", work.stages.size(),
                    work.chips.size(), work.schedule.stages(), work.schedule.chips),
        "give a time for every virtual stage and every chip"};
  }
  if (longest_possible(work) < kLongest) return std::nullopt;
  return Diagnostic{ErrorCode::kTooLarge, "step", "its passes sum to more than 50 days",
                    "use the closed form, or a smaller global batch"};
}

void add_critical_path(StepRun& out) {
  TaskId task = kNoTask;
  for (TaskId t = 0; t < out.run.end.size(); ++t) {
    if (task == kNoTask || out.run.end[t] > out.run.end[task]) task = t;
  }
  for (; task != kNoTask; task = out.run.cause[task]) {
    out.critical[static_cast<std::size_t>(out.tasks[task])] +=
        seconds(out.run.end[task] - out.run.start[task]);
  }
}

void add_busy(StepRun& out) {
  out.busy.resize(out.chips);
  for (const Processor& processor : out.graph.processors) {
    if (processor.kind == Processor::Kind::kHub || processor.id != analytic::kCompute) continue;
    Time sum;
    for (TaskId t = processor.first; t < processor.last; ++t) sum += out.graph.duration[t];
    out.busy[static_cast<std::size_t>(processor.rank)] = seconds(sum);
  }
}

/// As long as what runs.
StepFacts stretched(StepFacts facts, double k) {
  const auto stretch = [k](Seconds& time) { time.value *= k; };
  for (StageFacts& stage : facts.stages) {
    for (StageTime* of : {&stage.embedding, &stage.layers_of, &stage.head}) {
      stretch(of->forward), stretch(of->backward_input), stretch(of->backward_weight);
    }
  }
  for (ChipFacts& chip : facts.chips) {
    for (Seconds* of : {&chip.embedding, &chip.layers, &chip.head}) stretch(*of);
    for (TransferFacts& transfer : chip.gathers) stretch(transfer.time);
    for (TransferFacts& transfer : chip.reduces) stretch(transfer.time);
  }
  return facts;
}

}  // namespace

std::string_view name(StepTask task) {
  constexpr std::array<std::string_view, kStepTasks> kNames = {
      "forward", "backward", "both", "send", "gather", "reduce", "optimizer", "fixed"};
  return kNames[static_cast<std::size_t>(task)];
}

Result<StepRun> run_step(const StepWork& work) {
  if (auto problem = problem_of(work)) return *std::move(problem);
  analytic::Expanded expanded = analytic::expand(work);
  Result<Run> run = simulate(expanded.graph, {}, &expanded.names);
  if (!run) return run.error();
  StepRun out;
  out.graph = std::move(expanded.graph);
  out.names = std::move(expanded.names);
  out.tasks = std::move(expanded.tasks);
  out.run = std::move(*run);
  out.chips = work.schedule.chips;
  if (work.facts) out.facts = stretched(*work.facts, work.stretch);
  out.step = seconds(out.run.makespan);
  add_busy(out);
  add_critical_path(out);
  return out;
}

}  // namespace flopcast
