#include "whatif/structure/emit.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/text/amounts.h"
#include "base/text/format.h"
#include "flopcast/replay/steps.h"
#include "whatif/structure/evidence.h"
#include "whatif/structure/plan/reshape.h"
#include "whatif/structure/written/finish.h"
#include "whatif/structure/written/layout.h"

namespace flopcast::whatif::structure {
namespace {

/// Steps of a run. The first starts with empty streams and is not judged; large runs have ranks
/// enough to tell how much steps differ.
constexpr std::uint32_t kSteps = 4;
constexpr std::uint32_t kStepsOfLargeRuns = 3;
constexpr std::uint32_t kLargeRun = 64;
/// More than this off the recorded step, and nothing can be said of other runs.
constexpr double kMostMisunderstood = 0.1;

/// What the recording must tell before anything can be put together.
std::optional<Diagnostic> unreadable(const TraceModel& model,
                                     const replaying::Recording& recording) {
  const auto missing = [](std::string what, std::string hint) {
    return Diagnostic{ErrorCode::kNoAnswer, "structure", std::move(what), std::move(hint)};
  };
  for (const ModelStage& stage : model.stages) {
    if (stage.segments.empty() || stage.steps == 0) {
      return missing(
          fmt::format("rank {}: no whole step with its passes was found in the recording",
                      recording.ranks[stage.rank].rank),
          "see `flopcast trace model`");
    }
  }
  if (model.stages.empty()) return missing("nothing is known of the program", "");
  if (!model.has_host) {
    return missing(
        "the host that launches the work was not recorded: its part in another "
        "structure cannot be told",
        "record CPU activities as well");
  }
  return std::nullopt;
}

/// A recording, with what was made of it.
struct Recorded {
  const TraceModel& model;
  const TraceSet& set;
  const replaying::Recording& recording;
  const RecordedProgram& program;
};

bool is_late(const PipelineAction& action) { return action.op == PipelineOp::kBackwardWeight; }

/// The recorded stretches and those of the plan that nobody recorded; all of them as `sizes` has them.
struct Stretches {
  Library library;
  Sizes sizes;
};
Result<Stretches> reshaped(const Recorded& recorded, const NewPlan& plan,
                           const StructureChange& change) {
  const auto& [model, set, recording, program] = recorded;
  Stretches out{program.library, {}};
  drop_lone_collectives(plan, out.library);
  if (plan.recompute_changed && plan.recompute == 0) strip_recompute(model, out.library);
  const auto& first = plan.schedule.actions.front();
  const auto& stretches = out.library.stretches;
  const bool apart = std::any_of(stretches.begin(), stretches.end(),
                                 [](const Stretch& s) { return s.key.pass == Pass::kWeights; });
  if (!apart && std::any_of(first.begin(), first.end(), is_late)) {
    split_backward(set, recording, out.library);
  }
  Result<Sizes> sizes = find_sizes(set, recording, model, out.library, plan, change);
  if (!sizes) return sizes.error();
  out.sizes = std::move(*sizes);
  make_bucket(set, recording, plan, out.sizes, out.library);
  return out;
}

Result<double> misunderstood(const Recorded& recorded);

/// A run that is small beside its recording is written, another within 2 GB. A row takes 730 bytes (peak memory of runs of
/// 256 and 512 ranks).
constexpr double kBytesOfRow = 750;
constexpr double kMostRows = 2e9 / kBytesOfRow, kMostOfRecorded = 8;

/// Work is bounded before it begins: rows of all ranks and steps.
std::optional<Diagnostic> too_many_rows(const replaying::Recording& recording,
                                        const Library& library, const NewPlan& plan,
                                        const std::vector<std::vector<ProgramItem>>& programs,
                                        std::uint32_t steps) {
  double rows = 0, recorded = 0;
  for (const std::vector<ProgramItem>& program : programs) {
    for (const ProgramItem& item : program) {
      const Stretch& stretch = library.stretches[item.stretch];
      rows += static_cast<double>(stretch.rows.size() + stretch.tasks.size());
    }
  }
  rows *= static_cast<double>(plan.grid.size()) / static_cast<double>(programs.size()) * steps;
  for (const replaying::RankModel& rank : recording.ranks)
    recorded += static_cast<double>(rank.trace->events.name.size());
  if (rows <= std::max(kMostRows, kMostOfRecorded * recorded)) return std::nullopt;
  return Diagnostic{
      ErrorCode::kNoAnswer, "structure",
      fmt::format("{} ranks of {:.3g} rows in all, some {}: more than the {} that are written out",
                  grouped(plan.grid.size()), rows, short_bytes(Bytes{rows * kBytesOfRow}),
                  short_bytes(Bytes{kMostRows * kBytesOfRow})),
      "ask for fewer ranks, layers or microbatches"};
}

/// The run of a plan, written out; notes and doubts go into `told`.
Result<FinishedRun> put_together(const Recorded& recorded, const StructureChange& change,
                                 EmittedRun* told) {
  const auto& [model, set, recording, program] = recorded;
  const Result<NewPlan> plan = make_new_plan(model, program.grid, change);
  if (!plan) return plan.error();
  const Result<Stretches> made = reshaped(recorded, *plan, change);
  if (!made) return made.error();
  const auto& [library, sizes] = *made;
  const auto programs = make_programs(model, library, *plan, sizes.parameters);
  if (!programs) return programs.error();
  const Transfers transfers(set);
  const std::uint32_t steps = plan->grid.size() > kLargeRun ? kStepsOfLargeRuns : kSteps;
  if (auto problem = too_many_rows(recording, library, *plan, *programs, steps)) return *problem;
  Draft draft = make_draft(recording, library, *plan, *programs, transfers, sizes, change, steps);
  if (auto problem = lay_out(recording, library, set, draft)) return *problem;
  FinishedRun run = finish(set, recording, library, std::move(draft));
  if (told != nullptr) {
    const Result<double>& off = program.off->of([&] { return misunderstood(recorded); });
    if (!off) return off.error();
    add_evidence(library, *plan, sizes, change, run, *off, *told);
  }
  return run;
}

/// GPU step: the mean over ranks and steps. The first step counts only where it is alone.
double gpu_step_s(const TraceSet& set, const replaying::Recording& recording) {
  double sum = 0;
  std::size_t count = 0;
  for (const replaying::RankModel& rank : recording.ranks) {
    const auto steps = replaying::step_tasks(set, rank);
    for (std::size_t s = steps.size() > 1 ? 1 : 0; s < steps.size(); ++s) {
      if (!steps[s].measured_last_gpu) continue;
      const Time from = s > 0 && steps[s - 1].measured_last_gpu ? *steps[s - 1].measured_last_gpu
                                                                : steps[s].measured_start;
      sum += (*steps[s].measured_last_gpu - from).seconds();
      ++count;
    }
  }
  return count > 0 ? sum / static_cast<double>(count) : 0;
}

/// How far off the recorded step a run is that is put together again without any change: what was
/// not understood of the program.
Result<double> misunderstood(const Recorded& recorded) {
  const Result<FinishedRun> same = put_together(recorded, {}, nullptr);
  if (!same) return same.error();
  const double was = gpu_step_s(recorded.set, recorded.recording);
  const double is = gpu_step_s(*same->set, *same->recording);
  if (was <= 0) return 0.0;
  const double off = is / was - 1;
  if (std::abs(off) <= kMostMisunderstood) return off;
  return Diagnostic{
      ErrorCode::kNoAnswer, "structure",
      fmt::format("put together again without any change, the run takes {:.3f} ms a step where "
                  "{:.3f} ms were recorded: what it does is not understood well enough",
                  is * 1e3, was * 1e3),
      "see `flopcast trace model` for what was found"};
}

}  // namespace

Result<RecordedProgram> read_program(const TraceModel& model, const TraceSet& set,
                                     const replaying::Recording& recording) {
  if (auto problem = unreadable(model, recording)) return *problem;
  const Result<RankGrid> grid = RankGrid::of(model, recording);
  if (!grid) return grid.error();
  return RecordedProgram{*grid, make_library(set, recording, model, *grid)};
}

Result<EmittedRun> emit(const TraceModel& model, const TraceSet& set,
                        const replaying::Recording& recording, const RecordedProgram& program,
                        const StructureChange& change) {
  EmittedRun out;
  const Result<FinishedRun> run = put_together({model, set, recording, program}, change, &out);
  if (!run) return run.error();
  out.set = run->set;
  out.recording = run->recording;
  out.steady.assign(run->steps.begin() + 1, run->steps.end());
  return out;
}

}  // namespace flopcast::whatif::structure
