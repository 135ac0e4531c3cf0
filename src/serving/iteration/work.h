// What one chip of a replica's fullest stage does for an iteration: counts, no time. Shapes as in
// flopcast/workload/operators.h; rows are tokens of one attention rank ("own") or of all of them ("all").
#pragma once

#include <cstdint>
#include <vector>

#include "flopcast/cost.h"
#include "flopcast/serving.h"

namespace flopcast::serving {

/// Bytes a weight takes in memory and on its way out of it, scales included.
double stored_bytes(GemmType type);

/// A linear layer on one chip, `count` of them in the stage: [rows, in] x [in, out].
struct LinearWork {
  enum class Place : std::uint8_t { kAttention, kFeedForward, kRouter };
  Place place = Place::kAttention;
  std::int64_t in = 0, out = 0;
  GemmType type = GemmType::kBf16;
  double count = 0;  ///< in the stage
};

/// Routed experts of like layers, as one chip has them.
struct ExpertWork {
  std::int64_t hidden = 0, intermediate = 0, experts = 0, top_k = 1;
  std::int64_t expert_parallel = 1, tensor_parallel = 1;
  bool gated = true;
  GemmType type = GemmType::kBf16;
  double count = 0;  ///< layers of the stage
  double local() const {
    return static_cast<double>(experts) / static_cast<double>(expert_parallel);
  }
  double matrices() const { return gated ? 3 : 2; }
  /// Values of one expert on this chip.
  double values() const {
    return matrices() * static_cast<double>(hidden) * static_cast<double>(intermediate) /
           static_cast<double>(tensor_parallel);
  }
  /// Experts of this chip that `tokens` tokens reach: E/ep (1 - exp(-tokens k / E)), each expert's load
  /// log-normal about its mean with a deviation of `spread`.
  double touched(double tokens, double spread) const;
  /// Token copies this chip computes: tokens k / ep.
  double rows(double tokens) const {
    return tokens * static_cast<double>(top_k) / static_cast<double>(expert_parallel);
  }
};

/// What attention reads and multiplies, summed over the layers of the stage, on one chip.
struct AttentionWork {
  double layers = 0;       ///< of any attention
  double recurrences = 0;  ///< layers with a state instead
  double indexers = 0;     ///< layers whose keys are chosen
  // Decode, per token of context and per query of a decode.
  double full_bytes = 0, full_flops = 0;      ///< layers that see everything, indexers included
  double capped_bytes = 0, capped_flops = 0;  ///< layers that see at most `cap` tokens
  std::int64_t cap = 0;                       ///< 0: none
  // Prefill, per pair of a query and a key it sees; per token of context that is read again.
  double pair_flops = 0, capped_pair_flops = 0;
  double context_bytes = 0, context_flops = 0;
  // States, per decode; per token of a prefill.
  double state_bytes = 0, state_flops = 0;
  // Kept in memory: per token, and per request whatever its length.
  double kept_per_token = 0, kept_per_request = 0;
  std::int64_t heads = 0, kv_heads = 0, head_dim = 0;  ///< of a layer on this chip: the largest
};

/// Everything.
struct StageWork {
  std::int64_t hidden = 0;
  double layers = 0;
  std::vector<LinearWork> linears;
  std::vector<ExpertWork> experts;
  AttentionWork attention;
  double mixers = 0, feed_forwards = 0;  ///< blocks, each with a norm and a sum
  double dense_feed_forwards = 0;        ///< of these, those without routed experts
  double between = 0;                    ///< kernels between products, as models are written
  bool has_head = true;                  ///< the stage ends in the output matrix
  std::int64_t vocab = 0;                ///< columns of it on this chip
  double head_bytes = 0;                 ///< of the output matrix on this chip
  double embedding_bytes = 0;            ///< of the token table on this chip, 0 where tied to it
  double weight_bytes = 0;               ///< of everything on this chip
};

/// The fullest stage of this deployment. @pre deployment_problems() is empty
StageWork stage_work(const Deployment& deployment);
/// One layer that drafts, with its head (0: the model's own is used).
StageWork draft_work(const Deployment& deployment);

}  // namespace flopcast::serving
