#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "flopcast/published/subramanian.h"

namespace flopcast {
namespace {

using testing::HasSubstr;

TEST(PaperCatalog, SystemsAreNamedWithTheirDomain) {
  EXPECT_EQ(paper_system("b200")->domain, 8);
  EXPECT_EQ(paper_system("B200")->name, "B200");
  const PaperSystem wide = *paper_system("B200-next-NVS64");
  EXPECT_EQ(wide.domain, 64);
  EXPECT_EQ(wide.name, "B200-next-NVS64");
  EXPECT_EQ(wide.matrix.value, 3750e12);
}

TEST(PaperCatalog, NamesMayBeSpelledLikeThePapers) {
  EXPECT_EQ(paper_model("GPT3-1T")->name, "gpt3_1T");
  EXPECT_EQ(paper_model("gpt3_175B")->name, "gpt3");
}

TEST(PaperCatalog, UnknownNamesAreAnsweredWithTheKnown) {
  EXPECT_THAT(paper_system("H100").error().text(), HasSubstr("A100, H200, B200, B200-next"));
  EXPECT_FALSE(paper_system("B200-NVS0").ok());
  EXPECT_FALSE(paper_system("B200-NVSx").ok());
  EXPECT_THAT(paper_model("bert").error().text(), HasSubstr("gpt3, gpt3_1T, vit_era5"));
}

TEST(PaperCatalog, StrategiesHaveTheSpellingsOfTheCodeAndItsData) {
  for (const auto strategy : {PaperStrategy::k1d, PaperStrategy::k2d, PaperStrategy::kSumma}) {
    EXPECT_EQ(parse_paper_strategy(name(strategy)), strategy);
  }
  EXPECT_EQ(parse_paper_strategy("2d-seqp"), PaperStrategy::k2d);
  EXPECT_EQ(parse_paper_strategy("2D-SUMMA"), PaperStrategy::kSumma);
  EXPECT_EQ(parse_paper_strategy("3d"), std::nullopt);
}

TEST(PaperCatalog, DefectsAreSwitchedByName) {
  EXPECT_TRUE(parse_paper_defects("published")->allreduce_moves_once);
  EXPECT_FALSE(parse_paper_defects("published")->serial_study_drops_sizes);
  EXPECT_FALSE(parse_paper_defects("repaired")->summa_norm_as_wide_as_sequence);
  EXPECT_TRUE(parse_paper_defects("repaired")->replicated_biases_1d);
  EXPECT_FALSE(parse_paper_defects("none")->replicated_biases_1d);
  const PaperDefects two = *parse_paper_defects("p2p-free,serial-study");
  EXPECT_TRUE(two.p2p_between_domains_free);
  EXPECT_TRUE(two.serial_study_drops_sizes);
  EXPECT_FALSE(two.allreduce_moves_once);
  EXPECT_EQ(paper_defect_names().size(), 6);
  EXPECT_THAT(parse_paper_defects("p2p").error().text(), HasSubstr("p2p-free,summa-norm"));
  EXPECT_FALSE(parse_paper_defects("").ok());
}

}  // namespace
}  // namespace flopcast
