// Decoders that descend from GPT: layer norm, plain feed-forward, biases, and the PaLM shape.
#include <algorithm>

#include "workload/model/config_readers.h"

namespace flopcast::workload {
namespace {

constexpr std::int64_t kMostInner = Fields::kMostWidth;

struct Gpt {
  std::int64_t layers = 0;
  Layer layer;
};

/// Layer norms with bias, biases everywhere, feed-forward of 4 hidden unless given.
Gpt read_biased(Fields& fields, Model& model, Keys intermediate) {
  const CommonSizes sizes = read_common(fields, model);
  Gpt gpt{sizes.layers, {}};
  gpt.layer.attention = sizes.attention;
  gpt.layer.attention.qkv_bias = gpt.layer.attention.out_bias = true;
  gpt.layer.mlp = {.intermediate = fields.positive(intermediate, 4 * model.hidden, kMostInner),
                   .gated = fields.flag({"gated"}, false),
                   .bias = true};
  gpt.layer.norm = NormKind::kLayerNorm;
  return gpt;
}

void add_equal(Model& model, const Gpt& gpt) {
  add_layers(model, gpt.layers, [&](std::int64_t) { return gpt.layer; });
}

}  // namespace

void read_gpt2(Fields& fields, Model& model) {
  Gpt gpt = read_biased(fields, model, {"n_inner", "intermediate_size", "ffn"});
  gpt.layer.attention.rotary = false;
  model.learned_positions = model.max_sequence =
      fields.need({"n_positions", "max_position_embeddings", "seq_len"}, Fields::kMostRows);
  model.tied_embeddings = fields.flag({"tie_word_embeddings"}, true);
  add_equal(model, gpt);
}

void read_gpt_neox(Fields& fields, Model& model) {
  Gpt gpt = read_biased(fields, model, {"intermediate_size"});
  gpt.layer.parallel = fields.flag({"use_parallel_residual"}, true);
  gpt.layer.attention.qkv_bias = gpt.layer.attention.out_bias =
      fields.flag({"attention_bias"}, true);
  add_equal(model, gpt);
}

void read_phi(Fields& fields, Model& model) {
  Gpt gpt = read_biased(fields, model, {"intermediate_size"});
  gpt.layer.parallel = true;
  gpt.layer.norms = 1;
  if (fields.flag({"qk_layernorm"}, false)) {
    gpt.layer.attention.qk_norm = 4 * gpt.layer.attention.head_dim;
  }
  model.head_bias = true;
  add_equal(model, gpt);
}

void read_bloom(Fields& fields, Model& model) {
  Gpt gpt = read_biased(fields, model, {"n_inner"});
  gpt.layer.attention.rotary = false;  // ALiBi: a bias on the scores, no parameters
  model.embedding_norm = true;
  model.tied_embeddings = fields.flag({"tie_word_embeddings"}, true);
  add_equal(model, gpt);
}

void read_opt(Fields& fields, Model& model) {
  Gpt gpt = read_biased(fields, model, {"ffn_dim"});
  gpt.layer.attention.rotary = false;
  model.tied_embeddings = fields.flag({"tie_word_embeddings"}, true);
  // The table has two rows more than positions: padding comes first.
  model.learned_positions = fields.need({"max_position_embeddings"}, Fields::kMostRows) + 2;
  const std::int64_t width = fields.positive({"word_embed_proj_dim"}, model.hidden, 1 << 20);
  if (width != model.hidden) model.embedding_width = width;
  model.final_norm = fields.flag({"do_layer_norm_before"}, true);
  add_equal(model, gpt);
}

void read_gpt_bigcode(Fields& fields, Model& model) {
  Gpt gpt = read_biased(fields, model, {"n_inner"});
  gpt.layer.attention.rotary = false;
  if (fields.flag({"multi_query"}, true)) gpt.layer.attention.kv_heads = 1;
  model.learned_positions = fields.need({"n_positions"}, Fields::kMostRows);
  model.tied_embeddings = fields.flag({"tie_word_embeddings"}, true);
  add_equal(model, gpt);
}

void read_falcon(Fields& fields, Model& model) {
  Gpt gpt = read_biased(fields, model, {"ffn_hidden_size"});
  AttentionShape& attention = gpt.layer.attention;
  const bool grouped = fields.flag({"new_decoder_architecture"}, false);
  if (!grouped) attention.kv_heads = fields.flag({"multi_query"}, true) ? 1 : attention.heads;
  attention.rotary = !fields.flag({"alibi"}, false);
  attention.qkv_bias = attention.out_bias = gpt.layer.mlp.bias = fields.flag({"bias"}, false);
  gpt.layer.parallel = grouped || fields.flag({"parallel_attn"}, true);
  const std::int64_t norms = fields.positive({"num_ln_in_parallel_attn"}, grouped ? 2 : 1, 2);
  gpt.layer.norms = gpt.layer.parallel ? static_cast<unsigned>(norms) : 2;
  model.tied_embeddings = fields.flag({"tie_word_embeddings"}, true);
  add_equal(model, gpt);
}

/// The first one is a GPT with rotary positions; the others descend from Llama.
void read_chatglm(Fields& fields, Model& model) {
  if (fields.find({"inner_hidden_size"}) != nullptr) {
    Gpt gpt = read_biased(fields, model, {"inner_hidden_size"});
    model.tied_embeddings = fields.flag({"tie_word_embeddings"}, true);
    return add_equal(model, gpt);
  }
  const CommonSizes sizes = read_common(fields, model);
  const bool biases = fields.flag({"add_bias_linear"}, false);
  Gpt gpt{sizes.layers, {}};
  AttentionShape& attention = gpt.layer.attention = sizes.attention;
  if (fields.flag({"multi_query_attention"}, false)) {
    const Keys kGroups = {"multi_query_group_num"};
    attention.kv_heads = fields.need(kGroups, 1 << 16);
    check_shared_heads(fields, kGroups, attention);
  }
  attention.qkv_bias = biases || fields.flag({"add_qkv_bias"}, false);
  attention.out_bias = biases;
  gpt.layer.mlp = {.intermediate = fields.need({"ffn_hidden_size", "inner_hidden_size"}),
                   .bias = biases};
  gpt.layer.norm = fields.flag({"rmsnorm"}, true) ? NormKind::kRmsNorm : NormKind::kLayerNorm;
  add_equal(model, gpt);
}

void read_mpt(Fields& fields, Model& model) {
  const CommonSizes sizes = read_common(fields, model);
  const Keys kRatio = {"expansion_ratio"};
  const std::int64_t ratio = fields.positive(kRatio, 4, 64);
  const nlohmann::json* attention = fields.find({"attn_config"});
  const bool alibi = attention != nullptr && attention->is_object() &&
                     attention->value("alibi", nlohmann::json(false)) == true;
  Layer layer;
  layer.attention = sizes.attention;
  layer.attention.rotary = false;
  layer.mlp = {.intermediate = fields.times(kRatio, ratio, model.hidden), .gated = false};
  layer.norm = NormKind::kLayerNormNoBias;
  const bool bias = !fields.flag({"no_bias"}, true);
  layer.attention.qkv_bias = layer.attention.out_bias = layer.mlp.bias = bias;
  if (!alibi) model.learned_positions = model.max_sequence;
  model.tied_embeddings = true;
  add_layers(model, sizes.layers, [&](std::int64_t) { return layer; });
}

void read_palm(Fields& fields, Model& model) {
  const CommonSizes sizes = read_common(fields, model);
  Layer layer;
  layer.attention = sizes.attention;
  layer.mlp = {.intermediate = fields.need({"intermediate_size", "ffn"})};
  layer.norm = NormKind::kLayerNormNoBias;
  layer.norms = 1;
  layer.parallel = true;
  model.tied_embeddings = true;
  add_layers(model, sizes.layers, [&](std::int64_t) { return layer; });
}

}  // namespace flopcast::workload
