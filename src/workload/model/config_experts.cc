// Decoders with a mixture of experts in some or all layers.
#include <algorithm>
#include <string>

#include "workload/model/config_readers.h"

namespace flopcast::workload {
namespace {

Experts read_experts(Fields& fields, Keys count, Keys intermediate) {
  Experts experts;
  experts.count = fields.need(count, 1 << 14);
  experts.top_k = fields.need({"num_experts_per_tok", "experts_per_token", "topk"}, 1 << 14);
  experts.expert.intermediate = fields.need(intermediate, 1 << 20);
  if (experts.top_k > experts.count) {
    fields.refuse("num_experts_per_tok", "a token cannot pass more experts than there are");
  }
  return experts;
}

Layer sparse_layer(const AttentionShape& attention, const Experts& experts) {
  Layer layer;
  layer.attention = attention;
  layer.experts = experts;
  return layer;
}

Layer dense_layer(const AttentionShape& attention, std::int64_t intermediate) {
  Layer layer;
  layer.attention = attention;
  layer.mlp = {.intermediate = intermediate};
  return layer;
}

/// Qwen: every decoder_sparse_step-th layer has experts, but for those in mlp_only_layers.
void add_qwen_layers(Fields& fields, Model& model, std::int64_t layers,
                     const AttentionShape& attention, const Experts& experts) {
  const std::int64_t step = std::max<std::int64_t>(fields.get({"decoder_sparse_step"}, 1), 1);
  const nlohmann::json* dense = fields.find({"mlp_only_layers"});
  const auto is_dense = [&](std::int64_t i) {
    if ((i + 1) % step != 0) return true;
    if (dense == nullptr || !dense->is_array()) return false;
    return std::any_of(dense->begin(), dense->end(), [&](const nlohmann::json& index) {
      return index.is_number_integer() && index.get<std::int64_t>() == i;
    });
  };
  const std::int64_t intermediate = fields.get({"intermediate_size"}, 0);
  add_layers(model, layers, [&](std::int64_t i) {
    return is_dense(i) ? dense_layer(attention, intermediate) : sparse_layer(attention, experts);
  });
}

}  // namespace

void read_mixtral(Fields& fields, Model& model) {
  CommonSizes sizes = read_common(fields, model);
  sizes.attention.window = fields.get({"sliding_window"}, 0, Fields::kMostRows);
  const Experts experts = read_experts(fields, {"num_local_experts"}, {"intermediate_size"});
  add_layers(model, sizes.layers,
             [&](std::int64_t) { return sparse_layer(sizes.attention, experts); });
}

void read_qwen2_moe(Fields& fields, Model& model) {
  CommonSizes sizes = read_common(fields, model);
  sizes.attention.qkv_bias = true;
  Experts experts =
      read_experts(fields, {"num_experts", "experts"}, {"moe_intermediate_size", "expert_ffn"});
  experts.shared.intermediate = fields.need({"shared_expert_intermediate_size"}, 1 << 20);
  experts.shared_gate = true;
  add_qwen_layers(fields, model, sizes.layers, sizes.attention, experts);
}

void read_qwen3_moe(Fields& fields, Model& model) {
  CommonSizes sizes = read_common(fields, model);
  sizes.attention.qk_norm = 2 * sizes.attention.head_dim;
  const Experts experts =
      read_experts(fields, {"num_experts", "experts"}, {"moe_intermediate_size", "expert_ffn"});
  add_qwen_layers(fields, model, sizes.layers, sizes.attention, experts);
}

void read_deepseek(Fields& fields, Model& model) {
  CommonSizes sizes = read_common(fields, model);
  AttentionShape& attention = sizes.attention;
  attention.q_rank = fields.get({"q_lora_rank", "q_lora"}, 0, 1 << 16);
  attention.kv_rank = fields.need({"kv_lora_rank", "kv_lora"}, 1 << 16);
  attention.rope_dim = fields.need({"qk_rope_head_dim", "rope_dim"}, 1 << 14);
  attention.head_dim = fields.need({"qk_nope_head_dim", "head_dim"}, 1 << 13) + attention.rope_dim;
  attention.value_dim = fields.need({"v_head_dim", "head_dim"}, 1 << 14);
  attention.kv_heads = attention.heads;
  Experts experts = read_experts(fields, {"n_routed_experts", "experts"},
                                 {"moe_intermediate_size", "expert_ffn"});
  experts.shared.intermediate = std::min<std::int64_t>(
      fields.get({"n_shared_experts", "shared_experts"}, 0, 1 << 10) * experts.expert.intermediate,
      Fields::kMostWidth);
  experts.router_bias = fields.text({"topk_method"}, "") == "noaux_tc";
  const std::int64_t dense = fields.get({"first_k_dense_replace", "dense_layers"}, 0);
  const std::int64_t step = std::max<std::int64_t>(fields.get({"moe_layer_freq"}, 1), 1);
  const std::int64_t intermediate = fields.need({"intermediate_size", "ffn"});
  add_layers(model, sizes.layers, [&](std::int64_t i) {
    return i < dense || i % step != 0 ? dense_layer(attention, intermediate)
                                      : sparse_layer(attention, experts);
  });
}

void read_gpt_oss(Fields& fields, Model& model) {
  CommonSizes sizes = read_common(fields, model);
  sizes.attention.qkv_bias = sizes.attention.out_bias = fields.flag({"attention_bias"}, true);
  sizes.attention.sinks = true;
  Experts experts =
      read_experts(fields, {"num_local_experts", "experts"}, {"intermediate_size", "ffn"});
  experts.expert.bias = experts.router_bias = true;
  const std::int64_t window = fields.get({"sliding_window", "window"}, 128, Fields::kMostRows);
  const nlohmann::json* types = fields.find({"layer_types"});
  add_layers(model, sizes.layers, [&](std::int64_t i) {
    Layer layer = sparse_layer(sizes.attention, experts);
    bool windowed = i % 2 == 0;
    if (types != nullptr && types->is_array() && static_cast<std::size_t>(i) < types->size()) {
      windowed = (*types)[static_cast<std::size_t>(i)] == "sliding_attention";
    }
    if (windowed) layer.attention.window = window;
    return layer;
  });
}

void read_llama4(Fields& fields, Model& model) {
  CommonSizes sizes = read_common(fields, model);
  Experts experts = read_experts(fields, {"num_local_experts"}, {"intermediate_size"});
  experts.shared.intermediate = experts.expert.intermediate;
  const std::int64_t intermediate = fields.need({"intermediate_size_mlp"});
  const std::int64_t step = std::max<std::int64_t>(fields.get({"interleave_moe_layer_step"}, 1), 1);
  const std::int64_t chunk = fields.get({"attention_chunk_size"}, 0, Fields::kMostRows);
  // Every fourth layer sees all tokens and has no rotary positions.
  const std::int64_t full = std::max<std::int64_t>(fields.get({"no_rope_layer_interval"}, 4), 1);
  add_layers(model, sizes.layers, [&](std::int64_t i) {
    AttentionShape attention = sizes.attention;
    attention.rotary = (i + 1) % full != 0;
    if (attention.rotary) attention.chunk = chunk;
    return (i + 1) % step == 0 ? sparse_layer(attention, experts)
                               : dense_layer(attention, intermediate);
  });
}

}  // namespace flopcast::workload
