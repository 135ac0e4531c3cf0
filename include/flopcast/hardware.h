// Floor 1: what the machine is. Chips, links, nodes and fabrics from the catalogue (TOML, SI units,
// a source per number), composed to a cluster.
//
//   "h100"                                  one chip
//   "dgx-h100"                              one node
//   "64 x dgx-h100"                         64 nodes on the node's usual fabric
//   "8 nodes of dgx-h100, rail NDR"         fabric and link named
//   "16 x dgx-h100, fat-tree NDR, oversubscription 2, nic.latency 3us"
//   "8 x dgx-h100, fit mine.toml"           with measurements of one's own
//   "cluster.toml"                          a file; see docs/reference/cluster.md
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/base.h"
#include "flopcast/base/quantity.h"
#include "flopcast/hardware/fits.h"

namespace flopcast {

/// What values are stored or multiplied in.
enum class DataType : std::uint8_t {
  kFp64,
  kFp32,
  kTf32,
  kBf16,
  kFp16,
  kFp8,
  kInt8,
  kFp6,
  kFp4,
  kInt4  // clang-format: one row
};
inline constexpr std::size_t kDataTypes = 10;               ///< how many DataType there are
std::string_view name(DataType type);                       ///< "bf16"
std::optional<DataType> parse_data_type(std::string_view);  ///< also "bfloat16", "half", "float"
double bytes_per_element(DataType type);                    ///< 0.5 for 4 bits

// What hardware there is or may be within decades. Beyond it a unit was forgotten or mistaken, and clocks
// and simulated rates would not hold what comes of it.
inline constexpr Limits kBandwidthLimits{1e6, 1e15};  ///< B/s, of memories and links
inline constexpr Limits kRateLimits{1e9, 1e21};       ///< FLOP/s
inline constexpr Limits kCapacityLimits{1e6, 1e18};   ///< B, of a chip's DRAM
inline constexpr Limits kLatencyLimits{0, 10};        ///< s
inline constexpr Limits kPowerLimits{1, 1e6};         ///< W, of a chip

/// One number of the catalogue as `flopcast hw show` prints it.
struct Fact {
  std::string key;                ///< "hbm_bandwidth"
  double value = 0;               ///< in `unit`
  std::string unit;               ///< "B/s"
  std::string source;             ///< where it is published, or how it was reckoned
  Basis basis = Basis::kAssumed;  ///< what kind of number it is
};
/// Adds the fact, or replaces the one with its key.
void put_fact(std::vector<Fact>& facts, Fact fact);

/// Systolic arrays: where a chip's matrix rate comes from, and what counts cycles.
struct TileArray {
  unsigned count = 0;              ///< 0: not known
  unsigned width = 0, height = 0;  ///< cells of one array
  double hertz = 0;                ///< cycles a second
  /// A multiply-add per cell and cycle.
  FlopsPerSecond peak() const { return {2.0 * width * height * count * hertz}; }
};

/// One accelerator. Units are SI; `facts` tells of every number where it is from.
struct Chip {
  std::string name;                  ///< "h100-sxm"
  std::vector<std::string> aliases;  ///< "h100", "h100_sxm", "NVIDIA H100 80GB HBM3"
  std::string vendor, architecture;  ///< "NVIDIA", "hopper"
  /// peak dense rates by DataType; 0 where it is not supported
  std::array<FlopsPerSecond, kDataTypes> matrix{}, vector{};
  Bytes hbm_capacity;            ///< bytes of its DRAM
  BytesPerSecond hbm_bandwidth;  ///< peak, of its DRAM
  Bytes on_chip_memory;   ///< SRAM a program can count on: L2 of a GPU, all SRAM of a dataflow chip
  unsigned cores = 0;     ///< SMs, CUs, cores
  std::string host_link;  ///< catalogue name of what joins it to its host; empty: not known
  BytesPerSecond host_bandwidth;  ///< of that, one direction; 0: not known
  TileArray tiles;                ///< arrays of its matrix units, where known
  double power_w = 0;             ///< 0: unknown
  double price_usd = 0;           ///< 0: not public
  std::vector<Fact> facts;        ///< every number of the above, with its source

