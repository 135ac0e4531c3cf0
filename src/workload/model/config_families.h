// Architectures as data: a family is a row of traits, told by the names of the fields that switch them. What families
// of the same traits call differently is read under any of its names (config_parts.h).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "workload/model/config_readers.h"

namespace flopcast::workload {

/// Yes or no: a field of the config, or what holds where it is missing. No field: always that.
struct Switch {
  std::string_view field;
  bool otherwise = false;
};
inline constexpr Switch kYes = {"", true}, kAttentionBias = {"attention_bias", false},
                        kMlpBias = {"mlp_bias", false}, kUseBias = {"use_bias", false};

/// Norms of queries and keys.
enum class QkNorm : std::uint8_t {
  kNone,
  kHead,      ///< one weight per column of a head, shared by the heads
  kHeadBias,  ///< and a bias
  kEachHead,  ///< one per column of each head
  kWhole,     ///< one per column of all heads
};

/// Gates on what attention gives.
enum class Gate : std::uint8_t {
  kNone,
  kValues,
  kPerHead,
  kPerHeadOrValue,  ///< the former unless `gating` says otherwise (Laguna)
};

/// How tokens know their places.
enum class Positions : std::uint8_t {
  kRotary,
  kNoTable,        ///< a bias on scores, or a fixed table: no parameters
  kLearned,        ///< a table with a row for each
  kLearnedOffset,  ///< with two rows before them (OPT)
};

/// How wide what every token passes beside a router's experts is.
enum class SharedExpert : std::uint8_t {
  kNone,
  kOne,    ///< one as wide as a routed one
  kCount,  ///< as many experts as a field says, each as wide as a routed one
  kWidth,  ///< as wide as a field says, or a count of them
};

struct ExpertTraits {
  bool any = false;              ///< the family may have experts
  bool optional = false;         ///< and says so by a count of 0 where it has none
  bool in_intermediate = false;  ///< intermediate_size is the width of one
  bool gated = true;
  SharedExpert shared = SharedExpert::kNone;
  bool shared_gate = false;
  Switch router_bias = {};
};

/// What may stand in place of attention in some layers.
enum class Mixer : std::uint8_t {
  kNone,
  kMamba,
  kMamba2,
  kGatedDelta,
  kKimiDelta,
  kLightning,
  kShortConvolution,
};

struct MixerTraits {
  Mixer mixer = Mixer::kNone;
  bool beside = false;         ///< in every layer, beside attention on the same input
  bool no_attention = false;   ///< in every layer, alone
  bool alone = false;          ///< its layers have no feed-forward
  bool inner_norms = false;    ///< Jamba: norms of steps, keys and queries
  bool low_rank = true;        ///< Kimi Linear: two products make decays and gates
  bool derived_width = false;  ///< Mamba-2: a head's is expand x hidden over heads where missing
  bool told_width = false;     ///< Mamba: intermediate_size is that of its channels
  bool otherwise_all = false;  ///< in all layers where the config names none
  Switch norm = kYes;          ///< Mamba-2: of the outputs
  std::int64_t chunk = 256;    ///< Mamba-2: where chunk_size is missing
};

/// What differs in layers that look back a window.
struct WindowTraits {
  std::int64_t period = 0;     ///< every so many layers sees all; 0: all look back the same
  bool sinks = false;          ///< they alone have sinks
  std::int64_t key_heads = 1;  ///< they have so many times the heads of keys and values
};

/// Copies of the stream that products mix before and after every block (hyper-connections, arXiv:2409.19606), from
/// hc_mult: rows of those products for each of them.
enum class Streams : std::uint8_t { kNone, kTwice, kSquare };

/// Multiples of sizes: vectors that only a sum of parameters needs to know.
struct Vectors {
  std::int64_t fixed = 0, hidden = 0, heads = 0, head_dim = 0, queries = 0, intermediate = 0;
  std::int64_t rope_dim = 0;
};

struct Family {
  std::string_view type;  ///< model_type of the config
  NormKind norm = NormKind::kRmsNorm;
  unsigned norms = 2;
  Switch more_norms = {};  ///< one behind each block, too
  bool final_norm = true, embedding_norm = false;
  Switch parallel = {};
  bool one_norm = true;  ///< where parallel
  bool gated = true;
  std::int64_t intermediate_parts = 1;  ///< products that intermediate_size counts together
  bool two_thirds = false;              ///< of intermediate_size, rounded up, are meant (LFM2)
  bool four_hidden = false;             ///< feed-forwards are 4 hidden wide where nothing is said
  bool tied = false;                    ///< where tie_word_embeddings is missing
  Switch qkv_bias = {}, out_bias = {}, mlp_bias = {}, head_bias = {};
  QkNorm qk_norm = QkNorm::kNone;
  Switch has_qk_norm = kYes;
  std::int64_t head_dim = 0;  ///< where head_dim is missing; 0, kAnyHeadDim: hidden over heads
  bool sinks = false;
  Gate gate = Gate::kNone;
  Switch has_gate = kYes;
  Positions positions = Positions::kRotary;
  bool latent = false;
  bool sparse = false;  ///< with an indexer where layers say so
  WindowTraits windows = {};
  Streams streams = Streams::kNone;
  ExpertTraits experts = {};
  MixerTraits mixer = {};
  Vectors attention_vectors = {}, mlp_vectors = {}, layer_vectors = {}, model_vectors = {};
  std::string_view unpriced = {};               ///< what of it no cost is known of
  std::array<std::string_view, 2> groups = {};  ///< objects that hold some of the fields
};

/// All rows.
const std::vector<Family>& families();
std::span<const Family> dense_families();
std::span<const Family> expert_families();
std::span<const Family> hybrid_families();

bool is_on(Fields& fields, const Switch& option);
/// The sizes of a state, or of a convolution. @param attention of the family's other layers
Recurrence read_mixer(Fields& fields, const Model& model, const MixerTraits& traits,
                      const AttentionShape& attention);
Recurrence read_mamba2(Fields& fields, const Model& model, const MixerTraits& traits);
Recurrence read_gated_delta(Fields& fields);
void read_family(Fields& fields, Model& model, const Family& family);

}  // namespace flopcast::workload
