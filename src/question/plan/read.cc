// Reads reports of searches back: the mirror of json.cc.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "flopcast/parallel/fields.h"
#include "flopcast/parallel/names.h"
#include "flopcast/question/plan.h"

namespace flopcast {
namespace {

using json = nlohmann::ordered_json;  // a sweep has an order

/// Takes members of one document apart; the first that is missing or of another type is kept.
class Document {
 public:
  const std::string& problem() const { return problem_; }

  const json& member(const json& object, std::string_view key) {
    static const json kNothing;
    if (object.is_object()) {
      const auto found = object.find(key);
      if (found != object.end()) return *found;
    }
    refuse(key, "is missing");
    return kNothing;
  }
  /// What a list holds; nothing, and a problem, where it is none.
  const std::vector<json>& list(const json& object, std::string_view key) {
    static const std::vector<json> kEmpty;
    const json& value = member(object, key);
    if (value.is_array()) return value.get_ref<const json::array_t&>();
    refuse(key, "is no list");
    return kEmpty;
  }

  void read(const json& value, std::string_view key, double& out) {
    constexpr double kMost = 1e21;
    if (!value.is_number() || !(std::abs(value.get<double>()) <= kMost)) {
      return refuse(key, "is no number");
    }
    out = value.get<double>();
  }
  template <typename Whole>
  void read(const json& value, std::string_view key,
            Whole& out) requires(std::is_integral_v<Whole> && !std::is_same_v<Whole, bool>) {
    if (!value.is_number_integer()) return refuse(key, "is no whole number");
    const bool fits = value.is_number_unsigned()
                          ? value.get<std::uint64_t>() <=
                                static_cast<std::uint64_t>(std::numeric_limits<Whole>::max())
                          : std::is_signed_v<Whole>;
    if (!fits) return refuse(key, "is too large or below zero");
    out = value.get<Whole>();
  }
  void read(const json& value, std::string_view key, bool& out) {
    if (!value.is_boolean()) return refuse(key, "is neither true nor false");
    out = value.get<bool>();
  }
  void read(const json& value, std::string_view key, std::string& out) {
    if (!value.is_string()) return refuse(key, "is no text");
    out = value.get<std::string>();
  }
  void read(const json& value, std::string_view key, PlanConstraint& out) {
    std::string text;
    read(value, key, text);
    Result<PlanConstraint> constraint = parse_plan_constraint(text);
    if (!constraint) return refuse(key, fmt::format("hold no constraint '{}'", text));
    out = std::move(*constraint);
  }
  template <typename Unit>
  void read(const json& value, std::string_view key, Quantity<Unit>& out) {
    read(value, key, out.value);
  }
  template <typename Enum>
  void read(const json& value, std::string_view key, Enum& out) requires std::is_enum_v<Enum> {
    std::string text;
    read(value, key, text);
    const std::optional<Enum> known = parse_choice(text, out);
    if (!known) return refuse(key, fmt::format("has no choice '{}'", text));
    out = *known;
  }
  template <typename Item>
  void read(const json& value, std::string_view key, std::vector<Item>& out) {
    if (!value.is_array()) return refuse(key, "is no list");
    out.clear();
    for (const json& item : value) read(item, key, out.emplace_back());
  }
  template <typename Value>
  void take(const json& object, std::string_view key, Value& out) {
    const json& value = member(object, key);
    if (problem_.empty()) read(value, key, out);
  }

  void refuse(std::string_view key, std::string_view why) {
    if (problem_.empty()) problem_ = fmt::format("'{}' {}", key, why);
  }

