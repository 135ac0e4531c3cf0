// Points of a sweep, and the machine each of them asks for.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text/numbers.h"
#include "base/text/sweep.h"
#include "flopcast/machine.h"
#include "flopcast/question/plan.h"

namespace flopcast {
namespace {

constexpr std::size_t kMostPoints = 10'000;
constexpr std::int64_t kMostChips = 1 << 24;

// --- Numbers that a sweep can change ---------------------------------------------------------------

enum class Part : std::uint8_t { kChip, kNode, kFabric };

struct Number {
  std::string_view name;
  MachineNumber number;
  Part part;
  UnitKind unit() const { return unit_of(number); }
};
constexpr std::array<Number, 7> kNumbers = {{
    {"hbm-bandwidth", MachineNumber::kHbmBandwidth, Part::kChip},
    {"hbm-capacity", MachineNumber::kHbmCapacity, Part::kChip},
    {"matrix-rate", MachineNumber::kMatrixRate, Part::kChip},
    {"node-bandwidth", MachineNumber::kLinkBandwidth, Part::kNode},
    {"node-latency", MachineNumber::kLinkLatency, Part::kNode},
    {"fabric-bandwidth", MachineNumber::kLinkBandwidth, Part::kFabric},
    {"fabric-latency", MachineNumber::kLinkLatency, Part::kFabric},
}};
constexpr const char* kNames =
    "n, node-size, chip, hbm-bandwidth, hbm-capacity, matrix-rate, node-bandwidth, node-latency, "
    "fabric-bandwidth or fabric-latency";

const Number* find_number(std::string_view name) {
  const auto found = std::find_if(kNumbers.begin(), kNumbers.end(),
                                  [&](const Number& number) { return number.name == name; });
  return found == kNumbers.end() ? nullptr : &*found;
}

/// The levels inside a node, or those between nodes.
Knob knob_of(const Number& number, const Cluster& cluster) {
  if (number.part == Part::kFabric) return {number.number, cluster.node_levels};
  if (number.part == Part::kNode) return {number.number, 0, cluster.node_levels};
  return {number.number};
}

std::optional<Diagnostic> change_number(Cluster& cluster, const Number& number,
                                        const PlanChange& change) {
  const Result<QuantityChange> amount = parse_change(change.value, number.unit());
  if (!amount) return amount.error();
  Result<Cluster> changed = with_changed(cluster, knob_of(number, cluster), *amount);
  if (!changed) {
    Diagnostic error = changed.error();
    error.where = fmt::format("{} of {}", change.name, error.where);
    return error;
  }
  cluster = std::move(*changed);
  return std::nullopt;
}

// --- Size of the cluster ---------------------------------------------------------------------------

/// The line with as many nodes as `chips` need; its own where 0.
Result<PlanMachine> sized_machine(const std::string& line, std::int64_t chips,
                                  const Catalog& catalog) {
  Result<Cluster> own = catalog.cluster(line);
  if (!own) return own.error();
  const std::int64_t all = own->chips();
  const Result<CountedName> counted = catalog.counted(line);
  if (!counted) return counted.error();
  if (chips == 0 || chips == all || (counted->count == 0 && chips < all)) {
    return PlanMachine{std::move(*own), static_cast<unsigned>(chips == 0 ? all : chips), {}};
  }
  const std::int64_t unit = std::max<std::int64_t>(all / std::max(counted->count, 1U), 1);
  const std::int64_t count = (chips + unit - 1) / unit;
  Result<Cluster> grown = catalog.cluster(counted->with_count(static_cast<std::uint64_t>(count)));
  if (!grown || grown->chips() < chips) {
    return usage_error(line, fmt::format("has {} chips, {} are asked for", all, chips),
                       "write a cluster that can grow, such as \"64 x dgx-h100\"");
  }
  return PlanMachine{std::move(*grown), static_cast<unsigned>(chips), {}};
}

/// Chips that the question asks for; 0: all of the cluster.
std::int64_t chips_asked(const PlanQuestion& question) {
  std::int64_t chips = question.chips;
  for (const PlanChange& change : question.changes) {
    if (change.name == "n") chips = parse_whole(change.value).value_or(0);
  }
  return chips;
}

// --- Parsing ---------------------------------------------------------------------------------------

std::optional<Diagnostic> check_chips(std::string_view name, std::string_view value) {
  const std::optional<std::int64_t> size = parse_whole(value);
  if (size && *size >= 1 && *size <= kMostChips) return std::nullopt;
  return usage_error(name, fmt::format("expected a number of chips, found '{}'", value),
                     "write it like n=64,128,256 or n=64..1024");
}

std::optional<Diagnostic> check_number(const Number& number, std::string_view value) {
  const Result<QuantityChange> amount = parse_change(value, number.unit());
  if (amount) return std::nullopt;
  return usage_error(number.name, amount.error().what, amount.error().hint);
}

/// What the name takes; nothing where nothing is called so.
std::optional<SweepRule> rule_of(std::string_view name) {
  SweepRule rule{name, true, UnitKind::kNone, {}};
  if (name == "chip") {
    rule.ranges = false;
    rule.check = [](std::string_view) { return std::nullopt; };  // the catalogue knows
  } else if (const Number* number = find_number(name)) {
    rule.unit = number->unit();
    rule.check = [number](std::string_view value) { return check_number(*number, value); };
  } else if (name == "n" || name == "node-size") {
    rule.check = [name](std::string_view value) { return check_chips(name, value); };
  } else {
    return std::nullopt;
  }
  return rule;
}

std::string canonical(std::string_view name) {
  if (name == "chips") return "n";
  if (name == "domain" || name == "nvs") return "node-size";
  return std::string(name);
}

}  // namespace

Result<std::vector<PlanChange>> parse_plan_sweep(std::string_view text) {
  const std::optional<SweepText> sweep = split_sweep(text);
  const std::string name = canonical(sweep ? sweep->name : text);
  const std::optional<SweepRule> rule = rule_of(name);
  if (!sweep || !rule) {
    return usage_error(text, fmt::format("expected a sweep of {}", kNames),
                       "write it like n=64..1024, chip=h100,h200 or hbm-bandwidth=1x,2x");
  }
  Result<std::vector<std::string>> values = sweep_values(*sweep, *rule);
  if (!values) return values.error();
  std::vector<PlanChange> changes;
  for (std::string& value : *values) changes.push_back({name, std::move(value)});
  return changes;
}

Result<std::vector<PlanQuestion>> sweep_points(const PlanQuestion& question,
                                               const std::vector<std::string>& sweeps) {
  std::vector<PlanQuestion> points = {question};
  for (const std::string& text : sweeps) {
    const Result<std::vector<PlanChange>> changes = parse_plan_sweep(text);
    if (!changes) return changes.error();
    for (const PlanChange& known : points.front().changes) {
      if (known.name == changes->front().name) {
        return usage_error(text, "is swept already", "name its values in one --sweep");
      }
    }
    if (points.size() * changes->size() > kMostPoints) {
      return usage_error(text, "makes more than 10,000 points", "sweep fewer values");
    }
    std::vector<PlanQuestion> finer;
    for (const PlanQuestion& point : points) {
      for (const PlanChange& change : *changes) {
        finer.push_back(point);
        finer.back().changes.push_back(change);
      }
    }
    points = std::move(finer);
  }
  return points;
}

Result<PlanMachine> plan_machine(const PlanQuestion& question, const Catalog& catalog) {
  std::string line = question.cluster;
  std::int64_t chips = chips_asked(question);
  for (const PlanChange& change : question.changes) {
    if (change.name != "node-size") continue;
    // The same number of chips, in larger or smaller nodes.
    const Result<Cluster> own = catalog.cluster(line);
    if (!own) return own.error();
    if (chips == 0) chips = own->chips();
    line += fmt::format(", node.size {}", change.value);
  }
  Result<PlanMachine> machine = sized_machine(line, chips, catalog);
  if (!machine) return machine.error();
  machine->training = question.training;
  for (const PlanChange& change : question.changes) {
    if (change.name != "chip") continue;
    Result<Chip> chip = catalog.chip(change.value);
    if (!chip) return chip.error();
    machine->cluster.chip = std::move(*chip);
    machine->cluster.name += fmt::format(", chip {}", change.value);
  }
  for (const PlanChange& change : question.changes) {
    const Number* number = find_number(change.name);
    if (number == nullptr) continue;
    if (const auto problem = change_number(machine->cluster, *number, change)) return *problem;
    machine->cluster.name += fmt::format(", {} {}", change.name, change.value);
  }
  return machine;
}

}  // namespace flopcast
