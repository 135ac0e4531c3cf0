// Floor 2: textbook times of collectives, one pure function per formula.
//
// p ranks; S bytes is the full buffer (all-reduce input, all-gather output, reduce-scatter input,
// all-to-all send buffer of one rank); a hop costs `latency` per message plus bytes over
// `bandwidth` (per direction). Reductions are free. Worked number: a ring all-reduce of 8 MB on 8
// ranks at 2 us and 50 GB/s takes 14 x (2 + 20) = 308 us.
#pragma once

#include <cstdint>
#include <span>

#include "flopcast/base.h"

namespace flopcast::closed_form {

/// One message over one hop costs latency + bytes / bandwidth (Hockney).
struct Hop {
  Seconds latency;           ///< a, of one message
  BytesPerSecond bandwidth;  ///< B
  /// of one message
  Seconds message(Bytes bytes) const { return latency + bytes / bandwidth; }
};

/// ceil(log2(p)), floor(log2(p)); 0 for p = 1.
unsigned ceil_log2(unsigned p);
/// floor(log2(p)).
unsigned floor_log2(unsigned p);

/// Ring reduce-scatter or all-gather: (p-1)(a + S/pB). Thakur, Rabenseifner, Gropp 2005.
Seconds ring_pass(unsigned p, Bytes size, const Hop& hop);

/// Pipelined chain broadcast or reduce in k chunks: (p-2+k)(a + S/kB).
Seconds chain(unsigned p, Bytes size, const Hop& hop, unsigned chunks);
/// The k that minimises `chain`: sqrt((p-2)S/aB), rounded to the better neighbour, at least 1.
unsigned best_chain_chunks(unsigned p, Bytes size, const Hop& hop);

/// Pairwise exchange, one peer a step: (p-1)(a + S/pB).
Seconds pairwise_all_to_all(unsigned p, Bytes size, const Hop& hop);
/// All peers at once through one port: a + (p-1)/p S/B.
Seconds direct_pass(unsigned p, Bytes size, const Hop& hop);
/// All peers at once, each over a link of its own: a + S/pB (ASTRA-sim "direct").
Seconds fully_connected_pass(unsigned p, Bytes size, const Hop& link);

/// Every rank reads the whole buffer of every other and adds up all of it: a + (p-1)S/B. The one-shot
/// all-reduce of serving engines.
Seconds one_shot_all_reduce(unsigned p, Bytes size, const Hop& port);
/// Every rank adds up its share of all buffers, then reads the others' shares: 2(a + (p-1)/p S/B).
Seconds two_shot_all_reduce(unsigned p, Bytes size, const Hop& port);

/// Transfer part of an all-to-all on a ring: one way (p-1)/2 S/B; both ways by the shorter arc
/// (antipodes split): p even S p/8B, p odd S (p^2-1)/8pB.
Seconds ring_all_to_all_transfer(unsigned p, Bytes size, BytesPerSecond bandwidth,
                                 bool bidirectional);

/// How one dimension of a composed network does a reduce-scatter or all-gather.
enum class Dimension : std::uint8_t {
  kRing,            ///< p-1 messages
  kHalving,         ///< a switch, p a power of two: lg p messages
  kFullyConnected,  ///< one message time; the hop's bandwidth is that of all p-1 links together
};
/// One dimension of a composed network.
struct DimensionHop {
  unsigned size = 1;                  ///< chips along it
  Hop hop;                            ///< of one message
  Dimension kind = Dimension::kRing;  ///< how it is passed
};
/// Reduce-scatter (or all-gather, its mirror) dimension by dimension, each on the share the ones
/// before left: sum A(p_i) a_i + (p_i-1)/p_i S_i/B_i, S_1 = S, S_{i+1} = S_i/p_i (BlueConnect).
Seconds dimension_ordered_pass(Bytes size, std::span<const DimensionHop> dimensions);

/// Flat rings over two networks: n ranks, g per node, `nics` ports per node; all-gather or
/// reduce-scatter of V bytes transfers for (n-1)/n max(V/(nics B_s), V/B_f).
/// Subramanian et al., "Comprehensive performance modeling", eq. for collectives.
struct DualNetwork {
  unsigned ranks = 1, per_node = 1, nics = 1;  ///< n; g; ports of a node
  Hop fast, slow;                              ///< within a node; between nodes
};
/// See DualNetwork.
Seconds dual_network_transfer(Bytes size, const DualNetwork& network);

/// In-switch reduction and multicast: 2a + S(1 + 1/p)/B.
Seconds nvls_all_reduce(unsigned p, Bytes size, const Hop& hop);

}  // namespace flopcast::closed_form
