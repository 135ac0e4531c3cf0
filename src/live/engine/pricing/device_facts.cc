#include "live/engine/pricing/device_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "base/text/toml_file.h"
#include "catalog_files.h"
#include "flopcast/hardware/capability.h"

namespace flopcast::live {
namespace {

/// What programs see of memory where the catalogue does not say: the rest is the firmware's.
constexpr double kVisibleShare = 0.988;

/// Of what is none of these.
constexpr double kOtherCapability = 8.0;

/// catalog/live/devices.toml. Compiled in: a number that it lacks is not known.
const toml::table& device_table() {
  static const toml::table table = [] {
    constexpr std::string_view kFile = "live/devices.toml";
    for (const CatalogFile& file : catalog_files()) {
      if (file.path != kFile) continue;
      if (auto read = parse_toml(file.text, "catalog/" + std::string(kFile), false))
        return std::move(read->root);
    }
    return toml::table();
  }();
  return table;
}

double number_at(const toml::node_view<const toml::node>& at) { return at.value_or(0.0); }
std::uint32_t whole(double value) { return static_cast<std::uint32_t>(std::lround(value)); }

std::optional<double> fact_of(const Chip& chip, std::string_view key) {
  for (const Fact& fact : chip.facts) {
    if (fact.key == key) return fact.value;
  }
  return std::nullopt;
}

/// A device of so much memory counts it in whole pages.
std::uint64_t in_pages(double bytes) {
  constexpr std::uint64_t kPage = 2 << 20;
  return static_cast<std::uint64_t>(bytes) / kPage * kPage;
}

std::uint32_t tenths_of_capability(const Chip& chip) {
  return whole(compute_capability(chip).value_or(kOtherCapability) * 10);
}
/// Cores of a multiprocessor that multiply and add numbers of 32 bits.
std::uint32_t lanes_of(const Chip& chip) {
  const std::uint32_t tenths = tenths_of_capability(chip);
  return whole(number_at(device_table()["lanes"][fmt::format("{}.{}", tenths / 10, tenths % 10)]));
}

}  // namespace

/// A core does a multiply-add a cycle where the published rate of fp32 is reached. Where nobody published that, the clock of
/// the matrix units. Published rates are rounded, and clocks go in steps of 15 MHz.
double highest_hertz(const Chip& chip) {
  constexpr double kStep = 15e6;
  const double rate = chip.vector_rate(DataType::kFp32).value;
  const double cores = static_cast<double>(lanes_of(chip)) * chip.cores;
  return rate > 0 && cores > 0 ? std::round(rate / (2 * cores) / kStep) * kStep : chip.tiles.hertz;
}

DeviceFacts device_facts(const Chip& chip) {
  DeviceFacts facts;
  // As NVIDIA's own libraries name it, where the catalogue knows that.
  const auto own = std::find_if(chip.aliases.begin(), chip.aliases.end(), [](const auto& alias) {
    return alias.starts_with("NVIDIA ") || alias.starts_with("Tesla ");
  });
  const std::string& name = own != chip.aliases.end() ? *own : chip.name;
  name.copy(facts.name, sizeof facts.name - 1);
  facts.memory_bytes =
      in_pages(chip.hbm_capacity.value * fact_of(chip, "visible_share").value_or(kVisibleShare));
  facts.l2_bytes = static_cast<std::uint64_t>(chip.on_chip_memory.value);
  facts.cores = chip.cores;
  const std::uint32_t tenths = tenths_of_capability(chip);
  facts.major = tenths / 10;
  facts.minor = tenths % 10;
  facts.lanes = lanes_of(chip);
  facts.clock_khz = whole(highest_hertz(chip) / 1000);
  const toml::table& table = device_table();
  const auto assumed = table["assumed"];
  facts.power_mw = whole(chip.power_w * 1000);
  facts.idle_mw = whole(facts.power_mw * number_at(assumed["idle_power_share"]));
  facts.cool_c = whole(number_at(assumed["idle_celsius"]));
  facts.warm_c = whole(number_at(assumed["rated_celsius"]));
  const auto pcie = table["pcie"][chip.host_link];
  facts.pcie_generation = whole(number_at(pcie[0]));
  facts.pcie_lanes = whole(number_at(pcie[1]));
  return facts;
}

DeviceFacts device_facts(const Cluster& cluster, const Catalog& catalog) {
  DeviceFacts facts = device_facts(cluster.chip);
  const Level& level = cluster.levels.front();
  const Result<Link> link = catalog.link(level.link);
  const bool joined = cluster.node_levels > 0 && level.size > 1;
  if (!link || !joined || level.transport != Transport::kNvlink) return facts;
  facts.nvlinks = whole(level.child_bandwidth().value / link->bandwidth.value);
  facts.nvlink_version = whole(number_at(device_table()["nvlink_version"][link->name]));
  facts.nvlink_switch = level.fabric == FabricKind::kSwitch ? 1 : 0;
  facts.nvlink_group = level.size;
  facts.nvlink_mbs = whole(link->bandwidth.value / 1e6);
  return facts;
}

}  // namespace flopcast::live
