#include "base/numeric/clock.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace flopcast {
namespace {

TEST(Clock, SecondsBecomeTheNearestPicosecond) {
  EXPECT_EQ(on_clock({0}), Time{});
  EXPECT_EQ(on_clock({1.5}).ps, 1'500'000'000'000);
  EXPECT_EQ(on_clock({-2e-12}).ps, -2);
  EXPECT_EQ(on_clock({0.6e-12}).ps, 1);
  EXPECT_EQ(on_clock({9.2e6}).ps, 9'200'000'000'000'000'000);
}

TEST(Clock, WhatIsBeyondItIsNeverAndNothingWraps) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double seconds : {9.3e6, 1e12, 1e300, infinity, std::nan("")}) {
    EXPECT_EQ(on_clock({seconds}), Time::max()) << seconds;
    EXPECT_FALSE(fits_clock(Seconds{seconds})) << seconds;
  }
  for (const double seconds : {-9.3e6, -1e300, -infinity})
    EXPECT_EQ(on_clock({seconds}), Time::min()) << seconds;
  EXPECT_TRUE(fits_clock(Seconds{4.6e6}));
  EXPECT_FALSE(fits_clock(Seconds{4.7e6}));
}

TEST(Clock, SumsStopAtTheEnds) {
  EXPECT_EQ(sum_on_clock(Time{3}, Time{-5}), Time{-2});
  EXPECT_EQ(sum_on_clock(Time::max(), Time{1}), Time::max());
  EXPECT_EQ(sum_on_clock(Time{1}, Time::max()), Time::max());
  EXPECT_EQ(sum_on_clock(Time::min(), Time{-1}), Time::min());
  EXPECT_EQ(sum_on_clock(Time::min(), Time::max()), Time{-1});
  EXPECT_EQ(sum_on_clock(kLongestTime, kLongestTime), Time{Time::max().ps - 1});
}

TEST(Clock, ARefusalSaysWhatIsTooLong) {
  const Diagnostic error = beyond_clock("a.toml", "a step takes 3e+09 s", "name faster chips");
  EXPECT_EQ(error.code, ErrorCode::kNoAnswer);
  EXPECT_EQ(error.text(),
            "a.toml: a step takes 3e+09 s: longer than the 53 days that a time may be (name faster "
            "chips)");
}

}  // namespace
}  // namespace flopcast
