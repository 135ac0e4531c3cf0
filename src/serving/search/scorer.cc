#include "serving/search/scorer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "base/numeric/clock.h"
#include "serving/fleet/simulation.h"
#include "serving/search/part.h"

namespace flopcast::serving {
namespace {

using Quantity = ServiceLimit::Quantity;

constexpr double kChipHoursOfMillion = 1e6 / 3600;

/// Why the engine cannot take the longest of the requests.
std::optional<Diagnostic> too_long_for(const Deployment& deployment, const ServingMemory& memory,
                                       const Demand& demand, bool answers) {
  const EngineSettings& settings = deployment.settings;
  if (!settings.chunked_prefill && demand.longest_input() > settings.batch_tokens) {
    return usage_error("batch_tokens",
                       fmt::format("a prompt of {} tokens does not fit in an iteration of {}",
                                   demand.longest_input(), settings.batch_tokens),
                       "allow chunks of prompts, or more tokens in an iteration");
  }
  const std::int64_t longest = answers ? demand.longest() : demand.longest_input() + 1;
  const std::int64_t kept = (longest + settings.block - 1) / settings.block * settings.block;
  if (kept > memory.tokens) {
    return Diagnostic{ErrorCode::kTooLarge, "memory",
                      fmt::format("there is room for keys and values of {} tokens; the longest "
                                  "request has {}",
                                  memory.tokens, longest),
                      "use more chips a replica, or smaller weights"};
  }
  return std::nullopt;
}

struct LeastTimes {
  const IterationModel& model;
  const Deployment& deployment;
  double ttft(double input) const {
    return least_ttft(model, deployment.settings, deployment.layout, input);
  }
  double tpot(double input) const {
    return least_tpot(model, deployment.settings, deployment.layout, input);
  }
};

/// At least what a limit's percentile comes to, of what this pool decides.
double least_value(const ServiceLimit& limit, const LeastTimes& least, const Demand& demand,
                   bool prompts, bool answers) {
  const double percentile = limit.percentile;
  const double input = demand.answered_input(percentile);
  switch (limit.quantity) {
    case Quantity::kTtft:
      return prompts ? least.ttft(demand.input(percentile)) : 0;
    case Quantity::kTpot:
      return answers && input > 0 ? least.tpot(input) : 0;
    case Quantity::kInterToken:
      return 0;  // drafts come several at once
    case Quantity::kLatency: {
      const double first = prompts ? least.ttft(demand.input(percentile)) : 0;
      const double rest = answers ? (demand.output(percentile) - 1) * least.tpot(1) : 0;
      return std::max(first, rest);
    }
  }
  return 0;
}

double cost_of(const FleetSearch& search, double chips, double tokens_per_s) {
  const double price = search.chip_usd_per_hour > 0 ? search.chip_usd_per_hour : 1;
  return tokens_per_s > 0 ? price * chips * kChipHoursOfMillion / tokens_per_s
                          : std::numeric_limits<double>::infinity();
}

/// Of a long open load: its beginning shows most fleets that are too small.
std::vector<double> parts_to_try(const Demand& demand) {
  constexpr std::int64_t kWorthwhile = 1000;
  if (demand.requests() < kWorthwhile || demand.span() <= 0) return {};
  return {1.0 / 32, 1.0 / 8};
}

/// What tells pools apart.
auto key_of(const Configuration& of, const ServingLayout& layout) {
  return std::tuple(of.engine, of.precision, of.batch_tokens, of.max_requests, layout.tp, layout.dp,
                    layout.ep, layout.pp);
}

/// No fleet of such replicas needs to be run.
bool ruled_out(const PoolBound& bound) { return bound.problem || !(bound.ratio < 1); }

}  // namespace

FleetScorer::FleetScorer(const FleetSearch& search, const Catalog& catalog,
                         const SearchSpace& space, const Demand& demand)
    : search_(&search),
      catalog_(&catalog),
      space_(&space),
      demand_(&demand),
      demands_(std::make_unique<LoadDemands>(search.workload)) {
  for (std::size_t i = search.shard; i < space.configurations.size(); i += search.shards) {
    numbers_.push_back(i);
  }
}

Result<FleetScorer> FleetScorer::make(const FleetSearch& search, const Catalog& catalog,
                                      const SearchSpace& space, const Demand& demand) {
  FleetScorer scorer(search, catalog, space, demand);
  if (search.space.disaggregated) {
    Result<Topology> topology = Topology::build(search.cluster);
    if (!topology) return topology.error();
    scorer.topology_.emplace(std::move(*topology));
  }
  scorer.find_pools();
  parallel_for(scorer.pools_.size(), search.threads,
               [&scorer](std::size_t i) { scorer.price(scorer.pools_[i]); });
  return scorer;
}

void FleetScorer::find_pools() {
  std::map<decltype(key_of(configuration(0), {})), std::size_t> known;
  const auto place = [&](const Configuration& one, const ServingLayout& layout) {
    const auto [at, fresh] = known.try_emplace(key_of(one, layout), pools_.size());
    if (fresh) pools_.push_back({&one, layout, {}, {}, {}, {}});
    return at->second;
  };
  for (std::size_t i = 0; i < size(); ++i) {
    const Configuration& one = configuration(i);
    const std::size_t first = place(one, one.layout);
    places_.emplace_back(first, one.decode ? place(one, *one.decode) : first);
  }
}

void FleetScorer::price(Pool& pool) const {
  std::vector<std::pair<PoolBound*, PoolRole>> roles;
  if (search_->space.aggregated) roles.push_back({&pool.both, {true, true}});
  if (search_->space.disaggregated) {
    roles.push_back({&pool.prompts, {true, false}});
    roles.push_back({&pool.answers, {false, true}});
  }
  Configuration alone = *pool.of;
  alone.layout = pool.layout;
  alone.decode.reset();
  const FleetChoice choice = choice_of(*space_, alone, 1, 0);
  const Fleet fleet = fleet_with(*search_, choice, space_->values[alone.precision]);
  Result<PricedPool> priced = price_pool(fleet.pool, *catalog_);
  bool wanted = false;
  for (const auto& [bound, role] : roles) {
    if (priced) {
      *bound = bound_of(*priced, role, *demand_);
    } else {
      bound->problem = priced.error();
    }
    // Of other loads the requests are others, and so are bounds.
    wanted = wanted || !(search_->largest ? bound->problem.has_value() : ruled_out(*bound));
  }
  if (wanted) pool.priced.emplace(std::move(*priced));
}

PoolBound FleetScorer::bound_of(const PricedPool& pool, PoolRole role, const Demand& demand) const {
  const EngineSettings& settings = pool.deployment.settings;
  const ServingLayout& layout = pool.deployment.layout;
  PoolBound bound;
  bound.problem = too_long_for(pool.deployment, pool.memory, demand, role.answers);
  if (bound.problem) return bound;
  const LeastTimes least{pool.model, pool.deployment};
  bound.ttft = role.prompts ? least.ttft(demand.input(0)) : 0;
  const bool answered = role.answers && demand.output(0) > 1;
  bound.tpot = answered ? least.tpot(demand.answered_input(1)) : 0;
  bound.works = least_works(pool.model, pool.memory, settings, layout, demand.tokens());
  bound.least = demand.least_replicas(bound.works, search_->limits, role.prompts, role.answers);
  for (const ServiceLimit& limit : search_->limits) {
    const double value = least_value(limit, least, demand, role.prompts, role.answers);
    bound.ratio = std::max(bound.ratio, value / limit.below.value);
  }
  return bound;
}

const std::optional<Diagnostic>& FleetScorer::problem_of(std::size_t i) const {
  const PoolBound& first = pool_bound(i);
  return configuration(i).decode && !first.problem ? decode(i).answers.problem : first.problem;
}

Assessment FleetScorer::assess(std::size_t i) const {
  const Configuration& one = configuration(i);
  Assessment found;
  found.chips = one.layout.chips();
  found.least = pool_bound(i).least;
  found.ratio = pool_bound(i).ratio;
  if (one.decode) {
    found.decode_chips = one.decode->chips();
    found.least_decode = decode(i).answers.least;
    found.ratio = std::max(found.ratio, decode(i).answers.ratio);
  }
  if (const auto& problem = problem_of(i)) {
    found.verdict =
        problem->code == ErrorCode::kTooLarge ? Verdict::kTooLarge : Verdict::kImpossible;
  }
  return found;
}

/// Seconds of the fleet that a mean request takes at least.
double FleetScorer::work_per_request(std::size_t i, unsigned replicas, unsigned decoders) const {
  const double prompts = demand_->mean_input(), answers = demand_->mean_output() - 1;
  const bool split = configuration(i).decode.has_value();
  const double first = work_of(pool_bound(i).works, split ? 0 : answers, prompts) / replicas;
  if (!split) return first;
  return std::max(first, work_of(decode(i).answers.works, answers, 0) / decoders);
}

FleetBound FleetScorer::bound(std::size_t i, unsigned replicas, unsigned decoders) const {
  const Configuration& one = configuration(i);
  const PoolBound& first = pool_bound(i);
  const double chips =
      replicas * one.layout.chips() + (one.decode ? decoders * one.decode->chips() : 0);
  const double tokens = demand_->mean_output() / work_per_request(i, replicas, decoders);
  return {cost_of(*search_, chips, tokens), first.ttft,
          one.decode ? decode(i).answers.tpot : first.tpot};
}

double FleetScorer::most_rate(std::size_t i, unsigned replicas, unsigned decoders) const {
  return 1 / work_per_request(i, replicas, decoders);
}

LoadRange FleetScorer::loads(std::size_t i, unsigned replicas, unsigned decoders) const {
  const FleetChoice choice = choice_of(*space_, configuration(i), replicas, decoders);
  return load_range(
      search_->workload.kind,
      seats_of(fleet_with(*search_, choice, space_->values[configuration(i).precision])));
}

/// A queue that never drains is a run without answers.
Result<FleetRun> FleetScorer::run_fleet(const FleetScore& fleet, const ServingWorkload& workload,
                                        const Demand& demand, const FleetOptions& options) const {
  const std::size_t i = fleet.configuration;
  PricedReplicas second;
  if (configuration(i).decode) second = {&*decode(i).priced, fleet.decode};
  FleetPlan plan = plan_fleet({&*pool(i).priced, fleet.replicas}, second,
                              topology_ ? &*topology_ : nullptr, options);
  plan.router = search_->router;
  Result<FleetRun> run = FleetSimulation(plan, workload, demand.list(), options).run();
  if (run || run.error().code != ErrorCode::kNoAnswer) return run;
  FleetRun none;
  none.unanswered = 1;
  return none;
}

Result<double> FleetScorer::ratio_of_beginning(const FleetScore& fleet,
                                               const ServingWorkload& workload,
                                               const Demand& demand) const {
  for (const double part : parts_to_try(demand)) {
    const Time end = on_clock({part * demand.span()});
    const Result<FleetRun> run =
        run_fleet(fleet, workload, demand, {.inter_token = false, .longest = end});
    if (!run) return run.error();
    const double ratio = least_ratio_of(*run, end, demand.requests(), search_->limits);
    if (!(ratio < 1)) return ratio;
  }
  return 0.0;
}

void FleetScorer::tell(const FleetRun& run, FleetScore& score) const {
  score.tokens_per_s = run.output_tokens_per_s;
  score.cost = cost_of(*search_, score.chips, score.tokens_per_s);
  score.ttft = run.ttft.mean.value;
  score.tpot = run.tpot.mean.value;
  score.told = {run.ttft,    run.tpot,           run.inter_token,
                run.latency, run.requests_per_s, run.counts.preemptions};
}

FleetScore FleetScorer::unscored(std::size_t i, unsigned replicas, unsigned decoders) const {
  FleetScore score;
  score.configuration = i;
  score.replicas = replicas;
  score.decode = decoders;
  score.chips = choice_of(*space_, configuration(i), replicas, decoders).chips();
  return score;
}

Result<FleetScore> FleetScorer::run(std::size_t i, unsigned replicas, unsigned decoders) const {
  FleetScore score = unscored(i, replicas, decoders);
  const Result<double> ratio = ratio_of_beginning(score, search_->workload, *demand_);
  if (!ratio) return ratio.error();
  if (*ratio == 0) return run_whole(i, replicas, decoders);
  score.ratio = *ratio;
  score.whole = false;
  return score;
}

Result<FleetScore> FleetScorer::run_whole(std::size_t i, unsigned replicas,
                                          unsigned decoders) const {
  return score_of(unscored(i, replicas, decoders), search_->workload, *demand_);
}

Result<FleetScore> FleetScorer::score_of(FleetScore score, const ServingWorkload& workload,
                                         const Demand& demand, bool gaps) const {
  const Result<FleetRun> run = run_fleet(score, workload, demand, {.inter_token = gaps});
  if (!run) return run.error();
  tell(*run, score);
  score.ratio = limit_ratio(*run, search_->limits);
  score.outpaced = outpaced(*run);
  return score;
}

bool FleetScorer::out_of_bounds(std::size_t i, unsigned replicas, unsigned decoders,
                                const Demand& demand) const {
  const auto out = [&](const Pool& of, PoolRole role, unsigned count) {
    const PoolBound bound = bound_of(*of.priced, role, demand);
    return ruled_out(bound) || count < bound.least;
  };
  if (!configuration(i).decode) return out(pool(i), {true, true}, replicas);
  return out(pool(i), {true, false}, replicas) || out(decode(i), {false, true}, decoders);
}

Result<TriedLoad> FleetScorer::try_load(std::size_t i, unsigned replicas, unsigned decoders,
                                        double load) const {
  const auto demand = demands_->at(load);
  if (!demand) return demand.error();
  if (out_of_bounds(i, replicas, decoders, **demand)) return TriedLoad{load, false, 1};
  const FleetScore fleet = unscored(i, replicas, decoders);
  const ServingWorkload workload = at_load(search_->workload, load);
  const Result<double> ratio = ratio_of_beginning(fleet, workload, **demand);
  if (!ratio) return ratio.error();
  if (*ratio > 0) return TriedLoad{load, false, *ratio};
  const bool gaps = std::ranges::any_of(search_->limits, [](const ServiceLimit& limit) {
    return limit.quantity == Quantity::kInterToken;
  });
  const Result<FleetScore> score = score_of(fleet, workload, **demand, gaps);
  if (!score) return score.error();
  return TriedLoad{load, score->ratio < 1 && !score->outpaced, score->ratio};
}

Result<FleetScore> FleetScorer::run_at(std::size_t i, unsigned replicas, unsigned decoders,
                                       double load) const {
  const auto demand = demands_->at(load);
  if (!demand) return demand.error();
  return score_of(unscored(i, replicas, decoders), at_load(search_->workload, load), **demand);
}

Result<std::shared_ptr<const Demand>> LoadDemands::at(double load) {
  const std::lock_guard lock(mutex_);
  const auto known = known_.find(load);
  if (known != known_.end()) return known->second;
  Result<Demand> made = Demand::make(at_load(workload_, load));
  if (!made) return made.error();
  return known_[load] = std::make_shared<const Demand>(std::move(*made));
}

std::optional<std::pair<Diagnostic, std::uint64_t>> FleetScorer::problem() const {
  std::optional<std::pair<Diagnostic, std::uint64_t>> first;
  for (std::size_t i = 0; i < size(); ++i) {
    const auto& problem = problem_of(i);
    if (!problem) continue;
    if (problem->code == ErrorCode::kTooLarge) return std::pair(*problem, numbers_[i]);
    if (!first) first.emplace(*problem, numbers_[i]);
  }
  return first;
}

}  // namespace flopcast::serving
