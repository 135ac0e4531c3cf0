// Floor 2: a cluster as a graph of links, and which links a message takes.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "flopcast/base.h"
#include "flopcast/hardware.h"

namespace flopcast {

using LinkId = std::uint32_t;  ///< index into Topology::links()

/// A flow uses `weight` times its rate on a link: 1 for a plain flow, the number of its sub-flows
/// crossing the link for a macro-flow (a whole collective step as one variable). 1 to 2^20; the
/// weights of all flows on a link at one time must sum to less than 2^35.
struct LinkUse {
  LinkId link = 0;           ///< which link
  std::uint32_t weight = 1;  ///< times its rate
};

/// Rates of the flow simulator are integers in 2^-10 byte/s, so that sums are exact.
struct Rate {
  std::int64_t value = 0;                 ///< in 2^-10 byte/s
  static Rate from(BytesPerSecond rate);  ///< rounded to nearest
  /// the same as a quantity
  BytesPerSecond bytes_per_second() const { return {static_cast<double>(value) / 1024}; }
  constexpr auto operator<=>(const Rate&) const = default;
};

/// Which of several equal links a message takes.
enum class Balancing : std::uint8_t {
  kDestination,  ///< by destination: symmetric (D-mod-k); what rail-optimised fabrics come near to
  kEcmp,         ///< by a hash of source, destination and flow: collisions happen
  kSpray,        ///< packet by packet over all: the links up from a switch act as one
};
/// How messages find their way.
struct RoutingOptions {
  Balancing balancing = Balancing::kDestination;  ///< between equal links
  std::uint64_t seed = 0;                         ///< of the ECMP hash
  /// To another rail by way of the neighbour in the node that is on it (NCCL's PXN), and not over the
  /// spines.
  bool pxn = false;
};

/// Every NVLink bundle, NIC port, switch port and spine link of a cluster, and the route of every
/// pair. Endpoints are chips, 0 .. endpoints()-1, innermost level fastest; they are the first
/// vertices. A message takes the outermost level on which its ends differ; where a level's planes are
/// networks of their own (rings, tori) it first moves within its own group to the plane of its
/// destination, so that compositions of rings route dimension by dimension. The latencies along the
/// links of one level sum to Level::latency. In an explicit graph messages take the fewest hops,
/// forwarded by chips only where there is no other way; of those the widest.
/// Thread-safe once built.
class Topology {
 public:
  /// One direction of one link.
  struct LinkInfo {
    std::uint32_t from = 0, to = 0;  ///< vertices
    Rate capacity;                   ///< bandwidth x efficiency
    Time latency;                    ///< of one message over it
    std::uint16_t level = 0;         ///< of the cluster
  };
  /// Links and routes of a cluster. Error (kTooLarge): more links than fit
  /// in memory.
  static Result<Topology> build(const Cluster& cluster, const RoutingOptions& options = {});

  Topology(Topology&&) noexcept;
  Topology& operator=(Topology&&) noexcept;
  ~Topology();

  std::uint32_t endpoints() const;                      ///< how many chips
  std::uint32_t vertices() const;                       ///< chips, NICs and switches
  std::span<const LinkInfo> links() const;              ///< by LinkId
  std::string vertex_name(std::uint32_t vertex) const;  ///< "node3.chip5", "fabric.rail2.leaf1"
  std::string link_name(LinkId link) const;             ///< "node3.chip5 > node3.switch"

  /// Appends the links from chip to chip, in order. Empty for src == dst.
  /// @param flow enters the ECMP hash only.
  void route(std::uint32_t src, std::uint32_t dst, std::uint64_t flow,
             std::vector<LinkId>& path) const;
  /// Sum of the latencies along a path.
  Time latency(std::span<const LinkId> path) const;

  /// From chip to chip.
  struct Message {
    std::uint32_t src = 0, dst = 0;  ///< chips
    bool operator==(const Message&) const = default;
  };
  /// What messages that go at the same time meet on their ways.
  struct Crossings {
    std::vector<LinkUse> links;  ///< each once, as first met; weight: how many of them cross it
    Time slowest;                ///< latency of the slowest
    Time around;                 ///< latencies of the first so many, summed up
  };
  /// The same as route() and latency() message by message.
  /// @param around how many count for Crossings::around.
  /// @param first_flow of the first message; counts up.
  Crossings crossings(std::span<const Message> messages, std::size_t around,
                      std::uint64_t first_flow) const;

 private:
  struct State;
  explicit Topology(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// SimGrid platform XML (DTD 4.1): host N is chip N, link lN our link N, our routes written out pair by
/// pair (as flow 0 takes them). For cross-checks: n chips give n (n - 1) routes.
void write_simgrid_platform(const Topology& topology, std::ostream& out);

}  // namespace flopcast