 private:
  std::string problem_;
};

void read_plan(Document& d, const json& object, Plan& plan) {
  visit_plan(plan, [&](std::string_view key, auto& field) { d.take(object, key, field); });
}

void read_placement(Document& d, const json& object, Placement& placement) {
  d.take(object, "tiers", placement.tiers);
  for (const json& row : d.list(object, "inside")) {
    std::vector<unsigned> members;
    d.read(row, "inside", members);
    if (members.size() != kPlanDimensions) return d.refuse("inside", "has rows of another length");
    std::copy(members.begin(), members.end(), placement.inside.emplace_back().begin());
  }
}

PlanFound read_found(Document& d, const json& object) {
  PlanFound found;
  d.take(object, "time_s", found.time);
  d.take(object, "memory_bytes", found.memory);
  d.take(object, "number", found.number);
  read_plan(d, d.member(object, "plan"), found.plan);
  read_placement(d, d.member(object, "placement"), found.placement);
  return found;
}

std::vector<Sensitivity> read_sensitivities(Document& d, const json& object) {
  std::vector<Sensitivity> list;
  for (const json& item : d.list(object, "sensitivities")) {
    Sensitivity& sensitivity = list.emplace_back();
    d.take(item, "number", sensitivity.number);
    d.take(item, "change", sensitivity.change);
  }
  return list;
}

/// Under the key "run": a run, or null.
std::optional<WholeRun> read_run(Document& d, const json& object) {
  const json& run = d.member(object, "run");
  if (run.is_null()) return std::nullopt;
  WholeRun out;
  visit_whole_run(out, [&](std::string_view key, double& value) { d.take(run, key, value); });
  return out;
}

std::optional<RunQuestion> read_run_question(Document& d, const json& object) {
  const json& run = d.member(object, "run");
  if (run.is_null()) return std::nullopt;
  RunQuestion out;
  visit_run_question(out, [&](std::string_view key, double& value) { d.take(run, key, value); });
  d.take(run, "price_source", out.price_source);
  return out;
}

PlanCandidate read_candidate(Document& d, const json& object, bool of_shard) {
  PlanCandidate candidate;
  candidate.found = read_found(d, object);
  d.take(object, "low_s", candidate.low);
  d.take(object, "high_s", candidate.high);
  d.take(object, "tie", candidate.tie);
  d.take(object, "memory_low_bytes", candidate.memory_low);
  d.take(object, "memory_high_bytes", candidate.memory_high);
  d.take(object, "fit_odds", candidate.fit_odds);
  d.take(object, "tokens_per_second", candidate.tokens_per_second);
  d.take(object, "mfu", candidate.mfu);
  d.take(object, "hfu", candidate.hfu);
  d.take(object, "energy_j", candidate.energy_j);
  d.take(object, "cost_usd", candidate.cost_usd);
  const json& parts = d.member(object, "parts_s");
  for (std::size_t i = 0; i < kTimeParts; ++i) {
    d.take(parts, name(static_cast<TimePart>(i)), candidate.parts[i]);
  }
  const json& memory = d.member(object, "memory");
  visit_memory(candidate.memory,
               [&](std::string_view key, Bytes& bytes) { d.take(memory, key, bytes); });
  d.take(memory, "in_flight", candidate.memory.in_flight);
  const json& rests_on = d.member(object, "rests_on");
  for (std::size_t i = 0; i < candidate.rests_on.size(); ++i) {
    d.take(rests_on, name(static_cast<Basis>(i)), candidate.rests_on[i]);
  }
  candidate.run = read_run(d, object);
  if (of_shard) {
    candidate.sensitivities = read_sensitivities(d, object);
    d.take(object, "assumed", candidate.assumed);
  }
  return candidate;
}

void read_own_fits(Document& d, const json& object, std::vector<FitNote>& fits) {
  for (const json& item : d.list(object, "own_fits")) {
    FitNote& fit = fits.emplace_back();
    d.take(item, "file", fit.file);
    d.take(item, "kind", fit.kind);
  }
}

void read_refused(Document& d, const json& object,
                  std::vector<std::pair<std::string, std::uint64_t>>& refused) {
  for (const json& item : d.list(object, "refused")) {
    auto& [reason, count] = refused.emplace_back();
    d.take(item, "reason", reason);
    d.take(item, "plans", count);
  }
}

void read_launch_line(Document& d, const json& object, Launch& launch) {
  d.take(object, "environment", launch.environment);
  d.take(object, "command", launch.command);
  for (const json& item : d.list(object, "files")) {
    LaunchFile& file = launch.files.emplace_back();
    d.take(item, "name", file.name);
    d.take(item, "text", file.text);
  }
  d.take(object, "cannot_run", launch.lost);
  for (const json& item : d.list(object, "told_elsewhere")) {
    PlanElsewhere& other = launch.elsewhere.emplace_back();
    d.take(item, "name", other.name);
    d.take(item, "value", other.value);
    d.take(item, "where", other.where);
  }
  d.take(object, "notes", launch.notes);
}

PlanLaunch read_launch(Document& d, const json& object) {
  PlanLaunch launch;
  std::string launcher;
  d.take(object, "launcher", launcher);
  const std::optional<PlanFormat> known = parse_plan_format(launcher);
  if (known) launch.launcher = *known;
  if (!known) d.refuse("launcher", "names no launcher");
  d.take(object, "software", launch.software);
  const json& best = d.member(object, "best");
  if (best.is_object()) {
    launch.best = read_found(d, best);
    d.take(object, "low_s", launch.low);
    d.take(object, "high_s", launch.high);
    read_launch_line(d, object, launch.launch);
  } else {
    d.take(object, "plans", launch.plans);
    read_refused(d, object, launch.refused);
  }
  d.take(object, "assumed", launch.assumed);
  return launch;
}

void read_question(Document& d, const json& object, PlanReport& report) {
  d.take(object, "model", report.model);
  d.take(object, "parameters", report.parameters);
  d.take(object, "layers", report.layers);
  d.take(object, "on", report.on);
  d.take(object, "cluster", report.cluster);
  d.take(object, "chip", report.chip);
  d.take(object, "capacity_bytes", report.capacity);
  d.take(object, "chips", report.chips);
  d.take(object, "global_batch", report.global_batch);
  d.take(object, "sequence", report.sequence);
  d.take(object, "constraints", report.constraints);
  const json& sweep = d.member(object, "sweep");
  if (!sweep.is_object()) return d.refuse("sweep", "is no object");
  for (const auto& [key, value] : sweep.items()) {
    report.changes.push_back({key, {}});
    d.read(value, key, report.changes.back().value);
  }
  std::string launcher;
  d.take(object, "launchable", launcher);
  report.launchable = parse_plan_format(launcher);
  if (!report.launchable && !launcher.empty()) d.refuse("launchable", "names no launcher");
  d.take(object, "named", report.named);
  d.take(object, "placements", report.placements);
  d.take(object, "launches", report.asked_launches);
  d.take(object, "memory_share", report.memory_share);
  d.take(object, "fit_odds", report.fit_odds);
  d.take(object, "usd_per_chip_hour", report.usd_per_chip_hour);
  d.take(object, "best", report.asked_best);
  report.run = read_run_question(d, object);
  d.take(object, "software", report.software);
  read_own_fits(d, object, report.own_fits);
  read_plan(d, d.member(object, "base"), report.base);
  d.take(object, "flopcast", report.version);
}

void read_shard(Document& d, const json& root, PlanReport& report) {
  if (!root.is_object() || !root.contains("shard")) return;
  const json& shard = d.member(root, "shard");
  d.take(shard, "index", report.shard);
  d.take(shard, "of", report.shards);
  if (report.shard >= report.shards) d.refuse("shard", "has no such index");
}

/// What a search calls its best: as many as were asked for, whichever of them one would take.
void fastest_first(std::vector<PlanFound>& found, std::size_t most) {
  std::sort(found.begin(), found.end(), [](const PlanFound& a, const PlanFound& b) {
    return std::pair(a.time.value, a.number) < std::pair(b.time.value, b.number);
  });
  if (found.size() > most)
    found.erase(found.begin() + static_cast<std::ptrdiff_t>(most), found.end());
}

void read_search(Document& d, const json& root, PlanReport& report) {
  PlanSearch& search = report.search;
  const json& counts = d.member(root, "search");
  d.take(counts, "plans", search.plans);
  d.take(counts, "placed", search.placed);
  d.take(counts, "too_big", search.too_big);
  read_refused(d, root, search.refused);
  for (const json& item : d.list(root, "best")) {
    report.best.push_back(read_candidate(d, item, report.shards > 1));
    search.best.push_back(report.best.back().found);
  }
  for (const json& item : d.list(root, "launch")) report.launches.push_back(read_launch(d, item));
  fastest_first(search.best, report.asked_best);
  for (const json& item : d.list(root, "pareto")) search.pareto.push_back(read_found(d, item));
  if (search.pareto.empty() && !search.best.empty()) {
    d.refuse("pareto", "is empty, though there are best plans");
  }
  const json& leanest = d.member(root, "leanest");
  if (leanest.is_object()) search.leanest = read_found(d, leanest);
  report.sensitivities = read_sensitivities(d, root);
  d.take(root, "assumed", report.assumed);
  const json& rounder = d.member(root, "rounder");
  if (rounder.is_null()) return;
  report.rounder.emplace();
  d.take(rounder, "global_batch", report.rounder->global_batch);
  d.take(rounder, "sequence", report.rounder->sequence);
  d.take(rounder, "time_s", report.rounder->time);
}

Result<PlanReport> read_report(std::string_view text, const std::string& where) {
  const json root = json::parse(text, nullptr, false);
  const auto bad = [&](std::string what) {
    return Diagnostic{ErrorCode::kBadInput, where, std::move(what),
                      "a result of flopcast plan --json or --out is expected"};
  };
  if (root.is_discarded()) return bad("this is no JSON");
  Document document;
  PlanReport report;
  read_question(document, document.member(root, "asked"), report);
  read_shard(document, root, report);
  read_search(document, root, report);
  if (!document.problem().empty()) return bad(document.problem());
  return report;
}

}  // namespace

Result<std::vector<PlanReport>> read_plan_reports(std::string_view text, const std::string& where) {
  std::vector<PlanReport> reports;
  // One document over several lines begins with a brace that nothing follows.
  if (text.starts_with("{\n")) {
    Result<PlanReport> report = read_report(text, where);
    if (!report) return report.error();
    reports.push_back(std::move(*report));
    return reports;
  }
  std::size_t line = 1;
  for (std::size_t at = 0; at < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    Result<PlanReport> report =
        read_report(text.substr(at, end - at), fmt::format("{}:{}", where, line));
    if (!report) return report.error();
    reports.push_back(std::move(*report));
    at = end + 1;
  }
  return reports;
}

}  // namespace flopcast
