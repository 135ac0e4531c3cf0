#include "base/text/numbers.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/text/format.h"

namespace flopcast {
namespace {

TEST(Numbers, AllOfTheTextIsTheNumber) {
  EXPECT_EQ(parse_whole("42"), 42);
  EXPECT_EQ(parse_whole("-7"), -7);
  EXPECT_EQ(parse_whole<unsigned>("16777216"), 1u << 24);
  EXPECT_EQ(parse_number("2.5e3"), 2500.0);
  for (const char* bad : {"", " 1", "1 ", "+1", "1,000", "1x", "x", "-"}) {
    EXPECT_FALSE(parse_whole(bad)) << bad;
    EXPECT_FALSE(parse_number(bad)) << bad;
  }
  EXPECT_FALSE(parse_whole("1.0"));
}

TEST(Numbers, WhatDoesNotFitIsNoNumber) {
  EXPECT_FALSE(parse_whole("9223372036854775808"));
  EXPECT_FALSE(parse_whole<std::uint32_t>("4294967296"));
  EXPECT_FALSE(parse_whole<std::uint32_t>("-1"));
  for (const char* bad : {"inf", "nan", "-infinity", "1e999"})
    EXPECT_FALSE(parse_number(bad)) << bad;
}

TEST(Numbers, TakingLeavesTheRest) {
  std::string_view text = "8-15";
  EXPECT_EQ(take_whole(text), 8);
  EXPECT_EQ(text, "-15");
  std::string_view rate = "16.0 GT/s";
  EXPECT_EQ(take_number(rate), 16.0);
  EXPECT_EQ(rate, " GT/s");
  EXPECT_FALSE(take_number(rate));
  EXPECT_EQ(rate, " GT/s");
}

RC_GTEST_PROP(Numbers, WhatIsWrittenIsRead, (std::int64_t whole, double number)) {
  RC_ASSERT(parse_whole(std::to_string(whole)) == whole);
  RC_PRE(std::isfinite(number));
  RC_ASSERT(parse_number(exact_number(number)) == number);
}

}  // namespace
}  // namespace flopcast
