#include "whatif/structure/emit.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/text/amounts.h"
#include "base/text/format.h"
#include "flopcast/replay/steps.h"
#include "whatif/structure/evidence.h"
#include "whatif/structure/finish.h"
#include "whatif/structure/layout.h"
#include "whatif/structure/reshape.h"

namespace flopcast::whatif::structure {
namespace {

/// Steps of a run. The first starts with empty streams and is not judged; large runs have ranks
/// enough to tell how much steps differ.
constexpr std::uint32_t kSteps = 4;
constexpr std::uint32_t kStepsOfLargeRuns = 3;
constexpr std::uint32_t kLargeRun = 64;
/// More than this off the recorded step, and nothing can be said of other runs.
constexpr double kMostMisunderstood = 0.1;

/// What the new run needs that was not recorded so.
void reshape(const TraceModel& model, const TraceSet& set, const replaying::Recording& recording,
             const NewPlan& plan, Library& library) {
  drop_lone_collectives(plan, library);
  if (plan.recompute_changed && plan.recompute == 0) strip_recompute(model, library);
  const auto late = [](const PipelineAction& a) { return a.op == PipelineOp::kBackwardWeight; };
  const auto& first = plan.schedule.actions.front();
  const bool apart = std::any_of(library.stretches.begin(), library.stretches.end(),
                                 [](const Stretch& s) { return s.key.pass == Pass::kWeights; });
  if (!apart && std::any_of(first.begin(), first.end(), late)) {
    split_backward(set, recording, library);
  }
}

Result<double> misunderstood(const TraceModel& model, const TraceSet& set,
                             const replaying::Recording& recording);

/// About 2 kB a row: a run that is small beside its recording is written, another within 2 GB.
constexpr double kMostRows = 1e6, kMostOfRecorded = 8;
constexpr double kBytesOfRow = 2e3;

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
Result<FinishedRun> put_together(const TraceModel& model, const TraceSet& set,
                                 const replaying::Recording& recording,
                                 const StructureChange& change, EmittedRun* told) {
  const Result<NewPlan> plan = make_new_plan(model, recording, change);
  if (!plan) return plan.error();
  Library library = make_library(set, recording, model, plan->before);
  reshape(model, set, recording, *plan, library);
  Result<Sizes> sizes = find_sizes(set, recording, model, library, *plan, change);
  if (!sizes) return sizes.error();
  make_bucket(set, recording, *plan, *sizes, library);
  const auto programs = make_programs(model, library, *plan, sizes->parameters);
  if (!programs) return programs.error();
  const Transfers transfers(set);
  const std::uint32_t steps = plan->grid.size() > kLargeRun ? kStepsOfLargeRuns : kSteps;
  if (auto problem = too_many_rows(recording, library, *plan, *programs, steps)) return *problem;
  Draft draft = make_draft(recording, library, *plan, *programs, transfers, *sizes, change, steps);
  if (auto problem = lay_out(recording, library, set, draft)) return *problem;
  FinishedRun run = finish(set, recording, library, std::move(draft));
  if (told != nullptr) {
    const Result<double> off = misunderstood(model, set, recording);
    if (!off) return off.error();
    add_evidence(library, *plan, *sizes, change, run, *off, *told);
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
Result<double> misunderstood(const TraceModel& model, const TraceSet& set,
                             const replaying::Recording& recording) {
  const Result<FinishedRun> same = put_together(model, set, recording, {}, nullptr);
  if (!same) return same.error();
  const double was = gpu_step_s(set, recording);
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

Result<EmittedRun> emit(const TraceModel& model, const TraceSet& set,
                        const replaying::Recording& recording, const StructureChange& change) {
  EmittedRun out;
  const Result<FinishedRun> run = put_together(model, set, recording, change, &out);
  if (!run) return run.error();
  out.set = run->set;
  out.recording = run->recording;
  out.steady.assign(run->steps.begin() + 1, run->steps.end());
  return out;
}

}  // namespace flopcast::whatif::structure
