#include "base/numeric/divisors.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>

namespace flopcast {
namespace {

TEST(Divisors, AreAscending) {
  EXPECT_EQ(divisors(12), (std::vector<std::int64_t>{1, 2, 3, 4, 6, 12}));
  EXPECT_EQ(divisors(16), (std::vector<std::int64_t>{1, 2, 4, 8, 16}));
  EXPECT_EQ(divisors(1), (std::vector<std::int64_t>{1}));
  EXPECT_TRUE(divisors(0).empty());
  EXPECT_TRUE(divisors(-4).empty());
}

/// Work does not grow with the number: batches are as large as a file says.
TEST(Divisors, OfNumbersOfAnySize) {
  EXPECT_EQ(divisors(1'000'000'000'000'000'000).size(), 19u * 19u);
  EXPECT_EQ(divisors(std::numeric_limits<std::int64_t>::max()).size(),
            96u);  // 7^2 73 127 337 92737 649657
  const std::int64_t prime = 999'999'999'999'999'989;
  EXPECT_EQ(divisors(prime), (std::vector<std::int64_t>{1, prime}));
  const std::int64_t p = 999'999'937, q = 1'000'000'007;
  EXPECT_EQ(divisors(p * q), (std::vector<std::int64_t>{1, p, q, p * q}));
  EXPECT_EQ(divisors(p * p), (std::vector<std::int64_t>{1, p, p * p}));
  const std::int64_t cube = 2'097'143;
  EXPECT_EQ(divisors(cube * cube * cube),
            (std::vector<std::int64_t>{1, cube, cube * cube, cube * cube * cube}));
  EXPECT_EQ(divisors(std::int64_t{1} << 62).size(), 63u);
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
