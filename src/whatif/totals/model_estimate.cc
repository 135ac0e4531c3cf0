#include "whatif/totals/model_estimate.h"

#include <fmt/format.h>

#include <cmath>

namespace flopcast::whatif::totals {

using namespace replaying;

namespace {

Diagnostic no_estimate(std::string what) {
  return {ErrorCode::kNoAnswer, "model", std::move(what), ""};
}

/// "Optimizer.step#AdamW.step"
OptimizerKind optimizer_of(const ChangedRun& recorded) {
  const Trace& trace = *recorded.recording->ranks.front().trace;
  for (std::uint32_t row = 0; row < trace.events.size(); ++row) {
    const std::string_view name = recorded.set->strings[trace.events.name[row]];
    if (!name.starts_with("Optimizer.step#")) continue;
    if (name.find("SGD") != std::string_view::npos) return OptimizerKind::kSgd;
    if (name.find("Muon") != std::string_view::npos) return OptimizerKind::kMuon;
    return OptimizerKind::kAdam;
  }
  return OptimizerKind::kAdam;
}

/// Collectives of a rank in forward passes, over ranks that share parameters; in a step.
double gathers(const TraceModel& model, const ModelStage& stage) {
  double count = 0;
  for (const ModelBucket& bucket : stage.buckets) {
    if (bucket.group == kNoIndex || model.groups[bucket.group].use != GroupUse::kSharded) continue;
    const ModelSegment& segment = stage.segments[bucket.segment];
    if (stage.units[segment.unit].pass == Pass::kForward) ++count;
  }
  return stage.steps > 0 ? count / stage.steps : count;
}

/// Parameters are gathered for each layer, or once a step behind the optimizer.
Zero zero_of(const TraceModel& model) {
  if (!model.zero) return Zero::kNone;
  for (const ModelStage& stage : model.stages) {
    if (gathers(model, stage) >= std::max(2.0, static_cast<double>(stage.layers)))
      return Zero::kWeights;
  }
  return Zero::kOptimizer;
}

/// Whether tensor-parallel ranks scatter what they reduce: the rest is cut along the sequence.
bool scatters(const ChangedRun& recorded, const TraceModel& model) {
  for (const ModelStage& stage : model.stages) {
    for (const ModelUnit& unit : stage.units) {
      for (const ModelKernel& kernel : unit.kernels) {
        if (kernel.group == kNoIndex || model.groups[kernel.group].use != GroupUse::kTensor)
          continue;
        const std::string_view operation = recorded.set->strings[kernel.operation];
        if (operation.find("scatter") != std::string_view::npos) return true;
      }
    }
  }
  return false;
}

unsigned whole(double number) { return static_cast<unsigned>(std::llround(number)); }

Result<Plan> plan_of(const RunShape& shape, const Training& training) {
  const std::optional<std::int64_t> micro_batch = shape.micro_batch();
  if (!micro_batch) {
    return no_estimate(!shape.tokens ? shape.no_tokens
                       : !shape.sequence
                           ? shape.no_sequence
                           : "microbatches of whole sequences do not make its tokens");
  }
  Plan plan;
  plan.tp = whole(shape.tp), plan.cp = whole(shape.cp), plan.pp = whole(shape.pp);
  plan.dp = whole(shape.dp), plan.ep = whole(shape.ep), plan.vpp = whole(shape.chunks);
  plan.micro_batch = *micro_batch;
  plan.global_batch = *micro_batch * plan.dp * std::llround(shape.microbatches);
  plan.sequence = std::llround(*shape.sequence);
  plan.schedule = parse_schedule_kind(shape.schedule).value_or(ScheduleKind::kOneFOneB);
  plan.zero = training.zero;
  plan.optimizer = training.optimizer;
  plan.sequence_parallel = training.sequence_parallel && plan.tp > 1;
  plan.precision = parse_precision(name(training.type)).value_or(Precision::kBf16);
  plan.recompute = shape.recompute ? Recompute::kFull : Recompute::kNone;
  plan.recompute_layers = whole(shape.recompute_layers);
  return plan;
}

/// Sets a number that all layers share.
template <typename Number>
void set_size(Number& number, double size) {
  if (size > 0) number = static_cast<Number>(std::llround(size));
}

}  // namespace

Training find_training(const ChangedRun& recorded, DataType type) {
  const TraceModel& model = recorded.trace_model();
  return {type, optimizer_of(recorded), zero_of(model), scatters(recorded, model)};
}

Result<Model> resized(const Model& model, const RunShape& shape) {
  Model out = model;
  const bool sizes = shape.hidden > 0 || shape.ffn > 0 || shape.heads > 0;
  const bool deeper = shape.layers > 0 && std::llround(shape.layers) != model.layers();
  if ((sizes || deeper) && model.kinds.size() != 1) {
    return no_estimate(
        fmt::format("the layers of {} differ: which of them change is not said", model.name));
  }
  if (deeper) out.order.assign(whole(shape.layers), 0);
  set_size(out.hidden, shape.hidden);
  if (!sizes) return out;
  Layer& layer = out.kinds.front();
  set_size(layer.mlp.intermediate, shape.ffn);
  if (shape.heads > 0 && layer.attention.heads > 0) {
    const double kv = shape.heads * static_cast<double>(layer.attention.kv_heads) /
                      static_cast<double>(layer.attention.heads);
    set_size(layer.attention.kv_heads, std::max(1.0, kv));
    set_size(layer.attention.heads, shape.heads);
  }
  return out;
}

Result<TrainingEstimate> estimate_of(const Model& model, const RunShape& shape,
                                     const Training& training, const Chip& chip) {
  const Result<Plan> plan = plan_of(shape, training);
  if (!plan) return plan.error();
  Result<Model> sized = resized(model, shape);
  if (!sized) return sized.error();
  const Catalog& catalog = Catalog::builtin();
  Result<Cluster> cluster = catalog.cluster(fmt::format("{} gpus of {}", plan->chips(), chip.name));
  if (!cluster) return cluster.error();
  const Result<TrainingModel> made =
      TrainingModel::make(std::move(*sized), std::move(*cluster), catalog);
  if (!made) return made.error();
  return made->estimate(*plan);
}

}  // namespace flopcast::whatif::totals
