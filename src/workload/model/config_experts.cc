// Decoders with a mixture of experts in some or all layers.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "workload/model/config_readers.h"

namespace flopcast::workload {

namespace {

const Keys kChosenExperts = {"num_experts_per_tok", "experts_per_token", "moe_top_k",
                             "top_k_experts", "topk"};

}  // namespace

Experts read_routed_experts(Fields& fields, Keys count, Keys intermediate) {
  Experts experts;
  experts.count = fields.need(count, 1 << 14);
  experts.top_k = fields.need(kChosenExperts, 1 << 14);
  experts.expert.intermediate = fields.need(intermediate, 1 << 20);
  if (experts.top_k > experts.count) {
    fields.refuse(
        kChosenExperts,
        fmt::format("a token cannot pass more experts than there are ({})", fields.spelled(count)));
  }
  return experts;
}

namespace {

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

/// The layers that a list names by their index.
std::vector<bool> named_layers(Fields& fields, Keys keys, std::int64_t layers) {
  std::vector<bool> named(static_cast<std::size_t>(layers));
  const nlohmann::json* list = fields.find(keys);
  if (list == nullptr) return named;
  const auto is_layer = [&](const nlohmann::json& index) {
    return index.is_number_integer() && index.get<std::int64_t>() >= 0 &&
           index.get<std::int64_t>() < layers;
  };
  if (!list->is_array() || !std::ranges::all_of(*list, is_layer)) {
    fields.refuse(keys, fmt::format("expected a list of layers from 0 to {}", layers - 1));
    return named;
  }
  for (const nlohmann::json& index : *list) named[index.get<std::size_t>()] = true;
  return named;
}

/// Qwen: every decoder_sparse_step-th layer has experts, but for those in mlp_only_layers.
void add_qwen_layers(Fields& fields, Model& model, std::int64_t layers,
                     const AttentionShape& attention, const Experts& experts) {
  const std::int64_t step = fields.positive({"decoder_sparse_step"}, 1);
  std::vector<bool> dense = named_layers(fields, {"mlp_only_layers"}, layers);
  for (std::int64_t i = 0; i < layers; ++i) {
    if ((i + 1) % step != 0) dense[static_cast<std::size_t>(i)] = true;
  }
  const bool any_dense = std::ranges::find(dense, true) != dense.end();
  const std::int64_t intermediate =
      any_dense ? fields.need({"intermediate_size"}) : fields.get({"intermediate_size"}, 0);
  add_layers(model, layers, [&](std::int64_t i) {
    return dense[static_cast<std::size_t>(i)] ? dense_layer(attention, intermediate)
                                              : sparse_layer(attention, experts);
  });
}

/// Groups of experts alike, of which a token's experts are in a few.
void read_expert_groups(Fields& fields, Experts& experts) {
  experts.groups = fields.positive({"n_group"}, 1, 1 << 14);
  experts.top_groups = fields.positive({"topk_group"}, experts.groups, 1 << 14);
  if (experts.count % experts.groups != 0) {
    fields.refuse({"n_group"}, fmt::format("must divide the {} experts", experts.count));
  } else if (experts.top_groups > experts.groups) {
    fields.refuse({"topk_group"}, "a token cannot pass more groups than n_group has");
  } else if (experts.top_groups * (experts.count / experts.groups) < experts.top_k) {
    fields.refuse({"topk_group"},
                  fmt::format("has fewer experts than {}", fields.spelled(kChosenExperts)));
  }
}

/// DeepSeek Sparse Attention: the "lightning indexer".
void read_indexer(Fields& fields, AttentionShape& attention) {
  attention.index_top_k = fields.get({"index_topk"}, 0, Fields::kMostRows);
  if (!attention.sparse()) return;
  attention.index_heads = fields.need({"index_n_heads"}, 1 << 14);
  attention.index_dim = fields.need({"index_head_dim"}, 1 << 14);
  if (attention.q_rank == 0) fields.refuse({"q_lora_rank"}, "an indexer needs compressed queries");
}

}  // namespace

void read_mixtral(Fields& fields, Model& model) {
  CommonSizes sizes = read_common(fields, model);
  sizes.attention.window = fields.get({"sliding_window"}, 0, Fields::kMostRows);
  const Experts experts = read_routed_experts(fields, {"num_local_experts"}, {"intermediate_size"});
  add_layers(model, sizes.layers,
             [&](std::int64_t) { return sparse_layer(sizes.attention, experts); });
}

void read_qwen2_moe(Fields& fields, Model& model) {
  CommonSizes sizes = read_common(fields, model);
  sizes.attention.qkv_bias = true;
  Experts experts = read_routed_experts(fields, {"num_experts", "experts"},
                                        {"moe_intermediate_size", "expert_ffn"});
  experts.shared.intermediate = fields.need({"shared_expert_intermediate_size"}, 1 << 20, 0);
  experts.shared_gate = experts.shared.intermediate > 0;
  add_qwen_layers(fields, model, sizes.layers, sizes.attention, experts);
}

void read_qwen3_moe(Fields& fields, Model& model) {
  CommonSizes sizes = read_common(fields, model);
  sizes.attention.qk_norm = 2 * sizes.attention.head_dim;
  const Experts experts = read_routed_experts(fields, {"num_experts", "experts"},
                                              {"moe_intermediate_size", "expert_ffn"});
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
  Experts experts = read_routed_experts(fields, {"n_routed_experts", "experts"},
                                        {"moe_intermediate_size", "expert_ffn"});
  const Keys kShared = {"n_shared_experts", "shared_experts"};
  experts.shared.intermediate =
      fields.times(kShared, fields.get(kShared, 0, 1 << 10), experts.expert.intermediate);
  const std::string method = fields.text({"topk_method"}, "");
  read_indexer(fields, attention);
  read_expert_groups(fields, experts);
  experts.router_bias = method == "noaux_tc" || (method.empty() && attention.sparse());
  const std::int64_t dense = fields.get({"first_k_dense_replace", "dense_layers"}, 0);
  const std::int64_t step = fields.positive({"moe_layer_freq"}, 1);
  const std::int64_t intermediate = fields.need({"intermediate_size", "ffn"});
  add_layers(model, sizes.layers, [&](std::int64_t i) {
    return i < dense || i % step != 0 ? dense_layer(attention, intermediate)
                                      : sparse_layer(attention, experts);
  });
}

/// Dense and expert feed-forward side by side count as a shared expert.
void read_gemma4(Fields& fields, Model& model) {
  const CommonSizes sizes = read_common(fields, model);
  model.tied_embeddings = fields.flag({"tie_word_embeddings"}, true);
  if (fields.get({"hidden_size_per_layer_input"}, 0) > 0) {
    fields.refuse({"hidden_size_per_layer_input"}, "embeddings of every layer are not modelled");
  }
  Layer near;
  near.norms = 4;
  near.attention = sizes.attention;
  near.attention.qk_norm = 2 * near.attention.head_dim;
  near.mlp.intermediate = fields.need({"intermediate_size"});
  if (fields.flag({"enable_moe_block"}, false)) {
    near.experts = read_routed_experts(fields, {"num_experts"}, {"moe_intermediate_size"});
    near.experts.shared = std::exchange(near.mlp, {});
  }
  Layer far = near;
  near.attention.window = fields.get({"sliding_window"}, 512, Fields::kMostRows);
  AttentionShape& global = far.attention;
  global.head_dim = global.value_dim = fields.positive({"global_head_dim"}, 512, 1 << 14);
  global.qk_norm = 2 * global.head_dim;
  global.keys_are_values = fields.flag({"attention_k_eq_v"}, false);
  if (global.keys_are_values) {
    const Keys kKeyHeads = {"num_global_key_value_heads"};
    global.kv_heads = fields.get(kKeyHeads, global.kv_heads, 1 << 16);
    check_shared_heads(fields, kKeyHeads, global);
  }
  const std::vector<bool> windowed = windowed_layers(fields, sizes.layers, 6);
  add_layers(model, sizes.layers,
             [&](std::int64_t i) { return windowed[static_cast<std::size_t>(i)] ? near : far; });
}

void read_gpt_oss(Fields& fields, Model& model) {
  CommonSizes sizes = read_common(fields, model);
  sizes.attention.qkv_bias = sizes.attention.out_bias = fields.flag({"attention_bias"}, true);
  sizes.attention.sinks = sizes.attention.scaled_rotary = true;
  Experts experts =
      read_routed_experts(fields, {"num_local_experts", "experts"}, {"intermediate_size", "ffn"});
  experts.expert.bias = experts.router_bias = experts.expert.clamped = true;
  const std::int64_t window = fields.get({"sliding_window", "window"}, 128, Fields::kMostRows);
  const std::vector<bool> windowed = windowed_layers(fields, sizes.layers, 2);
  add_layers(model, sizes.layers, [&](std::int64_t i) {
    Layer layer = sparse_layer(sizes.attention, experts);
    if (windowed[static_cast<std::size_t>(i)]) layer.attention.window = window;
    return layer;
  });
}

void read_llama4(Fields& fields, Model& model) {
  CommonSizes sizes = read_common(fields, model);
  Experts experts = read_routed_experts(fields, {"num_local_experts"}, {"intermediate_size"});
  experts.shared.intermediate = experts.expert.intermediate;
  const std::int64_t intermediate = fields.need({"intermediate_size_mlp"});
  const std::int64_t step = fields.positive({"interleave_moe_layer_step"}, 1);
  const std::int64_t chunk = fields.get({"attention_chunk_size"}, 0, Fields::kMostRows);
  // Every fourth layer sees all tokens and has no rotary positions.
  const std::int64_t full = fields.positive({"no_rope_layer_interval"}, 4);
  add_layers(model, sizes.layers, [&](std::int64_t i) {
    AttentionShape attention = sizes.attention;
    attention.rotary = (i + 1) % full != 0;
    if (attention.rotary) attention.chunk = chunk;
    return (i + 1) % step == 0 ? sparse_layer(attention, experts)
                               : dense_layer(attention, intermediate);
  });
}

}  // namespace flopcast::workload
