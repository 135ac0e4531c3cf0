// Sizes that divide better.
#include "flopcast/question/rounder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace flopcast {
namespace {

using testing::HasSubstr;

TEST(RounderSizes, AreNearAndOfTwos) {
  const auto batch = rounder_sizes(2047, 2048);
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->global_batch, 2048);
  EXPECT_EQ(batch->sequence, 2048);
  const auto sequence = rounder_sizes(1024, 8191);
  ASSERT_TRUE(sequence);
  EXPECT_EQ(sequence->sequence, 8192);
  EXPECT_EQ(rounder_sizes(1025, 4095)->global_batch, 1024);
  for (const std::int64_t size : {1, 2, 3, 7, 31, 48, 96, 256, 1536, 4096, 6144}) {
    EXPECT_FALSE(rounder_sizes(size, 4096)) << size;
  }
  EXPECT_FALSE(rounder_sizes(INT64_MAX, 4096));
}

TEST(RounderSizes, AreToldWhereTheyCostMuchLess) {
  const RounderStep asked{2047, 2048, Seconds{11.3}};
  const RounderStep rounder{2048, 2048, Seconds{10}};
  EXPECT_EQ(
      rounder_words(asked, rounder),
      "2,047 sequences of 2,048 tokens take 13 % longer a token than 2,048 sequences of 2,048 "
      "tokens would: 10.00 s a step then");
  EXPECT_EQ(rounder_words({2047, 2048, Seconds{10.1}}, rounder), "");
  EXPECT_EQ(rounder_words({2047, 2048, Seconds{9}}, rounder), "");
  EXPECT_EQ(rounder_words(asked, std::nullopt), "");
}

}  // namespace
}  // namespace flopcast
