#include "whatif/structure/change_structure.h"

#include <fmt/format.h>

#include "base/text/numbers.h"
#include "whatif/change/made_run.h"
#include "whatif/planned/change_planned.h"
#include "whatif/structure/emit.h"
#include "whatif/structure/more_replicas.h"

namespace flopcast::whatif {
namespace {

using structure::EmittedRun;

std::optional<Diagnostic> read_schedule(const Change& change, StructureChange& out) {
  out.schedule = parse_schedule_kind(change.value);
  if (out.schedule) return std::nullopt;
  return usage_error("--set", fmt::format("'{}' is no schedule", change.value),
                     "gpipe, 1f1b, interleaved, zb-h1");
}

std::optional<Diagnostic> read_recompute(const Change& change, StructureChange& out) {
  if (change.verb == Verb::kRemove) {
    out.recompute = 0;
    return std::nullopt;
  }
  out.recompute = kAllLayers;
  if (change.argument.empty()) return std::nullopt;
  const auto layers = parse_whole<std::uint32_t>(change.argument);
  if (!layers || *layers == 0) {
    return usage_error("--add", fmt::format("'{}' is no number of layers", change.argument),
                       "write recompute:LAYERS, of each stage");
  }
  out.recompute = *layers;
  return std::nullopt;
}

std::optional<Diagnostic> read(const Change& change, StructureChange& out) {
  if (change.verb == Verb::kOn) out.on = change.value;
  if (change.name == "schedule") return read_schedule(change, out);
  if (change.name == "recompute") return read_recompute(change, out);
  const std::pair<const char*, std::optional<std::uint32_t>*> counts[] = {
      {"dp", &out.dp},
      {"pp", &out.pp},
      {"tp", &out.tp},
      {"cp", &out.cp},
      {"ep", &out.ep},
      {"microbatches", &out.microbatches},
      {"microbatch_size", &out.microbatch_size},
      {"chunks", &out.chunks},
      {"layers", &out.layers},
      {"hidden", &out.hidden},
      {"ffn", &out.ffn},
      {"heads", &out.heads},
      {"sequence", &out.sequence}};
  for (const auto& [name, field] : counts) {
    if (change.name == name) *field = static_cast<std::uint32_t>(change.number);
  }
  if (change.scale_only) out.scale_only = true;
  return std::nullopt;
}

Result<ChangedRun> emitted_run(const TraceModel& model, const ChangedRun& recorded,
                               const StructureChange& asked) {
  Result<EmittedRun> emitted = structure::emit(model, *recorded.set, *recorded.recording, asked);
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
    if (auto problem = read(change, asked)) return problem;
    if (change.verb != Verb::kOn) kept.push_back(change);
  }
  const TraceModel& model = recorded.model->of(*recorded.set, *recorded.recording);
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
    const auto problem = structure::scale_replicas(model, *asked.dp, run);
    if (!problem) return std::nullopt;
    missing += "; nor can its collectives alone be replaced: " + *problem;
  }
  for (const Change& change : kept) run.refused.push_back(refusal(change, missing));
  return std::nullopt;
}

}  // namespace flopcast::whatif
