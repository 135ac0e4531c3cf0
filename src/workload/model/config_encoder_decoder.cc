// Encoders with a decoder whose layers attend to what they made: a row of traits each, and Google's T5. Counted; no cost
// is known of the two together. Sources: configuration and modeling files of Hugging Face transformers 5.
#include <algorithm>
#include <array>
#include <string>

#include "workload/model/config_readers.h"

namespace flopcast::workload {
namespace {

constexpr std::string_view kBesideEncoder = "an encoder that its layers attend to";

struct EncoderDecoder {
  std::string_view type;  ///< model_type of the config
  /// tables of positions of both, and rows of them beyond those that a config tells
  bool positions = true;
  std::int64_t more_rows = 0;
  bool embedding_norms = false, final_norms = false;  ///< of both
  bool attention_bias = true, key_bias = true;
  bool encodes = true;  ///< false: the decoder alone (TrOCR)
  bool hears = false;   ///< the encoder takes a spectrum through two convolutions (Whisper)
};

constexpr std::array kEncoderDecoders = {
    EncoderDecoder{.type = "bart", .more_rows = 2, .embedding_norms = true},
    EncoderDecoder{.type = "bigbird_pegasus", .embedding_norms = true, .attention_bias = false},
    EncoderDecoder{.type = "blenderbot", .final_norms = true},
    EncoderDecoder{.type = "blenderbot-small", .embedding_norms = true},
    EncoderDecoder{.type = "m2m_100", .positions = false, .final_norms = true},
    EncoderDecoder{.type = "marian"},
    EncoderDecoder{.type = "mbart", .more_rows = 2, .embedding_norms = true, .final_norms = true},
    EncoderDecoder{.type = "mvp", .more_rows = 2, .embedding_norms = true},
    EncoderDecoder{.type = "pegasus", .final_norms = true},
    EncoderDecoder{.type = "plbart", .more_rows = 2, .embedding_norms = true},
    EncoderDecoder{.type = "trocr", .more_rows = 2, .embedding_norms = true, .encodes = false},
    EncoderDecoder{.type = "whisper", .final_norms = true, .key_bias = false, .hears = true},
};

/// Sizes of one of the two.
struct Side {
  Keys layers, heads, intermediate;
};

Layer side_layer(Fields& fields, const Model& model, const Side& side, const EncoderDecoder& of) {
  Layer layer;
  layer.norm = NormKind::kLayerNorm;
  AttentionShape& a = layer.attention;
  a.heads = a.kv_heads = fields.need(side.heads, 1 << 16);
  if (model.hidden % a.heads != 0) fields.refuse(side.heads, "must divide d_model");
  a.head_dim = a.value_dim = std::max<std::int64_t>(model.hidden / a.heads, 1);
  a.rotary = false;
  a.qkv_bias = a.out_bias = of.attention_bias;
  if (!of.key_bias) {
    a.qkv_bias = false;
    a.vectors = 2 * a.heads * a.head_dim;
  }
  layer.mlp = {.intermediate = fields.need(side.intermediate), .gated = false, .bias = true};
  return layer;
}

/// The encoder's layers stand among the kinds, but not in the order.
void add_encoder(Model& model, const Layer& layer, std::int64_t layers) {
  model.encoder.assign(static_cast<std::size_t>(layers),
                       static_cast<std::uint16_t>(model.kinds.size()));
  model.kinds.push_back(layer);
}

void add_both(Model& model, const Layer& decoder, std::int64_t decoder_layers, const Layer& encoder,
              std::int64_t encoder_layers) {
  add_layers(model, decoder_layers, [&](std::int64_t) {
    Layer layer = decoder;
    layer.cross = layer.attention;
    layer.cross.causal = false;
    layer.norms = 3;
    return layer;
  });
  Layer made = encoder;
  made.attention.causal = false;
  if (encoder_layers > 0) add_encoder(model, made, encoder_layers);
  model.unpriced.emplace_back(kBesideEncoder);
}

void read_places(Fields& fields, Model& model, const EncoderDecoder& of) {
  const Keys kDecoder = {"max_position_embeddings", "max_target_positions"};
  const Keys kEncoder = {"max_position_embeddings", "max_source_positions"};
  model.max_sequence = fields.get(kDecoder, 0, Fields::kMostRows);
  if (!of.positions) return;
  model.learned_positions = fields.need(kDecoder, Fields::kMostRows) + of.more_rows;
  if (!of.encodes) return;
  model.vectors += (fields.need(kEncoder, Fields::kMostRows) + of.more_rows) * model.hidden;
}

const EncoderDecoder& traits_of(std::string_view type) {
  return *std::ranges::find(kEncoderDecoders, type, &EncoderDecoder::type);
}

}  // namespace

void read_encoder_decoder(Fields& fields, Model& model) {
  const EncoderDecoder& of = traits_of(model.architecture);
  const Side encoder = {{"encoder_layers"}, {"encoder_attention_heads"}, {"encoder_ffn_dim"}};
  const Side decoder = {{"decoder_layers"}, {"decoder_attention_heads"}, {"decoder_ffn_dim"}};
  model.hidden = fields.need(kHidden, 1 << 20);
  model.vocab = fields.need({"vocab_size"}, Fields::kMostRows);
  model.tied_embeddings = fields.flag({"tie_word_embeddings"}, true);
  model.embedding_norm = of.embedding_norms;
  model.final_norm = of.final_norms;
  read_places(fields, model, of);
  const std::int64_t norms = (of.embedding_norms ? 1 : 0) + (of.final_norms ? 1 : 0);
  if (of.encodes) model.vectors += 2 * model.hidden * norms;
  if (of.hears) {
    const std::int64_t bins = fields.positive({"num_mel_bins"}, 80, 1 << 14);
    model.vectors += model.hidden * (3 * (bins + model.hidden) + 2);
  }
  const std::int64_t decoder_layers = fields.need(decoder.layers, Fields::kMostLayers);
  const Layer decoding = side_layer(fields, model, decoder, of);
  if (!of.encodes) return add_both(model, decoding, decoder_layers, decoding, 0);
  const std::int64_t encoder_layers = fields.need(encoder.layers, Fields::kMostLayers);
  add_both(model, decoding, decoder_layers, side_layer(fields, model, encoder, of), encoder_layers);
}

/// Positions are biases on scores by distance, of every layer in umT5, else of the first of both.
void read_t5(Fields& fields, Model& model) {
  model.hidden = fields.need(kHidden, 1 << 20);
  model.vocab = fields.need({"vocab_size"}, Fields::kMostRows);
  model.tied_embeddings = fields.flag({"tie_word_embeddings"}, true);
  Layer layer;
  AttentionShape& a = layer.attention;
  a.heads = a.kv_heads = fields.need(kHeads, 1 << 16);
  a.head_dim = a.value_dim = fields.need({"d_kv"}, 1 << 14);
  a.rotary = false;
  const std::string kind = fields.text({"feed_forward_proj"}, "relu");
  layer.mlp = {.intermediate = fields.need({"d_ff"}), .gated = kind.starts_with("gated")};
  const std::int64_t biases =
      fields.positive({"relative_attention_num_buckets"}, 32, 1 << 16) * a.heads;
  const std::int64_t layers = fields.need({"num_layers"}, Fields::kMostLayers);
  const std::int64_t decoder_layers =
      fields.positive({"num_decoder_layers"}, layers, Fields::kMostLayers);
  const bool each = model.architecture == "umt5";
  model.vectors = model.hidden + (each ? layers + decoder_layers : 2) * biases;
  add_both(model, layer, decoder_layers, layer, layers);
}

}  // namespace flopcast::workload
