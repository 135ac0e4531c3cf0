// Spearman's correlation of ranks.
#pragma once

#include <vector>

namespace flopcast {

/// Pearson's correlation of the ranks of `a` and `b`; equal values share the mean of their ranks. 0 where one of
/// the two is all ties, which ranks nothing. @pre a.size() == b.size()
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace flopcast
