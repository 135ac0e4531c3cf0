#include "base/numeric/isotonic.h"

namespace flopcast {
namespace {

/// Whether the line never falls and fitting it does not even round: a mean of one number times 1 is that number.
bool is_kept(std::span<const double> values, std::span<const double> weights, std::size_t first,
             std::size_t stride, std::size_t length) {
  for (std::size_t i = 0, at = first; i < length; ++i, at += stride) {
    if (weights[at] != 1 || (i > 0 && values[at - stride] > values[at])) return false;
  }
  return true;
}

}  // namespace

void IsotonicRegression::fit(std::span<double> values, std::span<const double> weights,
                             std::size_t first, std::size_t stride, std::size_t length) {
  if (is_kept(values, weights, first, stride, length)) return;
  pools_.clear();
  for (std::size_t i = 0; i < length; ++i) {
    const std::size_t at = first + i * stride;
    pools_.push_back({values[at] * weights[at], weights[at], 1});
    while (pools_.size() > 1 && pools_[pools_.size() - 2].mean() > pools_.back().mean()) {
      const Pool last = pools_.back();
      pools_.pop_back();
      pools_.back().sum += last.sum;
      pools_.back().weight += last.weight;
      pools_.back().length += last.length;
    }
  }
  std::size_t at = first;
  for (const Pool& pool : pools_) {
    for (std::size_t i = 0; i < pool.length; ++i, at += stride) values[at] = pool.mean();
  }
}

}  // namespace flopcast
