#include "base/text/names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace flopcast {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Names, TheNearestComesFirst) {
  EXPECT_THAT(nearest_names("h10", {"a100", "h100", "h200"}), ElementsAre("h100"));
  EXPECT_THAT(nearest_names("dgx", {"h100", "dgx-h200", "dgx-h100"}),
              ElementsAre("dgx-h200", "dgx-h100"));
  EXPECT_THAT(nearest_names("gpu", {"chip", "node"}), IsEmpty());
}

TEST(Names, SwappedLettersAreOneMistake) {
  EXPECT_THAT(nearest_names("inof", {"info", "validate", "slice"}), ElementsAre("info"));
  EXPECT_THAT(nearest_names("--shrad", {"--shard", "--html"}), ElementsAre("--shard"));
  EXPECT_THAT(nearest_names("esitmate", {"estimate", "merge"}), ElementsAre("estimate"));
}

TEST(Names, LongTextsTakeNoTime) {
  EXPECT_THAT(nearest_names(std::string(20 << 20, 'x'), {"h100"}), IsEmpty());
}

}  // namespace
}  // namespace flopcast
