// Writes a plan as Megatron-LM's launch flags.
#include <fmt/format.h>

#include <algorithm>

#include "flopcast/parallel/names.h"
#include "parallel/launchers/texts.h"

namespace flopcast::parallel {
namespace {

/// Bytes of Adam's first moment where both take so many: 4, 2 or 1 each; 0: no types make it.
unsigned first_moment_bytes(unsigned both) {
  for (const unsigned first : {4U, 2U, 1U}) {
    for (const unsigned second : {4U, 2U, 1U}) {
      if (first + second == both) return first;
    }
  }
  return 0;
}

void write_degrees(const Plan& plan, PlanText& out) {
  const auto add = [&](std::string_view flag, std::int64_t value, std::int64_t usual = 1) {
    if (value != usual) out.text += fmt::format("--{} {}\n", flag, value);
  };
  add("tensor-model-parallel-size", plan.tp);
  add("pipeline-model-parallel-size", plan.pp);
  add("context-parallel-size", plan.cp);
  add("expert-model-parallel-size", plan.ep);
  add("expert-tensor-parallel-size", plan.etp, 0);
  if (!plan.stage_layers.empty()) {
    out.text +=
        fmt::format("--pipeline-model-parallel-layout '{}'\n", write_layout(plan.stage_layers));
  } else {
    add("num-virtual-stages-per-pipeline-rank", plan.vpp);
  }
  if (plan.count_embedding) out.text += "--account-for-embedding-in-pipeline-split\n";
  if (plan.count_loss) out.text += "--account-for-loss-in-pipeline-split\n";
  if (plan.sequence_parallel) out.text += "--sequence-parallel\n";
  if (plan.context == ContextKind::kAllGather) out.text += "--cp-comm-type all_gather\n";
  if (plan.context == ContextKind::kUlysses) out.text += "--cp-comm-type a2a\n";
  add("mtp-num-layers", plan.mtp_layers, 0);
  add("micro-batch-size", plan.micro_batch, 0);
  add("global-batch-size", plan.global_batch, 0);
  add("seq-length", plan.sequence, 0);
}

void write_state(const Plan& plan, PlanText& out) {
  if (plan.zero == Zero::kOptimizer) out.text += "--use-distributed-optimizer\n";
  if (plan.zero > Zero::kOptimizer) {
    out.text += fmt::format(
        "--use-distributed-optimizer\n--use-megatron-fsdp\n--data-parallel-sharding-strategy {}\n",
        plan.zero == Zero::kGradients ? "optim_grads" : "optim_grads_params");
  }
  if (plan.shard > 0) {
    out.text += fmt::format("--num-distributed-optimizer-instances {}\n",
                            std::max(plan.dp * plan.cp / plan.shard, 1u));
  }
  if (plan.overlap.gradients) out.text += "--overlap-grad-reduce\n";
  if (plan.overlap.weights) out.text += "--overlap-param-gather\n";
  if (plan.overlap.tensor) out.text += "--tp-comm-overlap\n";
  if (!plan.overlap.pipeline) out.text += "--no-overlap-p2p-communication\n";
  if (plan.overlap.experts) out.text += "--overlap-moe-expert-parallel-comm\n";
  if (plan.dispatcher == DispatcherKind::kAllToAll) {
    out.text += "--moe-token-dispatcher-type alltoall\n";
  } else if (plan.dispatcher != DispatcherKind::kUsual) {
    out.text += fmt::format("--moe-token-dispatcher-type flex\n--moe-flex-dispatcher-backend {}\n",
                            name(plan.dispatcher));
  }
  if (plan.cuda_graph) out.text += "--cuda-graph-impl local\n";
  if (plan.optimizer != OptimizerKind::kAdam) {
    out.text += fmt::format("--optimizer {}\n", name(plan.optimizer));
  }
}

void write_recompute(const Plan& plan, PlanText& out) {
  if (plan.recompute == Recompute::kFull) {
    out.text += fmt::format("--recompute-granularity full\n--recompute-method {}\n",
                            plan.recompute_layers > 0 ? "block" : "uniform");
    out.text += fmt::format("--recompute-num-layers {}\n", std::max(plan.recompute_layers, 1u));
  }
  if (plan.recompute != Recompute::kSelective) return;
  if (plan.recompute_modules == kRecomputeSecondProduct) return;
  out.text += "--recompute-granularity selective\n";
  if (plan.recompute_modules == kRecomputeCoreAttention) return;
  std::string modules;
  constexpr std::pair<std::uint8_t, std::string_view> kModules[] = {
      {kRecomputeCoreAttention, " core_attn"}, {kRecomputeNorm, " layernorm"},
      {kRecomputeActivation, " moe_act"},      {kRecomputeMlp, " mlp"},
      {kRecomputeLatentUp, " mla_up_proj"},
  };
  for (const auto& [module, word] : kModules) {
    if ((plan.recompute_modules & module) != 0) modules += word;
  }
  out.text += fmt::format("--recompute-modules{}\n", modules);
}

void write_precision(const Plan& plan, PlanText& out) {
  if (plan.precision == Precision::kFp16) out.text += "--fp16\n";
  if (plan.precision >= Precision::kBf16) out.text += "--bf16\n";
  if (plan.precision >= Precision::kFp8 && plan.precision <= Precision::kMxfp8) {
    constexpr std::string_view kRecipes[] = {"tensorwise", "blockwise", "mxfp8"};
    out.text +=
        fmt::format("--fp8-format hybrid\n--fp8-recipe {}\n",
                    kRecipes[static_cast<int>(plan.precision) - static_cast<int>(Precision::kFp8)]);
  }
  if (plan.precision == Precision::kNvfp4) out.text += "--fp4-format e2m1\n";
  if (plan.precision == Precision::kFp16 && plan.fp32_gradients) {
    out.text += "--accumulate-allreduce-grads-in-fp32\n";
  }
  if (!plan.flash_attention) out.text += "--attention-backend unfused\n";
}

/// Which of a plan's gradients and optimiser states are not the usual ones.
void write_optimizer(const Plan& plan, PlanText& out) {
  const bool narrow = plan.precision >= Precision::kBf16 && !plan.fp32_gradients;
  if (narrow) out.text += "--grad-reduce-in-bf16\n";
  if (plan.split_master || plan.moment_bytes > 0) out.text += "--use-precision-aware-optimizer\n";
  if (plan.moment_bytes > 0) {
    const auto type = [](unsigned bytes) {
      return bytes == 4 ? "fp32" : bytes == 2 ? "bf16" : "fp8";
    };
    const unsigned first = first_moment_bytes(plan.moment_bytes);
    out.text += fmt::format("--exp-avg-dtype {}\n--exp-avg-sq-dtype {}\n", type(first),
                            type(plan.moment_bytes - first));
  }
  if (plan.offload > 0) {
    out.text += fmt::format("--optimizer-cpu-offload\n--optimizer-offload-fraction {}\n",
                            plan.offload / 100.0);
  }
  if (plan.precision == Precision::kFp8 && plan.fp8_gather) out.text += "--fp8-param-gather\n";
}

}  // namespace

PlanText write_megatron(const Plan& plan) {
  PlanText out;
  write_degrees(plan, out);
  write_state(plan, out);
  write_recompute(plan, out);
  write_precision(plan, out);
  write_optimizer(plan, out);
  return out;
}

}  // namespace flopcast::parallel
