// Bands of steps whose software nobody told.
#include "analytic/step/unstated.h"

#include <gtest/gtest.h>

#include <string>

#include "catalog_files.h"
#include "flopcast/machine/training.h"

namespace flopcast::analytic {
namespace {

Chip chip(const char* name) { return *Catalog::builtin().chip(name); }

TEST(UnstatedBand, OfTheCatalogueIsReadAndWiderOnChipsThatNoRunWasOn) {
  const std::string text(catalog_data::training_bands_toml());
  const auto read = parse_unstated_band(text, "b.toml", chip("h100"), true);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(unstated_band(chip("h100"), true).high, read->high);
  const Result<double> wider = unseen_chip_factor();
  ASSERT_TRUE(wider) << wider.error().text();
  for (const bool experts : {false, true}) {
    const StepBand seen = unstated_band(chip("h100"), experts);
    const StepBand unseen = unstated_band(chip("wse-2"), experts);
    EXPECT_LT(seen.low, 1);
    EXPECT_GT(seen.high, 1);
    EXPECT_NEAR(unseen.high / seen.high, *wider, 1e-9);
    EXPECT_NEAR(seen.low / unseen.low, *wider, 1e-9);
    EXPECT_EQ(unstated_band(chip("mi300x"), experts).high, seen.high);
  }
}

TEST(UnstatedBand, WhatIsNoneIsNamed) {
  const auto refused = [](const std::string& text) {
    const auto read = parse_unstated_band(text, "b.toml", chip("h100"), false);
    return read ? std::string() : read.error().text();
  };
  const std::string dense = "[unstated.dense]\nlow = 0.9\nhigh = 1.1\n";
  const std::string experts = "[unstated.experts]\nlow = 0.8\nhigh = 1.3\n";
  const std::string chips = "[seen_chips]\narchitectures = [\"hopper\"]\n";
  EXPECT_EQ(refused(dense + experts + chips), "");
  EXPECT_NE(refused(dense + chips).find("unstated.experts"), std::string::npos);
  EXPECT_NE(refused(experts + chips).find("unstated.dense"), std::string::npos);
  EXPECT_NE(refused("[unstated.dense]\nlow = 1.1\nhigh = 1.2\n").find("low <= 1"),
            std::string::npos);
  EXPECT_NE(refused(dense + experts).find("seen_chips"), std::string::npos);
}

}  // namespace
}  // namespace flopcast::analytic
