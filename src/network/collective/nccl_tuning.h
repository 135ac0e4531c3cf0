// Floor 2: NCCL's own cost model, with which it chooses algorithm and protocol.
//
//   time = latency + bytes / bandwidth        (microseconds, GB/s inside)
//
// Constants: NVIDIA/nccl src/graph/tuning.cc, release 2.30.7 (ncclTunerConstantsDefaults). Worked
// number: ring, Simple, all-reduce of 1 GB on 8 ranks of one node, 16 channels of 20 GB/s: latency
// 8.4 + 14 x 3.4 = 56 us, 320 GB/s x 8/14 = 182.9 GB/s, together 5524.75 us.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "flopcast/network/collectives.h"

namespace flopcast::network {

enum class NcclArchitecture : std::uint8_t { kVolta, kAmpere, kHopper, kBlackwell };
/// Of a chip's architecture name; an unknown one is treated as ampere, the middle of the table.
NcclArchitecture nccl_architecture(std::string_view name);

/// How a machine's hops differ in latency from those that NCCL's constants go with: below, constants shrink in
/// proportion; above, every hop takes so much longer.
struct NcclHop {
  double share = 1, extra_us = 0;
  double of(double constant_us) const { return share * constant_us + extra_us; }
};
/// The slowest of these levels; none: as the constants have it.
NcclHop nccl_hop(std::span<const Level* const> levels);

/// What NCCL's topology search would have found. Bandwidths are those of one channel.
struct NcclGraph {
  NcclArchitecture architecture = NcclArchitecture::kAmpere;
  unsigned ranks = 1, nodes = 1;
  unsigned channels = 1;
  double intra_gbs = 0;  ///< a channel inside a node
  double inter_gbs = 0;  ///< a channel between nodes
  /// What a rank exchanges with peers inside its node, and out of it: its share of the node's ports, which rings whose
  /// chips have slower links than that cannot fill.
  double rank_inside_gbs = 0, rank_outside_gbs = 0;
  bool nvlink = true;          ///< false: PCIe inside the node
  bool multicast = false;      ///< NVLink SHARP
  bool ports_at_host = false;  ///< no PCIe switch between chips and ports: LL128 stays inside nodes
  NcclHop intra_hop, inter_hop;  ///< inside a node, between nodes
  double net_latency_us = 0;     ///< of the switches, on top of NCCL's NIC constants
  double net_overhead_us = 1;    ///< CPU proxy: 1 Intel, 2 AMD
};

struct NcclCost {
  Seconds latency;
  Seconds transfer;
  Seconds time() const { return latency + transfer; }
};
/// One algorithm (kRing, kTree, kNvls, kNvlsTree, kPat) with one protocol; nothing where NCCL does
/// not offer the pair for this operation.
std::optional<NcclCost> nccl_cost(const NcclGraph& graph, CollectiveOp op,
                                  CollectiveAlgorithm algorithm, CollectiveProtocol protocol,
                                  Bytes size);

struct NcclChoice {
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::kRing;
  CollectiveProtocol protocol = CollectiveProtocol::kSimple;
  NcclCost cost;
};
/// Every pair NCCL offers (restricted to those asked for, kAuto: any), fastest first; ties keep
/// NCCL's order of algorithms and protocols. All-to-all, send/receive and barriers are not in
/// NCCL's table: they are composed of its point-to-point and LL latencies.
std::vector<NcclChoice> nccl_choices(const NcclGraph& graph, CollectiveOp op, Bytes size,
                                     CollectiveAlgorithm algorithm = CollectiveAlgorithm::kAuto,
                                     CollectiveProtocol protocol = CollectiveProtocol::kAuto);

}  // namespace flopcast::network
