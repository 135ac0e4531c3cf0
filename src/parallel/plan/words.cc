#include "flopcast/parallel/fields.h"

#include <fmt/format.h>

#include "flopcast/parallel/names.h"

namespace flopcast {
namespace {

std::string degree_words(const Plan& plan) {
  std::string text = fmt::format("tp {}", plan.tp);
  const auto add = [&](std::string_view what, unsigned degree, unsigned usual = 1) {
    if (degree != usual) text += fmt::format(", {} {}", what, degree);
  };
  add("tp2", plan.tp2);
  add("cp", plan.cp);
  add("pp", plan.pp, 0);
  add("vpp", plan.vpp);
  add("dp", plan.dp, 0);
  add("ep", plan.ep);
  add("etp", plan.etp, 0);
  return text;
}

std::string recompute_words(const Plan& plan) {
  if (plan.recompute == Recompute::kNone) return {};
  if (plan.recompute_layers > 0) {
    return fmt::format(", {} recompute of {} layers", name(plan.recompute), plan.recompute_layers);
  }
  return fmt::format(", {} recompute", name(plan.recompute));
}

}  // namespace

std::string plan_words(const Plan& plan) {
  const Plan usual;
  std::string text = degree_words(plan) + fmt::format(", micro-batch {}", plan.micro_batch);
  if (plan.tensor != usual.tensor) text += fmt::format(", {}", name(plan.tensor));
  if (plan.cp > 1) text += fmt::format(", {} attention", name(plan.context));
  if (plan.panels > 1) text += fmt::format(" of {} panels", plan.panels);
  if (plan.pp > 1) text += fmt::format(", {}", name(plan.schedule));
  if (plan.zero != Zero::kNone) text += fmt::format(", ZeRO {}", name(plan.zero));
  if (plan.shard > 0) text += fmt::format(" over {}", plan.shard);
  text += recompute_words(plan);
  if (plan.sequence_parallel) text += ", sequence parallel";
  if (plan.precision != usual.precision) text += fmt::format(", {}", name(plan.precision));
  if (plan.gradient_type != usual.gradient_type) {
    text += fmt::format(", gradients reduced in {}", name(plan.gradient_type));
  }
  if (plan.dispatcher != usual.dispatcher) text += fmt::format(", {}", name(plan.dispatcher));
  if (plan.cuda_graph) text += ", CUDA graphs";
  if (plan.mtp_layers > 0) text += fmt::format(", MTP {}", plan.mtp_layers);
  if (plan.lora_rank > 0) {
    text += fmt::format(", LoRA {}{}", plan.lora_rank, plan.lora_mlp ? " everywhere" : "");
  }
  return text;
}

}  // namespace flopcast
