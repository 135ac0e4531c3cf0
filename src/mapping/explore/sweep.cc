// Sweeps from text.
#include <fmt/format.h>

#include "base/text/names.h"
#include "base/text/numbers.h"
#include "base/text/sweep.h"
#include "flopcast/mapping/explore.h"
#include "mapping/explore/names.h"
#include "mapping/system/links.h"
#include "mapping/system/topology.h"

namespace flopcast {

using namespace mapping;  // the room's own names

namespace {

using mapping::SweepKind;
using mapping::SweepName;

constexpr std::size_t kMostPoints = 100'000;
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
  const std::optional<SweepText> sweep = split_sweep(text);
  const std::string_view given = sweep ? sweep->name : trim(text);
  const std::optional<SweepName> name = mapping::find_sweep_name(given);
  if (!name || !sweep) {
    const std::vector<std::string> names = explore_names();
    return usage_error(
        text,
        name ? std::string("the values are missing")
             : fmt::format("nothing that can be swept is called '{}'", given),
        did_you_mean(given, names, fmt::format("known are {}", fmt::join(names, ", "))));
  }
  const SweepRule rule{name->name, name->kind != SweepKind::kWord, name->unit,
                       [&](std::string_view value) { return check_value(*name, value); }};
  Result<std::vector<std::string>> values = sweep_values(*sweep, rule);
  if (!values) return values.error();
  return ExploreAxis{name->name, std::move(*values)};
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
