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
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/base.h"
#include "flopcast/cost.h"

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
  bool rotary = true;  ///< positions by rotation of queries and keys
  bool scaled_rotary =
      false;  ///< with cosines scaled by YaRN's factor, which fused kernels do not take
  bool qkv_bias = false, out_bias = false;  ///< vectors added behind the products
  std::int64_t qk_norm = 0;  ///< parameters of the norms of queries and keys, 0: none
  bool sinks = false;        ///< a learned logit per head (GPT-OSS)
  bool output_gate = false;  ///< queries bring as many values, which gate the context (Qwen3-Next)
  bool keys_are_values = false;  ///< one product makes both (Gemma 4)
  /// Sparse attention (DeepSeek-V3.2, arXiv:2512.02556 section 2.1): a query sees the `index_top_k` keys
  /// that an indexer of `index_heads` heads of `index_dim` ranks highest; 0: all.
  std::int64_t index_top_k = 0, index_heads = 0, index_dim = 0;
  bool latent() const { return kv_rank > 0; }      ///< keys and values are kept compressed
  bool sparse() const { return index_top_k > 0; }  ///< an indexer chooses keys
  /// Columns of the product that makes queries, their gate, keys and values, where not latent.
  std::int64_t projection_width() const {
    return head_dim * (heads * (output_gate ? 2 : 1) + kv_heads * (keys_are_values ? 1 : 2));
  }
  bool operator==(const AttentionShape&) const = default;
};

/// How a recurrent layer's state changes from token to token.
enum class RecurrenceKind : std::uint8_t {
  kStateSpace,  ///< Mamba-2: decays and takes up (Dao and Gu, arXiv:2405.21060)
  kGatedDelta,  ///< gated delta rule: forgets what it takes up anew (Yang et al., arXiv:2412.06464)
};

/// In place of attention: a state of key_dim x value_dim per head, through which all earlier tokens
/// are seen. heads == 0: there is none.
struct Recurrence {
  RecurrenceKind kind = RecurrenceKind::kStateSpace;  ///< how its state moves on
  std::int64_t heads = 0;                             ///< of values, each with a state
  std::int64_t key_heads = 0;  ///< of keys and queries ("groups" of Mamba: B and C)
  std::int64_t key_dim = 0;    ///< of keys and queries ("state size")
  std::int64_t value_dim = 0;  ///< of values
  std::int64_t taps = 4;       ///< of the causal convolution over queries, keys and values
  bool taps_bias = false;      ///< a vector added behind the convolution
  std::int64_t chunk = 64;     ///< tokens that training and prefill process at once
  std::int64_t value_width() const { return heads * value_dim; }  ///< of all heads
  std::int64_t key_width() const { return key_heads * key_dim; }  ///< of all key heads
  /// Channels of the convolution: queries, keys, values.
  std::int64_t channels() const { return 2 * key_width() + value_width(); }
  /// Numbers a head gets per token: a step (Mamba), a decay and a rate (delta rule).
  std::int64_t gates() const { return kind == RecurrenceKind::kStateSpace ? 1 : 2; }
  /// Columns of the product of the hidden state: queries, keys, values, output gate, gates.
  std::int64_t projection_width() const { return channels() + value_width() + gates() * heads; }
  bool operator==(const Recurrence&) const = default;
};

/// intermediate == 0: there is none.
struct FeedForward {
  std::int64_t intermediate = 0;  ///< width between its two products
  bool gated = true;              ///< three matrices (gate, up, down); false: two
  bool bias = false;              ///< vectors added behind the products
  bool clamped = false;           ///< what the activation sees is limited (GPT-OSS)
  bool operator==(const FeedForward&) const = default;
};

/// A mixture of experts in place of the feed-forward. count == 0: there is none.
struct Experts {
  std::int64_t count = 0, top_k = 1;  ///< in the layer; that a token goes to
  /// groups that neighbouring experts form, and of how many of them a token's experts are (DeepSeek-V3,
  /// arXiv:2412.19437, section 2.1.2: groups are nodes); 1 and 1: any experts
  std::int64_t groups = 1, top_groups = 1;
  FeedForward expert;  ///< one expert
  FeedForward shared;  ///< what every token passes besides
  /// a vector added to the router's logits; the shared expert has a gate
  bool router_bias = false, shared_gate = false;
  bool operator==(const Experts&) const = default;
};

