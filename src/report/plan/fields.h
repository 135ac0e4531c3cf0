// Every field of a plan by its name in JSON and CSV: Megatron's short forms, snake_case. Writers and
// readers go through the one list, so that what is written can be read back.
#pragma once

#include "flopcast/parallel.h"

namespace flopcast::report {

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
  visit("fp32_master", plan.fp32_master);
  visit("flash_attention", plan.flash_attention);
  visit("lora_rank", plan.lora_rank);
  visit("overlap_gradients", plan.overlap.gradients);
  visit("overlap_weights", plan.overlap.weights);
  visit("overlap_tensor", plan.overlap.tensor);
  visit("overlap_pipeline", plan.overlap.pipeline);
  visit("overlap_context", plan.overlap.context);
  visit("overlap_experts", plan.overlap.experts);
}

/// Calls visit(name, bytes) for each class of memory.
template <typename MemoryType, typename Visit>
void visit_memory(MemoryType& memory, Visit&& visit) {
  visit("weights", memory.weights);
  visit("gradients", memory.gradients);
  visit("optimizer", memory.optimizer);
  visit("activations", memory.activations);
  visit("working", memory.working);
  visit("buffers", memory.buffers);
  visit("allocator", memory.allocator);
}

}  // namespace flopcast::report
