// Searches over real engines on small spaces: all fleets run one by one find the same; shards, threads, refusals.
#include <gmock/gmock.h>

#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "serving/search/space.h"
#include "serving/search/testing.h"

namespace flopcast::serving {
namespace {

using ::testing::HasSubstr;

using FleetKey = std::tuple<std::uint64_t, unsigned, unsigned>;
template <typename One>
FleetKey key_of(const One& one) {
  return {one.number, one.choice.pool.replicas,
          one.choice.decode ? one.choice.decode->replicas : 0};
}
std::set<FleetKey> keys_of(const std::vector<FleetCandidate>& list) {
  std::set<FleetKey> keys;
  for (const FleetCandidate& one : list) {
    keys.insert(key_of(one));
    for (const FleetTwin& twin : one.same) keys.insert(key_of(twin));
  }
  return keys;
}

/// Every fleet of the space, run; those that meet the limits on the fewest chips. Knows no bound.
std::set<FleetKey> fewest_of_all(const FleetSearch& search) {
  const auto space = search_space(search);
  std::set<FleetKey> fewest;
  unsigned least = space->most_chips + 1;
  const auto look_at = [&](const Configuration& one, unsigned n, unsigned m) {
    const FleetChoice choice = choice_of(*space, one, n, m);
    if (choice.chips() > least || choice.chips() > space->most_chips) return;
    const auto fleet = fleet_of(search, choice);
    if (!fleet || !deployment_problems(fleet->pool.deployment).empty()) return;
    const auto run = simulate(*fleet, search.workload, Catalog::builtin());
    if (!run || !meets(*run, search.limits)) return;
    if (choice.chips() < least) fewest.clear();
    least = choice.chips();
    fewest.insert({one.number, n, m});
  };
  for (const Configuration& one : space->configurations) {
    for (unsigned n = 1; n <= space->most_chips; ++n) {
      for (unsigned m = one.decode ? 1 : 0; m <= (one.decode ? space->most_chips : 0); ++m) {
        look_at(one, n, m);
      }
    }
  }
  return fewest;
}

FleetAnswer answer_to(const FleetSearch& search) {
  auto answer = search_fleets(search, Catalog::builtin());
  EXPECT_TRUE(answer) << answer.error().text();
  return *answer;
}

void expect_sums(const FleetSearchCounts& c) {
  EXPECT_EQ(c.configurations, c.impossible + c.out_of_memory + c.bounded + c.simulated);
}

TEST(FleetSearches, FindWhatRunningEveryFleetFinds) {
  FleetSearch search = small_search(60, 150);
  search.space.engines = {};
  search.space.precisions = {"bf16", "fp8"};
  search.space.batch_tokens = {1024, 4096};
  search.space.pp = {1};
  search.best = 1000;
  std::set<unsigned> chips;
  for (const char* limits : {"ttft.p99<10s", "ttft.p99<200ms", "ttft.p99<150ms,tpot.p99<14ms",
                             "ttft.p90<80ms,tpot.p90<9ms", "ttft.p99<80ms,tpot.p99<9ms",
                             "ttft.mean<45ms,tpot.mean<6ms", "latency.p95<500ms"}) {
    limit_to(search, limits);
    const FleetAnswer answer = answer_to(search);
    EXPECT_EQ(keys_of(answer.best), fewest_of_all(search)) << limits;
    expect_sums(answer.counts);
    if (!answer.best.empty()) chips.insert(answer.best.front().choice.chips());
  }
  EXPECT_GE(chips.size(), 2U);  // limits that matter
}

TEST(FleetSearches, FindPoolsThatAreApart) {
  FleetSearch search = small_search(12);
  search.space.aggregated = false;
  search.space.disaggregated = true;
  search.space.tp = {1, 2};
  search.space.pp = {1};
  search.best = 1000;
  for (const char* limits : {"ttft.p99<300ms,tpot.p99<20ms", "ttft.p99<100ms,tpot.p99<9ms"}) {
    limit_to(search, limits);
    const FleetAnswer answer = answer_to(search);
    EXPECT_EQ(keys_of(answer.best), fewest_of_all(search)) << limits;
    for (const FleetCandidate& one : answer.best) EXPECT_TRUE(one.choice.decode);
  }
}

TEST(FleetSearches, FrontsHoldWhatNothingSurpasses) {
  FleetSearch search = small_search(20);
  search.front = true;
  search.best = 1000;
  search.space.tp = {1, 2, 4};
  search.space.pp = {1};
  const FleetAnswer answer = answer_to(search);
  EXPECT_GE(answer.pareto.size(), 2U);
  // Every fleet by itself.
  FleetSearch one = search;
  for (const unsigned tp : {1U, 2U, 4U}) {
    for (unsigned n = 1; n * tp <= 4; ++n) {
      const auto fleet =
          fleet_of(one, {ServingEngine::kVllm, "bf16", 2048, 0, {{tp, 1, 1, 1}, n}, {}});
      const auto run = simulate(*fleet, one.workload, Catalog::builtin());
      ASSERT_TRUE(run);
      const bool reached = std::ranges::any_of(answer.pareto, [&](const FleetCandidate& best) {
        const double chips = best.choice.chips() / best.output_tokens_per_s;
        return chips <= n * tp / run->output_tokens_per_s * (1 + 1e-12) &&
               best.ttft.mean <= run->ttft.mean && best.tpot.mean <= run->tpot.mean;
      });
      EXPECT_TRUE(reached) << n << " x tp " << tp;
    }
  }
}

TEST(FleetSearches, ShardsMakeTheWhole) {
  for (const bool front : {false, true}) {
    FleetSearch search = small_search(12);
    search.space.precisions = {"bf16", "fp8"};
    search.space.pp = {1};
    search.front = front;
    limit_to(search, "ttft.p99<200ms,tpot.p99<14ms");
    const FleetAnswer whole = answer_to(search);
    for (const unsigned shards : {1U, 2U, 5U, 9U}) {
      std::vector<FleetAnswer> parts;
      for (unsigned i = 0; i < shards; ++i) {
        FleetSearch part = search;
        part.shard = i;
        part.shards = shards;
        parts.push_back(answer_to(part));
      }
      const FleetAnswer merged = merge_fleet_answers(search, parts);
      ASSERT_EQ(merged.best.size(), whole.best.size());
      for (std::size_t i = 0; i < whole.best.size(); ++i) {
        EXPECT_EQ(key_of(merged.best[i]), key_of(whole.best[i]));
        EXPECT_EQ(merged.best[i].ratio, whole.best[i].ratio);
      }
      EXPECT_EQ(keys_of(merged.pareto), keys_of(whole.pareto));
      EXPECT_EQ(merged.counts.configurations, whole.counts.configurations);
      EXPECT_EQ(merged.least_chips, whole.least_chips);
      EXPECT_EQ(merged.least_ratio, whole.least_ratio);
    }
  }
}

TEST(FleetSearchThreads, MakeNoDifference) {
  FleetSearch search = small_search(12);
  search.space.engines = {};
  limit_to(search, "ttft.p99<200ms,tpot.p99<14ms");
  const FleetAnswer one = answer_to(search);
  search.threads = 3;
  const FleetAnswer three = answer_to(search);
  EXPECT_EQ(keys_of(one.best), keys_of(three.best));
  EXPECT_EQ(one.counts.bounded, three.counts.bounded);
  EXPECT_EQ(one.counts.runs, three.counts.runs);
  ASSERT_FALSE(one.best.empty());
  EXPECT_EQ(one.best.front().ttft.mean, three.best.front().ttft.mean);
}

TEST(FleetSearches, SayThatNothingFits) {
  FleetSearch search = small_search();
  search.model = *load_model("llama-3-70b");
  search.space.most_chips = 1;
  limit_to(search, "ttft.p99<1s");
  const FleetAnswer answer = answer_to(search);
  EXPECT_TRUE(answer.best.empty());
  EXPECT_EQ(answer.counts.out_of_memory, answer.counts.configurations);
  const Diagnostic refusal = fleet_refusal(search, answer);
  EXPECT_EQ(refusal.code, ErrorCode::kTooLarge);
  EXPECT_THAT(refusal.text(), HasSubstr("none of 1 configuration can run"));
  EXPECT_FALSE(refusal.hint.empty());
}

TEST(FleetSearches, SayHowFarTheNearestIs) {
  FleetSearch search = small_search(40, 200);
  search.space.most_chips = 1;
  limit_to(search, "ttft.p99<60ms,tpot.p99<20ms");
  const FleetAnswer answer = answer_to(search);
  EXPECT_TRUE(answer.best.empty());
  ASSERT_TRUE(answer.nearest);
  EXPECT_GE(answer.nearest->ratio, 1);
  const Diagnostic refusal = fleet_refusal(search, answer);
  EXPECT_EQ(refusal.code, ErrorCode::kNoAnswer);
  EXPECT_THAT(refusal.text(), HasSubstr("the nearest (vllm, bf16, 1 x tp 1"));
}

TEST(FleetSearches, RuleOutWhatALoneRequestExceeds) {
  FleetSearch search = small_search();
  limit_to(search, "tpot.p50<100us");
  const FleetAnswer answer = answer_to(search);
  EXPECT_EQ(answer.counts.runs, 0U);
  EXPECT_GT(answer.least_ratio, 1);
  EXPECT_THAT(fleet_refusal(search, answer).text(),
              HasSubstr("a request that is alone exceeds them"));
}

TEST(FleetSearches, TellTheSameNumbersOnce) {
  FleetSearch search = small_search();
  search.space.batch_tokens = {2048, 8192, 16384};  // prompts of 1,024 one by one: nothing is cut
  search.space.tp = {1};
  search.space.pp = {1};
  limit_to(search, "ttft.p99<10s");
  const FleetAnswer answer = answer_to(search);
  std::size_t told = 0;
  for (const FleetCandidate& one : answer.best) {
    told += 1 + one.same.size();
    for (const FleetCandidate& other : answer.best) {
      if (&one == &other) continue;
      EXPECT_NE(std::tuple(one.ttft.mean, one.tpot.mean, one.output_tokens_per_s),
                std::tuple(other.ttft.mean, other.tpot.mean, other.output_tokens_per_s));
    }
    for (const FleetTwin& twin : one.same) {
      const auto fleet = fleet_of(search, twin.choice);
      const auto run = simulate(*fleet, search.workload, Catalog::builtin());
      EXPECT_EQ(run->ttft.p99, one.ttft.p99);
      EXPECT_EQ(run->output_tokens_per_s, one.output_tokens_per_s);
    }
  }
  EXPECT_EQ(told, 3U);
  EXPECT_LT(answer.best.size(), 3U);
}

TEST(FleetSearches, FindTheFleetsOfTheLargestRates) {
  FleetSearch search = small_search(0, 300);
  search.largest = true;
  search.best = 3;
  search.space.tp = {1, 2, 4};
  search.space.pp = {1, 2};
  search.space.batch_tokens = {512, 2048};
  limit_to(search, "ttft.p99<300ms,tpot.p99<14ms");
  // Every fleet of all chips, by itself and without bounds.
  std::map<double, std::set<FleetKey>, std::greater<>> every;
  const auto space = search_space(search);
  for (const Configuration& one : space->configurations) {
    const unsigned replicas = 4 / one.layout.chips();
    if (replicas == 0) continue;
    const auto fleet = fleet_of(search, choice_of(*space, one, replicas, 0));
    const auto prepared = PreparedFleet::make(*fleet, Catalog::builtin());
    const auto largest = largest_load(
        load_range(search.workload.kind, seats_of(*fleet)), [&](double load) -> Result<TriedLoad> {
          const auto run = prepared->run(at_load(search.workload, load));
          return TriedLoad{load, meets(*run, search.limits) && !outpaced(*run), 0};
        });
    every[largest->load].insert({one.number, replicas, 0});
  }
  for (const unsigned threads : {1U, 3U}) {
    search.threads = threads;
    const FleetAnswer answer = answer_to(search);
    ASSERT_EQ(answer.best.size(), 3U);
    auto expected = every.begin();
    for (const FleetCandidate& one : answer.best) {
      while (expected != every.end() && expected->first > one.largest.load) ++expected;
      ASSERT_NE(expected, every.end());
      EXPECT_EQ(expected->first, one.largest.load);
      EXPECT_TRUE(expected->second.contains(key_of(one)));
      EXPECT_EQ(one.choice.chips(), 4U);
      EXPECT_LT(one.ratio, 1);
    }
    EXPECT_EQ(answer.best.front().largest.load, every.begin()->first);
  }
}

TEST(FleetSearches, SayThatNoLoadHolds) {
  FleetSearch search = small_search(0, 100);
  search.largest = true;
  limit_to(search, "tpot.p50<100us");
  const FleetAnswer answer = answer_to(search);
  EXPECT_TRUE(answer.best.empty());
  ASSERT_TRUE(answer.nearest);
  EXPECT_THAT(fleet_refusal(search, answer).text(), HasSubstr("at any load; the nearest"));
}

TEST(FleetSpaces, HoldWhatMakesSense) {
  FleetSearch search = small_search();
  search.space.most_chips = 8;
  const auto dense = usual_layouts(search, 8);
  for (const ServingLayout& layout : dense) {
    EXPECT_EQ(layout.dp, 1U);
    EXPECT_EQ(layout.ep, 1U);
    EXPECT_LE(layout.chips(), 8U);
  }
  EXPECT_EQ(dense.size(), 10U);  // tp x pp, powers of two up to 8
  search.model = *load_model("mixtral-8x7b");
  EXPECT_GT(usual_layouts(search, 8).size(), 2 * dense.size());
  search.space.tp = {3};
  search.space.dp = {1};
  search.space.pp = {1};
  const auto given = usual_layouts(search, 8);
  ASSERT_EQ(given.size(), 2U);
  EXPECT_EQ(given[1], (ServingLayout{3, 1, 3, 1}));
}

TEST(FleetSpaces, RefuseWhatIsNone) {
  const auto error_of = [](const FleetSearch& search) {
    const auto space = search_space(search);
    return space ? std::string("a space") : space.error().text();
  };
  FleetSearch search = small_search();
  EXPECT_EQ(error_of(search), "a space");
  search.space.most_chips = 9;
  EXPECT_THAT(error_of(search), HasSubstr("9 are more than the 8"));
  search = small_search();
  search.space.aggregated = false;
  EXPECT_THAT(error_of(search), HasSubstr("neither"));
  search = small_search();
  search.space.precisions = {"fp7"};
  EXPECT_THAT(error_of(search), HasSubstr("fp7"));
  search = small_search();
  search.shard = search.shards = 2;
  EXPECT_THAT(error_of(search), HasSubstr("2 of 2"));
}

}  // namespace
}  // namespace flopcast::serving
