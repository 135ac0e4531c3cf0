#include "network/collective/levels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

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

/// Of a step one way, through one plane or all of them.
BytesPerSecond chain_bandwidth(const LevelUse& use, bool wide) {
  return use.neighbour * (wide && use.level->transport != Transport::kPcie ? use.planes : 1);
}

/// A ring step's bandwidth: one plane to one neighbour; all planes when `wide`, as rings of NCCL
/// leave a node through all its ports; both directions where the fabric is a ring. Cards that a bridge
/// pairs are one stop of a ring over PCIe: it enters by the slot of one and leaves by the other's.
BytesPerSecond ring_bandwidth(const LevelUse& use, bool wide) {
  const bool both_ways = is_torus(use) && use.members > 2;
  return chain_bandwidth(use, wide) * (both_ways ? 2 : 1);
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

/// So many sends of the whole buffer, one after the other, over one level.
struct Stretch {
  std::size_t level = 0;
  double sends = 0;
  Hop hop;
};

/// Sends along stretches in so many chunks: the first takes every send, the others follow at the pace of the slowest.
LevelTimes in_chunks(const std::vector<Stretch>& stretches, Bytes size, double chunks) {
  const auto message = [&](const Stretch& s) { return s.hop.message(size / chunks); };
  const Stretch& slowest = *std::ranges::max_element(stretches, {}, message);
  LevelTimes times;
  for (const Stretch& stretch : stretches) {
    const double sends = stretch.sends + (&stretch == &slowest ? chunks - 1 : 0);
    times.parts.push_back(part(stretch.level, sends * stretch.hop.latency,
                               sends * (size / chunks / stretch.hop.bandwidth)));
  }
  return times;
}

/// In the number of chunks that is best. The time is convex in it: what goes down with 1 / chunks, and the largest of
/// what grows with them.
LevelTimes pipelined(const std::vector<Stretch>& stretches, Bytes size) {
  std::uint32_t low = 1, high = 1U << 20;  // latency 0 would ask for infinitely many
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    const Seconds here = in_chunks(stretches, size, middle).total();
    if (in_chunks(stretches, size, middle + 1.0).total() < here) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return in_chunks(stretches, size, low);
}

/// A broadcast or reduction down a chain of all ranks, which leaves a node through all its ports.
LevelTimes flat_chain(const GroupShape& shape, Bytes size) {
  std::vector<Stretch> stretches;
  unsigned edges = shape.ranks;
  for (std::size_t l = 0; l < shape.levels.size(); ++l) {
    const LevelUse& use = shape.levels[l];
    const unsigned crossing = edges - edges / use.members;
    edges /= use.members;
    stretches.push_back(
        {l, static_cast<double>(crossing), {use.latency(), chain_bandwidth(use, true)}});
  }
  return pipelined(stretches, size);
}

std::optional<LevelTimes> ring(const GroupShape& shape, Op op, Bytes size) {
  if (op == Op::kAllReduce || is_pass(op)) return flat_ring(shape, op, size);
  if (shape.levels.size() > 1) {
    if (!is_rooted(op)) return std::nullopt;
    return flat_chain(shape, size);
  }
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

/// 70 % of the nominal bandwidth, as in the paper, whose latencies the catalogue's links have; more or less where a
/// level's efficiency is not that of its links.
std::optional<LevelTimes> dual_network(const GroupShape& shape, Op op, Bytes size) {
  if (op != Op::kAllReduce && !is_pass(op)) return std::nullopt;
  constexpr double kEfficiency = 0.7;
  const bool across = shape.nodes > 1;
  const auto reached = [&](const LevelUse& use) {
    return use.child() * (std::min(1.0, kEfficiency * use.tuned) / use.level->efficiency);
  };
  cf::DualNetwork network{shape.ranks, shape.per_node(), 1, {{}, {1}}, {{}, {1}}};
  for (std::size_t l = 0; l < shape.node_levels; ++l) {
    const LevelUse& use = shape.levels[l];
    const BytesPerSecond bandwidth = reached(use);
    if (l == 0 || bandwidth < network.fast.bandwidth) network.fast.bandwidth = bandwidth;
    network.fast.latency = std::max(network.fast.latency, use.latency());
  }
  if (across) {
    network.slow = {shape.levels[shape.node_levels].latency(),
                    reached(shape.levels[shape.node_levels])};
    if (shape.per_node() == 1) network.slow.bandwidth *= kAloneOnNode;
  }
  const Seconds fast = passes(op) * (shape.ranks - shape.nodes) * network.fast.latency;
  const Seconds slow = passes(op) * (shape.nodes - 1.0) * network.slow.latency;
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

/// Down a binary tree across nodes and a chain inside each, in chunks.
LevelTimes rooted_tree(const GroupShape& shape, Bytes size) {
  std::vector<Stretch> stretches;
  for (std::size_t l = 0; l < shape.levels.size(); ++l) {
    const LevelUse& use = shape.levels[l];
    const double depth = l < shape.node_levels ? use.members - 1.0 : cf::ceil_log2(use.members);
    stretches.push_back({l, depth, {use.latency(), chain_bandwidth(use, true)}});
  }
  return pipelined(stretches, size);
}

/// Down a chain inside nodes and a binary tree across them; two trees with half the data each.
std::optional<LevelTimes> tree(const GroupShape& shape, Op op, Bytes size) {
  if (op == Op::kBarrier || op == Op::kSendRecv || op == Op::kAllToAll || is_pass(op)) {
    return std::nullopt;
  }
  const bool flat = shape.levels.size() == 1;
  if (!flat && is_rooted(op)) return rooted_tree(shape, size);
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
  const double sends = op == Op::kAllReduce ? 2 : cf::ceil_log2(shape.ranks);
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

namespace {

/// A message between chips joined by links of their own fills them but for the packets' headers: one
/// flit of 17 (NVLink 2 to 4, 256 B a packet). Rings and switches get the link's efficiency.
double direct_share(const GroupShape& shape) {
  constexpr double kPayload = 16.0 / 17;
  const bool direct = shape.nodes == 1 && shape.levels.size() == 1 &&
                      shape.levels[0].level->fabric == FabricKind::kFullyConnected &&
                      shape.levels[0].level->transport != Transport::kPcie;
  return direct ? std::max(1.0, kPayload / shape.levels[0].level->efficiency) : 1;
}

}  // namespace

bool runs_nccl(const Cluster& cluster) { return cluster.chip.vendor == "NVIDIA"; }

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
  const Level& last = shape.levels.empty() ? cluster.levels[0] : *shape.levels.back().level;
  const bool streams = across && last.transport == Transport::kSockets;  // no card can fill
  const double alone = across && shape.per_node() == 1 && !streams ? kAloneOnNode : 1;
  graph.rank_inside_gbs = intra * direct_share(shape);
  graph.rank_outside_gbs = inter * alone / shape.per_node();
  // A ring enters and leaves every chip.
  if (across) inter = std::min(intra, inter) * alone;
  // Up to two nodes NCCL looks at the channels inside a node; across nodes they are no faster than
  // the ports.
  graph.inter_gbs = inter / graph.channels;
  graph.intra_gbs = (across ? inter : intra) / graph.channels;
  graph.ports_at_host =
      across && (last.attachment == Attachment::kHost || last.transport == Transport::kSockets);
  graph.nvlink = cluster.levels[0].transport != Transport::kPcie;
  std::vector<const Level*> levels;
  for (const LevelUse& use : shape.levels) levels.push_back(use.level);
  const std::span<const Level* const> all(levels);
  graph.intra_hop = nccl_hop(all.first(shape.node_levels));
  graph.inter_hop = nccl_hop(all.subspan(shape.node_levels));
  graph.multicast = !shape.levels.empty() && shape.levels[0].level->in_network_reduction;
  return graph;
}

}  // namespace flopcast::network
