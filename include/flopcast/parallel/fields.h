// Floor 2: every field of a plan by its name in JSON and CSV: Megatron's short forms, snake_case.
// Writers and readers go through the one list, so that what is written can be read back.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "flopcast/parallel.h"

namespace flopcast {

/// Calls visit(name, field) for each field; `plan` is a Plan or a const Plan.
template <typename PlanType, typename Visit>
void visit_plan(PlanType& plan, Visit&& visit) {
  visit("tp", plan.tp);
  visit("tp2", plan.tp2);
  visit("cp", plan.cp);
  visit("pp", plan.pp);
  visit("dp", plan.dp);
  visit("ep", plan.ep);
  visit("etp", plan.etp);
  visit("vpp", plan.vpp);
  visit("micro_batch", plan.micro_batch);
  visit("global_batch", plan.global_batch);
  visit("sequence", plan.sequence);
  visit("schedule", plan.schedule);
  visit("stage_layers", plan.stage_layers);
  visit("count_embedding", plan.count_embedding);
  visit("count_loss", plan.count_loss);
  visit("zero", plan.zero);
  visit("shard", plan.shard);
  visit("reshard", plan.reshard);
  visit("recompute", plan.recompute);
  visit("recompute_modules", plan.recompute_modules);
  visit("recompute_layers", plan.recompute_layers);
  visit("sequence_parallel", plan.sequence_parallel);
  visit("tensor", plan.tensor);
  visit("panels", plan.panels);
  visit("context", plan.context);
  visit("precision", plan.precision);
  visit("optimizer", plan.optimizer);
  visit("fp32_gradients", plan.fp32_gradients);
  visit("gradient_type", plan.gradient_type);
  visit("fp32_master", plan.fp32_master);
  visit("split_master", plan.split_master);
  visit("moment_bytes", plan.moment_bytes);
  visit("offload", plan.offload);
  visit("fp8_gather", plan.fp8_gather);
  visit("flash_attention", plan.flash_attention);
  visit("lora_rank", plan.lora_rank);
  visit("lora_mlp", plan.lora_mlp);
  visit("mtp_layers", plan.mtp_layers);
  visit("overlap_gradients", plan.overlap.gradients);
  visit("overlap_weights", plan.overlap.weights);
  visit("overlap_tensor", plan.overlap.tensor);
  visit("overlap_pipeline", plan.overlap.pipeline);
  visit("overlap_context", plan.overlap.context);
  visit("overlap_experts", plan.overlap.experts);
  visit("dispatcher", plan.dispatcher);
  visit("cuda_graph", plan.cuda_graph);
}

/// A field of a plan as text.
struct PlanCell {
  std::string_view name;  ///< as visit_plan has it
  std::string value;      ///< "8", "true", "selective"; lists separated by blanks
};
/// Every field, in the order of visit_plan.
std::vector<PlanCell> plan_cells(const Plan& plan);

/// "tp 16, dp 4": the fields of `to` that `from` has otherwise.
std::string plan_change_words(const Plan& from, const Plan& to);

/// "tp 8, pp 4, dp 16, vpp 2, micro-batch 1, ZeRO 1, sequence parallel".
std::string plan_words(const Plan& plan);

}  // namespace flopcast
