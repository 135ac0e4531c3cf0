// What a system costs and draws. Source: the published code of DFModel, whose 1,024-chip systems these
// formulas give to the last digit.
#include <algorithm>
#include <vector>

#include "flopcast/mapping.h"

namespace flopcast {
namespace {

constexpr double kGiga = 1e9;

/// GB/s of all links of one dimension, and of all its switch boxes.
struct Wiring {
  double links = 0, switches = 0;
};

/// A ring has a link per chip and a port to a box at either end; a full graph all its links, and boxes
/// where it joins groups rather than chips; a switch one port per group.
Wiring wiring(const NetworkDimension& dimension, double chips, double groups, bool innermost) {
  const double bandwidth = dimension.bandwidth.value / kGiga, size = dimension.size;
  if (dimension.size <= 1) return {};
  switch (dimension.kind) {
    case DimensionKind::kRing:
      return {chips * bandwidth, 2 * (chips / size) * bandwidth};
    case DimensionKind::kFullyConnected:
      return {groups * (size - 1) * bandwidth, innermost ? 0 : groups * size * bandwidth};
    case DimensionKind::kSwitch:
      break;
  }
  return {groups * bandwidth, groups * bandwidth};
}

std::vector<Wiring> wirings(const MappingSystem& system) {
  const double chips = system.chips();
  double inside = 1;
  std::vector<Wiring> all;
  for (const NetworkDimension& dimension : system.dimensions) {
    all.push_back(wiring(dimension, chips, chips / inside, inside == 1));
    inside *= dimension.size;
  }
  return all;
}

double link_power(const UnitPrices& prices, std::size_t dimension) {
  constexpr double kUsual = 0.052;
  if (prices.link_w.empty()) return kUsual;
  return prices.link_w[std::min(dimension, prices.link_w.size() - 1)];
}

}  // namespace

unsigned MappingSystem::chips() const {
  unsigned product = 1;
  for (const NetworkDimension& dimension : dimensions) product *= dimension.size;
  return product;
}

double system_price(const MappingSystem& system) {
  const UnitPrices& prices = system.prices;
  const double memory = system.memory_bandwidth.value / kGiga * prices.memory_usd;
  double total = system.chips() * (memory + system.chip.price_usd);
  for (const Wiring& wires : wirings(system)) {
    total += wires.links * prices.link_usd + wires.switches * prices.switch_usd;
  }
  return total;
}

double system_power(const MappingSystem& system) {
  const UnitPrices& prices = system.prices;
  const double memory = system.memory_bandwidth.value / kGiga * prices.memory_w;
  double total = system.chips() * (memory + system.chip.power_w);
  const std::vector<Wiring> all = wirings(system);
  for (std::size_t d = 0; d < all.size(); ++d) {
    total += all[d].links * link_power(prices, d) + all[d].switches * prices.switch_w;
  }
  return total;
}

}  // namespace flopcast
