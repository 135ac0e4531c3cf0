#include "base/numeric/mix.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace flopcast {
namespace {

TEST(Mix, IsSplitMix64) {
  // The first number of the reference generator with seed 0.
  EXPECT_EQ(mix(0), 0xe220a8397b1dcdafU);
}

RC_GTEST_PROP(Mix, SamplesAreDistinctRowsInOrder, ()) {
  const auto rows = *rc::gen::inRange<std::size_t>(0, 200);
  const auto most = *rc::gen::inRange<std::size_t>(0, 200);
  const std::vector<std::size_t> sample = sample_rows(rows, most);
  RC_ASSERT(sample.size() == std::min(rows, most));
  RC_ASSERT(std::ranges::adjacent_find(sample, std::greater_equal<>()) == sample.end());
  RC_ASSERT(std::ranges::all_of(sample, [&](std::size_t row) { return row < rows; }));
}

}  // namespace
}  // namespace flopcast
