#include "flopcast/network/closed_form.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace flopcast::closed_form {

unsigned ceil_log2(unsigned p) { return p <= 1 ? 0 : static_cast<unsigned>(std::bit_width(p - 1)); }
unsigned floor_log2(unsigned p) {
  return p <= 1 ? 0 : static_cast<unsigned>(std::bit_width(p)) - 1;
}

namespace {
/// (p-1)/p: what each rank sends of a buffer that is spread over all.
double others(unsigned p) { return (p - 1.0) / p; }
}  // namespace

Seconds cut_through(Bytes size, std::span<const Hop> hops) {
  Seconds latency, transfer;
  for (const Hop& hop : hops) {
    latency += hop.latency;
    transfer = std::max(transfer, size / hop.bandwidth);
  }
  return latency + transfer;
}

Seconds store_and_forward(Bytes size, std::span<const Hop> hops) {
  Seconds total;
  for (const Hop& hop : hops) total += hop.message(size);
  return total;
}

Seconds ring_pass(unsigned p, Bytes size, const Hop& hop) {
  return (p - 1.0) * hop.message(size / p);
}

Seconds ring_all_reduce(unsigned p, Bytes size, const Hop& hop) {
  return 2 * ring_pass(p, size, hop);
}

Seconds bidirectional_ring_pass(unsigned p, Bytes size, const Hop& hop) {
  return ring_pass(p, size / 2, hop);
}

Seconds bidirectional_ring_all_reduce(unsigned p, Bytes size, const Hop& hop) {
  return 2 * bidirectional_ring_pass(p, size, hop);
}

Seconds chain(unsigned p, Bytes size, const Hop& hop, unsigned chunks) {
  return (p - 2.0 + chunks) * hop.message(size / chunks);
}

unsigned best_chain_chunks(unsigned p, Bytes size, const Hop& hop) {
  const double transfer = (size / hop.bandwidth).value;
  if (p <= 2 || transfer <= 0) return 1;
  constexpr double kMost = 1 << 20;  // latency 0 would ask for infinitely many
  const double best = std::sqrt((p - 2) * transfer / std::max(hop.latency.value, 1e-18));
  const auto low = static_cast<unsigned>(std::clamp(best, 1.0, kMost));
  return chain(p, size, hop, low) <= chain(p, size, hop, low + 1) ? low : low + 1;
}

Seconds halving_pass(unsigned p, Bytes size, const Hop& hop) {
  return ceil_log2(p) * hop.latency + others(p) * (size / hop.bandwidth);
}

Seconds halving_doubling_all_reduce(unsigned p, Bytes size, const Hop& hop) {
  const unsigned core = 1U << floor_log2(p);
  const Seconds both = 2 * halving_pass(core, size, hop);
  return core == p ? both : both + 2 * hop.message(size);
}

Seconds recursive_doubling_all_reduce(unsigned p, Bytes size, const Hop& hop) {
  return ceil_log2(p) * hop.message(size);
}

Seconds binomial_tree(unsigned p, Bytes size, const Hop& hop) {
  return ceil_log2(p) * hop.message(size);
}

Seconds scatter_gather_broadcast(unsigned p, Bytes size, const Hop& hop) {
  return (ceil_log2(p) + p - 1.0) * hop.latency + 2 * others(p) * (size / hop.bandwidth);
}

Seconds bruck_all_gather(unsigned p, Bytes size, const Hop& hop) {
  return ceil_log2(p) * hop.latency + others(p) * (size / hop.bandwidth);
}

Seconds bruck_all_to_all(unsigned p, Bytes size, const Hop& hop) {
  return ceil_log2(p) * hop.message(size / 2);
}

Seconds pairwise_all_to_all(unsigned p, Bytes size, const Hop& hop) {
  return (p - 1.0) * hop.message(size / p);
}

Seconds one_shot_all_reduce(unsigned p, Bytes size, const Hop& port) {
  return port.message(size * (p - 1.0));
}

Seconds two_shot_all_reduce(unsigned p, Bytes size, const Hop& port) {
  return 2 * direct_pass(p, size, port);
}

