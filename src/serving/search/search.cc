// search_fleets: a space, a demand, the search, and what is told of it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/text/format.h"
#include "serving/fleet/checks.h"
#include "serving/search/capacity.h"

namespace flopcast {

using namespace serving;  // the room's own names

namespace {

FleetCandidate candidate_of(const FleetScorer& scorer, const SearchSpace& space,
                            const FleetScore& score) {
  const Configuration& configuration = scorer.configuration(score.configuration);
  FleetCandidate candidate;
  candidate.choice = choice_of(space, configuration, score.replicas, score.decode);
  candidate.number = configuration.number;
  candidate.ttft = score.told.ttft;
  candidate.tpot = score.told.tpot;
  candidate.inter_token = score.told.inter_token;
  candidate.latency = score.told.latency;
  candidate.output_tokens_per_s = score.tokens_per_s;
  candidate.requests_per_s = score.told.requests_per_s;
  candidate.output_tokens_per_s_per_chip = score.tokens_per_s / score.chips;
  candidate.cost_per_million_tokens = score.cost;
  candidate.ratio = score.ratio;
  candidate.preemptions = score.told.preemptions;
  candidate.largest.load = score.load;
  candidate.largest.next = score.next;
  return candidate;
}

FleetSearchCounts counts_of(const FleetFindings& found) {
  FleetSearchCounts counts;
  counts.configurations = found.fates.size();
  counts.runs = found.runs;
  for (const Fate fate : found.fates) {
    counts.impossible += fate == Fate::kImpossible;
    counts.out_of_memory += fate == Fate::kTooLarge;
    counts.bounded += fate == Fate::kBounded;
    counts.simulated += fate == Fate::kSimulated;
  }
  return counts;
}

/// The order of the space, then of the counts of replicas.
template <typename One>
auto place(const One& one) {
  return std::tuple(one.number, one.choice.pool.replicas);
}

/// Everything that is told of a run.
auto numbers(const FleetCandidate& one) {
  const auto all = [](const ServingPercentiles& p) {
    return std::tuple(p.mean.value, p.p50.value, p.p90.value, p.p95.value, p.p99.value, p.max.value,
                      p.count);
  };
  return std::tuple(one.ratio, one.cost_per_million_tokens, all(one.ttft), all(one.tpot),
                    all(one.inter_token), all(one.latency), one.output_tokens_per_s,
                    one.requests_per_s, one.preemptions);
}

/// What is looked for, least first.
enum class Aim : std::uint8_t { kChips, kCost, kLoad };
Aim aim_of(const FleetSearch& search) {
  return search.largest ? Aim::kLoad : search.front ? Aim::kCost : Aim::kChips;
}

bool better(const FleetCandidate& a, const FleetCandidate& b, Aim aim) {
  const auto aimed_at = [aim](const FleetCandidate& one) {
    if (aim == Aim::kChips) return 0.0;
    return aim == Aim::kCost ? one.cost_per_million_tokens : -one.largest.load;
  };
  const double cost_a = aimed_at(a), cost_b = aimed_at(b);
  // Numbers before places: then the order of those that differ is the same in every shard.
  return std::tuple(cost_a, a.choice.chips(), numbers(a), place(a)) <
         std::tuple(cost_b, b.choice.chips(), numbers(b), place(b));
}

/// Those of the same chips and numbers as one: the first in the order of the space. @param list in order
std::vector<FleetCandidate> without_twins(const std::vector<FleetCandidate>& list) {
  std::vector<FleetCandidate> kept;
  for (const FleetCandidate& one : list) {
    const bool twin = !kept.empty() && kept.back().choice.chips() == one.choice.chips() &&
                      numbers(kept.back()) == numbers(one);
    twin ? kept.back().same.push_back({one.choice, one.number}) : kept.push_back(one);
  }
  return kept;
}

/// Each of them by itself again.
void add_with_twins(const FleetCandidate& one, std::vector<FleetCandidate>& out) {
  FleetCandidate alone = one;
  alone.same.clear();
  out.push_back(alone);
  for (const FleetTwin& twin : one.same) {
    alone.choice = twin.choice;
    alone.number = twin.number;
    out.push_back(alone);
  }
}

bool surpassed(const FleetCandidate& a, const FleetCandidate& by) {
  const auto bound = [](const FleetCandidate& one) {
    return FleetBound{one.cost_per_million_tokens, one.ttft.mean.value, one.tpot.mean.value};
  };
  return surpasses(bound(by), bound(a));
}

/// Sorts what was found and cuts it as asked: the same of all at once and of shards' answers together.
void settle(const FleetSearch& search, std::vector<FleetCandidate> met, FleetAnswer& answer) {
  std::sort(met.begin(), met.end(), [&](const FleetCandidate& a, const FleetCandidate& b) {
    return better(a, b, aim_of(search));
  });
  // Shards tell a fleet among the best and among those that none surpasses.
  met.erase(std::unique(met.begin(), met.end(),
                        [](const FleetCandidate& a, const FleetCandidate& b) {
                          return a.choice == b.choice;
                        }),
            met.end());
  if (aim_of(search) == Aim::kChips && !met.empty()) {
    const unsigned fewest = met.front().choice.chips();
    std::erase_if(met, [&](const FleetCandidate& one) { return one.choice.chips() > fewest; });
  }
  met = without_twins(met);
  for (const FleetCandidate& one : met) {
    if (search.largest) break;  // each is of a load of its own
    const bool out = std::any_of(
        met.begin(), met.end(), [&](const FleetCandidate& other) { return surpassed(one, other); });
    if (!out) answer.pareto.push_back(one);
  }
  std::sort(
      answer.pareto.begin(), answer.pareto.end(),
      [](const FleetCandidate& a, const FleetCandidate& b) { return better(a, b, Aim::kCost); });
  if (search.front) met = answer.pareto;
  if (met.size() > search.best) met.resize(search.best);
  answer.best = std::move(met);
  if (!answer.best.empty()) answer.nearest.reset();
}

std::string pool_words(const PoolChoice& pool) {
  const ServingLayout& layout = pool.layout;
  std::string text = fmt::format("{} x tp {}", pool.replicas, layout.tp);
  if (layout.dp > 1) text += fmt::format(" dp {}", layout.dp);
  if (layout.ep > 1) text += fmt::format(" ep {}", layout.ep);
  if (layout.pp > 1) text += fmt::format(" pp {}", layout.pp);
  return text;
}

std::string missed_limits(const FleetCandidate& nearest) {
  if (!std::isfinite(nearest.ratio)) return "leaves requests without an answer";
  return fmt::format("exceeds the limits {:.3g} times: ttft p99 {}, tpot p99 {}, mean {} and {}",
                     nearest.ratio, short_time(nearest.ttft.p99), short_time(nearest.tpot.p99),
                     short_time(nearest.ttft.mean), short_time(nearest.tpot.mean));
}

std::string limits_text(std::span<const ServiceLimit> limits) {
  std::string text;
  for (const ServiceLimit& limit : limits) text += (text.empty() ? "" : ",") + name(limit);
  return text;
}

}  // namespace

std::string fleet_words(const FleetChoice& choice) {
  std::string text = fmt::format("{}, {}, {}", name(choice.engine),
                                 choice.precision == "stored" ? "as stored" : choice.precision,
                                 pool_words(choice.pool));
  if (choice.decode) text += fmt::format(" for prompts, {}", pool_words(*choice.decode));
  if (choice.decode) text += " for answers";
  text += fmt::format(", {} tokens an iteration",
                      grouped(static_cast<std::uint64_t>(choice.batch_tokens)));
  if (choice.max_requests > 0) text += fmt::format(", {} requests", choice.max_requests);
  return text;
}

std::int64_t seats_of(const Fleet& fleet) {
  const ReplicaPool& pool = fleet.decode ? *fleet.decode : fleet.pool;
  const unsigned replicas = fleet.decode ? pool.replicas : most_replicas(fleet);
  return pool.deployment.settings.max_requests * pool.deployment.layout.dp * replicas;
}

Result<Fleet> fleet_of(const FleetSearch& search, const FleetChoice& choice) {
  const Result<ServingPrecision> precision = serving_precision(choice.precision, search.model);
  if (!precision) return precision.error();
  return fleet_with(search, choice, *precision);
}

Result<FleetAnswer> search_fleets(const FleetSearch& search, const Catalog& catalog,
                                  const std::function<bool(const FleetSearchCounts&)>& progress) {
  const Result<SearchSpace> space = search_space(search);
  if (!space) return space.error();
  FleetSearch asked = search;
  if (search.largest) {
    asked.workload = at_load(search.workload, load_range(search.workload.kind, 1).least);
  }
  const Result<Demand> demand = Demand::make(asked.workload);
  if (!demand) return demand.error();
  const Result<FleetScorer> made = FleetScorer::make(asked, catalog, *space, *demand);
  if (!made) return made.error();
  const FleetScorer& scorer = *made;
  FleetRules rules{space->most_chips, search.front, search.threads, {}};
  if (progress) {
    rules.progress = [&](const FleetFindings& found) { return progress(counts_of(found)); };
  }
  const Result<FleetFindings> found = search.largest ? find_capacities(scorer, rules, search.best)
                                                     : FleetFinder(scorer, rules).find();
  if (!found) return found.error();
  FleetAnswer answer;
  answer.counts = counts_of(*found);
  answer.least_ratio = found->least_ratio;
  answer.least_chips = found->least_chips;
  if (found->nearest) answer.nearest = candidate_of(scorer, *space, *found->nearest);
  if (answer.counts.impossible + answer.counts.out_of_memory == answer.counts.configurations) {
    if (auto problem = scorer.problem()) {
      answer.problem = std::move(problem->first);
      answer.problem_number = problem->second;
    }
  }
  std::vector<FleetCandidate> met;
  for (const FleetScore& score : found->met) met.push_back(candidate_of(scorer, *space, score));
  settle(search, std::move(met), answer);
  return answer;
}

Diagnostic fleet_refusal(const FleetSearch& search, const FleetAnswer& answer) {
  const FleetSearchCounts& counts = answer.counts;
  const std::string where = fmt::format("{} on {}", search.model.name, search.cluster.name);
  if (answer.problem) {
    Diagnostic problem = *answer.problem;
    problem.what = fmt::format("none of {} can run: {}",
                               counted(counts.configurations, "configuration"), problem.what);
    problem.where = where;
    return problem;
  }
  Diagnostic none{ErrorCode::kNoAnswer, where, "", ""};
  none.what = fmt::format("no fleet meets {}{}", limits_text(search.limits),
                          search.largest ? " at any load" : "");
  if (answer.nearest) {
    none.what += fmt::format("; the nearest ({}) {}", fleet_words(answer.nearest->choice),
                             missed_limits(*answer.nearest));
    none.hint = "allow more chips, or looser limits";
  } else if (answer.least_ratio >= 1 && std::isfinite(answer.least_ratio)) {
    none.what +=
        fmt::format("; a request that is alone exceeds them {:.3g} times", answer.least_ratio);
    none.hint = "use faster chips, or looser limits";
  } else {
    none.what += fmt::format("; its work alone wants {} chips at least", answer.least_chips);
    none.hint = "allow more chips, or looser limits";
  }
  return none;
}

FleetAnswer merge_fleet_answers(const FleetSearch& search, std::span<const FleetAnswer> shards) {
  FleetAnswer whole;
  whole.least_ratio = std::numeric_limits<double>::infinity();
  whole.least_chips = std::numeric_limits<std::uint64_t>::max();
  std::vector<FleetCandidate> met;
  bool none_can_run = true;
  for (const FleetAnswer& one : shards) {
    FleetSearchCounts& counts = whole.counts;
    counts.configurations += one.counts.configurations;
    counts.impossible += one.counts.impossible;
    counts.out_of_memory += one.counts.out_of_memory;
    counts.bounded += one.counts.bounded;
    counts.simulated += one.counts.simulated;
    counts.runs += one.counts.runs;
    whole.least_ratio = std::min(whole.least_ratio, one.least_ratio);
    whole.least_chips = std::min(whole.least_chips, one.least_chips);
    for (const FleetCandidate& candidate : one.pareto) add_with_twins(candidate, met);
    for (const FleetCandidate& candidate : one.best) add_with_twins(candidate, met);
    if (one.nearest &&
        (!whole.nearest ||
         std::tuple(one.nearest->ratio, one.nearest->choice.chips(), place(*one.nearest)) <
             std::tuple(whole.nearest->ratio, whole.nearest->choice.chips(),
                        place(*whole.nearest)))) {
      whole.nearest = one.nearest;
    }
    none_can_run = none_can_run && (one.problem || one.counts.configurations == 0);
    const auto rank = [](const FleetAnswer& a) {
      return std::tuple(a.problem->code != ErrorCode::kTooLarge, a.problem_number);
    };
    if (one.problem && (!whole.problem || rank(one) < rank(whole))) {
      whole.problem = one.problem;
      whole.problem_number = one.problem_number;
    }
  }
  if (!none_can_run) whole.problem.reset(), whole.problem_number = 0;
  settle(search, std::move(met), whole);
  return whole;
}

}  // namespace flopcast
