// Sweeps from text.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text/names.h"
#include "base/text/numbers.h"
#include "flopcast/mapping/explore.h"
#include "mapping/explore/names.h"
#include "mapping/system/links.h"
#include "mapping/system/topology.h"

namespace flopcast {

using namespace mapping;  // the room's own names

namespace {

using mapping::SweepKind;
using mapping::SweepName;

constexpr std::size_t kMostValues = 1000, kMostPoints = 100'000;
constexpr std::int64_t kLargestCount = std::int64_t{1} << 40;

// --- Values ---------------------------------------------------------------------------------------

std::optional<Diagnostic> check_word(const SweepName& name, std::string_view value) {
  if (value.empty())
    return usage_error(name.name, "a value is missing", "write it like memory=ddr,hbm");
  if (name.name == "topology") {
    const auto dimensions = mapping::parse_topology(mapping::with_commas(value));
    if (!dimensions) return dimensions.error();
  }
  if (name.name == "overlap" && !mapping::parse_overlap(value)) {
    return usage_error(name.name, fmt::format("no overlap is called '{}'", value),
                       "write perfect, compute-memory or none");
  }
  if (name.name == "mode" && !mapping::parse_mode(value)) {
    return usage_error(name.name, fmt::format("no mode is called '{}'", value),
                       "write full or paper");
  }
  if (name.name == "kernel-by-kernel" && value != "yes" && value != "no") {
    return usage_error(name.name, fmt::format("expected yes or no, found '{}'", value),
                       "write kernel-by-kernel=yes,no");
  }
  return std::nullopt;
}

std::optional<Diagnostic> check_value(const SweepName& name, std::string_view value) {
  if (name.kind == SweepKind::kWord) return check_word(name, value);
  if (name.kind == SweepKind::kCount) {
    const std::optional<std::int64_t> count = parse_whole(value);
    if (count && *count >= 1 && *count <= kLargestCount) return std::nullopt;
    return usage_error(name.name, fmt::format("expected a whole number, found '{}'", value),
                       fmt::format("write it like {0}=8 or {0}=1..64", name.name));
  }
  if (name.kind == SweepKind::kShare) {
    const Result<double> share = parse_quantity(value, UnitKind::kNone);
    if (share && *share <= 1) return std::nullopt;
    return usage_error(name.name, fmt::format("expected a share, found '{}'", value),
                       "write a number from 0 (cycles of the tiles) to 1");
  }
  const Result<QuantityChange> change = parse_change(value, name.unit);
  if (change) return std::nullopt;
  return usage_error(name.name, change.error().what, change.error().hint);
}

// --- Ranges ---------------------------------------------------------------------------------------

/// "150MB": the number, and what follows it.
std::string_view suffix_of(std::string_view text) {
  std::size_t end = text.find_last_of("0123456789.");
  end = end == std::string_view::npos ? 0 : end + 1;
  return text.substr(end);
}

/// Every bound in the unit that the values are to be written in.
class RangeUnit {
 public:
  RangeUnit(const SweepName& name, std::string_view suffix) : suffix_(suffix) {
    factor_ = suffix == "x";
    unit_ = name.kind == SweepKind::kQuantity && !factor_ ? name.unit : UnitKind::kNone;
    const Result<double> one = parse_quantity(fmt::format("1{}", factor_ ? "" : suffix), unit_);
    if (one) scale_ = *one;
  }
  std::optional<double> read(std::string_view text) const {
    if (factor_ && text.ends_with('x')) text.remove_suffix(1);
    if (suffix_of(text).empty() && !factor_) return number(fmt::format("{}{}", text, suffix_));
    return number(text);
  }
  std::string write(double value) const {
    constexpr double kDigits = 1e15;  // whole numbers keep all of theirs
    const bool whole = value == std::floor(value) && value < kDigits;
    return whole ? fmt::format("{:.0f}{}", value, suffix_)
                 : fmt::format("{:.12g}{}", value, suffix_);
  }

