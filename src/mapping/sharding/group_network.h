// Floor 5: transfers among the chips of one parallel group, which spans parts of the network's
// dimensions.
//
// A pass (reduce-scatter or all-gather) goes dimension by dimension, each on the share that the ones
// before left: ring and switch (n - 1)/n B / bw, fully connected B / (n bw), as closed forms of the
// network room have them. An all-reduce is two passes (DFModel's validation against Rail-Only counts
// one). An all-to-all takes as long as its slowest dimension: of B bytes that every chip sends, a
// ring n B / 8 bw, a switch (n - 1)/n B / bw, fully connected B / (n bw).
// Worked number: 104,857,600 B on a ring of 8 at 50 GB/s: two passes take 3,670,016 ns.
#pragma once

#include <vector>

#include "flopcast/mapping.h"

namespace flopcast::mapping {

class GroupNetwork {
 public:
  /// @param latency whether messages pay for their hops
  GroupNetwork(const MappingSystem& system, const MappingShape& shape, Parallelism parallelism,
               bool latency);

  unsigned size() const { return size_; }
  /// Reduce-scatter of `bytes`, or an all-gather to `bytes`.
  double pass_s(double bytes) const;
  /// Bytes a chip sends in a pass.
  double pass_wire_bytes(double bytes) const;
  /// Every chip sends `bytes`, in equal parts to all.
  double all_to_all_s(double bytes) const;
  /// One message to a neighbour in the group's slowest dimension.
  double send_s(double bytes) const;
  /// Of one link in the slowest dimension, B/s; infinite for a group of one.
  double link_bandwidth() const;
  /// What a chip sends at once in the slowest dimension, B/s; infinite for a group of one.
  double bandwidth() const;

 private:
  struct Span {
    DimensionKind kind;
    unsigned n;
    BytesPerSecond bandwidth;
    Seconds latency;
  };
  std::vector<Span> spans_;
  unsigned size_ = 1;
};

/// An all-to-all among all chips, `bytes` sent by each.
/// @param published as DFModel's runs have it (found from their logs): rings n B / 4 bw, outer
/// switches g B / 4 bw for groups of g chips, all else B / bw
double system_all_to_all_s(const MappingSystem& system, double bytes, bool published);

}  // namespace flopcast::mapping
