// Decoders that descend from Llama: RMS norm, gated feed-forward, rotary positions, no biases unless
// they say so.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "workload/model/config_readers.h"

namespace flopcast::workload {

CommonSizes read_common(Fields& fields, Model& model) {
  CommonSizes sizes;
  model.hidden = fields.need(kHidden, 1 << 20);
  if (model.patch == 0)
    model.vocab = fields.need({"vocab_size", "vocab", "padded_vocab_size"}, Fields::kMostRows);
  model.max_sequence = fields.get({"max_position_embeddings", "n_positions", "seq_length",
                                   "max_seq_len", "seq_len", "max_sequence_length"},
                                  0, Fields::kMostRows);
  model.tied_embeddings = fields.flag({"tie_word_embeddings"}, false);
  model.attention_dropout =
      fields.number({"attention_dropout", "attn_pdrop", "attention_probs_dropout_prob"}, 0) > 0;
  model.hidden_dropout =
      fields.number({"hidden_dropout", "resid_pdrop", "hidden_dropout_prob", "dropout"}, 0) > 0;
  sizes.layers = fields.need(kLayerCount, Fields::kMostLayers);
  AttentionShape& attention = sizes.attention;
  attention.heads = fields.need(kHeads, 1 << 16);
  const Keys kKeyHeads = {"num_key_value_heads", "kv_heads", "num_kv_heads", "kv_n_heads"};
  attention.kv_heads = fields.get(kKeyHeads, attention.heads, 1 << 16);
  check_shared_heads(fields, kKeyHeads, attention);
  const Keys kHeadDim = {"head_dim", "attention_head_dim", "kv_channels"};
  if (fields.find(kHeadDim) == nullptr && model.hidden % attention.heads != 0) {
    fields.refuse(
        kHeads, fmt::format("must divide {} where head_dim is not given", fields.spelled(kHidden)));
  }
  const std::int64_t share = std::max<std::int64_t>(model.hidden / attention.heads, 1);
  attention.head_dim = fields.positive(kHeadDim, share, 1 << 14);
  attention.value_dim = attention.head_dim;
  return sizes;
}

void check_shared_heads(Fields& fields, Keys keys, AttentionShape& attention) {
  if (attention.kv_heads >= 1 && attention.heads % attention.kv_heads == 0) return;
  fields.refuse(keys, fmt::format("must divide {}", fields.spelled(kHeads)));
  attention.kv_heads = 1;
}

std::vector<bool> windowed_layers(Fields& fields, std::int64_t layers, std::int64_t period) {
  const std::vector<std::string> types =
      fields.of_layers({"layer_types"}, layers, {"full_attention", "sliding_attention"});
  std::vector<bool> windowed;
  for (std::int64_t i = 0; i < layers; ++i) {
    windowed.push_back(types.empty() ? period == 0 || (i + 1) % period != 0
                                     : types[static_cast<std::size_t>(i)] == "sliding_attention");
  }
  return windowed;
}

namespace {

struct Dense {
  CommonSizes sizes;
  Layer layer;
};

Dense read_dense(Fields& fields, Model& model) {
  Dense dense{read_common(fields, model), {}};
  dense.sizes.intermediate = fields.need({"intermediate_size", "ffn"});
  dense.layer.attention = dense.sizes.attention;
  dense.layer.mlp = {.intermediate = dense.sizes.intermediate};
  return dense;
}

void add_equal(Model& model, const Dense& dense) {
  add_layers(model, dense.sizes.layers, [&](std::int64_t) { return dense.layer; });
}

void add_alternating(Fields& fields, Model& model, const Dense& dense, std::int64_t window,
                     std::int64_t period) {
  const std::vector<bool> windowed = windowed_layers(fields, dense.sizes.layers, period);
  add_layers(model, dense.sizes.layers, [&](std::int64_t i) {
    Layer layer = dense.layer;
    if (windowed[static_cast<std::size_t>(i)]) layer.attention.window = window;
    return layer;
  });
}

}  // namespace

void read_llama(Fields& fields, Model& model) {
  Dense dense = read_dense(fields, model);
  dense.layer.attention.qkv_bias = dense.layer.attention.out_bias =
      fields.flag({"attention_bias"}, false);
  dense.layer.mlp.bias = fields.flag({"mlp_bias"}, false);
  add_equal(model, dense);
}

void read_mistral(Fields& fields, Model& model) {
  Dense dense = read_dense(fields, model);
  dense.layer.attention.window = fields.get({"sliding_window"}, 0, Fields::kMostRows);
  add_equal(model, dense);
}

void read_qwen2(Fields& fields, Model& model) {
  Dense dense = read_dense(fields, model);
  dense.layer.attention.qkv_bias = true;
  const bool sliding = fields.flag({"use_sliding_window"}, false);
  const std::int64_t window = sliding ? fields.get({"sliding_window"}, 0, Fields::kMostRows) : 0;
  const std::int64_t full = fields.get({"max_window_layers"}, dense.sizes.layers);
  add_layers(model, dense.sizes.layers, [&](std::int64_t i) {
    Layer layer = dense.layer;
    if (i >= full) layer.attention.window = window;
    return layer;
  });
}

void read_qwen3(Fields& fields, Model& model) {
  Dense dense = read_dense(fields, model);
  dense.layer.attention.qkv_bias = dense.layer.attention.out_bias =
      fields.flag({"attention_bias"}, false);
  dense.layer.attention.qk_norm = 2 * dense.layer.attention.head_dim;
  add_equal(model, dense);
}

void read_gemma(Fields& fields, Model& model) {
  Dense dense = read_dense(fields, model);
  model.tied_embeddings = fields.flag({"tie_word_embeddings"}, true);
  add_equal(model, dense);
}

void read_gemma2(Fields& fields, Model& model) {
  Dense dense = read_dense(fields, model);
  model.tied_embeddings = fields.flag({"tie_word_embeddings"}, true);
  dense.layer.norms = 4;
  add_alternating(fields, model, dense, fields.get({"sliding_window"}, 4096, Fields::kMostRows), 2);
}

void read_gemma3(Fields& fields, Model& model) {
  Dense dense = read_dense(fields, model);
  model.tied_embeddings = fields.flag({"tie_word_embeddings"}, true);
  dense.layer.norms = 4;
  dense.layer.attention.qk_norm = 2 * dense.layer.attention.head_dim;
  add_alternating(fields, model, dense, fields.get({"sliding_window"}, 4096, Fields::kMostRows),
                  fields.positive({"sliding_window_pattern"}, 6));
}

void read_phi3(Fields& fields, Model& model) {
  Dense dense = read_dense(fields, model);
  dense.layer.attention.window = fields.get({"sliding_window"}, 0, Fields::kMostRows);
  add_equal(model, dense);
}

}  // namespace flopcast::workload
