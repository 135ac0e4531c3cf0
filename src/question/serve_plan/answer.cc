// From a question to a report, and from shards to the report of the whole.
#include <fmt/format.h>

#include <algorithm>

#include "flopcast/question/serve_plan.h"
#include "flopcast/version.h"
#include "question/serve/answer.h"

namespace flopcast {

using namespace question;  // the room's own names

namespace {

/// The longest request, for flags that bound it.
std::int64_t longest_request(const ServingWorkload& workload) {
  if (workload.kind != ServingWorkload::Kind::kTrace) return workload.input + workload.output;
  std::int64_t longest = 0;
  for (const ServingRequest& request : workload.trace.requests) {
    longest = std::max(longest, request.input + request.output);
  }
  return longest;
}

Diagnostic unfit_shards(std::string what) {
  return {ErrorCode::kBadInput, "shards", std::move(what),
          "give every file of one search's --shard 0/N to N-1/N, each once"};
}

std::optional<Diagnostic> serve_shards_problem(std::span<const ServePlanReport> shards) {
  if (shards.empty()) return unfit_shards("there are none");
  const ServePlanReport& first = shards.front();
  const std::string question = question_key(first);
  std::vector<bool> seen(std::min<std::size_t>(first.shards, shards.size()), false);
  for (const ServePlanReport& shard : shards) {
    if (question_key(shard) != question || shard.shards != first.shards) {
      return unfit_shards(fmt::format("they are of different searches: {} on {} and {} on {}",
                                      first.model, first.cluster, shard.model, shard.cluster));
    }
    if (shard.shard >= seen.size()) continue;  // then one below is missing
    if (seen[shard.shard]) {
      return unfit_shards(fmt::format("shard {}/{} is there twice", shard.shard, shard.shards));
    }
    seen[shard.shard] = true;
  }
  const auto gap = std::find(seen.begin(), seen.end(), false);
  if (seen.size() < first.shards || gap != seen.end()) {
    return unfit_shards(fmt::format("shard {}/{} is missing", gap - seen.begin(), first.shards));
  }
  return std::nullopt;
}

std::optional<Diagnostic> add_band_of(const FleetSearch& search, FleetCandidate& one,
                                      const Catalog& catalog) {
  const Result<Fleet> fleet = fleet_of(search, one.choice);
  if (!fleet) return fleet.error();
  Result<BandedFleet> banded = BandedFleet::make(*fleet, catalog);
  if (!banded) return banded.error();
  if (!search.largest) {
    const ServingWorkload& asked = search.workload;
    const double load = asked.kind == ServingWorkload::Kind::kClosed
                            ? static_cast<double>(asked.users)
                        : asked.kind == ServingWorkload::Kind::kRate ? asked.rate
                                                                     : asked.time_scale;
    const auto slow = banded->try_load(BandEnd::kSlow, asked, load, search.limits);
    if (!slow) return slow.error();
    one.slow_ratio = slow->ratio;
    return std::nullopt;
  }
  const Result<ServeLargest> largest = largest_within(*banded, search.workload, search.limits, {});
  if (!largest) return largest.error();
  one.largest = largest->margin;
  return std::nullopt;
}

/// How the fleets that are told fare at the ends of the band.
std::optional<Diagnostic> add_bands_of(const FleetSearch& search, std::span<FleetCandidate> list,
                                       const Catalog& catalog, unsigned threads) {
  std::vector<std::optional<Diagnostic>> problems(list.size());
  parallel_for(list.size(), threads,
               [&](std::size_t i) { problems[i] = add_band_of(search, list[i], catalog); });
  for (auto& problem : problems) {
    if (problem) return std::move(problem);
  }
  return std::nullopt;
}

}  // namespace

ServePlanReport asked_serve_plan(const ServePlanQuestion& question) {
  const FleetSearch& search = question.search;
  ServePlanReport report;
  report.model = search.model.name;
  report.on = question.cluster;
  report.cluster = search.cluster.name;
  report.chip = search.cluster.chip.name;
  report.settings = question.settings;
  report.chips = search.space.most_chips ? search.space.most_chips : search.cluster.chips();
  report.limits = search.limits;
  report.front = search.front;
  report.largest = search.largest;
  report.load_unit = load_unit(search.workload.kind);
  report.best = search.best;
  report.chip_usd_per_hour = search.chip_usd_per_hour;
  report.version = kVersion;
  report.assumed = question.assumed;
  return report;
}

Result<ServePlanReport> answer_serve_plan(const ServePlanQuestion& question, const Catalog& catalog,
                                          const ServePlanRun& run) {
  FleetSearch search = question.search;
  search.threads = run.threads;
  search.shard = run.shard;
  search.shards = run.shards;
  Result<FleetAnswer> answer = search_fleets(search, catalog, run.progress);
  if (!answer) return answer.error();
  ServePlanReport report = asked_serve_plan(question);
  report.shard = run.shard;
  report.shards = run.shards;
  report.answer = std::move(*answer);
  if (!search.limits.empty()) {
    for (auto* list : {&report.answer.best, &report.answer.pareto}) {
      if (auto problem = add_bands_of(search, *list, catalog, run.threads))
        return *std::move(problem);
    }
  }
  if (!report.found()) return report;
  const Result<Fleet> fleet = fleet_of(search, report.answer.best.front().choice);
  if (!fleet) return fleet.error();
  report.launches = fleet_launches(*fleet, longest_request(search.workload));
  return report;
}

Diagnostic serve_plan_refusal(const ServePlanReport& report) {
  FleetSearch search;
  search.model.name = report.model;
  search.cluster.name = report.cluster;
  search.limits = report.limits;
  search.largest = report.largest;
  return fleet_refusal(search, report.answer);
}

Result<ServePlanReport> merge_serve_plans(std::span<const ServePlanReport> shards) {
  if (auto problem = serve_shards_problem(shards)) return *std::move(problem);
  std::vector<FleetAnswer> answers(shards.size());
  for (const ServePlanReport& shard : shards) answers[shard.shard] = shard.answer;
  ServePlanReport whole = shards.front();
  whole.shard = 0;
  whole.shards = 1;
  FleetSearch search;
  search.front = whole.front;
  search.largest = whole.largest;
  search.best = whole.best;
  whole.answer = merge_fleet_answers(search, answers);
  whole.launches.clear();
  for (const ServePlanReport& shard : shards) {
    if (!whole.found() || !shard.found()) continue;
    if (shard.answer.best.front().choice == whole.answer.best.front().choice) {
      whole.launches = shard.launches;
    }
  }
  return whole;
}

}  // namespace flopcast
