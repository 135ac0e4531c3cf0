#include "flopcast/serving/gaps.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "base/numeric/rank.h"

namespace flopcast {
namespace {

bool same_gaps(const TokenGaps& a, const TokenGaps& b) {
  if (a.count() != b.count() || a.max() != b.max() || a.mean() != b.mean()) return false;
  for (const double percent : {0.0, 1.0, 10.0, 50.0, 90.0, 99.0, 99.9, 100.0}) {
    if (a.percentile(percent) != b.percentile(percent)) return false;
  }
  return true;
}

TEST(TokenGaps, NoGapsAreZero) {
  const TokenGaps none;
  EXPECT_EQ(none.count(), 0);
  EXPECT_EQ(none.max(), Time{});
  EXPECT_EQ(none.mean().value, 0);
  EXPECT_EQ(none.percentile(50), Time{});
}

TEST(TokenGaps, EqualGapsAreToldExactly) {
  TokenGaps gaps;
  gaps.add(Time{12'345'678'901}, 1000);
  EXPECT_EQ(gaps.percentile(1), Time{12'345'678'901});
  EXPECT_EQ(gaps.percentile(99), Time{12'345'678'901});
  EXPECT_DOUBLE_EQ(gaps.mean().value, 12'345'678'901e-12);
}

TEST(TokenGaps, PercentilesAreOfNearestRank) {
  TokenGaps gaps;
  gaps.add(Time::from_us(10), 90);
  gaps.add(Time::from_us(1000), 10);
  EXPECT_EQ(gaps.percentile(50), Time::from_us(10));
  EXPECT_EQ(gaps.percentile(90), Time::from_us(10));
  EXPECT_EQ(gaps.percentile(90.1), Time::from_us(1000));
  EXPECT_EQ(gaps.max(), Time::from_us(1000));
  EXPECT_DOUBLE_EQ(gaps.mean().value, 109e-6);
}

TEST(TokenGaps, TheLongestTimeThereIsHasABucket) {
  TokenGaps gaps;
  gaps.add(Time::max());
  gaps.add(Time{});
  EXPECT_EQ(gaps.percentile(100), Time::max());
  EXPECT_EQ(gaps.percentile(0), Time{});
}

RC_GTEST_PROP(TokenGaps, ARunIsItsGapsOneByOne, ()) {
  TokenGaps runs, singles;
  const auto parts = *rc::gen::inRange(1, 6);
  for (int i = 0; i < parts; ++i) {
    const auto steps = *rc::gen::inRange<std::int64_t>(1, 200);
    const auto growth = *rc::gen::inRange<std::int64_t>(-30'000'000, 30'000'000);
    const auto first = *rc::gen::inRange<std::int64_t>(6'000'000'000, 90'000'000'000) >>
                       (growth < 0 ? 0 : *rc::gen::inRange(0, 30));
    const auto count = *rc::gen::inRange<std::int64_t>(1, 300);
    runs.add_run(Time{first}, Time{growth}, steps, count);
    for (std::int64_t k = 0; k < steps; ++k) singles.add(Time{first + growth * k}, count);
  }
  RC_ASSERT(same_gaps(runs, singles));
}

RC_GTEST_PROP(TokenGaps, PercentilesAreThoseOfTheSortedGapsWithinABucket, ()) {
  const auto lengths = *rc::gen::nonEmpty(
      rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, 1LL << 45)));
  TokenGaps all, first, second;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    all.add(Time{lengths[i]});
    (i % 2 == 0 ? first : second).add(Time{lengths[i]});
  }
  std::vector<std::int64_t> sorted = lengths;
  std::sort(sorted.begin(), sorted.end());
  for (const double percent : {0.0, 25.0, 50.0, 90.0, 99.0, 100.0}) {
    const auto rank =
        static_cast<std::size_t>(nearest_rank(static_cast<std::int64_t>(sorted.size()), percent));
    const std::int64_t exact = sorted[rank], told = all.percentile(percent).ps;
    RC_ASSERT(std::abs(told - exact) <= exact / 512);
  }
  first.merge(second);
  RC_ASSERT(same_gaps(first, all));
}

}  // namespace
}  // namespace flopcast
