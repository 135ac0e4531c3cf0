// Decoders most of whose layers keep a state instead of keys and values.
#include <algorithm>
#include <string>
#include <string_view>

#include "workload/model/config_readers.h"

namespace flopcast::workload {
namespace {

constexpr std::int64_t kMostHeads = 1 << 16, kMostHeadWidth = 1 << 14;

Recurrence read_gated_delta(Fields& fields) {
  Recurrence r;
  r.kind = RecurrenceKind::kGatedDelta;
  r.heads = fields.need({"linear_num_value_heads"}, kMostHeads);
  r.key_heads = fields.need({"linear_num_key_heads"}, kMostHeads);
  r.key_dim = fields.need({"linear_key_head_dim"}, kMostHeadWidth);
  r.value_dim = fields.need({"linear_value_head_dim"}, kMostHeadWidth);
  r.taps = fields.need({"linear_conv_kernel_dim"}, 1 << 10);
  return r;
}

Recurrence read_mamba(Fields& fields) {
  Recurrence r;
  r.kind = RecurrenceKind::kStateSpace;
  r.heads = fields.need({"mamba_num_heads"}, kMostHeads);
  r.value_dim = fields.need({"mamba_head_dim"}, kMostHeadWidth);
  r.key_heads = fields.need({"n_groups", "mamba_n_groups"}, kMostHeads);
  r.key_dim = fields.need({"ssm_state_size"}, kMostHeadWidth);
  r.taps = fields.need({"conv_kernel", "mamba_d_conv"}, 1 << 10);
  r.taps_bias = fields.flag({"use_conv_bias", "mamba_conv_bias"}, true);
  r.chunk = std::max<std::int64_t>(fields.get({"chunk_size", "mamba_chunk_size"}, 128, 1 << 16), 1);
  return r;
}

void check_heads(Fields& fields, const Recurrence& r, std::string_view key) {
  if (r.key_heads < 1 || r.heads % r.key_heads != 0) {
    fields.refuse(key, "must divide the number of heads");
  }
}

/// What layer i of Nemotron-H is: 'M', '*', '-', 'E' of its pattern, or a list of words.
char nemotron_block(const Fields& fields, std::string_view pattern, std::int64_t i) {
  if (!pattern.empty()) return pattern[static_cast<std::size_t>(i)];
  const std::string word = fields.text_at({"layers_block_type", "layer_types"}, i);
  if (word == "mamba" || word == "linear_attention") return 'M';
  if (word == "attention" || word == "full_attention") return '*';
  return word == "moe" ? 'E' : word == "mlp" ? '-' : '?';
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
  if (fields.get({"moe_latent_size"}, 0) > 0) {
    fields.refuse("moe_latent_size", "experts on a compressed hidden state are not modelled");
  }
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
    blocks.mamba.recurrence = read_mamba(fields);
    check_heads(fields, blocks.mamba.recurrence, "n_groups");
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
  full.attention.output_gate = fields.flag({"attn_output_gate"}, true);
  full.attention.qk_norm = 2 * sizes.attention.head_dim;
  if (fields.find({"num_experts"}) != nullptr) {
    full.experts = read_routed_experts(fields, {"num_experts"}, {"moe_intermediate_size"});
    full.experts.shared.intermediate = fields.need({"shared_expert_intermediate_size"}, 1 << 20, 0);
    full.experts.shared_gate = full.experts.shared.intermediate > 0;
  } else {
    full.mlp.intermediate = fields.need({"intermediate_size"});
  }
  Layer linear = full;
  linear.attention = AttentionShape{};
  linear.recurrence = read_gated_delta(fields);
  check_heads(fields, linear.recurrence, "linear_num_key_heads");
  const std::int64_t period = std::max<std::int64_t>(fields.get({"full_attention_interval"}, 4), 1);
  add_layers(model, sizes.layers, [&](std::int64_t i) {
    const std::string type = fields.text_at({"layer_types"}, i);
    const bool is_full = type.empty() ? (i + 1) % period == 0 : type == "full_attention";
    return is_full ? full : linear;
  });
}

void read_nemotron_h(Fields& fields, Model& model) {
  CommonSizes sizes = read_common(fields, model);
  const std::string pattern = fields.text({"hybrid_override_pattern"}, "");
  if (!pattern.empty() && static_cast<std::int64_t>(pattern.size()) != sizes.layers) {
    return fields.refuse("hybrid_override_pattern", "must have a letter for each hidden layer");
  }
  std::string kinds;
  for (std::int64_t i = 0; i < sizes.layers; ++i) kinds += nemotron_block(fields, pattern, i);
  if (kinds.find_first_not_of("M*-E") != std::string::npos) {
    return fields.refuse("hybrid_override_pattern",
                         "expected M, *, - or E for each layer, or layers_block_type");
  }
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
