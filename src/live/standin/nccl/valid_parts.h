// Which bytes of a collective are valid: a part may be so in places, as a buffer is of which a program wrote the
// beginning alone.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "live/standin/nccl/call.h"
#include "live/wire/mail.h"

namespace flopcast::live {

/// Of what a call gives, `given` bytes. More than kMostLetterRanges ranges are not told: what is behind them is tainted.
inline constexpr std::size_t kMostLetterRanges = 1024;
std::vector<LetterRange> valid_parts(const Call& call, std::size_t given);

/// What a member gets of these letters where that is valid; all else is left as it was.
void deliver_letters(const Call& call, int rank, std::span<Letter* const> letters);

}  // namespace flopcast::live
