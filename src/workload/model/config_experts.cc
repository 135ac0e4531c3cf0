// Decoders with a mixture of experts in some or all layers.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>

#include "workload/model/config_readers.h"

namespace flopcast::workload {

namespace {

const Keys kChosenExperts = {"num_experts_per_tok",
                             "num_experts_per_token",
                             "experts_per_token",
                             "moe_top_k",
                             "moe_topk",
                             "moe_k",
                             "top_k_experts",
                             "topk"};

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

/// Qwen: every decoder_sparse_step-th layer has experts, but for those in mlp_only_layers.
void add_qwen_layers(Fields& fields, Model& model, std::int64_t layers,
                     const AttentionShape& attention, const Experts& experts) {
  const std::vector<bool> dense = layers_without_experts(fields, layers);
  const bool any_dense = std::ranges::find(dense, true) != dense.end();
  const std::int64_t intermediate =
      any_dense ? fields.need({"intermediate_size"}) : fields.get({"intermediate_size"}, 0);
  add_layers(model, layers, [&](std::int64_t i) {
    return dense[static_cast<std::size_t>(i)] ? dense_layer(attention, intermediate)
                                              : sparse_layer(attention, experts);
  });
}

}  // namespace

void read_indexer(Fields& fields, AttentionShape& attention) {
  attention.index_top_k = fields.get({"index_topk"}, 0, Fields::kMostRows);
  if (!attention.sparse()) return;
  attention.index_heads = fields.need({"index_n_heads"}, 1 << 14);
  attention.index_dim = fields.need({"index_head_dim"}, 1 << 14);
  if (attention.q_rank == 0) fields.refuse({"q_lora_rank"}, "an indexer needs compressed queries");
}

void read_expert_groups(Fields& fields, Experts& experts) {
  const Keys kGroups = {"n_group", "num_expert_group"};
  experts.groups = fields.positive(kGroups, 1, 1 << 14);
  experts.top_groups = fields.positive({"topk_group"}, experts.groups, 1 << 14);
  if (experts.count % experts.groups != 0) {
    fields.refuse({"n_group", "num_expert_group"},
                  fmt::format("must divide the {} experts", experts.count));
  } else if (experts.top_groups > experts.groups) {
    fields.refuse({"topk_group"}, fmt::format("a token cannot pass more groups than {} has",
                                              fmt::join(kGroups, " or ")));
  } else if (experts.top_groups * (experts.count / experts.groups) < experts.top_k) {
    fields.refuse({"topk_group"},
                  fmt::format("has fewer experts than {}", fields.spelled(kChosenExperts)));
  }
}

void read_mixtral(Fields& fields, Model& model) {
  CommonSizes sizes = read_common(fields, model);
  sizes.attention.window = fields.get({"sliding_window"}, 0, Fields::kMostRows);
  const Experts experts = read_routed_experts(fields, {"num_local_experts"}, {"intermediate_size"});
  add_layers(model, sizes.layers,
             [&](std::int64_t) { return sparse_layer(sizes.attention, experts); });
}

void read_qwen2_moe(Fields& fields, Model& model) {
  CommonSizes sizes = read_common(fields, model);
  sizes.attention.qkv_bias = fields.flag({"qkv_bias"}, true);
  Experts experts =
      read_routed_experts(fields, kExpertCount, {"moe_intermediate_size", "expert_ffn"});
  experts.shared.intermediate = fields.need({"shared_expert_intermediate_size"}, 1 << 20, 0);
  experts.shared_gate = experts.shared.intermediate > 0;
  add_qwen_layers(fields, model, sizes.layers, sizes.attention, experts);
}

void read_qwen3_moe(Fields& fields, Model& model) {
  CommonSizes sizes = read_common(fields, model);
  sizes.attention.qkv_bias = sizes.attention.out_bias = fields.flag({"attention_bias"}, false);
  sizes.attention.qk_norm = 2 * sizes.attention.head_dim;
  const Experts experts =
      read_routed_experts(fields, kExpertCount, {"moe_intermediate_size", "expert_ffn"});
  add_qwen_layers(fields, model, sizes.layers, sizes.attention, experts);
}

void read_deepseek(Fields& fields, Model& model) {
  CommonSizes sizes = read_common(fields, model);
  AttentionShape& attention = sizes.attention;
  read_latent(fields, attention);
  Experts experts = read_routed_experts(fields, {"n_routed_experts", "experts"},
                                        {"moe_intermediate_size", "expert_ffn"});
  const Keys kShared = {"n_shared_experts", "shared_experts"};
  experts.shared.intermediate =
      fields.times(kShared, fields.get(kShared, 0, 1 << 10), experts.expert.intermediate);
  const std::string method = fields.text({"topk_method"}, "");
  read_indexer(fields, attention);
  read_expert_groups(fields, experts);
  // DeepSeek-V2 chooses by scores alone; what came after it corrects them.
  const bool corrects = model.architecture != "deepseek_v2" && !model.architecture.empty();
  experts.router_bias = method == "noaux_tc" || (method.empty() && corrects);
  const std::vector<bool> dense = layers_without_experts(fields, sizes.layers);
  const std::vector<bool> shares = layers_without_indexer(fields, sizes.layers);
  const std::int64_t intermediate = fields.need({"intermediate_size", "ffn"});
  add_layers(model, sizes.layers, [&](std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    AttentionShape own = attention;
    own.shares_index = own.sparse() && shares[at];
    return dense[at] ? dense_layer(own, intermediate) : sparse_layer(own, experts);
  });
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
  sizes.attention.qkv_bias = sizes.attention.out_bias = fields.flag({"attention_bias"}, false);
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
