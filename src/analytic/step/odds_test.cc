// How likely plans fit, and which of them forecasts tell apart.
#include "flopcast/analytic/odds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <string>

#include "catalog_files.h"

namespace flopcast {
namespace {

using testing::HasSubstr;

TEST(PlanOdds, OfTheCatalogueAreRead) {
  const std::string text(catalog_data::training_bands_toml());
  const auto read = parse_plan_odds(text, "b.toml");
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(plan_odds().memory_high, read->memory_high);
  EXPECT_EQ(plan_odds().tie_memory, read->tie_memory);
}

TEST(PlanOdds, WhatIsNoneIsNamed) {
  const std::string told = "source = \"runs\"\nbasis = \"fitted\"\n";
  const auto refused = [](const std::string& text) {
    const auto read = parse_plan_odds(text, "b.toml");
    return read ? std::string() : read.error().text();
  };
  const std::string memory = "[memory]\nlow = 0.9\nhigh = 1.1\n" + told;
  const std::string ties = "[ties]\ntime = 1.02\nmemory = 1.01\n" + told;
  EXPECT_EQ(refused(memory + ties), "");
  for (const std::string& wrong :
       {memory, ties, memory + "[ties]\ntime = 0.98\nmemory = 1.01\n" + told,
        "[memory]\nlow = 0.9\nhigh = 1.1\n" + ties,
        "[memory]\nlow = 1.1\nhigh = 1.2\n" + told + ties}) {
    EXPECT_THAT(refused(wrong), HasSubstr("b.toml")) << wrong;
  }
}

TEST(PlanOdds, QuantilesOfTheBandFitWithTheirOdds) {
  const Bytes capacity{80e9};
  EXPECT_DOUBLE_EQ(fit_odds(capacity, capacity), 0.5);
  EXPECT_NEAR(fit_odds(capacity * (1 / plan_odds().memory_high), capacity), 0.9, 1e-9);
  EXPECT_NEAR(fit_odds(capacity * (1 / plan_odds().memory_low), capacity), 0.1, 1e-9);
  // As much as there is fits by a coin's toss, not for sure.
  EXPECT_LT(fit_odds(Bytes{85.8e9}, Bytes{85.9e9}), 0.55);
}

RC_GTEST_PROP(PlanOddsProperty, TheLargestThatFitsHasTheOddsAskedForAndMoreMemoryLess, ()) {
  const double odds = *rc::gen::inRange(1, 1000) / 1000.0;
  const Bytes capacity{static_cast<double>(*rc::gen::inRange(1, 1000)) * 1e9};
  const Bytes most = largest_fitting(capacity, odds);
  RC_ASSERT(std::abs(fit_odds(most, capacity) - odds) < 1e-6);
  RC_ASSERT(fit_odds(most * 1.01, capacity) < odds);
}

TEST(PlanOdds, NoneButThoseBetweenZeroAndOneAreTaken) {
  for (const double odds : {0.0, 1.0, -0.1, 90.0, std::nan("")}) {
    ASSERT_TRUE(odds_problem("--fit-odds", odds)) << odds;
    EXPECT_THAT(odds_problem("--fit-odds", odds)->text(), HasSubstr("--fit-odds"));
  }
  EXPECT_FALSE(odds_problem("--fit-odds", 0.5));
}

}  // namespace
}  // namespace flopcast
