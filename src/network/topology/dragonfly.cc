// Dragonfly (Kim et al., ISCA 2008): routers with children, all routers of a group joined, all groups
// joined. With T ports to children on each of a routers in g groups, all of port speed E,
//   a local link has   E max(1, 2 T / a)                       (in and out of the group pass here)
//   a pair of groups   E max(1, T a / (g x oversubscription))
// which is what a uniform load needs. Routes are minimal: at most one local link in each group and one
// global link. Which router holds the link to which group depends on the distance between the groups
// alone, so all groups are alike.
#include <algorithm>

#include "network/topology/fabric.h"

namespace flopcast::network {
namespace {

class Dragonfly final : public LevelFabric {
 public:
  Dragonfly(const Level& level, std::uint32_t chips)
      : LevelFabric(level, std::min(level.ports, chips)),
        latency_(level.latency),
        per_router_(level.shape[0]),
        routers_(level.shape[1]),
        groups_(level.shape[2]) {
    const double ports = static_cast<double>(per_router_) * planes();
    local_ = endpoint_bandwidth() * std::max(1.0, 2 * ports / routers_);
    global_ =
        endpoint_bandwidth() * std::max(1.0, ports * routers_ / (groups_ * level.oversubscription));
  }

  bool joins_planes() const override { return true; }
  std::uint64_t switches() const override { return std::uint64_t{groups_} * routers_; }
  std::uint64_t wire_count() const override {
    return 2 * std::uint64_t{endpoints()} + switches() * (routers_ - 1) +
           std::uint64_t{groups_} * (groups_ - 1);
  }
  std::string switch_name(std::uint32_t index) const override {
    return "group" + std::to_string(index / routers_) + ".router" +
           std::to_string(index % routers_);
  }

  std::vector<Wire> wires() const override {
    std::vector<Wire> wires;
    wires.reserve(wire_count());
    const Seconds half = latency_ / 2;
    for (std::uint32_t e = 0; e < endpoints(); ++e) {
      wires.push_back({e, vertex(router_of(endpoint(e))), endpoint_bandwidth(), half});
    }
    for (std::uint32_t e = 0; e < endpoints(); ++e) {
      wires.push_back({vertex(router_of(endpoint(e))), e, endpoint_bandwidth(), half});
    }
    for (std::uint32_t router = 0; router < groups_ * routers_; ++router) {
      const std::uint32_t first = router - router % routers_;
      for (std::uint32_t other = first; other < first + routers_; ++other) {
        if (other != router) wires.push_back({vertex(router), vertex(other), local_, {}});
      }
    }
    for (std::uint32_t from = 0; from < groups_; ++from) {
      for (std::uint32_t to = 0; to < groups_; ++to) {
        if (to == from) continue;
        wires.push_back({vertex(gateway(from, to)), vertex(gateway(to, from)), global_, {}});
      }
    }
    return wires;
  }

  void route(const Endpoint& from, const Endpoint& to, const WayChoice&, LinkId base,
             std::vector<LinkId>& path) const override {
    const std::uint32_t a = router_of(from), b = router_of(to);
    const std::uint32_t group_a = a / routers_, group_b = b / routers_;
    path.push_back(base + number(from));
    if (group_a == group_b) {
      add_local(a, b, base, path);
    } else {
      add_local(a, gateway(group_a, group_b), base, path);
      path.push_back(base + 2 * endpoints() + groups_ * routers_ * (routers_ - 1) +
                     group_a * (groups_ - 1) + group_b - (group_b > group_a ? 1 : 0));
      add_local(gateway(group_b, group_a), b, base, path);
    }
    path.push_back(base + endpoints() + number(to));
  }

 private:
  std::uint32_t vertex(std::uint32_t router) const { return endpoints() + router; }
  std::uint32_t router_of(const Endpoint& e) const { return e.child / per_router_; }
  /// The router of group `from` whose global link goes to group `to`.
  std::uint32_t gateway(std::uint32_t from, std::uint32_t to) const {
    const std::uint32_t offset = (to > from ? to - from : to + groups_ - from) - 1;
    return from * routers_ +
           static_cast<std::uint32_t>(std::uint64_t{offset} * routers_ / (groups_ - 1));
  }
  void add_local(std::uint32_t from, std::uint32_t to, LinkId base,
                 std::vector<LinkId>& path) const {
    if (from == to) return;
    const std::uint32_t b = to % routers_;
    path.push_back(base + 2 * endpoints() + from * (routers_ - 1) + b -
                   (b > from % routers_ ? 1 : 0));
  }

  Seconds latency_;
  std::uint32_t per_router_, routers_, groups_;
  BytesPerSecond local_, global_;
};

}  // namespace

std::unique_ptr<LevelFabric> make_dragonfly(const Level& level, std::uint32_t chips) {
  return std::make_unique<Dragonfly>(level, chips);
}

}  // namespace flopcast::network
