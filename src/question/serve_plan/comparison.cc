// Searches on several clusters beside each other.
#include <algorithm>
#include <iterator>
#include <tuple>

#include "flopcast/question/serve_plan.h"

namespace flopcast {
namespace {

/// What is compared of a report's best fleet: rent, or where loads differ what its tokens cost.
double price_of(const ServePlanReport& report) {
  return report.front || report.largest ? report.answer.best.front().cost_per_million_tokens
                                        : usd_per_hour(report);
}

auto measures(const FleetCandidate& one) {
  return std::tuple(one.cost_per_million_tokens, one.ttft.mean.value, one.tpot.mean.value);
}

bool beats(const FleetCandidate& a, const FleetCandidate& b) {
  const auto [cost, ttft, tpot] = measures(a);
  const auto [other_cost, other_ttft, other_tpot] = measures(b);
  return cost <= other_cost && ttft <= other_ttft && tpot <= other_tpot &&
         measures(a) != measures(b);
}

using Place = std::pair<std::size_t, std::size_t>;

std::vector<Place> common_front(const std::vector<ServePlanReport>& reports) {
  std::vector<Place> all, front;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    for (std::size_t j = 0; j < reports[i].answer.pareto.size(); ++j) all.emplace_back(i, j);
  }
  const auto fleet = [&](const Place& at) -> const FleetCandidate& {
    return reports[at.first].answer.pareto[at.second];
  };
  std::ranges::copy_if(all, std::back_inserter(front), [&](const Place& mine) {
    return std::ranges::none_of(
        all, [&](const Place& other) { return beats(fleet(other), fleet(mine)); });
  });
  std::ranges::stable_sort(front, {}, [&](const Place& at) { return measures(fleet(at)); });
  return front;
}

/// What all clusters' searches have in common, as text.
std::string load_key(ServePlanReport report) {
  report.on = report.cluster = report.chip = "";
  report.chips = 0;
  report.chip_usd_per_hour = 0;
  std::erase_if(report.settings, [](const auto& setting) { return setting.first == "price"; });
  return question_key(report);
}

}  // namespace

double usd_per_hour(const ServePlanReport& report) {
  return report.chip_usd_per_hour * report.answer.best.front().choice.chips();
}

ServePlanComparison compare_serve_plans(std::vector<ServePlanReport> reports) {
  ServePlanComparison all;
  all.reports = std::move(reports);
  const bool priced = std::ranges::all_of(
      all.reports, [](const ServePlanReport& report) { return report.chip_usd_per_hour > 0; });
  for (std::size_t i = 0; i < all.reports.size(); ++i) {
    const ServePlanReport& one = all.reports[i];
    if (!one.found()) continue;
    const auto size = [priced](const ServePlanReport& r) {
      return std::tuple(r.answer.best.front().choice.chips(), priced ? price_of(r) : 0);
    };
    if (!all.fewest || size(one) < size(all.reports[*all.fewest])) all.fewest = i;
    const auto load = [](const ServePlanReport& r) { return r.answer.best.front().largest.load; };
    if (one.largest && (!all.largest || load(one) > load(all.reports[*all.largest]))) {
      all.largest = i;
    }
    if (!priced) continue;
    if (!all.cheapest || price_of(one) < price_of(all.reports[*all.cheapest])) all.cheapest = i;
  }
  if (priced) all.pareto = common_front(all.reports);
  return all;
}

Result<ServePlanComparison> merge_and_compare_serve_plans(std::span<const ServePlanReport> shards) {
  std::vector<std::vector<ServePlanReport>> clusters;
  for (const ServePlanReport& shard : shards) {
    const auto same = std::ranges::find_if(
        clusters, [&](const auto& cluster) { return cluster.front().on == shard.on; });
    (same == clusters.end() ? clusters.emplace_back() : *same).push_back(shard);
  }
  if (clusters.empty()) return merge_serve_plans({}).error();
  std::vector<ServePlanReport> wholes;
  for (const std::vector<ServePlanReport>& cluster : clusters) {
    Result<ServePlanReport> whole = merge_serve_plans(cluster);
    if (!whole) return whole.error();
    if (!wholes.empty() && load_key(*whole) != load_key(wholes.front())) {
      return Diagnostic{ErrorCode::kBadInput, "shards",
                        "they are of different searches: loads, limits or what is searched differ",
                        "compare clusters by searches that differ in --on and --price alone"};
    }
    wholes.push_back(std::move(*whole));
  }
  return compare_serve_plans(std::move(wholes));
}

}  // namespace flopcast
