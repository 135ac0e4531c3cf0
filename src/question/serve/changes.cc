// The same question on other fleets: with the next chips, on a machine that is a little better or worse.
#include <fmt/format.h>

#include <algorithm>
#include <array>

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

/// Changes both pools' machine.
template <typename Change>
Fleet on_machine(const Fleet& fleet, Change&& change) {
  Fleet other = fleet;
  change(other.pool);
  if (other.decode) change(*other.decode);
  return other;
}

void scale_rates(Chip& chip, double factor) {
  for (FlopsPerSecond& rate : chip.matrix) rate *= factor;
  for (FlopsPerSecond& rate : chip.vector) rate *= factor;
}

/// Measured curves know a link by its name, whatever its numbers are: under another one collectives follow from those.
void model_links(ReplicaPool& pool) {
  for (Level& level : pool.deployment.cluster.levels) level.link += " changed";
}

struct MachineNumber {
  std::string_view words;
  void (*scale)(ReplicaPool& pool, double factor);
};
constexpr std::array<MachineNumber, 5> kMachineNumbers = {{
    {"host time", [](ReplicaPool& pool, double f) { pool.factors.host *= f; }},
    {"HBM bandwidth",
     [](ReplicaPool& pool, double f) { pool.deployment.cluster.chip.hbm_bandwidth *= f; }},
    {"FLOP/s", [](ReplicaPool& pool, double f) { scale_rates(pool.deployment.cluster.chip, f); }},
    {"link latency",
     [](ReplicaPool& pool, double f) {
       model_links(pool);
       for (Level& level : pool.deployment.cluster.levels) level.latency *= f;
     }},
    {"link bandwidth",
     [](ReplicaPool& pool, double f) {
       model_links(pool);
       for (Level& level : pool.deployment.cluster.levels) level.port_bandwidth *= f;
     }},
}};
constexpr std::size_t kFirstOfLinks = 3;

void scale_percentiles(ServingPercentiles& p, const ServingPercentiles& now,
                       const ServingPercentiles& base) {
  const auto scale = [](Seconds& value, Seconds to, Seconds from) {
    if (from.value > 0) value = value * (to / from);
  };
  scale(p.mean, now.mean, base.mean);
  scale(p.p50, now.p50, base.p50);
  scale(p.p90, now.p90, base.p90);
  scale(p.p95, now.p95, base.p95);
  scale(p.p99, now.p99, base.p99);
  scale(p.max, now.max, base.max);
}

/// What changes from `base` to the summary, put on `now`.
void put_change_on(ServeSummary& s, const ServeSummary& now, const ServeSummary& base) {
  scale_percentiles(s.ttft, now.ttft, base.ttft);
  scale_percentiles(s.tpot, now.tpot, base.tpot);
  scale_percentiles(s.inter_token, now.inter_token, base.inter_token);
  scale_percentiles(s.latency, now.latency, base.latency);
  const auto scale = [](double& value, double to, double from) {
    if (from > 0) value *= to / from;
  };
  scale(s.output_tokens_per_s, now.output_tokens_per_s, base.output_tokens_per_s);
  scale(s.total_tokens_per_s, now.total_tokens_per_s, base.total_tokens_per_s);
  scale(s.requests_per_s, now.requests_per_s, base.requests_per_s);
  scale(s.goodput_requests_per_s, now.goodput_requests_per_s, base.goodput_requests_per_s);
  scale(s.usd_per_million_tokens, now.usd_per_million_tokens, base.usd_per_million_tokens);
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
  for (const MachineNumber& number : kMachineNumbers) {
    for (const double factor : {1.1, 0.9}) {
      changes.push_back(
          {fmt::format("{} {}10 %", number.words, factor > 1 ? "+" : "-"),
           {},
           on_machine(question.fleet, [&](ReplicaPool& pool) { number.scale(pool, factor); })});
    }
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
      variant.summary = summarize_serving(*run, change.fleet, question);
    } else {
      variant.refused = run.error().text();
    }
  });
  return variants;
}

std::vector<ServeVariant> serve_sensitivity(const ServeQuestion& question, const ServeSummary& now,
                                            const Catalog& catalog, const ServeOptions& options) {
  std::vector<ServeChange> changes = nearby_machines(question);
  const std::size_t all = changes.size();
  changes.push_back({"links by their numbers", {}, on_machine(question.fleet, model_links)});
  std::vector<ServeVariant> variants = run_changes(question, changes, catalog, options);
  const ServeVariant base = std::move(variants.back());
  variants.pop_back();
  for (std::size_t i = 2 * kFirstOfLinks; i < all && base.refused.empty(); ++i) {
    if (variants[i].refused.empty()) put_change_on(variants[i].summary, now, base.summary);
  }
  return variants;
}

}  // namespace flopcast::question
