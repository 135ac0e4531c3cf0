#include "network/collective/nccl_tuning.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "flopcast/network/closed_form.h"

namespace flopcast::network {
namespace {

using closed_form::floor_log2;
using Algorithm = CollectiveAlgorithm;
using Protocol = CollectiveProtocol;

constexpr std::array kTunedAlgorithms = {Algorithm::kTree, Algorithm::kRing, Algorithm::kNvls,
                                         Algorithm::kNvlsTree, Algorithm::kPat};
constexpr std::array kTunedProtocols = {Protocol::kLl, Protocol::kLl128, Protocol::kSimple};

// Latencies by algorithm in the order above, then LL, LL128, Simple. Microseconds.
using Latencies = double[5][3];
constexpr Latencies kBase = {
    {6.8, 14.0, 8.4}, {6.6, 14.0, 8.4}, {0, 0, 0}, {0, 0, 0}, {8.0, 8.0, 8.0}};
constexpr Latencies kNvlink = {
    {0.6, 1.25, 4.0}, {0.6, 1.9, 3.4}, {0, 0, 25}, {0, 0, 25}, {0, 0, 4}};
constexpr Latencies kPci = {{1.0, 1.9, 4.0}, {1.0, 2.5, 5.7}, {0, 0, 0}, {0, 0, 0}, {0, 0, 4}};
constexpr Latencies kNet = {
    {5.0, 8.5, 14.0}, {2.7, 4.0, 14.0}, {0, 0, 18}, {0, 0, 20.9}, {0, 0, 14}};

// Bandwidth limits by architecture, then 1, 2, 4 or more nodes. GB/s; per channel but for LL.
constexpr double kLlMax[4][3] = {{39, 39, 20.4}, {87.7, 22.5, 19}, {141, 45, 35}, {282, 90, 70}};
constexpr double kRingLl128Max[4] = {20, 20, 36.7, 40};
constexpr double kTreeLl128Max[4][3] = {
    {20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29}, {55.6, 31.67, 20}};
constexpr double kTreeMax[4][3] = {
    {26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}, {70, 42.8, 24}};
constexpr double kNvlsTreeMax[4][3] = {
    {26.5, 18.5, 10}, {24, 23.6, 17.8}, {0, 57.7, 45.5}, {0, 96, 80}};
constexpr double kNvlsEfficiency[4] = {0, 0, 0.85, 0.74};

// Share of the tree's bandwidth by protocol and power of two, from 64 B.
constexpr int kTreeSizes = 23;
constexpr double kTreeShare[3][kTreeSizes] = {
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9}};

// Long rings across nodes stall on the network's proxy (per-rank chunks of 64 B and more).
constexpr double kRingPlateau = 1.4, kRingPlateauVolta = 1.9;

int index(Algorithm algorithm) {
  return static_cast<int>(std::ranges::find(kTunedAlgorithms, algorithm) -
                          kTunedAlgorithms.begin());
}
int index(Protocol protocol) {
  return static_cast<int>(std::ranges::find(kTunedProtocols, protocol) - kTunedProtocols.begin());
}

bool is_one_pass(CollectiveOp op) {
  return op == CollectiveOp::kAllGather || op == CollectiveOp::kReduceScatter;
}

/// What the constants take one message over each transport to need: the catalogue's links, to which they are added as
/// they are (catalog/links.toml, from Subramanian et al. and aiconfigurator; a test holds the two together).
constexpr Seconds usual_latency(Transport transport) {
  switch (transport) {
    case Transport::kPcie:
      return {2e-6};
    case Transport::kRdma:
      return {5e-6};
    case Transport::kSockets:
      return {20e-6};
    case Transport::kDirect:
    case Transport::kNvlink:
    case Transport::kXgmi:
      break;
  }
  return {2.5e-6};
}

double ring_steps(CollectiveOp op, unsigned p) {
  if (op == CollectiveOp::kAllReduce) return 2.0 * (p - 1);
  return is_one_pass(op) ? p - 1.0 : p;
}

bool offered(const NcclGraph& graph, CollectiveOp op, Algorithm algorithm, Protocol protocol) {
  // Lines of 128 bytes must arrive whole, which the way past the processor does not promise.
  if (protocol == Protocol::kLl128 && graph.nodes > 1 && graph.ports_at_host) return false;
  const bool simple = protocol == Protocol::kSimple;
  const bool reduces = op == CollectiveOp::kAllReduce;
  switch (algorithm) {
    case Algorithm::kRing:
      return reduces || is_one_pass(op) || op == CollectiveOp::kBroadcast ||
             op == CollectiveOp::kReduce;
    case Algorithm::kTree:
      return reduces;
    case Algorithm::kNvls:  // across nodes only with SHARP switches
      return simple && graph.multicast && graph.nodes == 1 && graph.ranks > 2 &&
             graph.channels >= 2 && (reduces || is_one_pass(op));
    case Algorithm::kNvlsTree:
      return simple && graph.multicast && graph.nodes > 1 && graph.ranks > graph.nodes &&
             graph.channels >= 2 && reduces;
    case Algorithm::kPat:  // one GPU a node
      return simple && is_one_pass(op) && graph.nodes == graph.ranks;
    default:
      return false;
  }
}

double nvls_channel_gbs(const NcclGraph& graph, CollectiveOp op, Algorithm algorithm, int scale) {
  const int arch = static_cast<int>(graph.architecture);
  const double per_node = static_cast<double>(graph.ranks) / graph.nodes;
  const double channels = graph.channels;
  double intra = graph.intra_gbs * kNvlsEfficiency[arch] * (channels - 1) / channels;
  intra *= op == CollectiveOp::kAllReduce ? 2.0 : (per_node - 1) / per_node;
  if (algorithm == Algorithm::kNvls) return intra;
  const double inter = graph.inter_gbs * (graph.nodes <= 2 ? 2 : 1);
  return std::min({intra, inter, kNvlsTreeMax[arch][scale]});
}

/// GB/s of the buffer ("algorithm bandwidth").
double algorithm_gbs(const NcclGraph& graph, CollectiveOp op, Algorithm algorithm, int protocol) {
  const int arch = static_cast<int>(graph.architecture);
  const int scale = graph.nodes >= 4 ? 2 : static_cast<int>(graph.nodes) - 1;
  const int row = std::min(scale, 2);
  const double channels = graph.channels;
  const bool nvls = algorithm == Algorithm::kNvls || algorithm == Algorithm::kNvlsTree;
  const double channel = nvls ? nvls_channel_gbs(graph, op, algorithm, row)
                              : (graph.nodes <= 2 ? graph.intra_gbs : graph.inter_gbs);
  double bus = channels * channel;
  if (algorithm == Algorithm::kRing) {
    if (protocol == 0) bus = std::min(kLlMax[arch][row], bus * 0.5);
    if (protocol == 1) bus = std::min(bus * 0.92, channels * kRingLl128Max[arch]);
  } else if (algorithm == Algorithm::kTree) {
    bus = std::min(bus * 0.92, channels * kTreeMax[arch][row]);
    if (protocol == 0) bus = std::min(bus / 3.8, kLlMax[arch][row]);
    if (protocol == 1) {
      const double share = graph.nodes == 1 ? 7.0 / 9 : 120.0 / 128;
      bus = std::min(bus * share, channels * kTreeLl128Max[arch][row]);
    }
    return bus * 0.5;
  } else if (algorithm == Algorithm::kPat) {
    return bus * 0.75;
  }
  if (nvls && is_one_pass(op)) return bus;
  return bus * graph.ranks / ring_steps(op, graph.ranks);
}

double ring_latency(const NcclGraph& graph, CollectiveOp op, int protocol, double intra,
                    double inter) {
  const double steps = ring_steps(op, graph.ranks);
  if (!is_one_pass(op) && op != CollectiveOp::kAllReduce) {
    // Broadcast and reduce go down the ring in chunks; Simple pays the tree's chunk latency.
    const Latencies& hop = graph.nodes > 1 ? kNet : graph.nvlink ? kNvlink : kPci;
    const NcclHop& own = graph.nodes > 1 ? graph.inter_hop : graph.intra_hop;
    return steps * own.of(hop[protocol == 2 ? 0 : 1][protocol]);
  }
  if (graph.nodes > 1) {
    intra = std::max(intra, graph.net_overhead_us * (protocol == 2 ? 3 : 1));
  }
  const double across = op == CollectiveOp::kAllReduce ? 2.0 * (graph.nodes - 1) : graph.nodes - 1;
  return (steps - across) * intra + across * inter;
}

double latency_us(const NcclGraph& graph, CollectiveOp op, Algorithm algorithm, int protocol) {
  const int a = index(algorithm);
  const double per_node = static_cast<double>(graph.ranks) / graph.nodes;
  const double intra = graph.intra_hop.of((graph.nvlink ? kNvlink : kPci)[a][protocol]);
  const int net_row = graph.nodes == graph.ranks ? 0 : a;  // one rank a node: the tree's
  const double inter =
      graph.inter_hop.of(kNet[net_row][protocol]) + graph.net_latency_us * (protocol == 2 ? 2 : 1);
  const double base = kBase[a][protocol];
  const double depth = floor_log2(graph.nodes);
  switch (algorithm) {
    case Algorithm::kRing:
      return base + ring_latency(graph, op, protocol, intra, inter);
    case Algorithm::kTree:
      return base + 2 * ((per_node - 1) * intra + depth * inter);
    case Algorithm::kNvls:
      return intra + (graph.nodes > 1 ? inter : 0);
    case Algorithm::kNvlsTree:
      return base + intra + 2 * depth * inter;
    default:  // PAT
      return base + depth * (inter / 3.5) + graph.ranks * 2.8;
  }
}

NcclCost in_seconds(double latency, double bytes, double gbs) {
  return {{latency * 1e-6}, {bytes / (gbs * 1e9)}};
}

/// Send/receive and all-to-all: every peer at once, each over Simple channels; the part that
/// leaves the node through the NICs. A barrier is the smallest all-reduce.
NcclCost point_to_point(const NcclGraph& graph, CollectiveOp op, double bytes) {
  const double p = graph.ranks, per_node = p / graph.nodes;
  const bool crosses = graph.nodes > 1;
  const int ring = index(Algorithm::kRing);
  const Latencies& link = crosses ? kNet : graph.nvlink ? kNvlink : kPci;
  const NcclHop& hop = crosses ? graph.inter_hop : graph.intra_hop;
  const double latency =
      kBase[ring][0] + hop.of(link[ring][2]) + (crosses ? 2 * graph.net_latency_us : 0);
  if (op == CollectiveOp::kSendRecv) {
    // Inside a node it is written into the receiver's buffers without a word from there.
    if (!crosses)
      return in_seconds(kBase[ring][0] + hop.of(link[ring][0]), bytes, graph.rank_inside_gbs);
    return in_seconds(latency, bytes, graph.rank_outside_gbs);
  }
  const double outside = bytes * (p - per_node) / p, inside = bytes * (per_node - 1) / p;
  const double seconds =
      std::max(inside / graph.rank_inside_gbs, crosses ? outside / graph.rank_outside_gbs : 0) *
      1e-9;
  return {{latency * 1e-6}, {seconds}};
}

}  // namespace

