// Textbook times of collectives that no forecast asks for: what schedules are held against.
#pragma once

#include <span>

#include "flopcast/network/closed_form.h"

namespace flopcast::closed_form {

/// Both passes: 2(p-1)(a + S/pB).
inline Seconds ring_all_reduce(unsigned p, Bytes size, const Hop& hop) {
  return 2 * ring_pass(p, size, hop);
}

/// Half the data each way around: (p-1)(a + S/2pB).
inline Seconds bidirectional_ring_pass(unsigned p, Bytes size, const Hop& hop) {
  return ring_pass(p, size / 2, hop);
}

/// 2(p-1)(a + S/2pB).
inline Seconds bidirectional_ring_all_reduce(unsigned p, Bytes size, const Hop& hop) {
  return 2 * bidirectional_ring_pass(p, size, hop);
}

/// Recursive halving reduce-scatter or recursive doubling all-gather, p a power of two:
/// lg p a + (p-1)/p S/B. Thakur et al.
inline Seconds halving_pass(unsigned p, Bytes size, const Hop& hop) {
  return ceil_log2(p) * hop.latency + (p - 1.0) / p * (size / hop.bandwidth);
}

/// Rabenseifner: 2 lg p a + 2 (p-1)/p S/B; p not a power of two folds p - 2^floor(lg p) ranks
/// into their neighbours first and back last: + 2a + 2S/B.
inline Seconds halving_doubling_all_reduce(unsigned p, Bytes size, const Hop& hop) {
  const unsigned core = 1U << floor_log2(p);
  const Seconds both = 2 * halving_pass(core, size, hop);
  return core == p ? both : both + 2 * hop.message(size);
}

/// Binomial broadcast or reduce: ceil(lg p)(a + S/B).
inline Seconds binomial_tree(unsigned p, Bytes size, const Hop& hop) {
  return ceil_log2(p) * hop.message(size);
}

/// Bruck all-gather: ceil(lg p) a + (p-1)/p S/B.
inline Seconds bruck_all_gather(unsigned p, Bytes size, const Hop& hop) {
  return ceil_log2(p) * hop.latency + (p - 1.0) / p * (size / hop.bandwidth);
}

/// Bruck all-to-all, p a power of two: lg p (a + S/2B).
inline Seconds bruck_all_to_all(unsigned p, Bytes size, const Hop& hop) {
  return ceil_log2(p) * hop.message(size / 2);
}

/// Both ways: twice `dimension_ordered_pass`. A 2-level NVSwitch + rails all-reduce is the two
/// dimensions {g, fast}, {N, slow}.
inline Seconds dimension_ordered_all_reduce(Bytes size, std::span<const DimensionHop> dimensions) {
  return 2 * dimension_ordered_pass(size, dimensions);
}

/// Two binary trees, half the data each: 2 lg p a + 2S/B.
inline Seconds double_binary_tree_all_reduce(unsigned p, Bytes size, const Hop& hop) {
  return 2.0 * ceil_log2(p) * hop.latency + 2 * (size / hop.bandwidth);
}

}  // namespace flopcast::closed_form
