// Floor 2, private to the fit of collectives: how much of what one case's time leaves over of its mean
// (log of measured / mean) another case shares.
#pragma once

#include <string>
#include <string_view>

#include "network/fit/pooled.h"

namespace flopcast::network {

/// What systems have in common, from the catalogue's node of each.
struct Platform {
  std::string system;
  std::string generation;  ///< chip architecture, link and fabric; systems of one are nearly alike
  std::string fabric;      ///< "switch", "fully-connected"; "pcie" where any level of the node is
  bool known = false;      ///< the catalogue has the node
};
Platform platform_of(std::string_view system);

/// A case with the traits that are compared.
struct Kin {
  Kin(const CollectiveCase& what, const Platform& platform);
  CollectiveCase what;
  const Platform* platform;  ///< must live as long
  std::string mode;          ///< launch_mode
  std::string kernel;        ///< whose kernels the library runs: SGLang's descend from vLLM's
  std::string build;         ///< library and version, however launched
};

/// The same operation, or one that is the other backwards: all-gather and reduce-scatter.
bool mirrored(CollectiveOp a, CollectiveOp b);

/// From this power of two on engines leave all-reduces to NCCL: libraries differ by how they launch.
inline constexpr int kHandedOver = 24;

/// Covariance of what two cases leave over, at sizes of 2^power bytes.
double kinship(const Kin& a, const Kin& b, int power);
/// Variance of what runs of one case differ by.
double run_noise(const Kin& kin, int power);

}  // namespace flopcast::network
