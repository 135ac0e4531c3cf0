// The same question on other fleets: with the next chips, on a machine that is a little better or worse.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "flopcast/machine.h"
#include "question/serve/answer.h"
#include "question/serve/values.h"

namespace flopcast::question {
namespace {

/// The fleet of the question's settings with some replaced, on as many nodes as it takes.
ServeChange changed_fleet(const ServeQuestion& question, std::string words, ServeSettings more,
                          unsigned chips, const Catalog& catalog) {
  ServeChange change{std::move(words), {}, {}};
  const Result<Cluster> cluster = cluster_with(question.cluster, chips, catalog);
  if (!cluster) {
    change.refused = cluster.error().text();
    return change;
  }
  ServeSettings settings = question.settings;
  for (auto& one : more) settings.push_back(std::move(one));
  ServeValues values(settings);
  std::vector<std::string> assumed;
  change.fleet = read_fleet(values, question.fleet.pool.deployment.model, *cluster, assumed);
  if (values.problem()) change.refused = values.problem()->text();
  return change;
}

std::string number(unsigned n) { return std::to_string(n); }

void add_replica(const ServeQuestion& question, const Catalog& catalog,
                 std::vector<ServeChange>& out) {
  const Fleet& fleet = question.fleet;
  const unsigned n = fleet.pool.replicas, chips = fleet.chips();
  const unsigned each = fleet.pool.deployment.layout.chips();
  if (!fleet.decode) {
    out.push_back(changed_fleet(question, "one replica more", {{"replicas", number(n + 1)}},
                                chips + each, catalog));
    return;
  }
  const unsigned m = fleet.decode->replicas;
  out.push_back(changed_fleet(question, "one replica more for prompts",
                              {{"disaggregated", fmt::format("{}:{}", n + 1, m)}}, chips + each,
                              catalog));
  out.push_back(changed_fleet(question, "one replica more for answers",
                              {{"disaggregated", fmt::format("{}:{}", n, m + 1)}},
                              chips + fleet.decode->deployment.layout.chips(), catalog));
}

/// With the chips of a replica doubled; expert degrees go along where they cover them all.
void widen_replicas(const ServeQuestion& question, const Catalog& catalog,
                    std::vector<ServeChange>& out) {
  const Fleet& fleet = question.fleet;
  if (fleet.decode) return;
  const ServingLayout& layout = fleet.pool.deployment.layout;
  const unsigned tp = 2 * layout.tp, n = fleet.pool.replicas;
  ServeSettings wider = {{"tp", number(tp)}};
  if (layout.ep == layout.tp * layout.dp) wider.emplace_back("ep", number(2 * layout.ep));
  ServeSettings as_many = wider, half = wider;
  as_many.emplace_back("replicas", number(n));
  out.push_back(changed_fleet(question,
                              fmt::format("TP {} instead of {}, as many replicas", tp, layout.tp),
                              std::move(as_many), 2 * fleet.chips(), catalog));
  if (n < 2 || n % 2 != 0) return;
  half.emplace_back("replicas", number(n / 2));
  out.push_back(changed_fleet(question,
                              fmt::format("TP {} instead of {}, half the replicas", tp, layout.tp),
                              std::move(half), fleet.chips(), catalog));
}

/// What is asked after, by name: the engine's host time, or a number of the machine.
struct Asked {
  std::string_view words;
  std::optional<Knob> knob;
};
constexpr std::array<Asked, 5> kAsked = {{
    {"host time", std::nullopt},
    {"HBM bandwidth", Knob{MachineNumber::kHbmBandwidth}},
    {"FLOP/s", Knob{MachineNumber::kRates}},
    {"link latency", Knob{MachineNumber::kLinkLatency}},
    {"link bandwidth", Knob{MachineNumber::kLinkBandwidth}},
}};

/// The pool on the changed machine. @return what no machine has
std::optional<Diagnostic> change_pool(ReplicaPool& pool, const Asked& asked, double factor) {
  if (!asked.knob) {
    pool.factors.host *= factor;
    return std::nullopt;
  }
  Cluster& cluster = pool.deployment.cluster;
  Result<Cluster> changed = with_changed(cluster, *asked.knob, {factor, true});
  if (!changed) return changed.error();
  cluster = std::move(*changed);
  return std::nullopt;
}

/// Both pools of the fleet on the changed machine.
ServeChange on_machine(const ServeQuestion& question, const Asked& asked, double factor) {
  ServeChange change{fmt::format("{} {}10 %", asked.words, factor > 1 ? "+" : "-"), {}, {}};
  change.fleet = question.fleet;
  auto problem = change_pool(change.fleet.pool, asked, factor);
  if (!problem && change.fleet.decode) problem = change_pool(*change.fleet.decode, asked, factor);
  if (problem) change.refused = problem->text();
  return change;
}

}  // namespace

std::vector<ServeChange> next_fleets(const ServeQuestion& question, const Catalog& catalog) {
  std::vector<ServeChange> changes;
  if (question.fleet.autoscaling) return changes;  // it takes what it needs
  add_replica(question, catalog, changes);
  widen_replicas(question, catalog, changes);
  return changes;
}

std::vector<ServeChange> nearby_machines(const ServeQuestion& question) {
  std::vector<ServeChange> changes;
  for (const Asked& asked : kAsked) {
    for (const double factor : {1.1, 0.9}) changes.push_back(on_machine(question, asked, factor));
  }
  return changes;
}

std::vector<ServeVariant> run_changes(const ServeQuestion& question,
                                      const std::vector<ServeChange>& changes,
                                      const Catalog& catalog, const ServeOptions& options) {
  std::vector<ServeVariant> variants(changes.size());
  parallel_for(changes.size(), options.threads, [&](std::size_t i) {
    const ServeChange& change = changes[i];
    ServeVariant& variant = variants[i];
    variant.change = change.words;
    variant.refused = change.refused;
    if (!variant.refused.empty()) return;
    FleetOptions run_options;
    run_options.leap = options.leap;
    const Result<FleetRun> run = simulate(change.fleet, question.workload, catalog, run_options);
    if (run) {
      variant.summary =
          summarize_serving(*run, change.fleet, question.limits, question.usd_per_chip_hour);
    } else {
      variant.refused = run.error().text();
    }
  });
  return variants;
}

std::vector<ServeVariant> serve_sensitivity(const ServeQuestion& question, const Catalog& catalog,
                                            const ServeOptions& options) {
  return run_changes(question, nearby_machines(question), catalog, options);
}

}  // namespace flopcast::question
