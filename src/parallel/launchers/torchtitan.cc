// Writes torchtitan's TOML: [parallelism], [training], [activation_checkpoint], [model], [quantize.*], [compile].
#include <fmt/format.h>

#include <algorithm>

#include "parallel/launchers/texts.h"

namespace flopcast::parallel {
namespace {

std::string_view schedule_name(ScheduleKind kind) {
  constexpr std::string_view kNames[] = {"GPipe", "1F1B",          "Interleaved1F1B",
                                         "",      "ZBVZeroBubble", "DualPipeV"};
  return kNames[static_cast<int>(kind)];
}

void write_parallelism(const Plan& plan, const TitanRun& run, PlanText& out) {
  const unsigned shard = plan.shard == 0 ? plan.dp * plan.cp : plan.shard;
  const unsigned replicas =
      plan.zero == Zero::kWeights ? plan.dp * plan.cp / std::max(shard, 1u) : plan.dp;
  out.text += "[parallelism]\n";
  const auto add = [&](std::string_view key, auto value) {
    out.text += fmt::format("{} = {}\n", key, value);
  };
  add("data_parallel_replicate_degree", replicas);
  add("data_parallel_shard_degree", plan.dp / std::max(replicas, 1u));
  if (!plan.reshard && plan.pp == 1) add("fsdp_reshard_after_forward", "\"never\"");
  if (plan.reshard && plan.pp > 1) add("fsdp_reshard_after_forward", "\"always\"");
  add("tensor_parallel_degree", plan.tp);
  if (plan.overlap.tensor) add("enable_async_tensor_parallel", true);
  add("context_parallel_degree", plan.cp);
  if (plan.context == ContextKind::kRing) add("context_parallel_rotate_method", "\"alltoall\"");
  add("expert_parallel_degree", plan.ep);
  add("expert_tensor_parallel_degree", plan.expert_tp());
  add("pipeline_parallel_degree", plan.pp);
  if (plan.pp == 1) return;
  const std::string_view schedule = schedule_name(plan.schedule);
  if (!schedule.empty()) add("pipeline_parallel_schedule", fmt::format("\"{}\"", schedule));
  add("pipeline_parallel_microbatch_size", plan.micro_batch);
  // Embedding and loss count as a layer each, unless it is told otherwise.
  if (run.layers == 0 || run.layers % (std::int64_t{plan.pp} * plan.vpp) != 0) return;
  add("pipeline_parallel_first_stage_less_layers", 0);
  add("pipeline_parallel_last_stage_less_layers", 0);
}

void write_training(const Plan& plan, PlanText& out) {
  const std::int64_t local = plan.pp > 1 ? plan.global_batch / plan.dp : plan.micro_batch;
  out.text += fmt::format("\n[training]\nlocal_batch_size = {}\nglobal_batch_size = {}\n", local,
                          plan.global_batch);
  if (plan.sequence > 0) out.text += fmt::format("seq_len = {}\n", plan.sequence);
  if (plan.precision <= Precision::kTf32) out.text += "mixed_precision_param = \"float32\"\n";
  constexpr std::string_view kModes[] = {"none", "selective", "full"};
  out.text += fmt::format("\n[activation_checkpoint]\nmode = \"{}\"\n",
                          kModes[static_cast<int>(plan.recompute)]);
}

void write_model(const Plan& plan, const TitanRun& run, PlanText& out) {
  const std::string_view converter = plan.precision == Precision::kFp8     ? "float8"
                                     : plan.precision == Precision::kMxfp8 ? "mx"
                                                                           : "";
  if (!run.name.empty() || !converter.empty()) out.text += "\n[model]\n";
  if (!run.name.empty()) {
    out.text += fmt::format("name = \"{}\"\nflavor = \"{}\"\n", run.name, run.flavor);
  }
  if (!converter.empty()) {
    out.text += fmt::format("converters = [\"quantize.linear.{}\"]\n", converter);
  }
  if (plan.precision == Precision::kFp8) {
    out.text += fmt::format("\n[quantize.linear.float8]\nenable_fsdp_float8_all_gather = {}\n",
                            plan.fp8_gather);
  }
  if (run.compile) out.text += "\n[compile]\nenable = true\n";
}

}  // namespace

PlanText write_torchtitan(const Plan& plan, const TitanRun& run) {
  PlanText out;
  write_parallelism(plan, run, out);
  write_training(plan, out);
  write_model(plan, run, out);
  return out;
}

}  // namespace flopcast::parallel
