#include "base/text/versions.h"

#include <gtest/gtest.h>

namespace flopcast {
namespace {

TEST(Versions, NewerVersionsAreNewer) {
  EXPECT_TRUE(older_version("2.9", "2.27.3"));
  EXPECT_TRUE(older_version("2.27.3", "2.27.5"));
  EXPECT_TRUE(older_version("nccl-tests", "2.9"));
  EXPECT_FALSE(older_version("2.27.3", "2.27.3"));
  EXPECT_TRUE(older_version("1.2.0rc5", "1.2.0rc20"));
}

}  // namespace
}  // namespace flopcast
