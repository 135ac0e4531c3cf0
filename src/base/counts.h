// Counts of tokens and sequences as people write them.
//
//   parse_tokens("128k")        131,072: lengths of sequences are counted by 1,024 (Llama 3.1's 128k)
//   parse_batch("16M tokens")   2^24, or 16,000,000 where only that is whole sequences
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "flopcast/base.h"

namespace flopcast {

/// Tokens of a sequence or of a prompt: "8192", "8k", "8K", "1.5k", "1M", each also with "tokens" behind it. k is 1,024, M
/// 1,048,576. nullopt: no such count, or none that is whole.
std::optional<std::int64_t> parse_tokens(std::string_view text);

/// A number of a whole training run, of tokens or steps: "15T", "1.5e12", "300B tokens", "500k". k, M, B (or G) and T are powers of
/// 1,000, as people say how long they train. nullopt: no such number.
std::optional<double> parse_total(std::string_view text);

/// A batch, in sequences or in tokens.
struct BatchSize {
  std::int64_t sequences = 0;  ///< 0: `binary` and `decimal` are its tokens
  /// where k is 1,024 and M 1,048,576; where k is 1,000 and M 1,000,000. The same where neither is written. 0: not whole
  std::int64_t binary = 0, decimal = 0;
  std::string text;  ///< as it was written
};
/// A plain number, or one of "sequences", is of sequences; "tokens" say so, and nobody has millions of sequences, so that
/// "16M" is of tokens. Errors (kUsage): "2k", which is of either, and 2,000 or 2,048; what is no batch.
Result<BatchSize> parse_batch(std::string_view text);

/// A batch as sequences of this many tokens.
struct CountedBatch {
  std::int64_t sequences = 0;
  std::string
      words;  ///< what was taken where it was said in tokens: "16M tokens: 2,048 sequences of 8,192 (M is 2^20)"
};
/// Errors (kUsage): tokens that are no whole number of sequences, with the nearest that are.
Result<CountedBatch> sequences_of(const BatchSize& batch, std::int64_t sequence);

}  // namespace flopcast
