#include "whatif/structure/plan/new_plan.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace flopcast::whatif::structure {
namespace {

using replaying::kNoIndex;

Diagnostic missing(std::string what, std::string hint) {
  return {ErrorCode::kNoAnswer, "structure", std::move(what), std::move(hint)};
}

/// Beyond these no run fits in memory, whatever its ranks do (emit.cc has the bound on rows).
constexpr std::uint32_t kMostRanks = 1u << 20;
constexpr double kMostPasses = 4e6;

Diagnostic too_large(std::string what) {
  return {ErrorCode::kNoAnswer, "structure", std::move(what),
          "ask for fewer ranks, layers or microbatches"};
}

/// "F3", "B0.1" as an action.
std::optional<PipelineAction> parse_action(std::string_view text) {
  PipelineAction action;
  if (text.empty()) return std::nullopt;
  switch (text.front()) {
    case 'F':
      action.op = PipelineOp::kForward;
      break;
    case 'B':
      action.op = PipelineOp::kBackward;
      break;
    case 'W':
      action.op = PipelineOp::kBackwardWeight;
      break;
    default:
      return std::nullopt;
  }
  const char* const end = text.data() + text.size();
  auto parsed = std::from_chars(text.data() + 1, end, action.microbatch);
  if (parsed.ec != std::errc()) return std::nullopt;
  if (parsed.ptr != end && *parsed.ptr == '.') {
    parsed = std::from_chars(parsed.ptr + 1, end, action.chunk);
  }
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return action;
}

/// Where weights' gradients are passes of their own, a backward is that of the inputs.
void split_backwards(std::vector<PipelineAction>& actions) {
  const bool split = std::any_of(actions.begin(), actions.end(), [](const PipelineAction& a) {
    return a.op == PipelineOp::kBackwardWeight;
  });
  for (PipelineAction& action : actions) {
    if (split && action.op == PipelineOp::kBackward) action.op = PipelineOp::kBackwardInput;
  }
}

class Planner {
 public:
  Planner(const TraceModel& model, const RankGrid& grid, const StructureChange& change)
      : model_(model), change_(change) {
    plan_.before = plan_.grid = grid;
  }

  Result<NewPlan> run() {
    const auto set = [&](Dimension d, const std::optional<std::uint32_t>& degree) {
      if (degree) plan_.grid = plan_.grid.with(d, *degree);
    };
    set(Dimension::kTensor, change_.tp);
    set(Dimension::kContext, change_.cp);
    set(Dimension::kData, change_.dp);
    set(Dimension::kPipeline, change_.pp);
    if (auto problem = too_many_ranks()) return *problem;
    if (auto problem = add_schedule()) return *problem;
    if (auto problem = deal_layers()) return *problem;
    if (change_.recompute) {
      plan_.recompute = *change_.recompute;
      plan_.recompute_changed = true;
    }
    return std::move(plan_);
  }

 private:
  bool same(const std::optional<std::uint32_t>& asked, std::uint32_t now) const {
    return !asked || *asked == now;
  }

  std::optional<Diagnostic> too_many_ranks() const {
    double ranks = 1;
    for (const Dimension d :
         {Dimension::kTensor, Dimension::kContext, Dimension::kData, Dimension::kPipeline})
      ranks *= plan_.grid.degree(d);
    if (ranks <= kMostRanks) return std::nullopt;
    return too_large(
        fmt::format("{:.0f} ranks, more than the {} that are written out", ranks, kMostRanks));
  }

  std::optional<Diagnostic> add_schedule() {
    const std::uint32_t microbatches = change_.microbatches.value_or(model_.microbatches);
    const std::uint32_t pp = plan_.grid.degree(Dimension::kPipeline);
    std::optional<ScheduleKind> recorded = parse_schedule_kind(model_.schedule);
    if (model_.pp == 1 && !recorded) recorded = ScheduleKind::kOneFOneB;
    const bool same_kind = !change_.schedule || change_.schedule == recorded;
    const std::uint32_t chunks = change_.chunks.value_or(
        same_kind || change_.schedule == ScheduleKind::kInterleaved ? model_.chunks : 1);
    if (microbatches == model_.microbatches && pp == model_.pp && same_kind &&
        chunks == model_.chunks && recorded_schedule(pp, chunks, microbatches)) {
      find_style(same_kind);
      return std::nullopt;
    }
    const std::optional<ScheduleKind> kind = change_.schedule ? change_.schedule : recorded;
    if (!kind) {
      return missing("the recorded order of passes is no known schedule: " +
                         (model_.schedule_evidence.empty() ? "no passes were found"
                                                           : model_.schedule_evidence),
                     "name one: --set schedule=1f1b");
    }
    Result<Schedule> schedule = make_schedule(*kind, pp, microbatches, chunks);
    if (!schedule) return schedule.error();
    plan_.schedule = std::move(*schedule);
    find_style(same_kind);
    return std::nullopt;
  }

