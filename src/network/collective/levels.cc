#include "network/collective/levels.h"

#include <algorithm>
#include <array>

namespace flopcast::network {
namespace {

namespace cf = closed_form;
using Algorithm = CollectiveAlgorithm;
using Op = CollectiveOp;
using cf::Hop;

bool is_pass(Op op) { return op == Op::kAllGather || op == Op::kReduceScatter; }
bool is_rooted(Op op) { return op == Op::kBroadcast || op == Op::kReduce; }
double passes(Op op) { return op == Op::kAllReduce ? 2 : 1; }

bool is_torus(const LevelUse& use) {
  return use.level->fabric == FabricKind::kTorus || use.level->fabric == FabricKind::kRing;
}

/// Sizes of the dimensions of a torus, or of the level.
std::vector<unsigned> dimensions(const LevelUse& use) {
  return is_torus(use) && !use.level->shape.empty() ? use.level->shape
                                                    : std::vector<unsigned>{use.level->size};
}

/// A ring step's bandwidth: one plane to one neighbour; all planes when `wide`, as rings of NCCL
/// leave a node through all its ports; both directions where the fabric is a ring. Cards that a bridge
/// pairs are one stop of a ring over PCIe: it enters by the slot of one and leaves by the other's.
BytesPerSecond ring_bandwidth(const LevelUse& use, bool wide) {
  const bool both_ways = is_torus(use) && use.members > 2;
  return use.neighbour * (wide && !is_pcie(*use.level) ? use.planes : 1) * (both_ways ? 2 : 1);
}

LevelTime part(std::size_t level, Seconds latency, Seconds transfer) {
  return {level, latency, transfer};
}
LevelTime one_level(Seconds latency, Seconds total) { return {0, latency, total - latency}; }

/// p-1 steps over edges of every level, paced by the slowest: the dual network's form for any
/// number of levels.
LevelTimes flat_ring(const GroupShape& shape, Op op, Bytes size) {
  LevelTimes times;
  std::size_t slowest = 0;
  Seconds transfer;
  unsigned edges = shape.ranks;
  for (std::size_t l = 0; l < shape.levels.size(); ++l) {
    const LevelUse& use = shape.levels[l];
    const unsigned crossing = edges - edges / use.members;  // edges that stay on this level
    edges /= use.members;
    times.parts.push_back(part(l, passes(op) * crossing * use.latency(), {}));
    const Seconds pace = size / ring_bandwidth(use, true);
    if (pace > transfer) transfer = pace, slowest = l;
  }
  times.parts[slowest].transfer = passes(op) * (shape.ranks - 1.0) / shape.ranks * transfer;
  return times;
}

std::optional<LevelTimes> ring(const GroupShape& shape, Op op, Bytes size) {
  if (op == Op::kAllReduce || is_pass(op)) return flat_ring(shape, op, size);
  if (shape.levels.size() > 1) return std::nullopt;
  const LevelUse& use = shape.levels[0];
  const Hop hop{use.latency(), use.neighbour};
  const unsigned p = shape.ranks;
  if (is_rooted(op)) {
    const unsigned chunks = cf::best_chain_chunks(p, size, hop);
    return LevelTimes{
        {one_level((p - 2.0 + chunks) * hop.latency, cf::chain(p, size, hop, chunks))}};
  }
  if (op != Op::kAllToAll) return std::nullopt;
  if (is_torus(use)) {
    const Seconds transfer = cf::ring_all_to_all_transfer(p, size, use.neighbour, true);
    return LevelTimes{{part(0, (p / 2) * hop.latency, transfer)}};
  }
  return LevelTimes{{one_level((p - 1.0) * hop.latency, cf::pairwise_all_to_all(p, size, hop))}};
}

/// A GPU alone on its node sends and receives through one port and one PCIe slot: older releases of
/// NCCL took 0.7 of the bandwidth instead of 0.92.
constexpr double kAloneOnNode = 0.7 / 0.92;

/// Paper constants: 2.5 us and 5 us a step, 70 % of the nominal bandwidth.
std::optional<LevelTimes> dual_network(const GroupShape& shape, Op op, Bytes size) {
  if (op != Op::kAllReduce && !is_pass(op)) return std::nullopt;
  constexpr double kEfficiency = 0.7;
  constexpr Seconds kFast{2.5e-6}, kSlow{5e-6};
  const bool across = shape.nodes > 1;
  const auto nominal = [&](const LevelUse& use) {
    return use.child() * (kEfficiency / use.level->efficiency);
  };
  cf::DualNetwork network{shape.ranks, shape.per_node(), 1, {kFast, {1}}, {kSlow, {1}}};
  if (shape.node_levels > 0) {
    network.fast.bandwidth = nominal(shape.levels[0]);
    for (std::size_t l = 1; l < shape.node_levels; ++l) {
      network.fast.bandwidth = std::min(network.fast.bandwidth, nominal(shape.levels[l]));
    }
  }
  if (across) {
    network.slow.bandwidth = nominal(shape.levels[shape.node_levels]);
    if (shape.per_node() == 1) network.slow.bandwidth *= kAloneOnNode;
  }
  const Seconds fast = passes(op) * (shape.ranks - shape.nodes) * kFast;
  const Seconds slow = passes(op) * (shape.nodes - 1.0) * kSlow;
  const Seconds transfer = passes(op) * cf::dual_network_transfer(size, network);
  const bool slow_paces =
      across && !(shape.node_levels > 0 && network.fast.bandwidth < network.slow.bandwidth);
  LevelTimes times;
  if (shape.node_levels > 0)
    times.parts.push_back(part(0, fast, slow_paces ? Seconds{} : transfer));
  if (across) {
    times.parts.push_back(part(shape.node_levels, slow, slow_paces ? transfer : Seconds{}));
  }
  return times;
}

/// Down a chain inside nodes and a binary tree across them; two trees with half the data each.
std::optional<LevelTimes> tree(const GroupShape& shape, Op op, Bytes size) {
  if (op == Op::kBarrier || op == Op::kSendRecv || op == Op::kAllToAll || is_pass(op)) {
    return std::nullopt;
  }
  const bool flat = shape.levels.size() == 1;
  LevelTimes times;
  std::size_t slowest = 0;
  for (std::size_t l = 0; l < shape.levels.size(); ++l) {
    const LevelUse& use = shape.levels[l];
    const bool chain = !flat && l < shape.node_levels;
    const double depth = chain ? use.members - 1.0 : cf::ceil_log2(use.members);
    times.parts.push_back(part(l, passes(op) * depth * use.latency(), {}));
    if (use.child().value < shape.levels[slowest].child().value) slowest = l;
  }
  const Seconds once = size / shape.levels[slowest].child();
  const double sends = op == Op::kAllReduce ? 2 : flat ? cf::ceil_log2(shape.ranks) : 1;
  times.parts[slowest].transfer = sends * once;
  return times;
}

/// Messages between partners at distances 1, 2, 4, ...: the level is the one the distance spans.
struct Exchange {
  unsigned distance = 1;
  double share = 0;  ///< of the buffer, in one message
};

LevelTimes exchanges(const GroupShape& shape, const std::vector<Exchange>& all, Bytes size) {
  LevelTimes times;
  for (std::size_t l = 0; l < shape.levels.size(); ++l) times.parts.push_back(part(l, {}, {}));
  for (const Exchange& exchange : all) {
    std::size_t l = 0;
    unsigned span = shape.levels[0].members;
    while (exchange.distance >= span && l + 1 < shape.levels.size()) {
      span *= shape.levels[++l].members;
    }
    times.parts[l].latency += shape.levels[l].latency();
    const LevelUse& use = shape.levels[l];
    const BytesPerSecond share = use.neighbour * use.planes / use.chips_per_child;
    times.parts[l].transfer += size * exchange.share / share;
  }
  return times;
}

std::optional<LevelTimes> halving_doubling(const GroupShape& shape, Op op, Bytes size) {
  const unsigned p = shape.ranks, core = 1U << cf::floor_log2(p);
  if (op != Op::kAllReduce && !(is_pass(op) && core == p)) return std::nullopt;
  if (core != p && shape.levels.size() > 1) return std::nullopt;
  std::vector<Exchange> all;
  for (unsigned d = 1; d < core; d *= 2) {
    for (int pass = 0; pass < passes(op); ++pass) all.push_back({d, static_cast<double>(d) / core});
  }
  if (core != p) all.insert(all.end(), 2, {core, 1});
  return exchanges(shape, all, size);
}

std::optional<LevelTimes> bruck(const GroupShape& shape, Op op, Bytes size) {
  const unsigned p = shape.ranks;
  if (op != Op::kAllGather && op != Op::kAllToAll) return std::nullopt;
  // Across levels partners at one distance lie on different ones.
  if (shape.levels.size() > 1) return std::nullopt;
  std::vector<Exchange> all;
  for (unsigned d = 1; d < p; d *= 2) {
    double parts = std::min(d, p - d);
    if (op == Op::kAllToAll) {
      parts = 0;
      for (unsigned o = d; o < p; ++o) parts += o & d ? 1 : 0;
    }
    all.push_back({d, parts / p});
  }
  return exchanges(shape, all, size);
}

std::optional<LevelTimes> pat(const GroupShape& shape, Op op, Bytes size) {
  if (!is_pass(op) || shape.levels.size() > 1) return std::nullopt;
  const unsigned p = shape.ranks;
  std::vector<Exchange> all;
  for (unsigned i = 0; i < cf::ceil_log2(p); ++i) {
    const unsigned h = 1U << i;
    const unsigned parts = (p - h + 2 * h - 1) / (2 * h);
    all.push_back({h, static_cast<double>(parts) / p});
  }
  return exchanges(shape, all, size);
}

/// A message to each peer at once: bytes over the ports of one child, hops of a torus included.
Seconds direct_transfer(const LevelUse& use, Op op, Bytes to_level, Bytes size) {
  if (is_rooted(op)) return size * (use.members - 1.0) / use.child();
  if (!is_torus(use) || use.members <= 2) return to_level / use.chip_share();
  Seconds slowest;
  for (const unsigned extent : dimensions(use)) {
    const Bytes spread = to_level * use.members / (use.members - 1.0);
    slowest = std::max(slowest, cf::ring_all_to_all_transfer(extent, spread, use.neighbour, true));
  }
  return slowest;
}

/// Everybody sends to everybody at once; a message crosses the outermost level its ends differ on.
std::optional<LevelTimes> direct(const GroupShape& shape, Op op, Bytes size) {
  const std::size_t outermost = shape.levels.size() - 1;
  if (op == Op::kSendRecv) {
    const LevelUse& use = shape.levels[outermost];
    return LevelTimes{{part(outermost, use.latency(), size / use.neighbour)}};
  }
  LevelTimes times;
  std::size_t slowest = 0;
  Seconds transfer;
  double inside = 1;  // members within one child of the level
  for (std::size_t l = 0; l <= outermost; ++l) {
    const LevelUse& use = shape.levels[l];
    const Bytes to_level = size * (inside * (use.members - 1) / shape.ranks);
    const Seconds pace = direct_transfer(use, op, to_level, size);
    if (pace > transfer) transfer = pace, slowest = l;
    inside *= use.members;
    times.parts.push_back(part(l, {}, {}));
  }
  times.parts[outermost].latency = passes(op) * shape.levels[outermost].latency();
  times.parts[slowest].transfer = passes(op) * transfer;
  return times;
}

/// Reduce-scatter inwards out, all-gather back: each level works on the share the inner ones left.
std::optional<LevelTimes> hierarchical(const GroupShape& shape, Op op, Bytes size) {
  if (op != Op::kAllReduce && !is_pass(op)) return std::nullopt;
  LevelTimes times;
  for (std::size_t l = 0; l < shape.levels.size(); ++l) {
    const LevelUse& use = shape.levels[l];
    // All chips of a child send their share at once, each to its like in the next child; to all of
    // them at once where each has a link of its own.
    const bool direct = use.level->fabric == FabricKind::kFullyConnected;
    const BytesPerSecond bandwidth = direct ? use.child() : ring_bandwidth(use, true);
    const cf::DimensionHop hop{use.members,
                               {use.latency(), bandwidth / use.chips_per_child},
                               direct ? cf::Dimension::kFullyConnected : cf::Dimension::kRing};
    const Seconds total = passes(op) * cf::dimension_ordered_pass(size, std::array{hop});
    const Seconds latency = passes(op) * (direct ? 1 : use.members - 1.0) * use.latency();
    times.parts.push_back(part(l, latency, total - latency));
    size = size / use.members;
  }
  return times;
}

std::optional<LevelTimes> torus(const GroupShape& shape, Op op, Bytes size) {
  if (shape.levels.size() != 1 || !is_torus(shape.levels[0])) return std::nullopt;
  const LevelUse& use = shape.levels[0];
  if (use.members != use.level->size || (op != Op::kAllReduce && !is_pass(op))) return std::nullopt;
  std::vector<cf::DimensionHop> hops;
  Seconds latency;
  for (const unsigned extent : dimensions(use)) {
    hops.push_back({extent, {use.latency(), use.neighbour * (extent > 2 ? 2 : 1)}});
    latency += (extent - 1.0) * use.latency();
  }
  const Seconds total = passes(op) * cf::dimension_ordered_pass(size, hops);
  return LevelTimes{{one_level(passes(op) * latency, total)}};
}

/// NVLink SHARP inside the node; across nodes a double tree of what it reduced.
std::optional<LevelTimes> multicast(const GroupShape& shape, Op op, Algorithm algorithm,
                                    Bytes size) {
  const bool across = shape.levels.size() > shape.node_levels;
  if (op != Op::kAllReduce || shape.node_levels != 1) return std::nullopt;
  if (!shape.levels[0].level->in_network_reduction) return std::nullopt;
  if (across != (algorithm == Algorithm::kNvlsTree)) return std::nullopt;
  const LevelUse& node = shape.levels[0];
  const Hop hop{node.latency(), node.plane};
  LevelTimes times{{one_level(2 * hop.latency, cf::nvls_all_reduce(node.members, size, hop))}};
  if (across) {
    const LevelUse& out = shape.levels[1];
    times.parts.push_back(
        part(1, 2.0 * cf::ceil_log2(out.members) * out.latency(), 2 * (size / out.child())));
  }
  return times;
}

}  // namespace

Seconds LevelTimes::total() const {
  Seconds sum;
  for (const LevelTime& time : parts) sum += time.latency + time.transfer;
  return sum;
}

std::optional<LevelTimes> alpha_beta(const GroupShape& shape, Op op, Algorithm algorithm,
                                     Bytes size) {
  if (shape.levels.empty()) return LevelTimes{};
  if (op == Op::kBarrier) return alpha_beta(shape, Op::kAllReduce, algorithm, Bytes{4});
  switch (algorithm) {
    case Algorithm::kAuto:
      return std::nullopt;
    case Algorithm::kRing:
      return ring(shape, op, size);
    case Algorithm::kTree:
      return tree(shape, op, size);
    case Algorithm::kHalvingDoubling:
      return halving_doubling(shape, op, size);
    case Algorithm::kDirect:
      return direct(shape, op, size);
    case Algorithm::kBruck:
      return bruck(shape, op, size);
    case Algorithm::kHierarchical:
      return shape.levels.size() > 1 ? hierarchical(shape, op, size) : std::nullopt;
    case Algorithm::kTorus:
      return torus(shape, op, size);
    case Algorithm::kNvls:
    case Algorithm::kNvlsTree:
      return multicast(shape, op, algorithm, size);
    case Algorithm::kPat:
      return pat(shape, op, size);
    case Algorithm::kDualNetwork:
      return dual_network(shape, op, size);
  }
  return std::nullopt;
}

std::vector<Algorithm> usual_algorithms(const GroupShape& shape, Op op) {
  if (op == Op::kAllToAll || op == Op::kSendRecv) return {Algorithm::kDirect};
  if (is_rooted(op)) return {Algorithm::kRing, Algorithm::kTree, Algorithm::kDirect};
  if (shape.levels.empty()) return {Algorithm::kRing};
  const LevelUse& inner = shape.levels[0];
  if (is_torus(inner)) {
    return {Algorithm::kTorus, Algorithm::kHierarchical, Algorithm::kRing, Algorithm::kTree};
  }
  if (shape.nodes > 1) return {Algorithm::kDualNetwork, Algorithm::kTree, Algorithm::kNvlsTree};
  // NCCL's many rings over a full mesh use all its links, as direct exchange does.
  const bool mesh = inner.level->fabric == FabricKind::kFullyConnected;
  if (shape.levels.size() > 1)
    return {Algorithm::kRing, Algorithm::kTree, Algorithm::kHierarchical};
  return {mesh ? Algorithm::kDirect : Algorithm::kRing, Algorithm::kTree, Algorithm::kNvls};
}

bool is_pcie(const Level& level) { return level.link.find("pcie") != level.link.npos; }

namespace {

/// Ports that hang at the processor, not at the chips' own PCIe switch: Slingshot's do in the machines
/// there are, and TCP copies through it whatever hangs where.
bool ports_at_host(const Level& level) {
  return level.link.starts_with("slingshot") || is_tcp(level);
}

/// A message between chips joined by links of their own fills them but for the packets' headers: one
/// flit of 17 (NVLink 2 to 4, 256 B a packet). Rings and switches get the link's efficiency.
double direct_share(const GroupShape& shape) {
  constexpr double kPayload = 16.0 / 17;
  const bool direct = shape.nodes == 1 && shape.levels.size() == 1 &&
                      shape.levels[0].level->fabric == FabricKind::kFullyConnected &&
                      !is_pcie(*shape.levels[0].level);
  return direct ? std::max(1.0, kPayload / shape.levels[0].level->efficiency) : 1;
}

}  // namespace

bool is_tcp(const Level& level) { return level.link.starts_with("tcp"); }

NcclGraph nccl_graph(const Cluster& cluster, const GroupShape& shape) {
  constexpr double kGb = 1e9;
  NcclGraph graph;
  graph.architecture = nccl_architecture(cluster.chip.architecture);
  graph.ranks = shape.ranks;
  graph.nodes = shape.nodes;
  // Of DGX boxes: 12 rings on V100, 24 on A100, 16 since.
  constexpr unsigned kChannels[] = {12, 24, 16, 16};
  graph.channels = kChannels[static_cast<int>(graph.architecture)];
  double intra = 0, inter = 0;
  for (std::size_t l = 0; l < shape.levels.size(); ++l) {
    const double gbs = ring_bandwidth(shape.levels[l], true).value / kGb *
                       std::min(shape.levels[l].level->neighbours(), shape.levels[l].members - 1);
    double& slowest = l < shape.node_levels ? intra : inter;
    slowest = slowest > 0 ? std::min(slowest, gbs) : gbs;
  }
  if (!(intra > 0)) intra = inter;
  const bool across = shape.nodes > 1;
  const bool streams = across && is_tcp(*shape.levels.back().level);  // no card can fill
  const double alone = across && shape.per_node() == 1 && !streams ? kAloneOnNode : 1;
  graph.rank_inside_gbs = intra * direct_share(shape);
  graph.rank_outside_gbs = inter * alone / shape.per_node();
  // A ring enters and leaves every chip.
  if (across) inter = std::min(intra, inter) * alone;
  // Up to two nodes NCCL looks at the channels inside a node; across nodes they are no faster than
  // the ports.
  graph.inter_gbs = inter / graph.channels;
  graph.intra_gbs = (across ? inter : intra) / graph.channels;
  graph.ports_at_host = across && ports_at_host(*shape.levels.back().level);
  graph.nvlink = !is_pcie(cluster.levels[0]);
  graph.multicast = !shape.levels.empty() && shape.levels[0].level->in_network_reduction;
  return graph;
}

}  // namespace flopcast::network
