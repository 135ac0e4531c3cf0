// Floor 2: which transformer. Models from a Hugging Face config.json or the built-in catalogue.
//
//   load_model("llama-3-70b")          a built-in
//   load_model("path/to/config.json")  a file, or the folder that holds it
//
// A model is a list of layers of few kinds (dense or experts, full or windowed attention), between
// an input (tokens or patches) and an output. Its operators are in flopcast/workload/operators.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/base.h"

namespace flopcast {

/// Self-attention. Grouped queries where kv_heads < heads; multi-head latent attention (DeepSeek-V2,
/// arXiv:2405.04434 section 2.1) where kv_rank > 0.
struct AttentionShape {
  std::int64_t heads = 0, kv_heads = 0;  ///< of queries; of keys and values
  std::int64_t head_dim = 0;   ///< of queries and keys; includes rope_dim for latent attention
  std::int64_t value_dim = 0;  ///< of values; head_dim unless latent
  std::int64_t window = 0;     ///< tokens a query sees back, 0: all
  std::int64_t chunk = 0;  ///< attention stays inside chunks of so many tokens (Llama 4), 0: none
  std::int64_t q_rank = 0, kv_rank = 0, rope_dim = 0;  ///< latent attention
  bool causal = true;                                  ///< a token sees only those before it
  bool rotary = true;                       ///< positions by rotation of queries and keys
  bool qkv_bias = false, out_bias = false;  ///< vectors added behind the products
  std::int64_t qk_norm = 0;  ///< parameters of the norms of queries and keys, 0: none
  bool sinks = false;        ///< a learned logit per head (GPT-OSS)
  bool latent() const { return kv_rank > 0; }  ///< keys and values are kept compressed
  bool operator==(const AttentionShape&) const = default;
};

/// intermediate == 0: there is none.
struct FeedForward {
  std::int64_t intermediate = 0;  ///< width between its two products
  bool gated = true;              ///< three matrices (gate, up, down); false: two
  bool bias = false;              ///< vectors added behind the products
  bool operator==(const FeedForward&) const = default;
};

/// A mixture of experts in place of the feed-forward. count == 0: there is none.
struct Experts {
  std::int64_t count = 0, top_k = 1;  ///< in the layer; that a token goes to
  FeedForward expert;                 ///< one expert
  FeedForward shared;                 ///< what every token passes besides
  /// a vector added to the router's logits; the shared expert has a gate
  bool router_bias = false, shared_gate = false;
  bool operator==(const Experts&) const = default;
};

/// How hidden states are scaled.
enum class NormKind : std::uint8_t { kLayerNorm, kLayerNormNoBias, kRmsNorm };

/// One transformer layer.
struct Layer {
  AttentionShape attention;            ///< mixes tokens
  FeedForward mlp;                     ///< none where there are experts
  Experts experts;                     ///< in place of `mlp`
  NormKind norm = NormKind::kRmsNorm;  ///< of all norms of the layer
  unsigned norms = 2;  ///< over hidden: 2; 4 with norms after each block too (Gemma 2, 3); 1 or 2
                       ///< where `parallel`
  bool parallel = false;  ///< attention and feed-forward side by side, one sum (PaLM, Phi, NeoX)
  bool operator==(const Layer&) const = default;
};

/// How hidden states become an answer.
enum class Output : std::uint8_t {
  kTokens,        ///< logits over the vocabulary, for every token
  kMaskedTokens,  ///< the same behind a dense layer and a norm (BERT)
  kClasses,       ///< logits of the first token (ViT)
  kHidden,        ///< nothing: an encoder
};

/// A transformer: its shape, without weights.
struct Model {
  std::string name;                       ///< "llama-3-70b", or the folder of the config
  std::string architecture;               ///< model_type of the config: "llama"
  std::string source;                     ///< where the shape is published
  std::int64_t published_parameters = 0;  ///< 0: not published

  std::int64_t hidden = 0;             ///< width of a hidden state
  std::int64_t vocab = 0;              ///< tokens, or classes where output == kClasses
  std::int64_t max_sequence = 0;       ///< tokens a sequence may have; 0: not stated
  std::int64_t learned_positions = 0;  ///< rows of the position table, 0: none
  std::int64_t token_types = 0;        ///< rows of the segment table (BERT)
  std::int64_t patch = 0;              ///< numbers in one image patch (ViT: 3 * 16 * 16), 0: tokens
  /// behind the embedding; behind the last layer
  bool embedding_norm = false, final_norm = true;
  /// head and token table are one; a vector added to the logits
  bool tied_embeddings = false, head_bias = false;
  bool pooler = false;  ///< a dense layer on the first token (BERT, ViT without classes)
  bool attention_dropout = false, hidden_dropout = false;  ///< while training
  Output output = Output::kTokens;                         ///< how it ends

  std::vector<Layer> kinds;          ///< the distinct layers
  std::vector<std::uint16_t> order;  ///< of layer i: kinds[order[i]]

  std::int64_t layers() const { return static_cast<std::int64_t>(order.size()); }  ///< how many
  const Layer& layer(std::size_t i) const { return kinds[order[i]]; }              ///< the i-th
  /// Layers of this kind.
  std::int64_t count(std::size_t kind) const;
};

/// Numbers of trainable values. A tied head is counted once, in `embedding`.
struct Parameters {
  std::int64_t total = 0;      ///< all of them
  std::int64_t active = 0;     ///< that one token meets: top_k experts instead of all
  std::int64_t embedding = 0;  ///< token, position and segment tables, patches
  std::int64_t head = 0;       ///< output matrix and what lies between the last layer and it
};
/// Counted from the shape.
Parameters count_parameters(const Model& model);
/// Of one layer, norms included.
std::int64_t layer_parameters(const Layer& layer, std::int64_t hidden);

/// A model from the text of a config.json (or of a run's description: an object with "arch" and
/// "layers", "hidden", "heads", ... as in the files of `flopcast validate training`). `where` names
/// the text in errors. Errors: not JSON; a known architecture that lacks fields (all are named) or
/// has senseless values; an unknown architecture, with what it lacks to be read as llama.
Result<Model> parse_model(std::string_view json, const std::string& where);
/// The built-in models, sorted by name.
std::span<const Model> builtin_models();
/// A built-in model by name or alias ('-', '_', '.', ' ' and case are ignored, a leading
/// "organisation/" too), or a config.json, or a folder with one. An unknown name's error lists the
/// nearest ones.
Result<Model> load_model(const std::string& name_or_path);

}  // namespace flopcast
