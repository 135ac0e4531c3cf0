// How many tokens a request has made after so many steps. Without drafts one a step; with them the mean that is accepted,
// its fractions carried over, the same for every request: after s steps of a batch, floor(s x accepted).
#pragma once

#include <cstdint>

#include "flopcast/serving.h"

namespace flopcast::serving {

/// Tokens by steps, in integers.
class Progress {
 public:
  explicit Progress(const Speculation& speculation = {});
  /// after `steps` steps
  std::int64_t tokens(std::int64_t steps) const {
    return plain() ? steps : (steps * rate_) >> kBits;
  }
  /// the least number of steps after which there are at least so many tokens
  std::int64_t reach(std::int64_t tokens) const {
    return plain() ? tokens : ((tokens << kBits) + rate_ - 1) / rate_;
  }
  /// the greatest number of steps after which there are at most so many tokens
  std::int64_t within(std::int64_t tokens) const { return reach(tokens + 1) - 1; }
  /// sum over i < `steps` of tokens(from + i) - tokens(from)
  std::int64_t sum(std::int64_t from, std::int64_t steps) const {
    return plain() ? steps * (steps - 1) / 2 : drafted_sum(from, steps);
  }
  bool plain() const { return rate_ == kOne; }  ///< one token a step

 private:
  static constexpr int kBits = 20;
  static constexpr std::int64_t kOne = std::int64_t{1} << kBits;
  std::int64_t drafted_sum(std::int64_t from, std::int64_t steps) const;
  std::int64_t rate_ = kOne;  // tokens a step, in units of 2^-20
};

}  // namespace flopcast::serving
