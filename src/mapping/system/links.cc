#include "mapping/system/links.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text/names.h"
#include "flopcast/base/quantity.h"
#include "mapping/system/facts.h"

namespace flopcast::mapping {
namespace {

Diagnostic usage(std::string_view what, const Diagnostic& error, std::string_view instead) {
  return {ErrorCode::kUsage, fmt::format("{} '{}'", what, error.where), error.what,
          error.hint.empty() ? std::string(instead) : error.hint};
}

/// A technology, or a bandwidth with the power and price of PCIe.
Result<InterconnectTechnology> link_of(std::string_view text, const Catalog& catalog) {
  Result<InterconnectTechnology> named = catalog.interconnect(text);
  if (named && named->bandwidth.value > 0) return named;
  const bool number = !text.empty() && text.front() >= '0' && text.front() <= '9';
  const Result<BytesPerSecond> bandwidth = parse_bandwidth(text);
  if (number && bandwidth && bandwidth->value > 0) {
    Result<InterconnectTechnology> usual = catalog.interconnect("pcie");
    if (!usual) return usual;
    usual->bandwidth = *bandwidth;
    for (Fact& fact : usual->facts) {
      if (fact.key != "bandwidth") continue;
      fact.source = "set by the user";
      fact.basis = Basis::kAssumed;
    }
    return usual;
  }
  Diagnostic error{ErrorCode::kUsage, "", fmt::format("'{}' is no link", text), ""};
  if (number && !bandwidth) error = bandwidth.error();
  if (!number && !named) error = named.error();
  error.where = text;
  return usage("link", error, "write pcie, nvlink or a bandwidth such as 50GB/s");
}

std::optional<Diagnostic> take_switch_prices(MappingSystem& system, const Catalog& catalog) {
  const Result<InterconnectTechnology> box = catalog.interconnect("switch");
  if (!box) return box.error();
  system.prices.switch_usd = box->usd_per_gbps;
  system.prices.switch_w = box->w_per_gbps;
  take_fact(system, "switch-price", box->usd_per_gbps, "USD", box->facts, "usd_per_gbps");
  return std::nullopt;
}

Result<MemoryTechnology> nearest_memory(BytesPerSecond bandwidth, const Catalog& catalog) {
  const MemoryTechnology* best = nullptr;
  const auto distance = [&](const MemoryTechnology& memory) {
    return std::abs(std::log(std::max(bandwidth.value, 1.0) / memory.bandwidth.value));
  };
  for (const MemoryTechnology& memory : catalog.memories()) {
    if (best == nullptr || distance(memory) < distance(*best)) best = &memory;
  }
  if (best == nullptr) return catalog.memory("ddr");
  return *best;
}

void take_memory_prices(MappingSystem& system, const MemoryTechnology& memory) {
  system.prices.memory_usd = memory.usd_per_gbps;
  system.prices.memory_w = memory.w_per_gbps;
  take_fact(system, "memory-price", memory.usd_per_gbps, "USD", memory.facts, "usd_per_gbps");
  take_fact(system, "memory-power", memory.w_per_gbps, "W", memory.facts, "w_per_gbps");
}

}  // namespace

std::optional<Diagnostic> set_links(MappingSystem& system, std::string_view text,
                                    const Catalog& catalog) {
  std::vector<InterconnectTechnology> links;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    Result<InterconnectTechnology> link = link_of(trim(text.substr(at, end - at)), catalog);
    if (!link) return link.error();
    links.push_back(std::move(*link));
    at = end + 1;
  }
  const std::size_t dimensions = system.dimensions.size();
  if (links.size() > dimensions) {
    return Diagnostic{ErrorCode::kUsage, fmt::format("link '{}'", text),
                      fmt::format("{} links for {} dimensions", links.size(), dimensions),
                      "give one per dimension, innermost first; the last stands for the rest"};
  }
  const Fact* reach = find_fact(links[0].facts, "reach");
  if (links.size() == 1 && reach != nullptr && static_cast<double>(dimensions) > reach->value) {
    const Result<InterconnectTechnology> outside = catalog.interconnect("pcie");
    if (!outside) return outside.error();
    links.resize(static_cast<std::size_t>(reach->value), links[0]);
    links.push_back(*outside);
  }
  system.prices.link_w.clear();
  system.prices.link_usd = links[0].usd_per_gbps;
  take_fact(system, "link-price", links[0].usd_per_gbps, "USD", links[0].facts, "usd_per_gbps");
  for (std::size_t d = 0; d < dimensions; ++d) {
    const InterconnectTechnology& link = links[std::min(d, links.size() - 1)];
    system.dimensions[d].bandwidth = link.bandwidth;
    system.prices.link_w.push_back(link.w_per_gbps);
    take_fact(system, fmt::format("link-bandwidth-{}", d), link.bandwidth.value, "B/s", link.facts,
              "bandwidth");
  }
  return take_switch_prices(system, catalog);
}

std::optional<Diagnostic> price_links(MappingSystem& system, const Catalog& catalog) {
  const Result<InterconnectTechnology> usual = catalog.interconnect("pcie");
  if (!usual) return usual.error();
  system.prices.link_usd = usual->usd_per_gbps;
  system.prices.link_w = {usual->w_per_gbps};
  note_fact(system, "link-price", usual->usd_per_gbps, "USD", "assumed: that of PCIe",
            Basis::kAssumed);
  return take_switch_prices(system, catalog);
}

std::optional<Diagnostic> set_memory_of(MappingSystem& system, std::string_view text,
                                        const Catalog& catalog) {
  const Chip& chip = system.chip;
  system.memory_bandwidth = chip.hbm_bandwidth;
  system.memory_capacity = chip.hbm_capacity;
  const Result<MemoryTechnology> named = catalog.memory(text);
  if (!text.empty() && named) {
    system.memory_bandwidth = named->bandwidth;
    system.memory_capacity = named->capacity;
    take_fact(system, "memory-bandwidth", named->bandwidth.value, "B/s", named->facts, "bandwidth");
    take_fact(system, "memory-capacity", named->capacity.value, "B", named->facts, "capacity");
    take_memory_prices(system, *named);
    return std::nullopt;
  }
  if (!text.empty()) {
    const Result<BytesPerSecond> bandwidth = parse_bandwidth(text);
    if (!bandwidth) {
      const bool number = text.front() >= '0' && text.front() <= '9';
      Diagnostic error = number ? bandwidth.error() : named.error();
      error.where = text;
      return usage("memory", error, "write ddr, hbm, 3d or a bandwidth such as 300GB/s");
    }
    system.memory_bandwidth = *bandwidth;
    note_fact(system, "memory-bandwidth", bandwidth->value, "B/s", "set by the user",
              Basis::kAssumed);
  } else {
    take_fact(system, "memory-bandwidth", chip.hbm_bandwidth.value, "B/s", chip.facts,
              "hbm_bandwidth");
  }
  if (chip.hbm_capacity.value > 0) {
    take_fact(system, "memory-capacity", chip.hbm_capacity.value, "B", chip.facts, "hbm_capacity");
  } else {
    note_fact(system, "memory-capacity", 0, "B", "not known: no limit", Basis::kAssumed);
  }
  const Result<MemoryTechnology> nearest = nearest_memory(system.memory_bandwidth, catalog);
  if (!nearest) return nearest.error();
  take_memory_prices(system, *nearest);
  return std::nullopt;
}

}  // namespace flopcast::mapping
