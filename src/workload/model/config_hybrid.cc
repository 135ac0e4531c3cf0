// Decoders most of whose layers keep a state instead of keys and values.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "workload/model/config_families.h"

namespace flopcast::workload {
namespace {

/// What the layers of Nemotron-H are, one of M, *, - and E for each: its pattern, or a list of words. Empty where
/// that was refused.
std::string nemotron_blocks(Fields& fields, std::int64_t layers) {
  const Keys kPattern = {"hybrid_override_pattern"};
  std::string pattern = fields.text(kPattern, "");
  if (!pattern.empty() && static_cast<std::int64_t>(pattern.size()) != layers) {
    fields.refuse(kPattern, fmt::format("must have a letter for each hidden layer ({})",
                                        fields.spelled(kLayerCount)));
    return "";
  }
  if (pattern.empty()) {
    for (const std::string& word : fields.of_layers(
             {"layers_block_type", "layer_types"}, layers,
             {"mamba", "linear_attention", "attention", "full_attention", "mlp", "moe"})) {
      const bool mamba = word == "mamba" || word == "linear_attention";
      pattern += mamba ? 'M' : word == "mlp" ? '-' : word == "moe" ? 'E' : '*';
    }
  }
  if (!pattern.empty() && pattern.find_first_not_of("M*-E") == std::string::npos) return pattern;
  fields.refuse(kPattern, "expected M, *, - or E for each layer, or layers_block_type");
  return "";
}

struct NemotronBlocks {
  Layer mamba, attention, mlp, moe;
};

Experts read_nemotron_experts(Fields& fields) {
  Experts experts = read_routed_experts(fields, {"n_routed_experts"}, {"moe_intermediate_size"});
  experts.expert.gated = experts.shared.gated = false;
  experts.router_bias = true;
  if (fields.get({"n_shared_experts"}, 1) > 0) {
    experts.shared.intermediate = fields.need({"moe_shared_expert_intermediate_size"}, 1 << 20);
  }
  experts.shared.bias = experts.shared.intermediate > 0 && fields.flag({"mlp_bias"}, false);
  experts.latent = fields.get({"moe_latent_size"}, 0, 1 << 20);
  return experts;
}

/// Only the blocks that occur need their fields.
NemotronBlocks read_blocks(Fields& fields, std::string_view kinds, const CommonSizes& sizes) {
  NemotronBlocks blocks;
  for (Layer* layer : {&blocks.mamba, &blocks.attention, &blocks.mlp, &blocks.moe}) {
    layer->norms = 1;
  }
  const auto has = [&](char kind) { return kinds.find(kind) != std::string_view::npos; };
  if (has('M')) {
    blocks.mamba.recurrence = read_mamba2(fields, {}, {.mixer = Mixer::kMamba2, .chunk = 128});
  }
  blocks.attention.attention = sizes.attention;
  blocks.attention.attention.rotary = false;
  if (has('-')) {
    blocks.mlp.mlp = {.intermediate = fields.need({"intermediate_size"}),
                      .gated = false,
                      .bias = fields.flag({"mlp_bias"}, false)};
  }
  if (has('E')) blocks.moe.experts = read_nemotron_experts(fields);
  return blocks;
}

}  // namespace

void read_qwen3_next(Fields& fields, Model& model) {
  const CommonSizes sizes = read_common(fields, model);
  Layer full;
  full.attention = sizes.attention;
  full.attention.qkv_bias = full.attention.out_bias = fields.flag({"attention_bias"}, false);
  full.attention.output_gate = fields.flag({"attn_output_gate"}, true);
  full.attention.qk_norm = 2 * sizes.attention.head_dim;
  const bool experts =
      fields.find({"num_experts"}) != nullptr || fields.find({"moe_intermediate_size"}) != nullptr;
  if (experts) {
    full.experts = read_routed_experts(fields, {"num_experts"}, {"moe_intermediate_size"});
    full.experts.shared.intermediate = fields.need({"shared_expert_intermediate_size"}, 1 << 20, 0);
    full.experts.shared_gate = full.experts.shared.intermediate > 0;
  } else {
    full.mlp.intermediate = fields.need({"intermediate_size"});
  }
  Layer linear = full;
  linear.attention = AttentionShape{};
  linear.recurrence = read_gated_delta(fields);
  const std::int64_t period = fields.positive({"full_attention_interval"}, 4);
  const std::vector<std::string> types =
      fields.of_layers({"layer_types"}, sizes.layers, {"full_attention", "linear_attention"});
  add_layers(model, sizes.layers, [&](std::int64_t i) {
    const bool is_full = types.empty() ? (i + 1) % period == 0
                                       : types[static_cast<std::size_t>(i)] == "full_attention";
    return is_full ? full : linear;
  });
}

void read_nemotron_h(Fields& fields, Model& model) {
  CommonSizes sizes = read_common(fields, model);
  const std::string kinds = nemotron_blocks(fields, sizes.layers);
  if (kinds.empty()) return;
  const NemotronBlocks blocks = read_blocks(fields, kinds, sizes);
  add_layers(model, sizes.layers, [&](std::int64_t i) {
    const char kind = kinds[static_cast<std::size_t>(i)];
    return kind == 'M'   ? blocks.mamba
           : kind == '*' ? blocks.attention
           : kind == '-' ? blocks.mlp
                         : blocks.moe;
  });
}

}  // namespace flopcast::workload
