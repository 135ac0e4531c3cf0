// Switches, fat trees and rails: leaves that endpoints hang on, joined by one or two upper tiers.
//
//   switch     one leaf
//   fat tree   all planes of a child on one leaf; two tiers, or three where there are pods
//   rail       plane p of every child on a leaf of rail p; all leaves joined by spines
//
// A leaf with D ports down has S = D / oversubscription ports up, one to each spine, so a message
// picks its spine: by its destination (D-mod-k: destination mod S, so messages to different ports of a
// leaf never meet on the way down) or by a hash. Sprayed packets take all: then S links are one.
#include <algorithm>
#include <cmath>
#include <utility>

#include "network/topology/divisor.h"
#include "network/topology/fabric.h"

namespace flopcast::network {
namespace {

class Clos final : public LevelFabric {
 public:
  Clos(const Level& level, std::uint32_t chips, Balancing balancing)
      : LevelFabric(level, std::min(level.ports, chips)),
        latency_(level.latency),
        rails_(level.fabric == FabricKind::kRail ? planes() : 1) {
    const auto extent = [&](std::size_t i) { return i < level.shape.size() ? level.shape[i] : 1U; };
    per_leaf_ = extent(0);
    if (level.fabric == FabricKind::kRail) {
      leaves_per_pod_ = rails_ * extent(1);
      leaves_per_rail_ = extent(1);
    } else {
      leaves_per_rail_ = leaves_per_pod_ = extent(1);
      pods_ = extent(2);
      if (leaves_per_pod_ == 1) leaves_per_pod_ = std::exchange(pods_, 1U);  // two tiers do
    }
    leaves_ = leaves_per_pod_ * pods_;
    const std::uint32_t down = per_leaf_ * (planes() / rails_);
    const double up = down / level.oversubscription;
    const bool sprayed = balancing == Balancing::kSpray;
    const std::uint32_t spines =
        sprayed ? 1 : std::max(1U, static_cast<std::uint32_t>(std::lround(up)));
    const std::uint32_t leaves = leaves_per_pod_, cores = sprayed ? 1 : leaves;
    spines_ = spines;
    cores_ = cores;
    up_bandwidth_ = endpoint_bandwidth() * (up / spines);
    core_bandwidth_ = up_bandwidth_ * (static_cast<double>(leaves) / cores);
  }

  bool joins_planes() const override { return true; }
  std::uint64_t switches() const override {
    return leaves_ + (leaves_ > 1 ? std::uint64_t{pods_} * spines_ : 0) +
           (pods_ > 1 ? std::uint64_t{spines_} * cores_ : 0);
  }
  std::uint64_t wire_count() const override {
    return 2 * (std::uint64_t{endpoints()} + leaf_wires() + core_wires());
  }

  std::vector<Wire> wires() const override {
    std::vector<Wire> wires;
    wires.reserve(wire_count());
    const Seconds half = latency_ / 2;
    const auto both_ways = [&wires](std::uint32_t count, auto&& wire_of) {
      for (std::uint32_t i = 0; i < count; ++i) wires.push_back(wire_of(i));
      for (std::uint32_t i = 0; i < count; ++i) {
        Wire wire = wire_of(i);
        std::swap(wire.from, wire.to);
        wires.push_back(wire);
      }
    };
    both_ways(endpoints(), [&](std::uint32_t e) {
      return Wire{e, endpoints() + leaf_of(endpoint(e)), endpoint_bandwidth(), half};
    });
    both_ways(static_cast<std::uint32_t>(leaf_wires()), [&](std::uint32_t i) {
      const std::uint32_t leaf = i / spines_, pod = leaf / leaves_per_pod_;
      return Wire{endpoints() + leaf, spine_vertex(pod, i % spines_), up_bandwidth_, {}};
    });
    both_ways(static_cast<std::uint32_t>(core_wires()), [&](std::uint32_t i) {
      const std::uint32_t core = i % cores_, spine = i / cores_ % spines_;
      return Wire{
          spine_vertex(i / cores_ / spines_, spine), core_vertex(spine, core), core_bandwidth_, {}};
    });
    return wires;
  }

