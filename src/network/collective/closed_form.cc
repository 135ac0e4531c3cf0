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

Seconds ring_pass(unsigned p, Bytes size, const Hop& hop) {
  return (p - 1.0) * hop.message(size / p);
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

Seconds dual_network_transfer(Bytes size, const DualNetwork& network) {
  const bool crosses = network.ranks > network.per_node;
  const bool inside = network.per_node > 1;
  Seconds slowest;
  if (crosses) slowest = size / (network.slow.bandwidth * network.nics);
  if (inside) slowest = std::max(slowest, size / network.fast.bandwidth);
  return others(network.ranks) * slowest;
}

Seconds nvls_all_reduce(unsigned p, Bytes size, const Hop& hop) {
  return 2 * hop.latency + (1 + 1.0 / p) * (size / hop.bandwidth);
}

}  // namespace flopcast::closed_form
