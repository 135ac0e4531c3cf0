// Floor 2, private to the fit of collectives: what measured times are compared to before anything is
// learnt from them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "network/fit/pooled.h"

namespace flopcast::network {

using PooledForms = std::map<std::pair<CollectiveOp, std::string>, PooledForm>;  // op, launch mode

/// The time of any case on one system. Where the catalogue has the system's node, physics alone:
/// NCCL's constants over it, the engines' own kernels below the size at which they hand over to NCCL,
/// and what a launch from Python takes at least. Else the pooled form of the nearest kin: the same
/// operation in another mode, the same mode with another operation, anything. Thread-safe.
class MeanTime {
 public:
  MeanTime(std::string_view system, PooledForms forms);
  /// Of groups of a cluster that nobody measured.
  explicit MeanTime(const Cluster& cluster);
  ~MeanTime();
  double at(const CollectiveCase& what, double bytes) const;

 private:
  class Node;
  std::unique_ptr<Node> node_;
  PooledForms forms_;
};

}  // namespace flopcast::network
