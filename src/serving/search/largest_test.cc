// Bisection over loads whose holding is drawn: nothing about it is monotone but what is said to be.
#include "flopcast/serving/largest.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <set>

namespace flopcast::serving {
namespace {

using Kind = ServingWorkload::Kind;

/// Loads hold up to `edge`; around it, within `noise` of it, by chance.
struct NoisyLoads {
  double edge = 1, noise = 0;
  std::uint64_t seed = 0;
  mutable std::map<double, int> asked;

  bool holds(double load) const {
    if (std::abs(load / edge - 1) >= noise) return load <= edge;
    std::uint64_t h = seed ^ static_cast<std::uint64_t>(std::llround(load * 1e4));
    h *= 0x9E3779B97F4A7C15ULL;
    return (h >> 40) % 2 == 0;
  }
  Result<TriedLoad> operator()(double load) const {
    ++asked[load];
    return TriedLoad{load, holds(load), load / edge};
  }
};

LargestLoad found(const LoadRange& range, const NoisyLoads& loads, double enough = 0) {
  const auto largest = largest_load(
      range, [&loads](double load) { return loads(load); }, enough);
  RC_ASSERT(largest.ok());
  return *largest;
}

RC_GTEST_PROP(LargestLoads, HoldAndNoneThatWasTriedBelowThemDoesNot, ()) {
  const bool whole = *rc::gen::arbitrary<bool>();
  const LoadRange range =
      load_range(whole ? Kind::kClosed : Kind::kRate, *rc::gen::inRange<std::int64_t>(1, 5000));
  const NoisyLoads loads{std::pow(10, *rc::gen::inRange(-400, 600) / 100.0),
                         *rc::gen::inRange(0, 90) / 100.0,
                         *rc::gen::arbitrary<std::uint64_t>(),
                         {}};
  const LargestLoad largest = found(range, loads);
  for (const auto& [load, times] : loads.asked) {
    RC_ASSERT(times == 1);
    RC_ASSERT(load >= range.least);
    RC_ASSERT(load <= range.most);
    if (whole) RC_ASSERT(load == std::round(load));
    if (load <= largest.load) RC_ASSERT(loads.holds(load));
  }
  RC_ASSERT(largest.tried.size() == loads.asked.size());
  if (largest.load > 0) {
    RC_ASSERT(loads.asked.contains(largest.load));
    // Lower ones were looked at, whatever the bisection did.
    const auto below = loads.asked.lower_bound(0.45 * largest.load);
    RC_ASSERT(below->first < largest.load || largest.load <= 2 * range.least);
  } else {
    RC_ASSERT(loads.asked.contains(range.least));
  }
  // The next one of three digits was tried and does not hold, or there is none.
  if (largest.next() == 0) {
    RC_ASSERT(largest.load == range.most);
  } else {
    const double step = std::max(whole ? 1 : 1e-4, largest.next() / 99);
    RC_ASSERT(largest.next() - largest.load <= std::max(step, range.least));
  }
}

RC_GTEST_PROP(LargestLoads, WithoutNoiseAreTheEdge, ()) {
  const NoisyLoads loads{*rc::gen::inRange(100, 999) / 100.0, 0, 0, {}};
  RC_ASSERT(found(load_range(Kind::kRate, 0), loads).load == loads.edge);
  const NoisyLoads users{static_cast<double>(*rc::gen::inRange(1, 999)), 0, 0, {}};
  RC_ASSERT(found(load_range(Kind::kClosed, 1000), users).load == users.edge);
  RC_ASSERT(found(load_range(Kind::kClosed, 1000), users).next() == users.edge + 1);
}

RC_GTEST_PROP(LargestLoads, ThatAreNotWantedAreNotLookedFor, ()) {
  const NoisyLoads loads{std::pow(10, *rc::gen::inRange(-100, 400) / 100.0),
                         *rc::gen::inRange(0, 30) / 100.0,
                         *rc::gen::arbitrary<std::uint64_t>(),
                         {}};
  const LoadRange range = load_range(Kind::kRate, 0);
  const LargestLoad whole = found(range, loads);
  const double enough = std::pow(10, *rc::gen::inRange(-100, 400) / 100.0);
  const LargestLoad cut = found(range, loads, enough);
  if (whole.load >= enough) {
    RC_ASSERT(cut.load == whole.load);
  } else {
    RC_ASSERT(cut.load < enough);
  }
  for (const auto& [load, times] : loads.asked) RC_ASSERT(times <= 2);  // once in each search
}

TEST(LargestLoads, AHigherLoadThatHoldsByChanceIsNotTold) {
  // 5.62 is asked after 31.6 and 0.56 and holds; half of it does not.
  const auto hold = [](double load) -> Result<TriedLoad> {
    return TriedLoad{load, load < 2 || (load > 5 && load < 6), 0};
  };
  const auto largest = largest_load(load_range(Kind::kRate, 0), hold);
  ASSERT_TRUE(largest.ok());
  EXPECT_NEAR(largest->load, 2, 0.011);
  EXPECT_NEAR(largest->next(), 2, 0.011);
}

TEST(LargestLoads, ErrorsEndIt) {
  const auto fail = [](double) -> Result<TriedLoad> {
    return Diagnostic{ErrorCode::kTooLarge, "here", "no room", ""};
  };
  EXPECT_FALSE(largest_load(load_range(Kind::kRate, 0), fail).ok());
}

}  // namespace
}  // namespace flopcast::serving
