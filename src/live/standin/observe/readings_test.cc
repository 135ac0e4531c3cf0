// Stamps of a program's own clock, in virtual time.
#include "live/standin/observe/readings.h"

#include <gtest/gtest.h>

namespace flopcast::live {
namespace {

TEST(LiveClockReadings, WhatPassedBetweenTwoMomentsIsSharedOut) {
  ClockReadings readings;
  EXPECT_TRUE(readings.empty());
  readings.add(100, 5'000);
  readings.add(200, 6'000);
  readings.add(210, 106'000);  // a sleep: next to no cycles
  EXPECT_EQ(readings.wall_of(150), 5'500);
  EXPECT_EQ(readings.wall_of(200), 6'000);
  EXPECT_EQ(readings.wall_of(205), 56'000);
  EXPECT_EQ(readings.wall_of(7), 5'000);
  EXPECT_EQ(readings.wall_of(9'999), 106'000);
}

TEST(LiveClockReadings, NothingGoesBackwards) {
  ClockReadings readings;
  readings.add(100, 5'000);
  readings.add(200, 9'000);
  readings.add(300, 7'000);  // a thread that is behind
  readings.add(400, 10'000);
  std::int64_t last = 0;
  for (std::uint64_t stamp = 90; stamp < 420; ++stamp) {
    EXPECT_GE(readings.wall_of(stamp), last);
    last = readings.wall_of(stamp);
  }
  EXPECT_EQ(readings.wall_of(300), 9'000);
}

TEST(LiveClockReadings, MomentsOfOneTimeAreKeptByTheirEnds) {
  ClockReadings readings;
  for (std::uint64_t stamp = 100; stamp <= 300; ++stamp) readings.add(stamp, 5'000);
  readings.add(400, 6'000);
  EXPECT_EQ(readings.wall_of(300), 5'000);
  EXPECT_EQ(readings.wall_of(350), 5'500);
}

}  // namespace
}  // namespace flopcast::live