NcclHop nccl_hop(std::span<const Level* const> levels) {
  if (levels.empty()) return {};
  NcclHop hop{0, 0};
  for (const Level* level : levels) {
    const Seconds usual = usual_latency(level->transport);
    hop.share = std::max(hop.share, std::min(1.0, level->latency / usual));
    hop.extra_us = std::max(hop.extra_us, (level->latency - usual).value * 1e6);
  }
  return hop;
}

NcclArchitecture nccl_architecture(std::string_view name) {
  if (name == "volta") return NcclArchitecture::kVolta;
  if (name == "hopper") return NcclArchitecture::kHopper;
  if (name.starts_with("blackwell")) return NcclArchitecture::kBlackwell;
  return NcclArchitecture::kAmpere;
}

std::optional<NcclCost> nccl_cost(const NcclGraph& graph, CollectiveOp op, Algorithm algorithm,
                                  Protocol protocol, Bytes size) {
  if (!offered(graph, op, algorithm, protocol)) return std::nullopt;
  const int p = index(protocol);
  double gbs = algorithm_gbs(graph, op, algorithm, p);
  double latency = latency_us(graph, op, algorithm, p);
  if (!(gbs > 0)) return std::nullopt;
  if (algorithm == Algorithm::kTree && size.value >= 64) {
    const int power = static_cast<int>(std::log2(size.value / 64));
    if (power < kTreeSizes) gbs *= kTreeShare[p][power];
  }
  const bool plateau = algorithm == Algorithm::kRing && p == 2 && graph.nodes > 1 &&
                       op == CollectiveOp::kAllReduce &&
                       size.value / (double{1} * graph.channels * graph.ranks) >= 64;
  if (plateau) {
    latency *= graph.architecture == NcclArchitecture::kVolta ? kRingPlateauVolta : kRingPlateau;
  }
  return in_seconds(latency, size.value, gbs);
}

std::vector<NcclChoice> nccl_choices(const NcclGraph& graph, CollectiveOp op, Bytes size,
                                     Algorithm algorithm, Protocol protocol) {
  std::vector<NcclChoice> choices;
  if (op == CollectiveOp::kBarrier)
    return nccl_choices(graph, CollectiveOp::kAllReduce, {4}, algorithm, protocol);
  if (op == CollectiveOp::kAllToAll || op == CollectiveOp::kSendRecv) {
    if (algorithm != Algorithm::kAuto && algorithm != Algorithm::kDirect) return choices;
    choices.push_back(
        {Algorithm::kDirect, Protocol::kSimple, point_to_point(graph, op, size.value)});
    return choices;
  }
  for (const Algorithm a : kTunedAlgorithms) {
    if (algorithm != Algorithm::kAuto && algorithm != a) continue;
    for (const Protocol p : kTunedProtocols) {
      if (protocol != Protocol::kAuto && protocol != p) continue;
      if (const auto cost = nccl_cost(graph, op, a, p, size)) choices.push_back({a, p, *cost});
    }
  }
  std::ranges::stable_sort(choices, {}, [](const NcclChoice& c) { return c.cost.time(); });
  return choices;
}

}  // namespace flopcast::network