  /// dense peak
  FlopsPerSecond matrix_rate(DataType type) const { return matrix[static_cast<int>(type)]; }
  /// dense peak
  FlopsPerSecond vector_rate(DataType type) const { return vector[static_cast<int>(type)]; }
};

/// What a link joins: chips, a chip and its host, nodes.
enum class LinkKind : std::uint8_t { kScaleUp, kHost, kScaleOut };
/// What carries messages over a link: what software does, and what a message costs beside its bytes,
/// goes by this and not by names.
enum class Transport : std::uint8_t {
  kDirect,   ///< a chip's own links of any other make: ICI, NeuronLink, rings of dataflow chips
  kNvlink,   ///< NVLink, NVSwitch
  kXgmi,     ///< Infinity Fabric
  kPcie,     ///< slots of a host
  kRdma,     ///< cards that write to memory: InfiniBand, RoCE, Slingshot, EFA
  kSockets,  ///< streams that processors copy
};
std::string_view name(Transport transport);  ///< "nvlink"
std::optional<Transport> parse_transport(
    std::string_view text);  ///< by the names that `name` gives
/// Where a link's ports hang: at the chips' own switch, or at the processor, past which everything goes.
enum class Attachment : std::uint8_t { kChip, kHost };
std::string_view name(Attachment attachment);  ///< "chip", "host"
std::optional<Attachment> parse_attachment(
    std::string_view text);  ///< by the names that `name` gives
/// One kind of link.
struct Link {
  std::string name;                           ///< "nvlink4", "ndr"
  std::vector<std::string> aliases;           ///< other names it is found by
  LinkKind kind = LinkKind::kScaleOut;        ///< what it joins
  Transport transport = Transport::kRdma;     ///< what carries messages
  Attachment attachment = Attachment::kChip;  ///< where its ports hang
  BytesPerSecond bandwidth;  ///< one link (or port), one direction, before protocol overhead
  Seconds latency;           ///< end to end over one hop
  double efficiency = 1;     ///< achievable share of `bandwidth`
  std::vector<Fact> facts;   ///< every number of the above, with its source
};

/// What a chip's DRAM may be made of.
struct MemoryTechnology {
  std::string name;                         ///< "ddr", "hbm", "3d"
  std::vector<std::string> aliases;         ///< other names it is found by
  BytesPerSecond bandwidth;                 ///< peak, of one chip
  Bytes capacity;                           ///< 0: no limit
  double usd_per_gbps = 0, w_per_gbps = 0;  ///< per GB/s
  std::vector<Fact> facts;                  ///< every number of the above, with its source
};

/// What links, or the switches between them, may be made of.
struct InterconnectTechnology {
  std::string name;                         ///< "pcie", "nvlink", "switch"
  std::vector<std::string> aliases;         ///< other names it is found by
  BytesPerSecond bandwidth;                 ///< one link, one direction; 0: that of the links
  double usd_per_gbps = 0, w_per_gbps = 0;  ///< per GB/s
  std::vector<Fact> facts;                  ///< every number of the above, with its source
};

/// How the children of a level are joined.
enum class FabricKind : std::uint8_t {
  kRing,
  kFullyConnected,
  kSwitch,     ///< every child on one non-blocking switch
  kTorus,      ///< `shape` gives the dimensions
  kDragonfly,  ///< shape: {chips per router, routers per group, groups}
  kFatTree,    ///< shape: children per leaf, leaves per pod, pods
  kRail,       ///< port i of every child on switch i ("rail-optimised"), rails joined by spines
};
std::string_view name(FabricKind kind);  ///< "ring"

/// One dimension of a cluster: how `size` children are joined. A cluster is a list of levels,
/// innermost first: children of level 0 are chips, children of level i+1 whole level-i groups.
struct Level {
  std::string name;                         ///< "node", "fabric"
  FabricKind fabric = FabricKind::kSwitch;  ///< how they are joined
  unsigned size = 1;                        ///< children of one group
  /// {size} where the fabric has one dimension. Product == size, except that the last leaf or
  /// group of a fat tree, rail or dragonfly may be part empty. Rail: {children per leaf, leaves of each rail}.
  std::vector<unsigned> shape;
  /// Per child, all that leave it: NICs of a node; an NVLink bundle to one place counts as 1. A
  /// chip on a ring has 2, fully connected with n others n, on a 3-D torus 6.
  unsigned ports = 1;
  BytesPerSecond port_bandwidth;  ///< per port, per direction, nominal
  Seconds latency;  ///< one message from child to child over this level; on rings and tori one hop
  double efficiency = 1;                      ///< achievable share of the bandwidth
  double oversubscription = 1;                ///< of the upper tiers: 2 means half the bisection
  bool in_network_reduction = false;          ///< NVLink SHARP, SHARP
  Transport transport = Transport::kDirect;   ///< what carries messages
  Attachment attachment = Attachment::kChip;  ///< where the ports hang
  std::string link;  ///< catalogue name of the link, for people: no forecast asks for it
  /// What a child can send at once, over all its ports.
  BytesPerSecond child_bandwidth() const { return port_bandwidth * ports; }
  /// How many children a child is joined to directly: ring 2, fully connected size - 1, torus 2 per
  /// dimension (1 where two are joined), 1 where there is a switch.
  unsigned neighbours() const;
  /// From a child to one neighbour (or to its switch): what a ring step or a direct exchange gets.
  BytesPerSecond neighbour_bandwidth() const { return child_bandwidth() / neighbours(); }
};

/// An explicit graph, from NCCL topology XML or SimAI text, instead of levels.
struct FabricGraph {
  /// A chip, a switch or a NIC.
  struct Vertex {
    std::string name;        ///< as in the file
    std::int32_t chip = -1;  ///< rank, or -1 for switches and NICs
  };
  /// One link, in one direction.
  struct Edge {
    std::uint32_t from = 0, to = 0;  ///< vertices, by index
    BytesPerSecond bandwidth;        ///< bytes a second
    Seconds latency;                 ///< of one message
  };
  std::vector<Vertex> vertices;  ///< chips and what joins them
  std::vector<Edge> edges;       ///< one direction each
};

/// Chips of one kind and the networks they are on.
struct Cluster {
  std::string name;                  ///< as the user wrote it
  Chip chip;                         ///< all are alike
  std::vector<Level> levels;         ///< never empty; what closed forms use
  unsigned node_levels = 1;          ///< how many of the innermost levels make up a node
  std::optional<FabricGraph> graph;  ///< where given, what routes use
  std::vector<Fact> facts;           ///< what was taken from where, overrides included
  /// measurements of its owner, which come before what the catalogue holds
  std::vector<std::shared_ptr<const FitFile>> fits;
  /// The machine before any of its numbers was overridden, of the same shape: what measurements may hold
  /// for. Null: as it is. Has none of its own.
  std::shared_ptr<const Cluster> nominal;

