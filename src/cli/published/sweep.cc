#include "cli/published/sweep.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "base/text/sweep.h"
#include "cli/published/case.h"
#include "flopcast/base/quantity.h"

namespace flopcast::cli {
namespace {

constexpr std::size_t kMostCells = 1'000'000;
// Whole numbers up to here are exact in a double.
constexpr double kMostWhole = 0x1p52;

using Problem = std::optional<Diagnostic>;

/// Something a sweep can set, from text or from a number.
struct Axis {
  std::string_view name;
  UnitKind unit = UnitKind::kNone;
  Problem (*from_text)(PaperCell&, std::string_view) = nullptr;
  void (*from_number)(PaperCell&, double) = nullptr;
  bool whole = true;
  bool degree = false;  ///< of the plan: may be fixed by --must
};

template <typename T, typename Read>
Problem assign(T& target, std::string_view text, Read read) {
  auto value = read(text);
  if (!value) return value.error();
  target = std::move(*value);
  return std::nullopt;
}

std::int64_t integer(double value) { return static_cast<std::int64_t>(value); }

constexpr Axis degree_axis(std::string_view name, void (*set)(PaperCell&, double)) {
  return {name, UnitKind::kNone, nullptr, set, true, true};
}
constexpr Axis rate_axis(std::string_view name, UnitKind unit, void (*set)(PaperCell&, double)) {
  return {name, unit, nullptr, set, false, false};
}

// In the order in which they are applied: a system brings its own domain and rates.
using C = PaperCell;
constexpr std::array<Axis, 23> kAxes = {{
    {"model", UnitKind::kNone,
     [](C& c, std::string_view t) { return assign(c.c.model, t, paper_model); }},
    {"system", UnitKind::kNone,
     [](C& c, std::string_view t) { return assign(c.c.system, t, paper_system); }},
    {"strategy", UnitKind::kNone,
     [](C& c, std::string_view t) { return assign(c.c.strategy, t, paper_strategy); }},
    {"chips", UnitKind::kNone, nullptr, [](C& c, double v) { c.gpus = integer(v); }},
    {"global_batch", UnitKind::kNone, nullptr,
     [](C& c, double v) { c.c.global_batch = integer(v); }},
    {"domain", UnitKind::kNone, nullptr,
     [](C& c, double v) {
       PaperSystem& system = c.c.system;
       system.domain = integer(v);
       system.name =
           fmt::format("{}-NVS{}", system.name.substr(0, system.name.rfind("-NVS")), system.domain);
     }},
    rate_axis("hbm_capacity", UnitKind::kBytes,
              [](C& c, double v) { c.c.system.hbm_capacity = {v}; }),
    rate_axis("hbm_bandwidth", UnitKind::kBytesPerSecond,
              [](C& c, double v) { c.c.system.hbm_bandwidth = {v}; }),
    rate_axis("matrix", UnitKind::kFlopsPerSecond, [](C& c, double v) { c.c.system.matrix = {v}; }),
    rate_axis("vector", UnitKind::kFlopsPerSecond, [](C& c, double v) { c.c.system.vector = {v}; }),
    rate_axis("nvlink", UnitKind::kBytesPerSecond,
              [](C& c, double v) { c.c.system.nvlink.bandwidth = {v}; }),
    rate_axis("infiniband", UnitKind::kBytesPerSecond,
              [](C& c, double v) { c.c.system.infiniband.bandwidth = {v}; }),
    rate_axis("nics", UnitKind::kNone, [](C& c, double v) { c.c.system.nics_per_gpu = v; }),
    degree_axis("tp", [](C& c, double v) { c.options.fixed.tp1 = integer(v); }),
    degree_axis("tp2", [](C& c, double v) { c.options.fixed.tp2 = integer(v); }),
    degree_axis("pp", [](C& c, double v) { c.options.fixed.pp = integer(v); }),
    degree_axis("dp", [](C& c, double v) { c.options.fixed.dp = integer(v); }),
    degree_axis("micro_batch", [](C& c, double v) { c.options.microbatch = integer(v); }),
    degree_axis("panels", [](C& c, double v) { c.options.panels = integer(v); }),
    degree_axis("domain_tp", [](C& c, double v) { c.options.fixed_domain.tp1 = integer(v); }),
    degree_axis("domain_tp2", [](C& c, double v) { c.options.fixed_domain.tp2 = integer(v); }),
    degree_axis("domain_pp", [](C& c, double v) { c.options.fixed_domain.pp = integer(v); }),
    degree_axis("domain_dp", [](C& c, double v) { c.options.fixed_domain.dp = integer(v); }),
}};

// What full mode and others call the same.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kAliases = {
    {{"n", "chips"},
     {"gpus", "chips"},
     {"chip", "system"},
     {"node_size", "domain"},
     {"matrix_rate", "matrix"},
     {"vector_rate", "vector"},
     {"microbatch", "micro_batch"}}};

/// "name=value,value" with more of the kind behind a comma.
struct Setting {
  const Axis* axis = nullptr;
  std::vector<std::string_view> values;
};

Result<const Axis*> axis_of(std::string_view text, std::string_view name, bool degrees_alone) {
  std::vector<std::string_view> known;
  std::string plain(name);
  std::ranges::replace(plain, '-', '_');
  for (const auto& [alias, meant] : kAliases) {
    if (plain == alias) plain = meant;
  }
  for (const Axis& axis : kAxes) {
    if (degrees_alone && !axis.degree) continue;
    if (axis.name == plain) return &axis;
    known.push_back(axis.name);
  }
  return usage_error(text, fmt::format("paper mode knows no '{}'", name),
                     fmt::format("NAME=VALUE with one of {}", fmt::join(known, ", ")));
}

/// One text may hold several: "domain=4,8,chips=64..512".
Result<std::vector<Setting>> settings_of(const std::vector<std::string>& texts,
                                         bool degrees_alone) {
  std::vector<Setting> settings;
  for (const std::string& text : texts) {
    if (text.empty()) continue;
    std::optional<SweepText> sweep = split_sweep(text);
    if (!sweep) return usage_error(text, "expected NAME=VALUE,...", "pp=4");
    if (text.ends_with(',')) sweep->values.pop_back();
    const auto begin = [&](std::string_view name) -> std::optional<Diagnostic> {
      const Result<const Axis*> axis = axis_of(text, name, degrees_alone);
      if (!axis) return axis.error();
      if (std::ranges::find(settings, *axis, &Setting::axis) != settings.end()) {
        return usage_error(text, fmt::format("{} is given twice", (*axis)->name), "");
      }
      settings.push_back({*axis, {}});
      return std::nullopt;
    };
    if (auto problem = begin(sweep->name)) return *std::move(problem);
    for (std::string_view value : sweep->values) {
      if (const auto next = split_sweep(value)) {
        if (auto problem = begin(next->name)) return *std::move(problem);
        value = next->values.front();
      }
      if (value.empty()) return usage_error(text, "expected NAME=VALUE,...", "pp=4");
      settings.back().values.push_back(value);
    }
  }
  return settings;
}

Result<double> number_of(const Axis& axis, std::string_view text) {
  const Result<double> value = parse_quantity(text, axis.unit);
  if (!value) return usage_error(value.error().where, value.error().what, value.error().hint);
  if (axis.whole && (*value != std::floor(*value) || *value < 1 || *value > kMostWhole)) {
    return usage_error(text, fmt::format("{} is a whole number from 1", axis.name), "");
  }
  return value;
}

/// One value or those of a range.
Result<std::vector<double>> numbers_of(const Axis& axis, std::string_view text) {
  const std::optional<SweepRange> range = split_range(text);
  const Result<double> from = number_of(axis, range ? range->from : text);
  if (!from) return from.error();
  if (!range) return std::vector<double>{*from};
  const Result<double> to = number_of(axis, range->to);
  if (!to) return to.error();
  Result<double> by = 1.0;
  if (range->steps == SweepSteps::kBy) by = number_of(axis, range->by);
  if (range->steps == SweepSteps::kCount) by = parse_quantity(range->by, UnitKind::kNone);
  if (!by) return by.error();
  std::vector<double> numbers = range_numbers(*from, *to, range->steps, *by, kMostCells);
  const bool parts = axis.whole && range->steps == SweepSteps::kCount;
  if (!numbers.empty() && !parts) return numbers;
  return usage_error(
      text, "is no range",
      "FROM..TO doubles, FROM..TO:STEP steps, FROM..TO/N has N >= 2 values of a rate or "
      "capacity");
}

/// `base` with each value of one axis.
Result<std::vector<PaperCell>> with_values(const Setting& setting,
                                           const std::vector<PaperCell>& bases) {
  const Axis& axis = *setting.axis;
  std::vector<double> numbers;
  for (const std::string_view text : setting.values) {
    if (axis.from_text != nullptr) continue;
    const Result<std::vector<double>> more = numbers_of(axis, text);
    if (!more) return more.error();
    numbers.insert(numbers.end(), more->begin(), more->end());
  }
  const std::size_t count = axis.from_text != nullptr ? setting.values.size() : numbers.size();
  if (bases.size() * count > kMostCells) {
    return usage_error(axis.name, fmt::format("the sweep has more than {} points", kMostCells),
                       "sweep fewer values");
  }
  std::vector<PaperCell> cells;
  for (const PaperCell& base : bases) {
    for (std::size_t i = 0; i < count; ++i) {
      cells.push_back(base);
      if (axis.from_text == nullptr) {
        axis.from_number(cells.back(), numbers[i]);
      } else if (auto problem = axis.from_text(cells.back(), setting.values[i])) {
        return *std::move(problem);
      }
    }
  }
  return cells;
}

}  // namespace

