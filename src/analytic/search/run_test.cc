#include "analytic/search/run.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <atomic>
#include <tuple>

#include "analytic/search/testing.h"

namespace flopcast::analytic::search {
namespace {

/// Random times and memories of few values, so that ties are common, and random bounds below them.
struct Fake {
  std::uint64_t seed = 0, times = 1, memories = 1, slack = 0, memory_slack = 0;

  double memory(const Plan& plan) const {
    return 1 + static_cast<double>(hash(plan, 0) % memories);
  }
  double memory_at_least(const Plan& plan) const {
    const std::uint64_t less = hash(plan, 4) % (memory_slack + 1);
    return std::max(0.0, memory(plan) - static_cast<double>(less));
  }
  double memory_counted(const Plan& plan) const {
    const double least = memory_at_least(plan);
    return least + static_cast<double>(hash(plan, 5) % 3) / 2 * (memory(plan) - least);
  }
  double time(const Plan& plan, const Placement& placement) const {
    return 1 + static_cast<double>(hash(plan, 1 + mixed(placement)) % times);
  }
  double at_least(const Plan& plan, const Placement& placement) const {
    const std::uint64_t less = hash(plan, 2 + mixed(placement)) % (slack + 1);
    return std::max(0.0, time(plan, placement) - static_cast<double>(less));
  }
  double at_least(const Plan& plan, std::span<const Placement> placements) const {
    double least = 1e300;
    for (const Placement& one : placements) least = std::min(least, at_least(plan, one));
    return std::max(0.0, least - static_cast<double>(hash(plan, 3) % (slack + 1)));
  }

 private:
  static std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
    hash = (hash ^ value) * 0x9E3779B97F4A7C15ULL;
    return hash ^ (hash >> 29);
  }
  static std::uint64_t mixed(const Placement& placement) {
    std::uint64_t hash = 17;
    for (const auto& tier : placement.inside) {
      for (const unsigned extent : tier) hash = mix(hash, extent);
    }
    return hash;
  }
  std::uint64_t hash(const Plan& p, std::uint64_t what) const {
    std::uint64_t all = mix(seed, what);
    for (const std::uint64_t value :
         {std::uint64_t{p.tp}, std::uint64_t{p.cp}, std::uint64_t{p.pp}, std::uint64_t{p.ep},
          std::uint64_t{p.etp}, std::uint64_t{p.vpp}, static_cast<std::uint64_t>(p.micro_batch),
          static_cast<std::uint64_t>(p.schedule), static_cast<std::uint64_t>(p.zero),
          static_cast<std::uint64_t>(p.recompute), static_cast<std::uint64_t>(p.context),
          static_cast<std::uint64_t>(p.precision), std::uint64_t{p.shard},
          std::uint64_t{p.sequence_parallel}}) {
      all = mix(all, value);
    }
    return all >> 16;
  }
};

Fake any_fake() {
  Fake fake;
  fake.seed = *rc::gen::inRange<std::uint64_t>(0, 1 << 20);
  fake.times = *rc::gen::element<std::uint64_t>(3, 50, 1 << 30);
  fake.memories = *rc::gen::element<std::uint64_t>(2, 30, 1 << 30);
  fake.slack = *rc::gen::element<std::uint64_t>(0, 2, 20, 1 << 30);
  fake.memory_slack = *rc::gen::element<std::uint64_t>(0, 2, 20, 1 << 30);
  return fake;
}

/// Counts what it is asked.
class FakeScores final : public Scores {
 public:
  FakeScores(const Fake& fake, std::atomic<std::uint64_t>& timed) : fake_(fake), timed_(timed) {}
  Bytes memory(const Plan& plan) override { return Bytes{fake_.memory(plan)}; }
  Bytes memory_at_least(const Plan& plan) override { return Bytes{fake_.memory_at_least(plan)}; }
  Bytes memory_counted(const Plan& plan) override { return Bytes{fake_.memory_counted(plan)}; }
  Seconds time_at_least(const Plan& plan, std::span<const Placement> placements) override {
    return Seconds{fake_.at_least(plan, placements)};
  }
  Seconds time_at_least(const Plan& plan, const Placement& placement) override {
    return Seconds{fake_.at_least(plan, placement)};
  }
  Seconds time(const Plan& plan, const Placement& placement) override {
    ++timed_;
    return Seconds{fake_.time(plan, placement)};
  }

