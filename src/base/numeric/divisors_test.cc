#include "base/numeric/divisors.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace flopcast {
namespace {

TEST(Divisors, AreAscending) {
  EXPECT_EQ(divisors(12), (std::vector<std::int64_t>{1, 2, 3, 4, 6, 12}));
  EXPECT_EQ(divisors(16), (std::vector<std::int64_t>{1, 2, 4, 8, 16}));
  EXPECT_EQ(divisors(1), (std::vector<std::int64_t>{1}));
  EXPECT_TRUE(divisors(0).empty());
  EXPECT_TRUE(divisors(-4).empty());
}

RC_GTEST_PROP(Divisors, AreAllNumbersThatDivide, ()) {
  const auto n = *rc::gen::inRange<std::int64_t>(1, 5000);
  std::vector<std::int64_t> all;
  for (std::int64_t d = 1; d <= n; ++d) {
    if (n % d == 0) all.push_back(d);
  }
  RC_ASSERT(divisors(n) == all);
}

}  // namespace
}  // namespace flopcast
