// What follows from a plan: sizes of groups, how layers lie on stages, what operators see of it.
#include "flopcast/parallel.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace flopcast {

std::string_view name(OptimizerKind kind) {
  constexpr std::array<std::string_view, 3> kNames = {"adam", "sgd", "muon"};
  return kNames[static_cast<std::size_t>(kind)];
}

unsigned Plan::expert_dp() const {
  const std::uint64_t stage = std::uint64_t{tp} * cp * dp;
  const std::uint64_t experts = std::uint64_t{ep} * expert_tp();
  return experts == 0 || stage % experts != 0 ? 0 : static_cast<unsigned>(stage / experts);
}

std::int64_t sequence_of(const Plan& plan, const Model& model) {
  constexpr std::int64_t kUsual = 2048;
  if (plan.sequence > 0) return plan.sequence;
  return model.max_sequence > 0 ? model.max_sequence : kUsual;
}

Execution execution_of(const Plan& plan, const Model& model) {
  Execution run;
  run.microbatch = plan.micro_batch;
  run.sequence = sequence_of(plan, model);
  run.tp = plan.tp;
  run.tp2 = plan.tp2;
  run.cp = plan.cp;
  run.ep = plan.ep;
  run.etp = plan.expert_tp();
  run.sequence_parallel = plan.sequence_parallel;
  run.tensor = plan.tensor;
  run.panels = plan.panels;
  run.context = plan.context;
  run.precision = plan.precision;
  run.flash_attention = plan.flash_attention;
  run.recompute = plan.recompute;
  run.recompute_modules = plan.recompute_modules;
  run.lora_rank = plan.lora_rank;
  run.lora_mlp = plan.lora_mlp;
  run.mtp_layers = plan.mtp_layers;
  run.dispatcher = plan.dispatcher;
  run.cuda_graph = plan.cuda_graph;
  return run;
}

std::vector<unsigned> layers_per_stage(const Plan& plan, std::int64_t layers) {
  if (!plan.stage_layers.empty()) return plan.stage_layers;
  const std::int64_t stages = std::int64_t{plan.pp} * plan.vpp;
  if (stages == 1) return {static_cast<unsigned>(layers)};
  const bool even = layers % stages == 0 && !plan.count_embedding && !plan.count_loss;
  const std::int64_t before = even ? 0 : (plan.count_embedding || !plan.count_loss ? 1 : 0);
  const std::int64_t after = even ? 0 : (plan.count_loss || !plan.count_embedding ? 1 : 0);
  const std::int64_t units = layers + before + after;
  std::vector<unsigned> split;
  for (std::int64_t i = 0; i < stages; ++i) {
    const std::int64_t own = units / stages + (i < units % stages ? 1 : 0) - (i == 0 ? before : 0) -
                             (i + 1 == stages ? after : 0);
    split.push_back(static_cast<unsigned>(std::max<std::int64_t>(own, 0)));
  }
  // With fewer units than stages, the ends may owe layers they never had.
  const std::int64_t dealt = std::accumulate(split.begin(), split.end(), std::int64_t{0});
  for (std::int64_t i = 0; i < dealt - layers; ++i) {
    auto fullest = std::max_element(split.begin(), split.end());
    --*fullest;
  }
  return split;
}

Plan with_stages(const Plan& plan, std::int64_t layers) {
  const std::int64_t stages = std::int64_t{plan.pp} * plan.vpp;
  const bool even = plan.count_embedding || plan.count_loss || layers % stages == 0;
  if (even || !plan.stage_layers.empty() || layers < 1) return plan;
  Plan written = plan;
  if ((layers + 2) % stages == 0) {
    written.count_embedding = written.count_loss = true;
  } else {
    written.stage_layers = layers_per_stage(plan, layers);
  }
  return written;
}

}  // namespace flopcast
