#include "serving/fleet/totals.h"

#include <gtest/gtest.h>

#include "serving/fleet/earliest.h"

namespace flopcast::serving {
namespace {

TEST(ServingPercentiles, AreOfNearestRank) {
  std::vector<Time> times;
  for (std::int64_t i = 100; i > 0; --i) times.push_back(Time::from_us(i));
  const ServingPercentiles told = percentiles_of(times);
  EXPECT_DOUBLE_EQ(told.mean.value, 50.5e-6);
  EXPECT_DOUBLE_EQ(told.p50.value, 50e-6);
  EXPECT_DOUBLE_EQ(told.p90.value, 90e-6);
  EXPECT_DOUBLE_EQ(told.p95.value, 95e-6);
  EXPECT_DOUBLE_EQ(told.p99.value, 99e-6);
  EXPECT_DOUBLE_EQ(told.max.value, 100e-6);
  EXPECT_EQ(told.count, 100U);
}

TEST(ServingPercentiles, OfOneAndOfNone) {
  std::vector<Time> times = {Time::from_us(7)};
  EXPECT_DOUBLE_EQ(percentiles_of(times).p50.value, 7e-6);
  EXPECT_DOUBLE_EQ(percentiles_of(times).p99.value, 7e-6);
  times.clear();
  EXPECT_EQ(percentiles_of(times).count, 0U);
  EXPECT_EQ(percentiles_of(times).max.value, 0);
}

TEST(FleetTotals, WarmUpAndWhatIsLostHaveNoPartInTimes) {
  const auto us = [](std::int64_t count) { return Time::from_us(count); };
  FleetRun run;
  run.requests.resize(4);
  run.requests[0] = {us(0), us(0), us(50), us(90), 10, 5};
  run.requests[0].counted = false;
  run.requests[1] = {us(100), us(101), us(110), us(150), 10, 5};
  run.requests[2] = {us(100), us(101), us(130), us(200), 30, 1};
  run.requests[3] = {us(100), us(101), Time::max(), Time::max(), 10, 5};
  run.lost = 1;
  add_totals(run, TokenGaps());
  EXPECT_EQ(run.answered, 2U);
  EXPECT_EQ(run.unanswered, 0U);
  EXPECT_EQ(run.begin, us(100));
  EXPECT_EQ(run.end, us(200));
  EXPECT_DOUBLE_EQ(run.ttft.mean.value, 20e-6);
  EXPECT_DOUBLE_EQ(run.tpot.mean.value, 10e-6) << "an answer of one token has none";
  EXPECT_EQ(run.tpot.count, 1U);
  EXPECT_DOUBLE_EQ(run.output_tokens_per_s, 6 / 100e-6);
  EXPECT_DOUBLE_EQ(run.total_tokens_per_s, 46 / 100e-6);
  EXPECT_DOUBLE_EQ(run.within(Seconds{30e-6}, Seconds{10e-6}), 2.0 / 3) << "the lost one is none";
}

TEST(Routers, AreReadByTheirNames) {
  for (const Router router : {Router::kRoundRobin, Router::kLeastLoaded, Router::kPrefixAware}) {
    EXPECT_EQ(parse_router(name(router)), router);
  }
  EXPECT_EQ(parse_router("Least_Loaded"), Router::kLeastLoaded);
  EXPECT_FALSE(parse_router("random").has_value());
}

TEST(EarliestPlace, IsTheLowestOfTheLeast) {
  for (const std::size_t places : {1U, 2U, 3U, 8U, 13U}) {
    Earliest earliest(places);
    EXPECT_EQ(earliest.time(), Time::max());
    std::vector<Time> times(places, Time::max());
    for (std::size_t step = 0; step < 200; ++step) {
      const std::size_t place = step * 7 % places;
      const Time time{static_cast<std::int64_t>(step * 31 % 5)};
      times[place] = time;
      earliest.set(place, time);
      const auto least = std::min_element(times.begin(), times.end());
      ASSERT_EQ(earliest.time(), *least);
      ASSERT_EQ(earliest.place(), static_cast<std::size_t>(least - times.begin()));
    }
  }
}

}  // namespace
}  // namespace flopcast::serving
