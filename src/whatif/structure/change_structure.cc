#include "whatif/structure/change_structure.h"

#include <fmt/format.h>

#include "whatif/change/made_run.h"
#include "whatif/planned/change_planned.h"
#include "whatif/structure/emit.h"
#include "whatif/structure/more_replicas.h"

namespace flopcast::whatif {
namespace {

using structure::EmittedRun;

/// Puts one of a question's changes among the others.
struct Collector {
  StructureChange& all;

  void operator()(const SetSize& set) const {
    all.*set.size = set.value;
    all.scale_only = all.scale_only || set.scale_only;
  }
  void operator()(const SetSchedule& set) const { all.schedule = set.kind; }
  void operator()(const SetRecompute& set) const { all.recompute = set.layers; }
  void operator()(const OnCluster& on) const { all.on = on.cluster; }
  template <typename Other>
  void operator()(const Other&) const {}  // not of structure
};

Result<ChangedRun> emitted_run(const TraceModel& model, const ChangedRun& recorded,
                               const StructureChange& asked) {
  const TraceSet& set = *recorded.set;
  const replaying::Recording& recording = *recorded.recording;
  const Result<structure::RecordedProgram>& program =
      recorded.found->program.of([&] { return structure::read_program(model, set, recording); });
  if (!program) return program.error();
  Result<EmittedRun> emitted = structure::emit(model, set, recording, *program, asked);
  if (!emitted) return emitted.error();
  ChangedRun made = make_run(emitted->set, std::move(*emitted->recording), 0);
  made.emitted = true;
  made.judged = std::move(emitted->steady);
  made.notes = std::move(emitted->notes);
  for (EmittedRun::Doubt& doubt : emitted->doubts) {
    made.doubts.push_back({std::move(doubt.what), std::move(doubt.low), std::move(doubt.high)});
  }
  return made;
}

}  // namespace

std::optional<Diagnostic> change_structure(ChangedRun& run, const ChangedRun& recorded,
                                           const std::vector<Change>& changes) {
  StructureChange asked;
  std::vector<Change> kept;
  for (const Change& change : changes) {
    std::visit(Collector{asked}, change.action);
    if (tier_of(change) == Tier::kStructure) kept.push_back(change);
  }
  const TraceModel& model = recorded.trace_model();
  Result<ChangedRun> made = planned::is_planned(*recorded.set, *recorded.recording)
                                ? planned::change_planned(model, recorded, asked)
                                : emitted_run(model, recorded, asked);
  if (made) {
    run = std::move(*made);
    return std::nullopt;
  }
  if (made.error().code != ErrorCode::kNoAnswer) return made.error();
  std::string missing = made.error().what;
  if (!made.error().hint.empty()) missing += fmt::format(" ({})", made.error().hint);
  if (kept.size() == 1 && asked.dp) {
    const auto problem = structure::scale_replicas(model, *asked.dp, made.error().what, run);
    if (!problem) return std::nullopt;
    missing += "; nor can its collectives alone be replaced: " + *problem;
  }
  for (const Change& change : kept) run.refused.push_back(refusal(change, missing));
  return std::nullopt;
}

}  // namespace flopcast::whatif
