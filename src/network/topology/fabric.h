// How one level of a cluster joins its children: the wires of one group and the way between two of
// its ports.
//
// A child of c chips has P <= c planes: chip i leaves it through plane floor(i P / c) (a chip's NIC is
// that of its rail). Endpoint e = child x P + plane is where such a plane meets the fabric. All groups
// of a level are alike, so one fabric serves them all; ids here count from 0 within a group.
//
// Switched fabrics join every plane with every other one; on rings, tori and fully connected fabrics
// each plane is a network of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "flopcast/network.h"

namespace flopcast::network {

/// How the next of several equal ways is chosen.
struct WayChoice {
  bool hashed = false;     ///< else by destination
  std::uint64_t hash = 0;  ///< of source, destination and flow
};

class LevelFabric {
 public:
  struct Endpoint {
    std::uint32_t child = 0, plane = 0;
  };
  /// One direction of a cable. Vertices: endpoints first, then switches.
  struct Wire {
    std::uint32_t from = 0, to = 0;
    BytesPerSecond bandwidth;
    Seconds latency;
  };

  virtual ~LevelFabric() = default;
  LevelFabric(const LevelFabric&) = delete;
  LevelFabric& operator=(const LevelFabric&) = delete;

  std::uint32_t children() const { return children_; }
  std::uint32_t planes() const { return planes_; }
  std::uint32_t endpoints() const { return children_ * planes_; }
  /// What one endpoint can send at once.
  BytesPerSecond endpoint_bandwidth() const { return endpoint_bandwidth_; }

  virtual bool joins_planes() const = 0;
  virtual std::uint64_t switches() const = 0;
  virtual std::uint64_t wire_count() const = 0;
  virtual std::vector<Wire> wires() const = 0;
  virtual std::string switch_name(std::uint32_t index) const = 0;
  /// Appends the wires from one endpoint to another (of the same plane, unless planes are joined),
  /// each plus `base`. The children differ.
  virtual void route(const Endpoint& from, const Endpoint& to, const WayChoice& choice, LinkId base,
                     std::vector<LinkId>& path) const = 0;

 protected:
  LevelFabric(const Level& level, std::uint32_t planes)
      : children_(level.size),
        planes_(planes),
        endpoint_bandwidth_(level.child_bandwidth() * level.efficiency / planes) {}

  std::uint32_t number(const Endpoint& e) const { return e.child * planes_ + e.plane; }
  Endpoint endpoint(std::uint32_t number) const { return {number / planes_, number % planes_}; }

 private:
  std::uint32_t children_, planes_;
  BytesPerSecond endpoint_bandwidth_;
};

/// The fabric of a level with more than one child.
/// @param chips of one child.
std::unique_ptr<LevelFabric> make_fabric(const Level& level, std::uint32_t chips,
                                         Balancing balancing);

// Which make_fabric chooses from.
std::unique_ptr<LevelFabric> make_clos(const Level& level, std::uint32_t chips,
                                       Balancing balancing);
std::unique_ptr<LevelFabric> make_torus(const Level& level, std::uint32_t chips);
std::unique_ptr<LevelFabric> make_fully_connected(const Level& level, std::uint32_t chips);
std::unique_ptr<LevelFabric> make_dragonfly(const Level& level, std::uint32_t chips);

}  // namespace flopcast::network