  std::string switch_name(std::uint32_t index) const override {
    if (leaves_ == 1) return "switch";
    if (index < leaves_) {
      if (rails_ == 1) return "leaf" + std::to_string(index);
      return "rail" + std::to_string(index / leaves_per_rail_) + ".leaf" +
             std::to_string(index % leaves_per_rail_);
    }
    index -= leaves_;
    if (pods_ == 1) return "spine" + std::to_string(index);
    if (index < pods_ * spines_) {
      return "pod" + std::to_string(index / spines_) + ".spine" + std::to_string(index % spines_);
    }
    return "core" + std::to_string(index - pods_ * spines_);
  }

  void route(const Endpoint& from, const Endpoint& to, const WayChoice& choice, LinkId base,
             std::vector<LinkId>& path) const override {
    const std::uint32_t a = leaf_of(from), b = leaf_of(to);
    path.push_back(base + number(from));
    if (a != b) climb(a, b, choice.hashed ? choice.hash : key_of(to), base, path);
    path.push_back(base + endpoints() + number(to));
  }

 private:
  std::uint64_t leaf_wires() const { return leaves_ > 1 ? std::uint64_t{leaves_} * spines_ : 0; }
  std::uint64_t core_wires() const {
    return pods_ > 1 ? std::uint64_t{pods_} * spines_ * cores_ : 0;
  }

  std::uint32_t leaf_of(const Endpoint& e) const {
    const std::uint32_t in_rail = e.child / per_leaf_;
    return rails_ == 1 ? in_rail : e.plane * leaves_per_rail_ + in_rail;
  }
  /// What D-mod-k counts: the ports of one leaf must differ.
  std::uint64_t key_of(const Endpoint& e) const { return rails_ == 1 ? number(e) : e.child; }
  std::uint32_t spine_vertex(std::uint32_t pod, std::uint32_t spine) const {
    return endpoints() + leaves_ + pod * spines_ + spine;
  }
  std::uint32_t core_vertex(std::uint32_t spine, std::uint32_t core) const {
    return endpoints() + leaves_ + pods_ * spines_ + spine * cores_ + core;
  }

  /// From leaf to leaf over a spine, and over a core where the pods differ.
  void climb(std::uint32_t a, std::uint32_t b, std::uint64_t key, LinkId base,
             std::vector<LinkId>& path) const {
    const auto spine = static_cast<std::uint32_t>(key % spines_);
    const LinkId up = base + 2 * endpoints();
    const auto leaf_links = static_cast<std::uint32_t>(leaf_wires());
    path.push_back(up + a * spines_ + spine);
    const std::uint32_t pod_a = a / leaves_per_pod_, pod_b = b / leaves_per_pod_;
    if (pod_a != pod_b) {
      const auto core = static_cast<std::uint32_t>(key / spines_ % cores_);
      const LinkId core_up = up + 2 * leaf_links;
      path.push_back(core_up + (pod_a * spines_ + spine) * cores_ + core);
      path.push_back(core_up + static_cast<std::uint32_t>(core_wires()) +
                     (pod_b * spines_ + spine) * cores_ + core);
    }
    path.push_back(up + leaf_links + b * spines_ + spine);
  }

  Seconds latency_;
  std::uint32_t rails_;
  Divisor per_leaf_, leaves_per_pod_;
  std::uint32_t leaves_per_rail_ = 1, pods_ = 1, leaves_ = 1;
  Divisor spines_;  ///< of a pod
  Divisor cores_;   ///< that one spine of every pod goes to
  BytesPerSecond up_bandwidth_, core_bandwidth_;
};

}  // namespace

std::unique_ptr<LevelFabric> make_clos(const Level& level, std::uint32_t chips,
                                       Balancing balancing) {
  return std::make_unique<Clos>(level, chips, balancing);
}

std::unique_ptr<LevelFabric> make_fabric(const Level& level, std::uint32_t chips,
                                         Balancing balancing) {
  switch (level.fabric) {
    case FabricKind::kRing:
    case FabricKind::kTorus:
      return make_torus(level, chips);
    case FabricKind::kFullyConnected:
      return make_fully_connected(level, chips);
    case FabricKind::kDragonfly:
      return make_dragonfly(level, chips);
    default:
      return make_clos(level, chips, balancing);
  }
}

}  // namespace flopcast::network
