// Writes torchtitan's TOML: [parallelism], [training], [activation_checkpoint], [model], [quantize.*].
#include <fmt/format.h>

#include <algorithm>

#include "parallel/launchers/texts.h"

namespace flopcast::parallel {
namespace {

/// What torchtitan runs beside compute: all but what a flag switches.
Overlap torchtitan_overlap(const Plan& plan) {
  Overlap overlap;
  overlap.tensor = plan.overlap.tensor;
  return overlap;
}

std::string_view schedule_name(ScheduleKind kind) {
  constexpr std::string_view kNames[] = {"GPipe", "1F1B",          "Interleaved1F1B",
                                         "",      "ZBVZeroBubble", "DualPipeV"};
  return kNames[static_cast<int>(kind)];
}

void write_parallelism(const Plan& plan, PlanText& out) {
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
}

void write_training(const Plan& plan, PlanText& out) {
  const std::int64_t local = plan.pp > 1 ? plan.global_batch / plan.dp : plan.micro_batch;
  out.text += fmt::format("\n[training]\nlocal_batch_size = {}\nglobal_batch_size = {}\n", local,
                          plan.global_batch);
  if (plan.sequence > 0) out.text += fmt::format("seq_len = {}\n", plan.sequence);
  if (plan.precision <= Precision::kTf32) out.text += "mixed_precision_param = \"float32\"\n";
  if (plan.precision == Precision::kFp8) {
    out.text += "\n[model]\nconverters = [\"quantize.linear.float8\"]\n";
    out.text += fmt::format("\n[quantize.linear.float8]\nenable_fsdp_float8_all_gather = {}\n",
                            plan.fp8_gather);
  }
  if (plan.precision == Precision::kMxfp8) {
    out.text += "\n[model]\nconverters = [\"quantize.linear.mx\"]\n";
  }
  constexpr std::string_view kModes[] = {"none", "selective", "full"};
  out.text += fmt::format("\n[activation_checkpoint]\nmode = \"{}\"\n",
                          kModes[static_cast<int>(plan.recompute)]);
}

}  // namespace

void lost_in_torchtitan(const Plan& plan, Lose note, void* to) {
  const auto lose = [&](bool lost, std::string_view what) { note(to, lost, what, {}); };
  const bool folded =
      plan.schedule == ScheduleKind::kZeroBubbleV || plan.schedule == ScheduleKind::kDualPipeV;
  lose(plan.tensor != TensorKind::kOneD, "2-D tensor parallelism");
  lose(plan.tp > 1 && !plan.sequence_parallel, "tensor without sequence parallelism");
  lose(plan.context == ContextKind::kUlysses && plan.cp > 1, "Ulysses context parallelism");
  lose(plan.pp > 1 && schedule_name(plan.schedule).empty(), "the schedule zb-h1");
  lose(plan.vpp > 2 && !folded, "more than two virtual stages");
  lose(!plan.stage_layers.empty() || plan.count_embedding || plan.count_loss,
       "layers of each stage");
  lose(plan.zero == Zero::kOptimizer || plan.zero == Zero::kGradients, "ZeRO stages 1 and 2");
  lose(plan.zero == Zero::kWeights && plan.dp * plan.cp == 1, "ZeRO 3 of a single replica");
  lose(plan.zero == Zero::kNone && plan.cp > 1, "replicated weights with context parallelism");
  lose(plan.shard > 0 && plan.shard % plan.cp != 0, "a shard smaller than cp");
  lose(plan.precision == Precision::kFp16 || plan.precision == Precision::kTf32 ||
           plan.precision == Precision::kFp8Block || plan.precision >= Precision::kNvfp4,
       "the precision");
  lose(plan.recompute == Recompute::kSelective && plan.recompute_modules != kRecomputeOp,
       "which modules are recomputed");
  lose(plan.recompute_layers > 0, "how many layers are recomputed");
  lose(!plan.flash_attention, "unfused attention");
  lose(!plan.fp32_gradients || !plan.fp32_master, "16-bit gradients or optimiser");
  lose(plan.optimizer != OptimizerKind::kAdam, "the optimiser");
  lose(plan.lora_rank > 0, "adapters");
  lose(plan.mtp_layers > 0, "multi-token prediction");
  lose(plan.split_master || plan.moment_bytes > 0, "a precision-aware optimizer");
  lose(plan.offload > 0, "an optimizer on the host");
  lose(plan.overlap != torchtitan_overlap(plan), "what overlaps");
  lose(plan.zero == Zero::kNone && plan.shard > 0, "a shard of nothing");
}

PlanText write_torchtitan(const Plan& plan) {
  PlanText out;
  write_parallelism(plan, out);
  write_training(plan, out);
  return out;
}

}  // namespace flopcast::parallel
