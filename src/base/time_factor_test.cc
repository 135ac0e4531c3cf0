#include "flopcast/base/time_factor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace flopcast {
namespace {

double factor(std::string_view text) {
  const auto read = parse_time_factor(text, "--scale");
  EXPECT_TRUE(read) << text;
  return read ? read->factor : 0;
}

TEST(TimeFactor, PlainNumbersAreFactorsOfTheTime) {
  EXPECT_EQ(factor("0.5"), 0.5);
  EXPECT_EQ(factor(" 2 "), 2);
  EXPECT_EQ(parse_time_factor("0.5", "")->words, "");
}

TEST(TimeFactor, WordsSayWhichWay) {
  EXPECT_EQ(factor("2x faster"), 0.5);
  EXPECT_EQ(factor("4x-as-fast"), 0.25);
  EXPECT_EQ(factor("2x slower"), 2);
  EXPECT_EQ(factor("2x as long"), 2);
  EXPECT_EQ(factor("3X longer"), 3);
  EXPECT_EQ(factor("80%"), 0.8);
  EXPECT_EQ(factor("50% of the time"), 0.5);
  EXPECT_DOUBLE_EQ(factor("25% faster"), 0.8);
  EXPECT_DOUBLE_EQ(factor("25% slower"), 1.25);
  EXPECT_DOUBLE_EQ(factor("20% less"), 0.8);
  EXPECT_EQ(parse_time_factor("2x faster", "")->words, "2x faster");
}

// What can be meant in two ways says in which it was taken.
TEST(TimeFactor, AMultipleAloneSaysWhatItWasTakenFor) {
  EXPECT_EQ(factor("2x"), 0.5);
  EXPECT_EQ(parse_time_factor("2x", "")->words, "2x: taken as 2x faster");
}

TEST(TimeFactor, WhatIsNoFactorIsRefused) {
  for (const char* text : {"", "x", "fast", "2y", "2x fast", "2x faster than light", "0", "-1",
                           "0x", "100% less", "nan", "inf", "1e999", "2xx", "%"}) {
    const auto read = parse_time_factor(text, "--scale network");
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, ErrorCode::kUsage) << text;
    EXPECT_EQ(read.error().where, "--scale network");
  }
}

}  // namespace
}  // namespace flopcast
