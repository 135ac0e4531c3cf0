// Floor 5: what a chip of a replica keeps, and how many tokens' keys and values fit beside it.
#pragma once

#include <cstdint>
#include <optional>

#include "flopcast/base.h"
#include "flopcast/serving.h"

namespace flopcast {

/// Bytes of the fullest chip of a replica.
struct ServingMemory {
  Bytes capacity;     ///< of the chip's memory
  Bytes usable;       ///< the engine's share of it
  Bytes weights;      ///< of the fullest stage
  Bytes activations;  ///< of an iteration of batch_tokens tokens, what libraries keep included
  Bytes graphs;       ///< of captured graphs
  Bytes drafts;       ///< weights of what drafts
  Bytes kv;           ///< left for keys and values, states included
  double kv_per_token = 0;  ///< bytes a token keeps on this chip, where nothing caps its context
  double kv_per_request =
      0;  ///< bytes a request keeps however long it is: recurrent states, full windows
  /// room of one attention rank, in whole blocks, of the engine's block size
  std::int64_t blocks = 0;
  std::int64_t tokens = 0;  ///< blocks x block
};
/// Errors (kTooLarge): weights do not fit, or no request of the engine's shortest length would; the
/// hint names the smallest layout that fits.
Result<ServingMemory> serving_memory(const Deployment& deployment);
/// The layout of fewest chips that holds the model on the deployment's cluster; nothing where none does.
std::optional<ServingLayout> smallest_layout(const Deployment& deployment);

}  // namespace flopcast
