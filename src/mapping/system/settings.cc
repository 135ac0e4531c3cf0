// Settings of a system by name: what `--set` and sweeps change.
#include <fmt/format.h>

#include <cmath>

#include "base/text/names.h"
#include "base/text/numbers.h"
#include "base/text/setting.h"
#include "flopcast/base/quantity.h"
#include "flopcast/mapping.h"
#include "mapping/system/facts.h"
#include "mapping/system/settings.h"

namespace flopcast {

using namespace mapping;  // the room's own names

namespace {

using mapping::note_fact;

struct Scalar {
  std::string_view name;
  UnitKind unit;
  bool may_be_zero;  ///< no limit, no price
  double& (*field)(MappingSystem&);
};
constexpr Scalar kScalars[] = {
    {"sram", UnitKind::kBytes, false, [](MappingSystem& s) -> double& { return s.sram.value; }},
    {"peak", UnitKind::kFlopsPerSecond, false,
     [](MappingSystem& s) -> double& { return s.peak.value; }},
    {"memory-bandwidth", UnitKind::kBytesPerSecond, false,
     [](MappingSystem& s) -> double& { return s.memory_bandwidth.value; }},
    {"memory-capacity", UnitKind::kBytes, true,
     [](MappingSystem& s) -> double& { return s.memory_capacity.value; }},
    {"chip-price", UnitKind::kDollars, true,
     [](MappingSystem& s) -> double& { return s.chip.price_usd; }},
    {"chip-power", UnitKind::kWatts, true,
     [](MappingSystem& s) -> double& { return s.chip.power_w; }},
    {"memory-price", UnitKind::kDollars, true,
     [](MappingSystem& s) -> double& { return s.prices.memory_usd; }},
    {"memory-power", UnitKind::kWatts, true,
     [](MappingSystem& s) -> double& { return s.prices.memory_w; }},
    {"link-price", UnitKind::kDollars, true,
     [](MappingSystem& s) -> double& { return s.prices.link_usd; }},
    {"switch-price", UnitKind::kDollars, true,
     [](MappingSystem& s) -> double& { return s.prices.switch_usd; }},
    {"switch-power", UnitKind::kWatts, true,
     [](MappingSystem& s) -> double& { return s.prices.switch_w; }},
    {"tile-frequency", UnitKind::kHertz, false,
     [](MappingSystem& s) -> double& { return s.chip.tiles.hertz; }},
};

struct TileCount {
  std::string_view name;
  unsigned TileArray::*field;
};
constexpr TileCount kTileCounts[] = {
    {"tiles", &TileArray::count},
    {"tile-width", &TileArray::width},
    {"tile-height", &TileArray::height},
};

struct DimensionSetting {
  std::string_view name;
  UnitKind unit;
  bool may_be_zero;
  double& (*field)(NetworkDimension&);
};
constexpr DimensionSetting kDimensionSettings[] = {
    {"link-bandwidth", UnitKind::kBytesPerSecond, false,
     [](NetworkDimension& d) -> double& { return d.bandwidth.value; }},
    {"link-latency", UnitKind::kSeconds, true,
     [](NetworkDimension& d) -> double& { return d.latency.value; }},
};
constexpr std::string_view kStyle = "kernel-by-kernel";

/// A factor of what is not known stays unknown.
Result<double> changed(std::string_view setting, std::string_view value, UnitKind unit,
                       bool may_be_zero, double now) {
  if (may_be_zero) {
    const Result<double> plain = parse_quantity(value, unit);
    if (plain && *plain == 0) return 0;
  }
  const Result<QuantityChange> change = parse_change(value, unit);
  if (!change) return usage_error(setting, change.error().what, change.error().hint);
  if (change->factor && now <= 0) {
    return usage_error(setting, fmt::format("'{}' of a number that is not known", value),
                       "give a value instead of a factor");
  }
  return change->of(now);
}

void note_change(MappingSystem& system, std::string_view setting, double value, UnitKind unit) {
  note_fact(system, std::string(setting), value, unit_name(unit), "set by the user",
            Basis::kAssumed);
}

/// A chip's peak and the clock of its tiles go together.
Result<bool> set_scalar(MappingSystem& system, const Scalar& scalar, std::string_view value) {
  double& field = scalar.field(system);
  const double before = field;
  const Result<double> now = changed(scalar.name, value, scalar.unit, scalar.may_be_zero, before);
  if (!now) return now.error();
  field = *now;
  note_change(system, scalar.name, *now, scalar.unit);
  if (before <= 0) return true;
  if (&field == &system.peak.value) system.chip.tiles.hertz *= *now / before;
  if (&field == &system.chip.tiles.hertz) system.peak *= *now / before;
  return true;
}

Result<bool> set_tiles(MappingSystem& system, const TileCount& setting, std::string_view value) {
  unsigned& field = system.chip.tiles.*setting.field;
  if (system.chip.tiles.count == 0) {
    return usage_error(setting.name, fmt::format("the tiles of {} are not known", system.chip.name),
                       "name a chip with tiles (flopcast hw show CHIP)");
  }
  const Result<double> now = changed(setting.name, value, UnitKind::kNone, false, field);
  if (!now) return now.error();
  constexpr double kMost = 1 << 24;
  const double whole = std::round(*now);
  if (whole < 1 || whole > kMost || std::abs(whole - *now) > 1e-9 * whole) {
    return usage_error(setting.name, fmt::format("expected a whole number, found '{}'", value),
                       "give a number from 1 to 16777216");
  }
  system.peak *= whole / field;
  field = static_cast<unsigned>(whole);
  note_change(system, setting.name, whole, UnitKind::kNone);
  return true;
}

/// @param which one dimension, counted from 0, or all
Result<bool> set_dimensions(MappingSystem& system, const DimensionSetting& setting,
                            std::optional<std::size_t> which, std::string_view value) {
  if (which && *which >= system.dimensions.size()) {
    return usage_error(
        setting.name, fmt::format("there is no dimension {}", *which),
        fmt::format("the network has dimensions 0 to {}", system.dimensions.size() - 1));
  }
  std::vector<double> values;
  for (NetworkDimension& dimension : system.dimensions) {
    const Result<double> now =
        changed(setting.name, value, setting.unit, setting.may_be_zero, setting.field(dimension));
    const bool meant = !which || values.size() == *which;
    if (!now && meant) return now.error();
    values.push_back(meant ? *now : setting.field(dimension));
  }
  for (std::size_t d = 0; d < values.size(); ++d) {
    if (which && *which != d) continue;
    setting.field(system.dimensions[d]) = values[d];
    note_change(system, fmt::format("{}-{}", setting.name, d), values[d], setting.unit);
  }
  return true;
}

/// The digits of "link-bandwidth-1" after its name; nothing where it is another name.
std::optional<std::size_t> dimension_of(std::string_view setting, std::string_view name) {
  if (!setting.starts_with(name) || setting.size() < name.size() + 2) return std::nullopt;
  if (setting[name.size()] != '-') return std::nullopt;
  return parse_whole<std::size_t>(setting.substr(name.size() + 1));
}

Result<bool> set_style(MappingSystem& system, std::string_view value) {
  Setting setting;
  setting.key = std::string(kStyle);
  setting.value = std::string(value);
  const Result<bool> flag = setting_flag(setting);
  if (!flag) return usage_error(kStyle, flag.error().what, flag.error().hint);
  system.kernel_by_kernel = *flag;
  note_change(system, kStyle, *flag ? 1 : 0, UnitKind::kNone);
  return true;
}

}  // namespace

std::optional<UnitKind> mapping::setting_unit(std::string_view setting) {
  for (const Scalar& scalar : kScalars) {
    if (scalar.name == setting) return scalar.unit;
  }
  for (const TileCount& count : kTileCounts) {
    if (count.name == setting) return UnitKind::kNone;
  }
  for (const DimensionSetting& known : kDimensionSettings) {
    if (known.name == setting || dimension_of(setting, known.name)) return known.unit;
  }
  return std::nullopt;
}

std::vector<std::string> system_settings() {
  std::vector<std::string> names;
  for (const Scalar& scalar : kScalars) names.emplace_back(scalar.name);
  for (const TileCount& count : kTileCounts) names.emplace_back(count.name);
  for (const DimensionSetting& setting : kDimensionSettings) names.emplace_back(setting.name);
  names.emplace_back(kStyle);
  return names;
}

Result<bool> set_system(MappingSystem& system, std::string_view setting, std::string_view value) {
  for (const Scalar& scalar : kScalars) {
    if (scalar.name == setting) return set_scalar(system, scalar, value);
  }
  for (const TileCount& count : kTileCounts) {
    if (count.name == setting) return set_tiles(system, count, value);
  }
  for (const DimensionSetting& known : kDimensionSettings) {
    if (known.name == setting) return set_dimensions(system, known, std::nullopt, value);
    if (const auto which = dimension_of(setting, known.name)) {
      return set_dimensions(system, known, which, value);
    }
  }
  if (setting == kStyle) return set_style(system, value);
  const std::vector<std::string> names = system_settings();
  return usage_error(
      setting, fmt::format("a system has no '{}'", setting),
      did_you_mean(setting, names, fmt::format("known are {}", fmt::join(names, ", "))));
}

}  // namespace flopcast