 private:
  std::optional<double> number(std::string_view text) const {
    const Result<double> value = parse_quantity(text, unit_);
    if (!value || scale_ <= 0) return std::nullopt;
    return *value / scale_;
  }
  std::string suffix_;
  UnitKind unit_ = UnitKind::kNone;
  double scale_ = 0;
  bool factor_ = false;
};

Result<std::vector<std::string>> range_values(const SweepName& name, std::string_view text) {
  const std::size_t dots = text.find("..");
  const std::string_view low = trim(text.substr(0, dots));
  std::string_view high = text.substr(dots + 2), step;
  if (const std::size_t colon = high.find(':'); colon != std::string_view::npos) {
    step = trim(high.substr(colon + 1));
    high = high.substr(0, colon);
  }
  high = trim(high);
  const RangeUnit unit(name, suffix_of(low).empty() ? suffix_of(high) : suffix_of(low));
  const auto from = unit.read(low), to = unit.read(high);
  const bool doubled = text.find(':') == std::string_view::npos;
  const auto by = doubled ? std::optional(1.0) : unit.read(step);
  if (!from || !to || !by || *from <= 0 || *to < *from || *by <= 0) {
    return usage_error(name.name, fmt::format("'{}' is no range", text),
                       "write it like 64..1024 (doubling) or 150MB..500MB:50MB");
  }
  std::vector<std::string> values;
  constexpr double kRounding = 1e-9;
  double value = *from;
  while (value <= *to * (1 + kRounding)) {
    values.push_back(unit.write(value));
    if (values.size() > kMostValues) {
      return usage_error(name.name, "has more than 1,000 values", "take a larger step");
    }
    value = doubled ? value * 2 : *from + *by * static_cast<double>(values.size());
  }
  return values;
}

std::optional<Diagnostic> add_values(ExploreAxis& axis, const SweepName& name,
                                     std::string_view text) {
  std::vector<std::string> values = {std::string(text)};
  if (name.kind != SweepKind::kWord && text.find("..") != std::string_view::npos) {
    Result<std::vector<std::string>> range = range_values(name, text);
    if (!range) return range.error();
    values = std::move(*range);
  }
  for (std::string& value : values) {
    if (auto error = check_value(name, value)) return error;
    const bool known =
        std::find(axis.values.begin(), axis.values.end(), value) != axis.values.end();
    if (!known) axis.values.push_back(std::move(value));
    if (axis.values.size() > kMostValues) {
      return usage_error(name.name, "has more than 1,000 values", "take fewer");
    }
  }
  return std::nullopt;
}

// --- What only the catalogue knows ----------------------------------------------------------------

std::optional<Diagnostic> check_named(const ExploreAxis& axis, const Catalog& catalog) {
  constexpr std::size_t kEnough = 8;  // dimensions for any list of links
  for (const std::string& value : axis.values) {
    std::optional<Diagnostic> error;
    MappingSystem any;
    any.dimensions.resize(kEnough);
    if (axis.name == "chip") {
      if (const auto chip = catalog.chip(value); !chip) error = chip.error();
    } else if (axis.name == "workload") {
      if (const auto workload = load_dataflow(value); !workload) error = workload.error();
    } else if (axis.name == "memory") {
      error = mapping::set_memory_of(any, value, catalog);
    } else if (axis.name == "link") {
      error = mapping::set_links(any, mapping::with_commas(value), catalog);
    }
    if (!error) continue;
    error->code = ErrorCode::kUsage;
    if (error->where.empty()) error->where = axis.name;
    return error;
  }
  return std::nullopt;
}

}  // namespace

Result<ExploreAxis> parse_explore_sweep(std::string_view text) {
  const std::size_t equals = std::min(text.find('='), text.size());
  const std::string_view given = trim(text.substr(0, equals));
  const std::optional<SweepName> name = mapping::find_sweep_name(given);
  if (!name || equals >= text.size()) {
    const std::vector<std::string> names = explore_names();
    return usage_error(
        text,
        name ? std::string("the values are missing")
             : fmt::format("nothing that can be swept is called '{}'", given),
        did_you_mean(given, names, fmt::format("known are {}", fmt::join(names, ", "))));
  }
  ExploreAxis axis{name->name, {}};
  for (std::size_t at = equals + 1; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    if (auto error = add_values(axis, *name, trim(text.substr(at, end - at)))) return *error;
    at = end + 1;
  }
  return axis;
}

Result<std::vector<ExploreAxis>> explore_axes(const std::vector<std::string>& sweeps,
                                              const Catalog& catalog) {
  std::vector<ExploreAxis> axes;
  for (const std::string& text : sweeps) {
    Result<ExploreAxis> axis = parse_explore_sweep(text);
    if (!axis) return axis.error();
    if (auto error = check_named(*axis, catalog)) return *error;
    for (const ExploreAxis& known : axes) {
      if (known.name != axis->name) continue;
      return usage_error(text, fmt::format("{} is swept already", axis->name),
                         "name its values in one sweep");
    }
    axes.push_back(std::move(*axis));
    if (explore_points(axes) > kMostPoints) {
      return usage_error(text, "makes more than 100,000 points", "sweep fewer values");
    }
  }
  return axes;
}

std::size_t explore_points(std::span<const ExploreAxis> axes) {
  std::size_t points = 1;
  for (const ExploreAxis& axis : axes) points *= axis.values.size();
  return points;
}

std::vector<std::string> explore_values(std::span<const ExploreAxis> axes, std::size_t point) {
  std::vector<std::string> values(axes.size());
  for (std::size_t i = axes.size(); i-- > 0;) {
    values[i] = axes[i].values[point % axes[i].values.size()];
    point /= axes[i].values.size();
  }
  return values;
}

}  // namespace flopcast