  /// The order as it was recorded, which may be no known schedule at all.
  bool recorded_schedule(std::uint32_t pp, std::uint32_t chunks, std::uint32_t microbatches) {
    Schedule schedule{ScheduleKind::kOneFOneB, pp, chunks, microbatches, {}};
    if (const auto kind = parse_schedule_kind(model_.schedule)) schedule.kind = *kind;
    schedule.actions.resize(pp);
    for (const ModelStage& stage : model_.stages) {
      if (stage.stage >= pp) return false;
      auto& actions = schedule.actions[stage.stage];
      if (!actions.empty()) continue;
      for (const std::string& text : stage.order) {
        const auto action = parse_action(text);
        if (!action) return false;
        actions.push_back(*action);
      }
    }
    for (auto& actions : schedule.actions) split_backwards(actions);
    if (schedule_problem(schedule)) return false;
    plan_.schedule = std::move(schedule);
    plan_.recorded_order = true;
    return true;
  }

  /// As recorded while the schedule stays. Another one: Megatron's 1F1B exchanges, all others send
  /// without waiting.
  void find_style(bool same_kind) {
    const bool is_1f1b = plan_.schedule.kind == ScheduleKind::kOneFOneB;
    plan_.style = is_1f1b ? MessageStyle::kExchange : MessageStyle::kMessages;
    if (same_kind && model_.pp > 1) plan_.style = recorded_style();
  }

  /// Fewer kernels than messages: some went both ways.
  MessageStyle recorded_style() const {
    std::size_t kernels = 0;
    std::size_t messages = 0;
    for (const ModelStage& stage : model_.stages) {
      for (const ModelSegment& segment : stage.segments) {
        if (segment.step != 0) continue;
        if (stage.units[segment.unit].part == UnitPart::kExchange) kernels += segment.tasks.size();
      }
      const std::uint32_t parts = model_.pp * stage.chunks;
      for (std::uint32_t chunk = 0; chunk < stage.chunks; ++chunk) {
        const std::uint32_t part = chunk * model_.pp + stage.stage;
        const std::uint32_t neighbours = (part > 0 ? 1 : 0) + (part + 1 < parts ? 1 : 0);
        messages += static_cast<std::size_t>(2 * neighbours) * stage.microbatches;
      }
    }
    return kernels < messages ? MessageStyle::kExchange : MessageStyle::kMessages;
  }

  std::optional<Diagnostic> deal_layers() {
    const std::uint32_t parts = plan_.parts();
    const bool same_parts = parts == model_.pp * model_.chunks;
    plan_.layers = change_.layers.value_or(model_.layers);
    if (model_.layers == 0) {
      if (change_.layers || !same_parts) {
        return missing("no layers were found: " + model_.layer_evidence,
                       "record with shapes and modules (record_shapes, with_modules)");
      }
      plan_.layers_of.assign(parts, 0);
      return std::nullopt;
    }
    const auto passes =
        static_cast<double>(plan_.layers) * static_cast<double>(plan_.schedule.microbatches);
    if (passes > kMostPasses)
      return too_large(fmt::format("{} layers of {} microbatches, more passes than are written out",
                                   plan_.layers, plan_.schedule.microbatches));
    if (plan_.layers < parts) {
      return Diagnostic{ErrorCode::kUsage, "structure",
                        fmt::format("{} layers cannot be dealt to {} stages", plan_.layers, parts),
                        "fewer stages or chunks, or more layers"};
    }
    if (plan_.layers == model_.layers && same_parts && recorded_deal(parts)) return std::nullopt;
    for (std::uint32_t part = 0; part < parts; ++part) {
      plan_.layers_of.push_back(plan_.layers / parts + (part < plan_.layers % parts ? 1 : 0));
    }
    return std::nullopt;
  }

  bool recorded_deal(std::uint32_t parts) {
    std::vector<std::uint32_t> layers(parts, 0);
    std::vector<std::vector<bool>> seen(parts, std::vector<bool>(model_.layers, false));
    for (const ModelStage& stage : model_.stages) {
      for (const ModelSegment& segment : stage.segments) {
        const ModelUnit& unit = stage.units[segment.unit];
        if (unit.part != UnitPart::kLayer || unit.pass != Pass::kForward) continue;
        const std::uint32_t part = plan_.schedule.stage_of(stage.stage, segment.chunk);
        if (part >= parts || segment.layer >= model_.layers || seen[part][segment.layer]) continue;
        seen[part][segment.layer] = true;
        ++layers[part];
      }
    }
    std::uint32_t sum = 0;
    for (const std::uint32_t n : layers) sum += n;
    if (sum != model_.layers) return false;
    plan_.layers_of = std::move(layers);
    return true;
  }

  const TraceModel& model_;
  const StructureChange& change_;
  NewPlan plan_;
};

}  // namespace

std::uint32_t NewPlan::first_layer(std::uint32_t part) const {
  std::uint32_t first = 0;
  for (std::uint32_t p = 0; p < part; ++p) first += layers_of[p];
  return first;
}

Result<NewPlan> make_new_plan(const TraceModel& model, const RankGrid& grid,
                              const StructureChange& change) {
  return Planner(model, grid, change).run();
}

}  // namespace flopcast::whatif::structure