Result<bool> apply_paper_musts(const std::vector<std::string>& texts, PaperCell& cell) {
  const Result<std::vector<Setting>> settings = settings_of(texts, true);
  if (!settings) return settings.error();
  for (const Setting& setting : *settings) {
    if (setting.values.size() > 1) {
      return usage_error(setting.axis->name, "paper mode fixes a degree to one value", "--sweep");
    }
    const Result<double> number = number_of(*setting.axis, setting.values[0]);
    if (!number) return number.error();
    setting.axis->from_number(cell, *number);
  }
  return true;
}

Result<std::vector<PaperCell>> paper_sweep_cells(const std::vector<std::string>& texts,
                                                 const PaperCell& base) {
  Result<std::vector<Setting>> settings = settings_of(texts, false);
  if (!settings) return settings.error();
  std::ranges::stable_sort(*settings, {}, &Setting::axis);
  std::vector<PaperCell> cells = {base};
  for (const Setting& setting : *settings) {
    Result<std::vector<PaperCell>> more = with_values(setting, cells);
    if (!more) return more;
    cells = std::move(*more);
  }
  return cells;
}

std::string paper_first_swept(const std::vector<std::string>& texts, std::string_view axis) {
  const auto settings = settings_of(texts, false);
  if (!settings) return {};
  for (const Setting& one : *settings) {
    if (one.axis->name == axis) return std::string(one.values[0]);
  }
  return {};
}

}  // namespace flopcast::cli
