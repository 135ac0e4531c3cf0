// A system from its text, the catalogue and what is changed.
#include <fmt/format.h>

#include "base/text/names.h"
#include "flopcast/base/quantity.h"
#include "flopcast/mapping.h"
#include "mapping/system/facts.h"
#include "mapping/system/head.h"
#include "mapping/system/links.h"
#include "mapping/system/topology.h"

namespace flopcast {
namespace {

using namespace mapping;

Diagnostic usage(const MappingSystem& system, std::string what, std::string hint) {
  return {ErrorCode::kUsage, system.name, std::move(what), std::move(hint)};
}

/// @return whether the dimensions have their bandwidths.
Result<bool> set_dimensions_of(MappingSystem& system, const SystemHead& head,
                               const std::string& topology) {
  if (topology.empty() && head.cluster && head.cluster->chips() > 1) {
    system.dimensions = level_dimensions(*head.cluster);
    return true;
  }
  if (topology.empty()) {
    const unsigned count = std::max(head.count, 1U);
    system.dimensions = {{DimensionKind::kSwitch, count, {}, {}}};
    note_fact(system, "topology", count, "", "assumed: all on one switch", Basis::kAssumed);
    return false;
  }
  Result<std::vector<NetworkDimension>> dimensions = parse_topology(topology);
  if (!dimensions) return dimensions.error();
  system.dimensions = std::move(*dimensions);
  if (head.count != 0 && system.chips() != head.count) {
    return usage(system,
                 fmt::format("topology {} has {} chips, {} are asked for", topology, system.chips(),
                             head.count),
                 fmt::format("make its sizes multiply to {}", head.count));
  }
  if (head.bare || !head.cluster) return false;
  take_links_of(*head.cluster, system.dimensions);
  return true;
}

void note_dimensions(MappingSystem& system, const SystemHead& head) {
  const std::string source = fmt::format("levels of {}", head.cluster->name);
  for (std::size_t d = 0; d < system.dimensions.size(); ++d) {
    const NetworkDimension& dimension = system.dimensions[d];
    note_fact(system, fmt::format("link-bandwidth-{}", d), dimension.bandwidth.value, "B/s", source,
              Basis::kRoofline);
    note_fact(system, fmt::format("link-latency-{}", d), dimension.latency.value, "s", source,
              Basis::kRoofline);
  }
}

std::optional<Diagnostic> set_network(MappingSystem& system, const SystemHead& head,
                                      const SystemOptions& options, const Catalog& catalog) {
  const Result<bool> known = set_dimensions_of(system, head, options.topology);
  if (!known) return known.error();
  if (*known) note_dimensions(system, head);
  if (!options.link.empty()) return set_links(system, options.link, catalog);
  if (*known) return price_links(system, catalog);
  if (auto error = set_links(system, "pcie", catalog)) return error;
  for (std::size_t d = 0; d < system.dimensions.size(); ++d) {
    note_fact(system, fmt::format("link-bandwidth-{}", d), system.dimensions[d].bandwidth.value,
              "B/s", "assumed: PCIe", Basis::kAssumed);
  }
  return std::nullopt;
}

/// The rate at this precision; of a chip that has only the other 16-bit format, at that.
void set_peak(MappingSystem& system, DataType precision) {
  const auto take = [&system](DataType type) {
    system.peak = system.chip.matrix_rate(type);
    take_fact(system, "peak", system.peak.value, "FLOP/s", system.chip.facts,
              fmt::format("matrix.{}", name(type)));
  };
  take(precision);
  if (system.peak.value > 0) return;
  if (precision == DataType::kBf16) take(DataType::kFp16);
  if (precision == DataType::kFp16) take(DataType::kBf16);
}

/// Price or power as the catalogue has it, else `fit`; nothing where the user has set it.
void take_or_fit(MappingSystem& system, const char* key, double& value, const char* unit,
                 const char* known_as, double fit) {
  const Fact* fact = mapping::find_fact(system.facts, key);
  if (fact == nullptr && value > 0) {
    take_fact(system, key, value, unit, system.chip.facts, known_as);
  } else if (fact == nullptr || fact->basis == Basis::kFitted) {
    value = fit;
    note_fact(system, key, fit, unit,
              "quadratic fit over the peaks of the chips published with DFModel", Basis::kFitted);
  }
}

/// Chips whose price or power is not public get those of a fit over the four chips that DFModel
/// publishes: power as in its figure 9, the sign of the linear term corrected.
void fit_price_and_power(MappingSystem& system) {
  const double tera = system.peak.value / 1e12;
  Chip& chip = system.chip;
  take_or_fit(system, "chip-price", chip.price_usd, "USD", "price_usd",
              (0.05789 * tera - 33.72) * tera + 11380);
  take_or_fit(system, "chip-power", chip.power_w, "W", "power_w",
              1e3 * ((3.025e-7 * tera + 4.232e-4) * tera + 0.04438));
}

std::optional<Diagnostic> apply_changes(MappingSystem& system,
                                        const std::vector<std::string>& changes) {
  for (const std::string& change : changes) {
    const std::size_t equals = std::min(change.find('='), change.size());
    if (equals >= change.size()) {
      return usage(system, fmt::format("expected NAME=VALUE, found '{}'", change),
                   "write it like sram=640MB or memory-bandwidth=2x");
    }
    const std::string_view text = change;
    const Result<bool> done =
        set_system(system, trim(text.substr(0, equals)), trim(text.substr(equals + 1)));
    if (!done) return done.error();
  }
  return std::nullopt;
}

/// What no mapping can do without.
std::optional<Diagnostic> check_system(const MappingSystem& system, DataType precision) {
  const std::string& chip = system.chip.name;
  if (system.peak.value <= 0) {
    return usage(system, fmt::format("{} has no rate for {}", chip, name(precision)),
                 "choose another precision, or set peak, such as peak=300TFLOP/s");
  }
  if (system.sram.value <= 0) {
    return usage(system, fmt::format("the SRAM of {} is not known", chip),
                 "set it, such as sram=64MB");
  }
  if (system.memory_bandwidth.value <= 0) {
    return usage(system, fmt::format("{} comes without memory", chip),
                 "name one: ddr, hbm, 3d or a bandwidth such as 300GB/s");
  }
  return std::nullopt;
}

}  // namespace

Result<MappingSystem> mapping_system(std::string_view text, const SystemOptions& options,
                                     const Catalog& catalog) {
  Result<SystemHead> head = read_system_head(text, catalog);
  if (!head) return head.error();
  MappingSystem system;
  system.name = trim(text);
  system.chip = head->chip;
  system.kernel_by_kernel = system.chip.architecture != "rdu" && system.chip.architecture != "wse";
  system.sram = system.chip.on_chip_memory;
  take_fact(system, "sram", system.sram.value, "B", system.chip.facts, "on_chip_memory");
  set_peak(system, options.precision);
  if (auto error = set_network(system, *head, options, catalog)) return *error;
  if (auto error = set_memory_of(system, options.memory, catalog)) return *error;
  fit_price_and_power(system);
  if (auto error = apply_changes(system, options.changes)) return *error;
  if (auto error = check_system(system, options.precision)) return *error;
  fit_price_and_power(system);  // of the peak as it is now
  return system;
}

}  // namespace flopcast
