// Decoders that descend from Llama: RMS norm, gated feed-forward, rotary positions, no biases unless
// they say so.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "workload/model/config_readers.h"

namespace flopcast::workload {

std::int64_t read_ends(Fields& fields, Model& model) {
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
  // Nemotron-H in transformers 5 has a list of its layers alone.
  const Keys kList = {"layers_block_type"};
  const nlohmann::json* list = fields.find(kList);
  if (fields.find(kLayerCount) != nullptr) return fields.need(kLayerCount, Fields::kMostLayers);
  if (list == nullptr)
    return fields.need(
        {"num_hidden_layers", "n_layer", "n_layers", "layers", "num_layers", "layers_block_type"});
  if (list->is_array() && !list->empty() &&
      list->size() <= static_cast<std::size_t>(Fields::kMostLayers)) {
    return static_cast<std::int64_t>(list->size());
  }
  fields.refuse(kList, "expected a list with a word for each layer");
  return 1;
}

AttentionShape read_heads(Fields& fields, const Model& model, std::int64_t otherwise) {
  AttentionShape attention;
  attention.heads = fields.need(kHeads, 1 << 16);
  const Keys kKeyHeads = {"num_key_value_heads", "kv_heads", "num_kv_heads", "kv_n_heads"};
  attention.kv_heads = fields.get(kKeyHeads, attention.heads, 1 << 16);
  check_shared_heads(fields, kKeyHeads, attention);
  const Keys kHeadDim = {"head_dim", "attention_head_dim", "kv_channels"};
  if (otherwise == 0 && fields.find(kHeadDim) == nullptr && model.hidden % attention.heads != 0) {
    fields.refuse(
        kHeads, fmt::format("must divide {} where head_dim is not given", fields.spelled(kHidden)));
  }
  const std::int64_t share = std::max<std::int64_t>(model.hidden / attention.heads, 1);
  attention.head_dim = fields.positive(kHeadDim, otherwise > 0 ? otherwise : share, 1 << 14);
  attention.value_dim = attention.head_dim;
  return attention;
}

void read_latent(Fields& fields, AttentionShape& attention) {
  attention.q_rank = fields.get({"q_lora_rank", "q_lora"}, 0, 1 << 16);
  attention.kv_rank = fields.need({"kv_lora_rank", "kv_lora"}, 1 << 16);
  attention.rope_dim = fields.need({"qk_rope_head_dim", "rope_dim"}, 1 << 14);
  attention.head_dim = fields.need({"qk_nope_head_dim", "head_dim"}, 1 << 13) + attention.rope_dim;
  attention.value_dim = fields.need({"v_head_dim", "head_dim"}, 1 << 14);
  attention.kv_heads = attention.heads;
  if (!fields.flag({"attention_bias"}, false)) return;
  attention.out_bias = true;  // and behind the products that compress
  attention.vectors += attention.q_rank + attention.kv_rank + attention.rope_dim;
}

CommonSizes read_common(Fields& fields, Model& model) {
  CommonSizes sizes;
  sizes.layers = read_ends(fields, model);
  sizes.attention = read_heads(fields, model);
  return sizes;
}

void check_shared_heads(Fields& fields, Keys keys, AttentionShape& attention) {
  if (attention.kv_heads >= 1 && attention.heads % attention.kv_heads == 0) return;
  fields.refuse(keys, fmt::format("must divide {}", fields.spelled(kHeads)));
  attention.kv_heads = 1;
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

void read_phi3(Fields& fields, Model& model) {
  Dense dense = read_dense(fields, model);
  dense.layer.attention.window = fields.get({"sliding_window"}, 0, Fields::kMostRows);
  add_equal(model, dense);
}

}  // namespace flopcast::workload
