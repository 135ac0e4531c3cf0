// Floor 2, private to the fit of collectives: how much of what one case's time leaves over of its mean
// (log of measured / mean) another case shares.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "network/fit/pooled.h"

namespace flopcast::network {

/// What the first chips of a node are joined by.
struct Joint {
  unsigned chips = 0;
  unsigned paired = 1;     ///< over PCIe: chips that a bridge makes one card of
  std::string fabric;      ///< "switch", "fully-connected"; "pcie" where any level of theirs is
  std::string generation;  ///< as NCCL tells chips apart, link and fabric: of one, nearly alike
  bool over_pcie = false;  ///< any level of theirs is PCIe
};

/// What systems have in common, from the catalogue's node of each.
struct Platform {
  std::string system;
  std::vector<Joint> joints;  ///< of few chips to all of a node; empty: not in the catalogue
  std::string network;        ///< between nodes, CollectiveSystems::network_of
  bool known() const { return !joints.empty(); }
  /// Of a group with so many ranks a node: across nodes of all chips, as their rings pass any of them.
  const Joint& joint(unsigned ranks, unsigned nodes) const;
};
Platform platform_of(std::string_view system);
/// Of nodes that nobody measured.
Platform platform_of(const Cluster& cluster);

/// A case with the traits that are compared.
struct Kin {
  Kin(const CollectiveCase& what, const Platform& platform);
  CollectiveCase what;
  const Platform* platform;  ///< must live as long
  const Joint* joint;        ///< the platform's for this case
  std::string mode;          ///< launch_mode
  std::string kernel;        ///< whose kernels the library runs: SGLang's descend from vLLM's
  std::string build;         ///< library and version, however launched

  /// Chips of a node that take part; cards, where they are joined over PCIe.
  unsigned per_node() const;
  /// Rings across nodes pass a p-th of the bytes at every step: what protocols cost goes by that. Log2 of
  /// the bytes at which this case is like one of eight ranks with 2^0.
  double octaves() const;
};

/// The same operation, or one that is the other backwards: all-gather and reduce-scatter.
bool mirrored(CollectiveOp a, CollectiveOp b);

/// Sizes of 2^power bytes that are related alike: those that latency decides; larger ones; and those
/// whose all-reduces engines leave to NCCL, where libraries differ by how they launch.
enum class Sizes : std::uint8_t { kSmall, kMiddle, kLarge };
Sizes sizes_of(int power);

/// Covariance of what two cases leave over.
double kinship(const Kin& a, const Kin& b, Sizes sizes);
/// Variance of what runs of one case differ by.
double run_noise(const Kin& kin, Sizes sizes);

}  // namespace flopcast::network
