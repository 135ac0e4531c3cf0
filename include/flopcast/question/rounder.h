// Floor 7: sizes near those that were asked for which chips and plans divide better.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "flopcast/base.h"

namespace flopcast {

/// A step of other sizes.
struct RounderStep {
  std::int64_t global_batch = 0, sequence = 0;  ///< sequences; tokens of each
  Seconds time;                                 ///< of the step: its fastest plan
};
/// The sizes nearest to these whose factors are powers of two as far as that moves them by 1 in 32 at most, sequences by
/// no more than 64 tokens; none where these are. `time` is not told.
std::optional<RounderStep> rounder_sizes(std::int64_t global_batch, std::int64_t sequence);
/// What the asked step's tokens cost more than those of the rounder one, where that is much: "2,047 sequences of 2,048 tokens
/// take 13 % longer a token than 2,048 would: 9.81 s a step"; else empty.
std::string rounder_words(const RounderStep& asked, const std::optional<RounderStep>& rounder);

}  // namespace flopcast
