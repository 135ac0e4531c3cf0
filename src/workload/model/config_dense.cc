// Decoders that descend from Llama: RMS norm, gated feed-forward, rotary positions, no biases unless
// they say so.
#include <algorithm>
#include <string>

#include "workload/model/config_readers.h"

namespace flopcast::workload {

CommonSizes read_common(Fields& fields, Model& model) {
  CommonSizes sizes;
  model.hidden = fields.need({"hidden_size", "n_embd", "n_embed", "d_model", "hidden"}, 1 << 20);
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
  sizes.layers = fields.need({"num_hidden_layers", "n_layer", "n_layers", "layers", "num_layers"},
                             Fields::kMostLayers);
  AttentionShape& attention = sizes.attention;
  attention.heads = fields.need({"num_attention_heads", "n_head", "n_heads", "heads"}, 1 << 16);
  attention.kv_heads = fields.get({"num_key_value_heads", "kv_heads", "num_kv_heads", "kv_n_heads"},
                                  attention.heads, 1 << 16);
  if (attention.kv_heads < 1 || attention.heads % attention.kv_heads != 0) {
    fields.refuse("num_key_value_heads", "must divide num_attention_heads");
    attention.kv_heads = 1;
  }
  const Keys head_dim = {"head_dim", "attention_head_dim", "kv_channels"};
  if (fields.find(head_dim) == nullptr && model.hidden % attention.heads != 0) {
    fields.refuse("num_attention_heads", "must divide hidden_size where head_dim is not given");
  }
  attention.head_dim = fields.get(head_dim, model.hidden / attention.heads, 1 << 14);
  if (attention.head_dim < 1) fields.refuse("head_dim", "must be positive");
  attention.value_dim = attention.head_dim;
  return sizes;
}

bool is_windowed(const Fields& fields, std::int64_t i, std::int64_t period) {
  const std::string type = fields.text_at({"layer_types"}, i);
  if (!type.empty()) return type == "sliding_attention";
  return period == 0 || (i + 1) % period != 0;
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
  add_layers(model, dense.sizes.layers, [&](std::int64_t i) {
    Layer layer = dense.layer;
    if (is_windowed(fields, i, period)) layer.attention.window = window;
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
                  std::max<std::int64_t>(fields.get({"sliding_window_pattern"}, 6), 1));
}

void read_phi3(Fields& fields, Model& model) {
  Dense dense = read_dense(fields, model);
  dense.layer.attention.window = fields.get({"sliding_window"}, 0, Fields::kMostRows);
  add_equal(model, dense);
}

}  // namespace flopcast::workload