Seconds direct_pass(unsigned p, Bytes size, const Hop& hop) {
  return hop.message(size * others(p));
}

Seconds fully_connected_pass(unsigned p, Bytes size, const Hop& link) {
  return link.message(size / p);
}

Seconds ring_all_to_all_transfer(unsigned p, Bytes size, BytesPerSecond bandwidth,
                                 bool bidirectional) {
  if (!bidirectional) return (p - 1.0) / 2 * (size / bandwidth);
  const double ranks = p;
  const double hops = (ranks * ranks - (p % 2 == 0 ? 0 : 1)) / 8;
  return hops / ranks * (size / bandwidth);
}

Seconds torus_all_to_all_transfer(Bytes size, std::span<const TorusDimension> dimensions) {
  Seconds slowest;
  for (const TorusDimension& dimension : dimensions) {
    slowest = std::max(slowest,
                       ring_all_to_all_transfer(dimension.size, size, dimension.bandwidth, true));
  }
  return slowest;
}

namespace {
Seconds one_dimension(Bytes size, const DimensionHop& dimension) {
  double messages = 1;
  switch (dimension.kind) {
    case Dimension::kRing:
      messages = dimension.size - 1.0;
      break;
    case Dimension::kHalving:
      messages = ceil_log2(dimension.size);
      break;
    case Dimension::kFullyConnected:
      break;
  }
  if (dimension.size <= 1) return {};
  return messages * dimension.hop.latency +
         others(dimension.size) * (size / dimension.hop.bandwidth);
}
}  // namespace

Seconds dimension_ordered_pass(Bytes size, std::span<const DimensionHop> dimensions) {
  Seconds total;
  for (const DimensionHop& dimension : dimensions) {
    total += one_dimension(size, dimension);
    size = size / dimension.size;
  }
  return total;
}

Seconds dimension_ordered_all_reduce(Bytes size, std::span<const DimensionHop> dimensions) {
  return 2 * dimension_ordered_pass(size, dimensions);
}

Seconds pipelined_all_reduce(Bytes size, std::span<const DimensionHop> dimensions,
                             unsigned chunks) {
  Seconds sum, slowest;
  Bytes chunk = size / chunks;
  for (const DimensionHop& dimension : dimensions) {
    const Seconds stage = 2 * one_dimension(chunk, dimension) * chunks;
    sum += stage;
    slowest = std::max(slowest, stage);
    chunk = chunk / dimension.size;
  }
  return sum / chunks + (chunks - 1.0) / chunks * slowest;
}

Seconds dual_network_latency(const DualNetwork& network) {
  const double nodes = static_cast<double>(network.ranks) / network.per_node;
  return network.slow.latency * (nodes - 1) + network.fast.latency * (network.ranks - nodes);
}

Seconds dual_network_transfer(Bytes size, const DualNetwork& network) {
  const bool crosses = network.ranks > network.per_node;
  const bool inside = network.per_node > 1;
  Seconds slowest;
  if (crosses) slowest = size / (network.slow.bandwidth * network.nics);
  if (inside) slowest = std::max(slowest, size / network.fast.bandwidth);
  return others(network.ranks) * slowest;
}

Seconds dual_network_pass(Bytes size, const DualNetwork& network) {
  return dual_network_latency(network) + dual_network_transfer(size, network);
}

Seconds two_level_all_to_all_transfer(Bytes size, const DualNetwork& network) {
  const double n = network.ranks, g = network.per_node;
  const Seconds inside = (g - 1) / n * (size / network.fast.bandwidth);
  const Seconds across = (n - g) / n * (size / network.slow.bandwidth);
  return std::max(inside, across);
}

Seconds nvls_all_reduce(unsigned p, Bytes size, const Hop& hop) {
  return 2 * hop.latency + (1 + 1.0 / p) * (size / hop.bandwidth);
}

Seconds double_binary_tree_all_reduce(unsigned p, Bytes size, const Hop& hop) {
  return 2.0 * ceil_log2(p) * hop.latency + 2 * (size / hop.bandwidth);
}

}  // namespace flopcast::closed_form