 private:
  const Fake& fake_;
  std::atomic<std::uint64_t>& timed_;
};

struct Case {
  SmallSearch small;
  Fake fake;
  double capacity = 0;

  PlanSearch run(unsigned threads, unsigned shard = 0, unsigned shards = 1,
                 std::uint64_t* timed = nullptr) const {
    SmallSearch own = small;
    own.options.threads = threads;
    own.options.shard = shard;
    own.options.shards = shards;
    const Space space = own.space();
    std::atomic<std::uint64_t> count = 0;
    PlanSearch found = search::run({space, own.options, own.tiers, Bytes{capacity},
                                    [&] { return std::make_unique<FakeScores>(fake, count); }});
    if (timed != nullptr) *timed = count;
    return found;
  }
};

Case any_case() {
  Case one{any_search(), any_fake(), 0};
  one.small.options.placements = *rc::gen::arbitrary<bool>();
  const double share = *rc::gen::element(0.0, 0.3, 1.0);
  one.capacity = share * static_cast<double>(one.fake.memories);
  return one;
}

/// Every plan at its fastest placement, without any bound.
std::vector<PlanFound> timed_plans(const Case& one) {
  std::vector<PlanFound> all;
  for (const NumberedPlan& numbered : all_plans(one.small.space())) {
    PlanFound found{
        numbered.plan, {}, Seconds{1e300}, Bytes{one.fake.memory(numbered.plan)}, numbered.number};
    const std::vector<Placement> placed =
        one.small.options.placements ? placements(found.plan, one.small.tiers)
                                     : std::vector{default_placement(found.plan, one.small.tiers)};
    for (const Placement& placement : placed) {
      const double time = one.fake.time(found.plan, placement);
      if (time >= found.time.value) continue;
      found.time = Seconds{time};
      found.placement = placement;
    }
    all.push_back(std::move(found));
  }
  return all;
}

PlanSearch brute_force(const Case& one) {
  PlanSearch result;
  std::vector<PlanFound> all = timed_plans(one);
  result.plans = all.size();
  for (const PlanFound& found : all) {
    result.placed +=
        one.small.options.placements ? placements(found.plan, one.small.tiers).size() : 1;
    result.too_big += one.fake.memory_at_least(found.plan) > one.capacity;
    const auto rank = [](const PlanFound& f) {
      return std::tuple(f.memory.value, f.time.value, f.number);
    };
    if (!result.leanest || rank(found) < rank(*result.leanest)) result.leanest = found;
  }
  std::erase_if(all, [&](const PlanFound& found) { return found.memory.value > one.capacity; });
  std::ranges::sort(all, {}, [](const PlanFound& f) {
    return std::tuple(f.time.value, f.memory.value, f.number);
  });
  for (const PlanFound& found : all) {
    if (result.pareto.empty() || found.memory.value < result.pareto.back().memory.value) {
      result.pareto.push_back(found);
    }
  }
  std::ranges::sort(all, {}, [](const PlanFound& f) { return std::tuple(f.time.value, f.number); });
  result.best = std::move(all);
  result.best.resize(std::min(result.best.size(), one.small.options.best));
  return result;
}

/// Placed plans whose memory, by this, is no more than there is.
template <typename Memory>
std::uint64_t placed_within(const Case& one, const Memory& memory) {
  std::uint64_t placed = 0;
  for (const NumberedPlan& numbered : all_plans(one.small.space())) {
    if (memory(numbered.plan) > one.capacity) continue;
    placed += one.small.options.placements ? placements(numbered.plan, one.small.tiers).size() : 1;
  }
  return placed;
}

bool same(const PlanFound& a, const PlanFound& b) {
  return a.plan == b.plan && a.placement == b.placement && a.time.value == b.time.value &&
         a.memory.value == b.memory.value && a.number == b.number;
}

void expect_same(const PlanSearch& a, const PlanSearch& b) {
  const auto equal = [](const auto& x, const auto& y) {
    return std::ranges::equal(x, y,
                              [](const PlanFound& p, const PlanFound& q) { return same(p, q); });
  };
  RC_ASSERT(a.plans == b.plans);
  RC_ASSERT(a.placed == b.placed);
  RC_ASSERT(a.too_big == b.too_big);
  RC_ASSERT(equal(a.best, b.best));
  RC_ASSERT(equal(a.pareto, b.pareto));
  RC_ASSERT(a.leanest.has_value() == b.leanest.has_value());
  // RC_ASSERT evaluates both sides of an `||`.
  if (a.leanest) RC_ASSERT(same(*a.leanest, *b.leanest));
  RC_ASSERT(a.complete == b.complete);
}

RC_GTEST_PROP(PlanSearchThreads, EqualsBruteForceForAnyNumberOfThreads, ()) {
  const Case one = any_case();
  const PlanSearch expected = brute_force(one);
  std::uint64_t timed = 0;
  const PlanSearch alone = one.run(1, 0, 1, &timed);
  expect_same(alone, expected);
  RC_ASSERT((alone.plans == 0) == !alone.refused.empty());
  const auto memory = [&](const Plan& plan) { return one.fake.memory(plan); };
  const auto least = [&](const Plan& plan) { return one.fake.memory_at_least(plan); };
  RC_ASSERT(alone.bounded + alone.timed >= placed_within(one, memory));
  RC_ASSERT(alone.bounded + alone.timed <= placed_within(one, least));
  for (const unsigned threads : {2U, 4U}) {
    std::uint64_t timed_again = 0;
    const PlanSearch found = one.run(threads, 0, 1, &timed_again);
    expect_same(found, expected);
    RC_ASSERT(found.bounded == alone.bounded);
    RC_ASSERT(found.timed == alone.timed);
    RC_ASSERT(found.refused == alone.refused);
    RC_ASSERT(timed_again == timed);
  }
}

RC_GTEST_PROP(PlanSearchThreads, ShardsMergeToTheWhole, ()) {
  const Case one = any_case();
  const unsigned shards = *rc::gen::inRange(1U, 7U);
  std::vector<PlanSearch> parts;
  for (unsigned i = 0; i < shards; ++i) parts.push_back(one.run(2, shards - 1 - i, shards));
  const PlanSearch whole = one.run(1);
  const PlanSearch merged = merge_searches(parts, one.small.options.best);
  expect_same(merged, whole);
  RC_ASSERT(merged.refused == whole.refused);
  // Merging in steps changes nothing.
  const PlanSearch some =
      merge_searches(std::span(parts).first(shards / 2), one.small.options.best);
  std::vector<PlanSearch> rest(parts.begin() + shards / 2, parts.end());
  rest.push_back(some);
  expect_same(merge_searches(rest, one.small.options.best), whole);
}

TEST(PlanSearch, TimesFewPlansWhereBoundsAreTight) {
  // Times of 2^30 values and bounds that are the times.
  Case one{{small_model(8, 0), {}, 8, {2, 8}}, {1, 1 << 30, 4, 0}, 1e300};
  one.small.options.global_batch = 24;
  one.small.options.placements = false;
  const PlanSearch found = one.run(1);
  EXPECT_GT(found.plans, 3000U);
  EXPECT_LT(found.placed - found.bounded, found.placed / 10);
}

TEST(PlanSearch, StopsWhenProgressSaysSo) {
  Case one{{small_model(8, 0), {}, 8, {2, 8}}, {1, 1 << 30, 1 << 30, 1 << 30}, 1e300};
  one.small.options.global_batch = 24;
  std::uint64_t calls = 0, last = 0;
  one.small.options.progress = [&](std::uint64_t done, std::uint64_t all) {
    EXPECT_LE(done, all);
    EXPECT_GE(done, last);
    last = done;
    ++calls;
    return true;
  };
  EXPECT_TRUE(one.run(1).complete);
  EXPECT_GT(calls, 10U);
  one.small.options.progress = [&](std::uint64_t done, std::uint64_t all) {
    return done < all / 4;
  };
  const PlanSearch stopped = one.run(2);
  EXPECT_FALSE(stopped.complete);
  EXPECT_GT(stopped.plans, 0U);
  EXPECT_FALSE(merge_searches(std::vector{stopped, one.run(1)}, 3).complete);
}

}  // namespace
}  // namespace flopcast::analytic::search
