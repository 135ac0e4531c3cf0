#include "live/wire/ranks.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace flopcast::live {
namespace {

using Ranks = std::vector<std::int32_t>;

TEST(LiveRanks, ReadAsPeopleWouldWriteThem) {
  EXPECT_EQ(text_of_ranks({0, 1, 2, 3, 8, 16, 24, 32, 5}), "0-3,8-32/8,5");
  EXPECT_EQ(text_of_ranks({7}), "7");
  EXPECT_EQ(text_of_ranks({}), "");
  EXPECT_EQ(ranks_of_text("0-3,8,16-120/52", 99), Ranks({0, 1, 2, 3, 8, 16, 68, 120}));
}

TEST(LiveRanks, OtherTextsAreNone) {
  for (const char* text : {"-1", "1-", "3-1", "1,", ",1", "1-9/0", "1 2", "x", "0-2147483648"})
    EXPECT_FALSE(ranks_of_text(text, 99)) << text;
}

TEST(LiveRanks, ATextOfFewLettersNamesNoMoreThanAreWanted) {
  EXPECT_FALSE(ranks_of_text("0-2147483647", 1U << 22U));
  EXPECT_FALSE(ranks_of_text("0-3,4-7", 7));
  EXPECT_TRUE(ranks_of_text("0-3,4-7", 8));
}

RC_GTEST_PROP(LiveRanksProperty, TheirTextSaysTheSameAgain, ()) {
  const auto ranks = *rc::gen::container<Ranks>(rc::gen::inRange(0, 40));
  RC_ASSERT(ranks_of_text(text_of_ranks(ranks), ranks.size() + 1) == ranks);
}

}  // namespace
}  // namespace flopcast::live
