// The one function that changes a machine.
#include <fmt/format.h>

#include <algorithm>

#include "flopcast/machine.h"

namespace flopcast {
namespace {

Limits limits_of(MachineNumber number) {
  switch (number) {
    case MachineNumber::kMatrixRate:
    case MachineNumber::kRates:
      return kRateLimits;
    case MachineNumber::kHbmBandwidth:
    case MachineNumber::kHostBandwidth:
    case MachineNumber::kLinkBandwidth:
      return kBandwidthLimits;
    case MachineNumber::kHbmCapacity:
      return kCapacityLimits;
    case MachineNumber::kPower:
      return kPowerLimits;
    case MachineNumber::kLinkLatency:
      break;
  }
  return kLatencyLimits;
}

/// Changes numbers of one kind, and keeps the first that no hardware has.
class Change {
 public:
  Change(MachineNumber number, const QuantityChange& amount) : number_(number), amount_(amount) {}

  void apply(double& value) {
    if (value == 0 && amount_.factor && unit_of(number_) != UnitKind::kSeconds) missing_ = true;
    value = amount_.of(value);
    if (!wrong_) wrong_ = outside(limits_of(number_), value, unit_of(number_), text(value));
  }
  /// All rates of a kind by the factor that bf16's changes by.
  void apply(std::array<FlopsPerSecond, kDataTypes>& rates, double bf16) {
    const double factor = amount_.factor || bf16 <= 0 ? amount_.value : amount_.value / bf16;
    for (FlopsPerSecond& rate : rates) {
      rate *= factor;
      if (!wrong_ && rate.value > 0) {
        wrong_ = outside(limits_of(number_), rate.value, unit_of(number_), text(rate.value));
      }
    }
  }
  const std::optional<Diagnostic>& wrong() const { return wrong_; }
  /// A factor of what is not known.
  bool missing() const { return missing_; }

 private:
  std::string text(double value) const { return quantity_text(value, unit_of(number_)); }

  MachineNumber number_;
  const QuantityChange& amount_;
  std::optional<Diagnostic> wrong_;
  bool missing_ = false;
};

void change_chip(Chip& chip, MachineNumber number, Change& change) {
  const double bf16 = chip.matrix_rate(DataType::kBf16).value;
  switch (number) {
    case MachineNumber::kRates:
      change.apply(chip.vector, bf16);
      change.apply(chip.matrix, bf16);
      return;
    case MachineNumber::kMatrixRate:
      return change.apply(chip.matrix, bf16);
    case MachineNumber::kHbmBandwidth:
      return change.apply(chip.hbm_bandwidth.value);
    case MachineNumber::kHbmCapacity:
      return change.apply(chip.hbm_capacity.value);
    case MachineNumber::kPower:
      return change.apply(chip.power_w);
    case MachineNumber::kHostBandwidth:
      return change.apply(chip.host_bandwidth.value);
    case MachineNumber::kLinkBandwidth:
    case MachineNumber::kLinkLatency:
      return;
  }
}

bool is_of_links(MachineNumber number) {
  return number == MachineNumber::kLinkBandwidth || number == MachineNumber::kLinkLatency;
}

std::optional<Diagnostic> change_links(Cluster& cluster, const Knob& knob, Change& change) {
  const std::size_t levels = cluster.levels.size(), first = knob.first_level;
  if (first >= levels || knob.levels == 0 || cluster.graph) {
    return Diagnostic{ErrorCode::kUsage, cluster.name,
                      cluster.graph ? "has a graph for a network" : "has no such level",
                      cluster.graph ? "change the graph in its file"
                                    : "name a cluster of several nodes, such as \"8 x dgx-h100\""};
  }
  const std::size_t last = std::min(levels, first + knob.levels);
  for (std::size_t l = first; l < last; ++l) {
    Level& level = cluster.levels[l];
    if (level.size == 1) continue;  // joins nothing
    change.apply(knob.number == MachineNumber::kLinkLatency ? level.latency.value
                                                            : level.port_bandwidth.value);
  }
  return std::nullopt;
}

}  // namespace

UnitKind unit_of(MachineNumber number) {
  switch (number) {
    case MachineNumber::kMatrixRate:
    case MachineNumber::kRates:
      return UnitKind::kFlopsPerSecond;
    case MachineNumber::kHbmBandwidth:
    case MachineNumber::kHostBandwidth:
    case MachineNumber::kLinkBandwidth:
      return UnitKind::kBytesPerSecond;
    case MachineNumber::kHbmCapacity:
      return UnitKind::kBytes;
    case MachineNumber::kPower:
      return UnitKind::kWatts;
    case MachineNumber::kLinkLatency:
      break;
  }
  return UnitKind::kSeconds;
}

Result<Cluster> with_changed(const Cluster& cluster, const Knob& knob,
                             const QuantityChange& amount) {
  Cluster changed = cluster;
  if (!changed.nominal) changed.nominal = std::make_shared<const Cluster>(cluster);
  Change change(knob.number, amount);
  if (is_of_links(knob.number)) {
    if (auto problem = change_links(changed, knob, change)) return *problem;
  } else {
    change_chip(changed.chip, knob.number, change);
  }
  if (change.missing()) {
    return Diagnostic{ErrorCode::kUsage, cluster.name, "has no such number to change by a factor",
                      "give a value"};
  }
  if (change.wrong()) {
    return Diagnostic{ErrorCode::kUsage, cluster.name, change.wrong()->what, change.wrong()->hint};
  }
  return changed;
}

}  // namespace flopcast
