// Decoders whose parameters are counted to the last one, while no cost is known of some part: that part is named, and
// nobody prices the model. What has no place in a layer is in its vectors.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "workload/model/config_families.h"

namespace flopcast::workload {
namespace {

constexpr std::int64_t kMostPart = 1 << 16;

Layer plain_layer(const AttentionShape& attention, std::int64_t intermediate) {
  Layer layer;
  layer.attention = attention;
  layer.mlp = {.intermediate = intermediate};
  return layer;
}

void refuse_biases(Fields& fields) {
  for (const std::string_view key : {"attention_bias", "mlp_bias"}) {
    if (fields.flag({key}, false)) fields.refuse({key}, "is not modelled for this type");
  }
}

/// A word for each layer that a config must tell.
std::vector<std::string> need_words(Fields& fields, Keys keys, std::int64_t layers, Keys words) {
  if (fields.find(keys) == nullptr) fields.need(keys);
  std::vector<std::string> all = fields.of_layers(keys, layers, words);
  if (all.empty()) all.assign(static_cast<std::size_t>(layers), std::string(*words.begin()));
  return all;
}

/// Griffin (arXiv:2402.19427, section 2.4): a gated linear recurrence between two products, with gates of blocks.
std::int64_t griffin_values(const Model& model, std::int64_t width, std::int64_t heads) {
  const std::int64_t products = 2 * width * (model.hidden + 1) + model.hidden * (width + 1);
  const std::int64_t gates = 2 * width * (width / heads + 1);
  return products + 5 * width + gates + width;
}

/// What Zamba's blocks have once: attention and a feed-forward on the stream beside the first hidden state.
std::int64_t read_shared_block(Fields& fields, const Model& model, std::int64_t intermediate) {
  const std::int64_t h = model.hidden;
  const std::int64_t heads = fields.need(kHeads, 1 << 16);
  const std::int64_t kv_heads = fields.positive({"num_key_value_heads"}, heads, 1 << 16);
  if (heads % kv_heads != 0) {
    fields.refuse({"num_key_value_heads"}, fmt::format("must divide {}", fields.spelled(kHeads)));
  }
  const std::int64_t keys = 2 * h / std::max<std::int64_t>(heads / kv_heads, 1);
  return 2 * h * (2 * h + 2 * keys) + 2 * h * h + 3 * h * intermediate + 3 * h;
}

constexpr std::string_view kSharedBlock = "a block of attention whose weights layers share";

/// Products that compress keys and values of so many tokens into one (DeepSeek-V4).
std::int64_t compressor(std::int64_t hidden, std::int64_t tokens, std::int64_t width,
                        std::int64_t copies) {
  return tokens * width * copies + 2 * hidden * width * copies + width;
}

struct CompressedAttention {
  std::int64_t all = 0, heavy = 0, sparse = 0;  ///< what every layer has; what compresses in some
};

CompressedAttention read_compressed_attention(Fields& fields, const Model& model,
                                              const AttentionShape& a) {
  const std::int64_t h = model.hidden, rank = fields.need({"q_lora_rank"}, kMostPart);
  const std::int64_t groups = fields.need({"o_groups"}, 1 << 12);
  const std::int64_t out = fields.need({"o_lora_rank"}, kMostPart);
  const std::int64_t heads = fields.need({"index_n_heads"}, 1 << 12);
  const std::int64_t width = fields.need({"index_head_dim"}, 1 << 12);
  const std::int64_t queries = a.heads * a.head_dim;
  std::int64_t few = 4, many = 128;
  if (const nlohmann::json* rates = fields.find({"compress_rates"});
      rates != nullptr && rates->is_object()) {
    Fields inside(*rates, "");
    few = inside.positive({"compressed_sparse_attention"}, few, kMostPart);
    many = inside.positive({"heavily_compressed_attention"}, many, kMostPart);
    fields.absorb(inside);
  }
  CompressedAttention values;
  values.all = h * (rank + a.head_dim) + rank + rank * queries + a.head_dim + a.heads +
               out * queries + h * groups * out;
  values.heavy = compressor(h, many, a.head_dim, 1);
  values.sparse =
      compressor(h, few, a.head_dim, 2) + compressor(h, few, width, 2) + heads * (width * rank + h);
  return values;
}

/// Hyper-connections (arXiv:2409.19606) around both blocks of a layer, and what joins the streams in the end.
void add_streams(Fields& fields, Model& model, std::int64_t& layer) {
  const std::int64_t streams = fields.need({"hc_mult"}, 64), wide = streams * model.hidden + 1;
  layer += 2 * ((2 + streams) * streams * wide + 3);
  model.vectors += streams * wide + 1;
}

}  // namespace

void read_recurrent_gemma(Fields& fields, Model& model) {
  const CommonSizes sizes = read_common(fields, model);
  model.tied_embeddings = fields.flag({"tie_word_embeddings"}, true);
  const std::int64_t width = fields.positive({"lru_width"}, model.hidden, 1 << 20);
  if (width % sizes.attention.heads != 0) {
    fields.refuse(kHeads, fmt::format("must divide {}", fields.spelled({"lru_width"})));
  }
  Layer near =
      plain_layer(sizes.attention, std::max<std::int64_t>(fields.need(kIntermediate) / 2, 1));
  near.mlp.bias = near.attention.out_bias = true;
  near.attention.qkv_bias = fields.flag({"attention_bias"}, false);
  near.attention.window = fields.get({"attention_window_size"}, 2048, Fields::kMostRows);
  Layer recurrent = near;
  recurrent.attention = {};
  recurrent.vectors =
      griffin_values(model, width, std::max<std::int64_t>(sizes.attention.heads, 1));
  model.unpriced.emplace_back("recurrent layers of RG-LRU");
  const nlohmann::json* types = fields.find({"block_types"});
  const bool told = types != nullptr && types->is_array() && !types->empty();
  if (!told) fields.refuse({"block_types"}, "expected a list of attention and recurrent");
  add_layers(model, sizes.layers, [&](std::int64_t i) {
    return told && (*types)[static_cast<std::size_t>(i) % types->size()] == "attention" ? near
                                                                                        : recurrent;
  });
}

void read_zamba(Fields& fields, Model& model) {
  const std::int64_t layers = read_ends(fields, model);
  model.tied_embeddings = fields.flag({"tie_word_embeddings"}, true);
  if (!model.tied_embeddings) {
    fields.refuse({"tie_word_embeddings"}, "a table of its own is not modelled for this type");
  }
  const std::vector<std::string> words =
      need_words(fields, {"layers_block_type", "layer_types"}, layers,
                 {"linear_attention", "mamba", "hybrid"});
  const bool second = model.architecture == "zamba2";
  const std::int64_t hybrids = std::ranges::count(words, "hybrid");
  const std::int64_t intermediate = fields.need(kIntermediate);
  const std::int64_t blocks = second ? fields.positive({"num_mem_blocks"}, 1, kMostPart) : 1;
  model.vectors = blocks * read_shared_block(fields, model, intermediate);
  if (second) {
    if (fields.flag({"use_shared_attention_adapter"}, false)) {
      fields.refuse({"use_shared_attention_adapter"}, "adapters of attention are not modelled");
    }
    model.vectors +=
        hybrids * fields.need({"adapter_rank"}, kMostPart) * (model.hidden + 2 * intermediate);
  }
  Layer mamba;
  mamba.norms = 1;
  mamba.recurrence =
      read_mixer(fields, model, {.mixer = second ? Mixer::kMamba2 : Mixer::kMamba}, {});
  if (second) mamba.recurrence.taps_bias = true;
  if (!second && mamba.recurrence.bias) {
    fields.refuse({"mamba_proj_bias"}, "biases are not modelled for this type");
  }
  Layer hybrid = mamba;
  hybrid.vectors = model.hidden * (model.hidden + (mamba.recurrence.bias ? 1 : 0));
  model.unpriced.emplace_back(kSharedBlock);
  add_layers(model, layers, [&](std::int64_t i) {
    return words[static_cast<std::size_t>(i)] == "hybrid" ? hybrid : mamba;
  });
}

/// A mixture of heads of attention (arXiv:2210.05144), and of experts.
void read_jetmoe(Fields& fields, Model& model) {
  const std::int64_t layers = read_ends(fields, model);
  model.tied_embeddings = fields.flag({"tie_word_embeddings"}, true);
  const std::int64_t width =
      fields.need({"num_key_value_heads"}, 1 << 12) * fields.need({"kv_channels"}, 1 << 12);
  Layer layer;
  layer.experts = read_routed_experts(fields, kExpertCount, kIntermediate);
  layer.experts.vectors = model.hidden;
  layer.vectors = 2 * layer.experts.count * width * model.hidden +
                  (layer.experts.count + 1) * model.hidden + 2 * width * model.hidden;
  model.unpriced.emplace_back("a mixture of heads of attention");
  add_layers(model, layers, [&](std::int64_t) { return layer; });
}

/// Compressed convolutional attention, and a router of several products.
void read_zaya(Fields& fields, Model& model) {
  const CommonSizes sizes = read_common(fields, model);
  model.tied_embeddings = fields.flag({"tie_word_embeddings"}, true);
  refuse_biases(fields);
  model.head_bias = fields.flag({"lm_head_bias"}, false);
  Layer layer;
  AttentionShape& a = layer.attention = sizes.attention;
  const std::int64_t channels = (a.heads + a.kv_heads) * a.head_dim;
  const std::int64_t taps = fields.positive({"cca_time0"}, 2, 1 << 10);
  const std::int64_t grouped = fields.positive({"cca_time1"}, 2, 1 << 10);
  a.vectors = channels * (taps + 1) + channels * (a.head_dim * grouped + 1) + a.kv_heads;
  Experts& e = layer.experts = read_routed_experts(fields, kExpertCount, kExpertWidth);
  const std::int64_t r = fields.need({"router_hidden_size"}, kMostPart), h = model.hidden;
  const std::int64_t choices = e.count + 1;  // one of them skips
  const std::int64_t router = h * r + 2 * r + 2 * (r * r + r) + choices * (r + 1);
  layer.vectors = 8 * h + router - e.count * h;
  model.vectors = 2 * h;
  model.unpriced.emplace_back("compressed convolutional attention");
  Layer later = layer;
  later.vectors += r;
  add_layers(model, sizes.layers, [&](std::int64_t i) { return i == 0 ? layer : later; });
}

/// Two blocks of attention and feed-forward a layer, and experts beside the first; some of a token's are idle
/// (LongCat-Flash, arXiv:2509.01322, section 2).
void read_longcat(Fields& fields, Model& model) {
  const std::int64_t layers = read_ends(fields, model);
  AttentionShape attention = read_heads(fields, model, kAnyHeadDim);
  read_latent(fields, attention);
  Layer second = plain_layer(attention, fields.need({"ffn_hidden_size"}));
  Layer first = second;
  first.mlp = {};
  Experts& e = first.experts = read_routed_experts(fields, kExpertCount, kExpertWidth);
  e.shared.intermediate = second.mlp.intermediate;
  e.router_bias = true;
  e.idle = fields.get({"zero_expert_num"}, 0, 1 << 14);
  e.top_k =
      std::max<std::int64_t>((e.top_k * e.count + (e.count + e.idle) / 2) / (e.count + e.idle), 1);
  if (e.idle > 0) {
    model.notes.push_back(
        fmt::format("a token's experts are taken to be spread evenly over all: {} of {} do work",
                    e.top_k, e.count));
  }
  add_layers(model, 2 * std::min(layers, Fields::kMostLayers / 2),
             [&](std::int64_t i) { return i % 2 == 0 ? first : second; });
}

void read_deepseek_v4(Fields& fields, Model& model) {
  const CommonSizes sizes = read_common(fields, model);
  const std::vector<std::string> types = need_words(
      fields, {"layer_types"}, sizes.layers,
      {"heavily_compressed_attention", "compressed_sparse_attention", "sliding_attention"});
  const std::vector<std::string> routers =
      need_words(fields, {"mlp_layer_types"}, sizes.layers, {"moe", "hash_moe"});
  refuse_biases(fields);
  const CompressedAttention values = read_compressed_attention(fields, model, sizes.attention);
  Layer layer;
  layer.vectors = values.all;
  add_streams(fields, model, layer.vectors);
  layer.experts = read_routed_experts(fields, kExpertCount, kExpertWidth);
  const Keys kShared = {"n_shared_experts"};
  layer.experts.shared.intermediate =
      fields.times(kShared, fields.need(kShared, 1 << 10, 0), layer.experts.expert.intermediate);
  model.unpriced = {"compressed sparse attention",
                    "several streams of hidden states (hyper-connections)"};
  add_layers(model, sizes.layers, [&](std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    Layer made = layer;
    made.vectors += types[at] == "heavily_compressed_attention"  ? values.heavy
                    : types[at] == "compressed_sparse_attention" ? values.sparse
                                                                 : 0;
    made.experts.router_bias = routers[at] == "moe";
    return made;
  });
}

/// Stacks whose layers run several times.
void read_hrm_text(Fields& fields, Model& model) {
  read_ends(fields, model);
  AttentionShape attention = read_heads(fields, model);
  attention.output_gate = true;
  refuse_biases(fields);
  Layer layer = plain_layer(attention, fields.need(kIntermediate));
  layer.norm = NormKind::kNoWeights;
  model.vectors = model.hidden;
  model.unpriced.emplace_back("layers that run several times");
  const std::int64_t each = fields.need({"num_layers_per_stack"}, Fields::kMostLayers / 2);
  add_layers(model, 2 * each, [&](std::int64_t) { return layer; });
}

/// Convolutions over keys, values and both blocks' outputs, and a bias by distance that hidden states make.
void read_inkling(Fields& fields, Model& model) {
  const CommonSizes sizes = read_common(fields, model);
  const std::vector<std::string> types =
      need_words(fields, {"layer_types"}, sizes.layers, {"hybrid", "hybrid_sliding"});
  const std::vector<bool> dense = layers_without_experts(fields, sizes.layers);
  const std::int64_t taps = fields.need({"conv_kernel_size"}, 1 << 10), h = model.hidden;
  const std::int64_t distances = fields.need({"d_rel"}, 1 << 12);
  Experts e = read_routed_experts(fields, kExpertCount, kExpertWidth);
  const Keys kShared = {"n_shared_experts"};
  const std::int64_t shared = fields.need(kShared, 1 << 10, 0);
  e.shared.intermediate = fields.times(kShared, shared, e.expert.intermediate);
  e.router_bias = true;
  e.vectors = shared * h + 1;
  const std::int64_t intermediate = fields.need(kIntermediate);
  const std::int64_t extent = fields.need({"rel_extent"}, Fields::kMostWidth);
  const std::int64_t window = fields.need({"sliding_window_size"}, Fields::kMostWidth);
  model.embedding_norm = true;
  model.unpriced.emplace_back("convolutions beside attention");
  AttentionShape near = sizes.attention;
  near.heads = fields.positive({"swa_num_attention_heads"}, near.heads, 1 << 16);
  near.kv_heads = fields.positive({"swa_num_key_value_heads"}, near.kv_heads, 1 << 16);
  near.head_dim = near.value_dim = fields.positive({"swa_head_dim"}, near.head_dim, 1 << 14);
  if (near.heads % near.kv_heads != 0) {
    fields.refuse({"swa_num_key_value_heads"}, "must divide swa_num_attention_heads");
    near.kv_heads = 1;
  }
  near.window = window;
  add_layers(model, sizes.layers, [&](std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    Layer layer = plain_layer(types[at] == "hybrid" ? sizes.attention : near, intermediate);
    AttentionShape& a = layer.attention;
    a.qk_norm = 2 * a.head_dim;
    a.vectors = 2 * taps * a.kv_heads * a.head_dim + a.heads * distances * h +
                distances * (types[at] == "hybrid" ? extent : window);
    layer.vectors = 2 * taps * h;
    if (dense[at]) return layer;
    layer.mlp = {};
    layer.experts = e;
    return layer;
  });
}

/// Halves of layers, scaled instead of normed (arXiv:2410.01131), of which those in the middle run twice.
void read_dory(Fields& fields, Model& model) {
  const CommonSizes sizes = read_common(fields, model);
  const std::vector<std::string> words = need_words(fields, {"layer_types"}, sizes.layers,
                                                    {"full_attention", "sliding_attention", "mlp"});
  Layer attends;
  attends.norm = NormKind::kNoWeights;
  attends.norms = 1;
  attends.vectors = model.hidden;
  Layer feeds = attends;
  AttentionShape& a = attends.attention = sizes.attention;
  a.output_gate = true;
  refuse_biases(fields);
  a.vectors = 2 * a.heads * a.head_dim;
  feeds.mlp = {.intermediate = fields.need(kIntermediate)};
  feeds.mlp.vectors = 2 * feeds.mlp.intermediate;
  model.vectors = model.vocab;
  model.unpriced.emplace_back("layers that run several times");
  const std::int64_t window = fields.get({"sliding_window"}, 0, Fields::kMostRows);
  add_layers(model, sizes.layers, [&](std::int64_t i) {
    const std::string& word = words[static_cast<std::size_t>(i)];
    if (word == "mlp") return feeds;
    Layer layer = attends;
    if (word == "sliding_attention") layer.attention.window = window;
    return layer;
  });
}

/// Prompts are rows of the table; scores have a bias for each pair of segments, and for distances.
void read_cpmant(Fields& fields, Model& model) {
  const std::int64_t layers = read_ends(fields, model);
  model.tied_embeddings = false;
  Layer layer;
  AttentionShape& a = layer.attention;
  a.heads = a.kv_heads = fields.need(kHeads, 1 << 16);
  a.head_dim = a.value_dim = fields.need({"dim_head"}, 1 << 14);
  a.rotary = false;
  layer.mlp = {.intermediate = fields.need({"dim_ff"})};
  const std::int64_t segments = fields.need({"segment_types"}, 1 << 10);
  const std::int64_t prompts =
      fields.need({"prompt_types"}, 1 << 10) * fields.need({"prompt_length"}, 1 << 10);
  const std::int64_t distances = fields.need({"position_bias_num_buckets"}, kMostPart);
  model.vectors = (prompts + segments) * model.hidden + (segments * segments + distances) * a.heads;
  model.unpriced.emplace_back("a bias on the scores of each pair of segments");
  add_layers(model, layers, [&](std::int64_t) { return layer; });
}

/// Norms with a gate of two small products each.
void read_axk2(Fields& fields, Model& model) {
  const CommonSizes sizes = read_common(fields, model);
  AttentionShape a = sizes.attention;
  read_latent(fields, a);
  read_indexer(fields, a);
  // Queries and their gates are made of the compressed queries and something as wide beside them.
  a.vectors += a.q_rank * a.heads * (a.head_dim + 2 * a.value_dim);
  const std::int64_t gates = 2 * model.hidden * fields.need({"gated_norm_rank"}, kMostPart);
  Layer dense = plain_layer(a, fields.need(kIntermediate));
  Layer sparse = dense;
  sparse.mlp = {};
  Experts& e = sparse.experts = read_routed_experts(fields, kExpertCount, kExpertWidth);
  const Keys kShared = {"n_shared_experts"};
  e.shared.intermediate =
      fields.times(kShared, fields.need(kShared, 1 << 10, 0), e.expert.intermediate);
  e.router_bias = true;
  dense.vectors = gates;
  sparse.vectors = 2 * gates;
  model.unpriced.emplace_back("norms with gates");
  const std::vector<bool> without = layers_without_experts(fields, sizes.layers);
  add_layers(model, sizes.layers,
             [&](std::int64_t i) { return without[static_cast<std::size_t>(i)] ? dense : sparse; });
}

/// The first layer lacks a norm that the head has instead, with a dense layer.
void read_modernbert_decoder(Fields& fields, Model& model) {
  const CommonSizes sizes = read_common(fields, model);
  model.tied_embeddings = fields.flag({"tie_word_embeddings"}, true);
  model.embedding_norm = true;
  model.head_bias = fields.flag({"decoder_bias"}, true);
  model.vectors = model.hidden * model.hidden;
  Layer layer = plain_layer(sizes.attention, fields.need(kIntermediate));
  layer.norm = NormKind::kLayerNormNoBias;
  layer.attention.qkv_bias = layer.attention.out_bias = fields.flag({"attention_bias"}, false);
  layer.mlp.bias = fields.flag({"mlp_bias"}, false);
  model.unpriced.emplace_back("a dense layer before the vocabulary");
  const std::int64_t window = fields.get({"sliding_window", "local_attention"}, 0, 1 << 20);
  const std::vector<bool> windowed = windowed_layers(fields, sizes.layers, 3);
  add_layers(model, sizes.layers, [&](std::int64_t i) {
    Layer made = layer;
    if (windowed[static_cast<std::size_t>(i)]) made.attention.window = window;
    return made;
  });
}

/// Attention whose mask is learned from values (arXiv:2412.11834).
void read_doge(Fields& fields, Model& model) {
  const CommonSizes sizes = read_common(fields, model);
  if (fields.flag({"is_moe"}, false)) {
    fields.refuse({"is_moe"}, "experts that are rows of tables are not modelled");
  }
  Layer layer = plain_layer(sizes.attention, fields.need(kIntermediate));
  AttentionShape& a = layer.attention;
  a.qkv_bias = a.out_bias = fields.flag({"attention_bias"}, false);
  layer.mlp.bias = fields.flag({"mlp_bias"}, false);
  a.qk_norm = 2 * a.head_dim;
  a.vectors = a.kv_heads * (a.kv_heads * a.head_dim + 1 + (a.qkv_bias ? 1 : 0));
  layer.vectors = 2 * model.hidden;
  model.unpriced.emplace_back("attention with a learned mask");
  add_layers(model, sizes.layers, [&](std::int64_t) { return layer; });
}

}  // namespace flopcast::workload