/// How hidden states are scaled.
enum class NormKind : std::uint8_t { kLayerNorm, kLayerNormNoBias, kRmsNorm };

/// One transformer layer: what mixes tokens, then a feed-forward; or one of the two alone (Nemotron-H).
struct Layer {
  AttentionShape attention;            ///< mixes tokens; heads == 0: there is none
  Recurrence recurrence;               ///< in place of `attention`
  FeedForward mlp;                     ///< none where there are experts
  Experts experts;                     ///< in place of `mlp`
  NormKind norm = NormKind::kRmsNorm;  ///< of all norms of the layer
  unsigned norms = 2;  ///< over hidden: 2; 4 with norms after each block too (Gemma 2, 3); 1 or 2
                       ///< where `parallel`; 1 of one block alone
  bool parallel = false;  ///< attention and feed-forward side by side, one sum (PaLM, Phi, NeoX)
  bool mixes_tokens() const { return attention.heads > 0 || recurrence.heads > 0; }  ///< by either
  bool feeds_forward() const { return mlp.intermediate > 0 || experts.count > 0; }   ///< by either
  bool operator==(const Layer&) const = default;
};

/// How hidden states become an answer.
enum class Output : std::uint8_t {
  kTokens,        ///< logits over the vocabulary, for every token
  kMaskedTokens,  ///< the same behind a dense layer and a norm (BERT)
  kClasses,       ///< logits of the first token (ViT)
  kHidden,        ///< nothing: an encoder
};

/// What a checkpoint stores its weights in, by its own word: `quantization_config` of its config.json, or
/// ModelOpt's hf_quant_config.json beside it. As serving tells weights apart; where layers of a class differ,
/// what most of its values are stored in.
struct StoredPrecision {
  std::string
      method;  ///< "fp8", "modelopt", "compressed-tensors", ...; empty: 16 bits, or not said
  std::string unread;  ///< why the types below are not the checkpoint's; empty: they are
  GemmType attention = GemmType::kBf16;  ///< linear layers of attention and recurrences
  GemmType dense = GemmType::kBf16;      ///< of feed-forwards that every token passes
  GemmType experts = GemmType::kBf16;    ///< of routed experts
  DataType head = DataType::kBf16;       ///< output matrix
  std::optional<DataType> kv_cache;      ///< keys and values, where the checkpoint says
  std::vector<std::string> mixed;  ///< classes of which some values are stored otherwise: "dense"
  bool quantised() const { return !method.empty(); }
  bool operator==(const StoredPrecision&) const = default;
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
  std::int64_t embedding_width = 0;    ///< of the token table, projected to hidden; 0: hidden
  std::int64_t patch = 0;              ///< numbers in one image patch (ViT: 3 * 16 * 16), 0: tokens
  /// behind the embedding; behind the last layer
  bool embedding_norm = false, final_norm = true;
  /// head and token table are one; a vector added to the logits
  bool tied_embeddings = false, head_bias = false;
  bool pooler = false;  ///< a dense layer on the first token (BERT, ViT without classes)
  bool attention_dropout = false, hidden_dropout = false;  ///< while training
  Output output = Output::kTokens;                         ///< how it ends

  StoredPrecision stored;  ///< what its checkpoint's weights are stored in

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
/// the text in errors. A model of several modalities is its language model: what Hugging Face leaves
/// out of its nested config has the default of the class. NaN and Infinity are read as null. Errors:
/// not JSON; a known architecture that lacks fields (all are named), has senseless values, or fields
/// of experts, latent attention or recurrence that it does not know; an unknown architecture, with the
/// known ones that have such fields, or what it lacks to be read as llama.
Result<Model> parse_model(std::string_view json, const std::string& where);
/// The built-in models, sorted by name.
std::span<const Model> builtin_models();
/// A built-in model by name or alias ('-', '_', '.', ' ' and case are ignored, a leading
/// "organisation/" too), or a config.json, or a folder with one; a hf_quant_config.json beside it tells what
/// weights are stored in where the config does not. An unknown name's error lists the nearest ones.
Result<Model> load_model(const std::string& name_or_path);

}  // namespace flopcast
