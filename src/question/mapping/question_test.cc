// Pins, shardings and models as people write them.
#include "flopcast/question/mapping.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace flopcast {
namespace {

using testing::HasSubstr;

TEST(MappingQuestion, PinsAreKernelAndPartitions) {
  const auto pins = parse_mapping_pin("ffn_up=1,3", true);
  ASSERT_TRUE(pins);
  ASSERT_EQ(pins->size(), 2u);
  EXPECT_EQ((*pins)[1].kernel, "ffn_up");
  EXPECT_EQ((*pins)[1].partition, 3u);
  EXPECT_TRUE((*pins)[1].forbidden);
  for (const char* wrong : {"", "q", "q=", "=1", "q=x", "q=1,", "q=-1", "q=99999999999"}) {
    const auto result = parse_mapping_pin(wrong, false);
    ASSERT_FALSE(result) << wrong;
    EXPECT_EQ(result.error().code, ErrorCode::kUsage);
  }
}

TEST(MappingQuestion, ShardingsAreKernelAndName) {
  MappingQuestion question;
  question.shardings = {"ffn_up=m", "ffn_down=k->m"};
  const auto pins = sharding_pins(question);
  ASSERT_TRUE(pins);
  ASSERT_EQ(pins->size(), 2u);
  EXPECT_EQ((*pins)[0].kernel, "ffn_up");
  EXPECT_EQ((*pins)[1].sharding, Sharding::kKSplitM);
  for (const char* wrong : {"", "q", "q=", "=m", "q=x"}) {
    question.shardings = {wrong};
    ASSERT_FALSE(sharding_pins(question)) << wrong;
    EXPECT_THAT(sharding_pins(question).error().text(), HasSubstr("KERNEL=SHARDING"));
  }
}

TEST(MappingQuestion, ModelIsTheModesAndWhatIsSaidBesides) {
  MappingQuestion question;
  question.mode = "paper";
  ASSERT_TRUE(mapping_model(question));
  EXPECT_FALSE(mapping_model(question)->weight_traffic);
  question.overlap = "none";
  question.utilisation = 0;
  EXPECT_EQ(mapping_model(question)->overlap, MappingOverlap::kNone);
  EXPECT_EQ(mapping_model(question)->utilisation, 0);
  question.utilisation = 1.5;
  EXPECT_THAT(mapping_model(question).error().text(), HasSubstr("1.5 is no share"));
  question.utilisation = std::nan("");
  EXPECT_THAT(mapping_model(question).error().text(), HasSubstr("nan is no share"));
  question.utilisation = -1;
  question.search.gap = std::nan("");
  EXPECT_THAT(mapping_model(question).error().text(), HasSubstr("nan is no share"));
  question.search.gap = 0;
  question.overlap = "some";
  EXPECT_THAT(mapping_model(question).error().text(), HasSubstr("perfect, "));
  question.mode = "half";
  EXPECT_THAT(mapping_model(question).error().text(), HasSubstr("full or paper"));
}

}  // namespace
}  // namespace flopcast
