#include "workload/model/config_families.h"

#include <algorithm>
#include <array>

namespace flopcast::workload {
namespace {

constexpr Switch kYes = {"", true};
constexpr Switch kAttentionBias = {"attention_bias", false};

// Sources: configuration and modeling files of Hugging Face transformers, or of the model's own
// repository where it brings its code (dbrx, internlm2, qwen).
constexpr std::array kFamilies = {
    Family{.type = "cohere",
           .norm = NormKind::kLayerNormNoBias,
           .norms = 1,
           .parallel = true,
           .tied = true,
           .qkv_bias = kAttentionBias,
           .out_bias = kAttentionBias,
           .qk_norm = QkNorm::kWhole,
           .has_qk_norm = {"use_qk_norm", false}},
    Family{.type = "cohere2",
           .norm = NormKind::kLayerNormNoBias,
           .norms = 1,
           .parallel = true,
           .tied = true,
           .qkv_bias = kAttentionBias,
           .out_bias = kAttentionBias,
           .window_period = 4},
    Family{.type = "dbrx",
           .norm = NormKind::kLayerNormNoBias,
           .experts = {.count = "moe_num_experts", .intermediate = "ffn_hidden_size"},
           .groups = {"attn_config", "ffn_config"}},
    Family{.type = "glm4", .norms = 4, .qkv_bias = kAttentionBias},
    Family{.type = "glm4_moe",
           .qkv_bias = kAttentionBias,
           .qk_norm = QkNorm::kHead,
           .has_qk_norm = {"use_qk_norm", false},
           .experts = {.count = "n_routed_experts",
                       .intermediate = "moe_intermediate_size",
                       .router_bias = kYes}},
    Family{.type = "internlm2", .qkv_bias = {"bias", true}, .out_bias = {"bias", true}},
    Family{.type = "minimax_m2",
           .qk_norm = QkNorm::kWhole,
           .has_qk_norm = {"use_qk_norm", true},
           .experts = {.count = "num_local_experts",
                       .intermediate = "intermediate_size",
                       .router_bias = {"use_routing_bias", true}}},
    Family{.type = "olmo2",
           .qkv_bias = kAttentionBias,
           .out_bias = kAttentionBias,
           .qk_norm = QkNorm::kWhole},
    Family{.type = "olmo3",
           .qkv_bias = kAttentionBias,
           .out_bias = kAttentionBias,
           .qk_norm = QkNorm::kWhole,
           .window_period = 4},
    Family{.type = "phimoe",
           .norm = NormKind::kLayerNorm,
           .qkv_bias = kAttentionBias,
           .out_bias = kAttentionBias,
           .head_bias = {"lm_head_bias", false},
           .experts = {.count = "num_local_experts", .intermediate = "intermediate_size"}},
    Family{.type = "qwen", .intermediate_parts = 2, .qkv_bias = kYes},
    Family{.type = "starcoder2",
           .norm = NormKind::kLayerNorm,
           .gated = false,
           .tied = true,
           .qkv_bias = {"use_bias", true},
           .out_bias = {"use_bias", true},
           .mlp_bias = {"use_bias", true}},
};

bool is_on(Fields& fields, const Switch& option) {
  return option.field.empty() ? option.otherwise : fields.flag({option.field}, option.otherwise);
}

void read_attention(Fields& fields, const Family& family, AttentionShape& attention) {
  attention.qkv_bias = is_on(fields, family.qkv_bias);
  attention.out_bias = is_on(fields, family.out_bias);
  if (family.qk_norm == QkNorm::kNone || !is_on(fields, family.has_qk_norm)) return;
  const std::int64_t heads =
      family.qk_norm == QkNorm::kHead ? 2 : attention.heads + attention.kv_heads;
  attention.qk_norm = heads * attention.head_dim;
}

Experts read_experts(Fields& fields, const ExpertTraits& traits) {
  Experts experts = read_routed_experts(fields, {traits.count}, {traits.intermediate});
  experts.expert.gated = traits.gated;
  experts.router_bias = is_on(fields, traits.router_bias);
  const Keys kShared = {"n_shared_experts"};
  experts.shared = experts.expert;
  experts.shared.intermediate =
      fields.times(kShared, fields.get(kShared, 0, 1 << 10), experts.expert.intermediate);
  return experts;
}

}  // namespace

std::span<const Family> families() { return kFamilies; }

void read_family(Fields& fields, Model& model, const Family& family) {
  for (const std::string_view group : family.groups) fields.open(group);
  const CommonSizes sizes = read_common(fields, model);
  model.tied_embeddings = fields.flag({"tie_word_embeddings"}, family.tied);
  model.head_bias = is_on(fields, family.head_bias);
  Layer layer;
  layer.norm = family.norm;
  layer.norms = family.norms;
  layer.parallel = family.parallel;
  layer.attention = sizes.attention;
  read_attention(fields, family, layer.attention);
  Layer dense = layer;
  std::int64_t dense_layers = sizes.layers;
  if (!family.experts.count.empty()) {
    layer.experts = read_experts(fields, family.experts);
    dense_layers = fields.get({"first_k_dense_replace"}, 0);
  }
  if (dense_layers > 0) {
    dense.mlp = {.intermediate = fields.need({"intermediate_size"}),
                 .gated = family.gated,
                 .bias = is_on(fields, family.mlp_bias)};
    dense.mlp.intermediate =
        std::max<std::int64_t>(dense.mlp.intermediate / family.intermediate_parts, 1);
  }
  const std::int64_t window = fields.get({"sliding_window"}, 0, Fields::kMostRows);
  const std::vector<bool> windowed = windowed_layers(fields, sizes.layers, family.window_period);
  add_layers(model, sizes.layers, [&](std::int64_t i) {
    Layer made = i < dense_layers ? dense : layer;
    if (windowed[static_cast<std::size_t>(i)]) made.attention.window = window;
    return made;
  });
}

}  // namespace flopcast::workload