  unsigned chips() const;           ///< product of the levels' sizes
  unsigned chips_per_node() const;  ///< product of the node levels' sizes
  unsigned nodes() const { return chips() / chips_per_node(); }  ///< whole nodes
  /// The machine that measurements may hold for: `nominal`, or this one.
  const Cluster& as_measured() const { return nominal ? *nominal : *this; }
};

/// A cluster made by hand: fills in the shapes of levels that have none. Errors (kBadInput): sizes,
/// bandwidths, shares or a shape that make no sense; a graph whose chips are not ranks 0 .. n-1, each
/// once and joined with every other one in both directions.
Result<Cluster> complete_cluster(Cluster cluster);

namespace hardware {
class ClusterBuilder;
}  // namespace hardware
struct CatalogNode;     // src/hardware/entry/catalog_entry.h
struct CatalogCluster;  // src/hardware/entry/catalog_entry.h

/// How many of what: "64 x dgx-h100, rail", "8 nodes of dgx-h100", "16 gpus of h100", "64xh100".
struct CountedName {
  unsigned count = 0;       ///< 0: not said
  bool chips = false;       ///< chips are counted, whatever has the name
  std::string_view name;    ///< what is counted, and all that follows: "dgx-h100, rail"
  std::string_view behind;  ///< all behind the count, as it is written: " x dgx-h100, rail"
  /// The text with another count: "128 x dgx-h100, rail".
  std::string with_count(std::uint64_t other) const;
};

/// The built-in catalogue plus a user's files. Immutable once made; lookups ignore case and leave
/// out '-', '_', '.' and ' '; an unknown name's error lists the nearest ones.
class Catalog {
 public:
  /// @param extra folders or TOML files whose entries are added or replace built-in ones.
  static Result<Catalog> load(const std::vector<std::filesystem::path>& extra = {});
  /// The built-in catalogue, loaded once.
  static const Catalog& builtin();

  Result<Chip> chip(std::string_view name) const;                ///< by name or alias
  Result<Link> link(std::string_view name) const;                ///< by name or alias
  Result<MemoryTechnology> memory(std::string_view name) const;  ///< by name or alias
  /// by name or alias
  Result<InterconnectTechnology> interconnect(std::string_view name) const;
  /// A cluster from one line, a catalogue name or a file (.toml, ASTRA-sim .yml, NCCL .xml, SimAI
  /// text). Errors name the line and the fix.
  Result<Cluster> cluster(std::string_view text) const;
  /// The count at the front of such a line; it looks into `text`. Between count and name is "x",
  /// "×", "*", "nodes of", "chips of", "gpus of" or nothing. Errors: a count of 0 or above 2^24.
  Result<CountedName> counted(std::string_view text) const;

  /// in the order of the catalogue's files
  std::span<const Chip> chips() const { return chips_; }
  std::span<const Link> links() const { return links_; }                    ///< likewise
  std::span<const MemoryTechnology> memories() const { return memories_; }  ///< likewise
  /// likewise
  std::span<const InterconnectTechnology> interconnects() const { return interconnects_; }
  std::vector<std::string> node_names() const;     ///< names of nodes, which clusters are made of
  std::vector<std::string> cluster_names() const;  ///< names of whole clusters

 private:
  friend class hardware::ClusterBuilder;
  friend class CatalogLoader;
  std::vector<Chip> chips_;
  std::vector<Link> links_;
  std::vector<MemoryTechnology> memories_;
  std::vector<InterconnectTechnology> interconnects_;
  std::vector<std::shared_ptr<const CatalogNode>> nodes_;
  std::vector<std::shared_ptr<const CatalogCluster>> clusters_;
};

}  // namespace flopcast
