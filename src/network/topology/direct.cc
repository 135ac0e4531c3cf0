// Rings, tori and fully connected fabrics: no switches, every plane a network of its own.
#include <algorithm>

#include "network/topology/fabric.h"

namespace flopcast::network {
namespace {

std::uint32_t planes_of(const Level& level, std::uint32_t chips) {
  return std::clamp(level.ports / level.neighbours(), 1U, chips);
}

/// Wire ((plane x children + from) x (children - 1)) + to, the child itself left out.
class FullyConnected final : public LevelFabric {
 public:
  FullyConnected(const Level& level, std::uint32_t chips)
      : LevelFabric(level, planes_of(level, chips)), latency_(level.latency) {}

  bool joins_planes() const override { return false; }
  std::uint64_t switches() const override { return 0; }
  std::uint64_t wire_count() const override {
    return std::uint64_t{endpoints()} * (children() - 1);
  }
  std::string switch_name(std::uint32_t) const override { return {}; }

  std::vector<Wire> wires() const override {
    std::vector<Wire> wires;
    wires.reserve(wire_count());
    const BytesPerSecond each = endpoint_bandwidth() / (children() - 1);
    for (std::uint32_t plane = 0; plane < planes(); ++plane) {
      for (std::uint32_t from = 0; from < children(); ++from) {
        for (std::uint32_t to = 0; to < children(); ++to) {
          if (to == from) continue;
          wires.push_back({from * planes() + plane, to * planes() + plane, each, latency_});
        }
      }
    }
    return wires;
  }

  void route(const Endpoint& from, const Endpoint& to, const WayChoice&, LinkId base,
             std::vector<LinkId>& path) const override {
    const std::uint32_t a = from.child, b = to.child;
    const std::uint32_t row = from.plane * children() + a;
    path.push_back(base + row * (children() - 1) + b - (b > a ? 1 : 0));
  }

 private:
  Seconds latency_;
};

/// Any number of dimensions, the first fastest; a ring has one. Wire (plane x children + child) x
/// degree + slot: two slots (up, down) for each dimension of more than two, one for a pair.
class Torus final : public LevelFabric {
 public:
  Torus(const Level& level, std::uint32_t chips)
      : LevelFabric(level, planes_of(level, chips)), latency_(level.latency) {
    std::uint32_t stride = 1;
    for (const unsigned extent : level.shape) {
      if (extent > 1) dimensions_.push_back({extent, stride, degree_});
      degree_ += extent > 2 ? 2 : extent - 1;
      stride *= extent;
    }
  }

  bool joins_planes() const override { return false; }
  std::uint64_t switches() const override { return 0; }
  std::uint64_t wire_count() const override { return std::uint64_t{endpoints()} * degree_; }
  std::string switch_name(std::uint32_t) const override { return {}; }

  std::vector<Wire> wires() const override {
    std::vector<Wire> wires;
    wires.reserve(wire_count());
    const BytesPerSecond each = endpoint_bandwidth() / degree_;
    for (std::uint32_t plane = 0; plane < planes(); ++plane) {
      for (std::uint32_t child = 0; child < children(); ++child) {
        for (const Dimension& d : dimensions_) {
          const std::uint32_t at = child / d.stride % d.extent;
          const std::uint32_t rest = child - at * d.stride;
          const auto wire = [&](std::uint32_t next) {
            wires.push_back({child * planes() + plane, (rest + next * d.stride) * planes() + plane,
                             each, latency_});
          };
          wire((at + 1) % d.extent);
          if (d.extent > 2) wire((at + d.extent - 1) % d.extent);
        }
      }
    }
    return wires;
  }

  /// Dimension by dimension, the shorter way round. Halfway round both are as short: even places go
  /// up and odd ones down, which spreads a uniform load evenly.
  void route(const Endpoint& from, const Endpoint& to, const WayChoice&, LinkId base,
             std::vector<LinkId>& path) const override {
    std::uint32_t child = from.child;
    const std::uint32_t goal = to.child;
    const std::uint32_t row = from.plane * children();
    for (const Dimension& d : dimensions_) {
      std::uint32_t at = child / d.stride % d.extent;
      const std::uint32_t target = goal / d.stride % d.extent;
      std::uint32_t hops = target >= at ? target - at : target + d.extent - at;
      const bool down =
          2 * hops > d.extent || (2 * hops == d.extent && d.extent > 2 && at % 2 == 1);
      if (down) hops = d.extent - hops;
      for (; hops > 0; --hops) {
        path.push_back(base + (row + child) * degree_ + d.slot + (down ? 1 : 0));
        const std::uint32_t next =
            down ? (at == 0 ? d.extent : at) - 1 : (at + 1 == d.extent ? 0 : at + 1);
        child = child - at * d.stride + next * d.stride;
        at = next;
      }
    }
  }

 private:
  struct Dimension {
    std::uint32_t extent, stride, slot;
  };
  std::vector<Dimension> dimensions_;
  std::uint32_t degree_ = 0;
  Seconds latency_;
};

}  // namespace

std::unique_ptr<LevelFabric> make_torus(const Level& level, std::uint32_t chips) {
  return std::make_unique<Torus>(level, chips);
}

std::unique_ptr<LevelFabric> make_fully_connected(const Level& level, std::uint32_t chips) {
  return std::make_unique<FullyConnected>(level, chips);
}

}  // namespace flopcast::network
