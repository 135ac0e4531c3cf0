#include "whatif/structure/emit.h"

#include <algorithm>

#include "whatif/structure/evidence.h"
#include "whatif/structure/finish.h"
#include "whatif/structure/layout.h"
#include "whatif/structure/reshape.h"

namespace flopcast::whatif::structure {
namespace {

/// The first step starts with empty streams and the last ends without a next one: those between are
/// judged.
constexpr std::uint32_t kSteps = 4;

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

}  // namespace

Result<EmittedRun> emit(const TraceModel& model, const TraceSet& set,
                        const replaying::Recording& recording, const StructureChange& change) {
  const Result<NewPlan> plan = make_new_plan(model, recording, change);
  if (!plan) return plan.error();
  Library library = make_library(set, recording, model, plan->before);
  reshape(model, set, recording, *plan, library);
  const Result<Sizes> sizes = find_sizes(set, recording, model, library, *plan, change);
  if (!sizes) return sizes.error();
  const auto programs = make_programs(model, library, *plan, sizes->parameters);
  if (!programs) return programs.error();
  const Transfers transfers(set);
  Draft draft = make_draft(recording, library, *plan, *programs, transfers, *sizes, change, kSteps);
  if (auto problem = lay_out(recording, library, set, draft)) return *problem;
  FinishedRun run = finish(set, recording, library, std::move(draft));
  EmittedRun out;
  out.set = run.set;
  out.recording = run.recording;
  out.steady.assign(run.steps.begin() + 1, run.steps.end());
  add_evidence(library, *plan, *sizes, change, run, out);
  return out;
}

}  // namespace flopcast::whatif::structure
