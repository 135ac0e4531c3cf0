#include "base/numeric/sequence_match.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

namespace flopcast {
namespace {

using Ids = std::vector<std::uint32_t>;

// The textbook table: quadratic, and plainly right.
std::size_t longest_by_table(const Ids& a, const Ids& b) {
  std::vector<std::vector<std::size_t>> best(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      best[i][j] =
          a[i - 1] == b[j - 1] ? best[i - 1][j - 1] + 1 : std::max(best[i - 1][j], best[i][j - 1]);
    }
  }
  return best[a.size()][b.size()];
}

bool is_match(const Ids& a, const Ids& b,
              const std::vector<std::pair<std::uint32_t, std::uint32_t>>& pairs) {
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto& [x, y] = pairs[i];
    if (x >= a.size() || y >= b.size() || a[x] != b[y]) return false;
    if (i > 0 && (x <= pairs[i - 1].first || y <= pairs[i - 1].second)) return false;
  }
  return true;
}

TEST(SequenceMatch, Examples) {
  EXPECT_TRUE(match_sequences({}, {}).empty());
  EXPECT_TRUE(match_sequences({1, 2}, {}).empty());
  EXPECT_TRUE(match_sequences({1, 2}, {3, 4}).empty());
  EXPECT_EQ(match_sequences({1, 2, 3}, {1, 2, 3}).size(), 3u);
  // Myers' own example: ABCABBA and CBABAC share 4.
  EXPECT_EQ(match_sequences({1, 2, 3, 1, 2, 2, 1}, {3, 2, 1, 2, 1, 3}).size(), 4u);
}

RC_GTEST_PROP(SequenceMatch, IsALongestCommonSubsequence, ()) {
  const auto id = rc::gen::inRange<std::uint32_t>(0, 5);
  const auto a = *rc::gen::container<Ids>(id);
  const auto b = *rc::gen::container<Ids>(id);
  const auto pairs = match_sequences(a, b);
  RC_ASSERT(is_match(a, b, pairs));
  RC_ASSERT(pairs.size() == longest_by_table(a, b));
}

TEST(SequenceMatch, EverythingDifferentEndsSoonAndIsStillAMatch) {
  // Two long sequences over few ids, out of step: tens of thousands of differences.
  Ids a, b;
  std::uint64_t seed = 1;
  for (int i = 0; i < 20000; ++i) {
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    a.push_back(static_cast<std::uint32_t>(seed >> 60));
    b.push_back(static_cast<std::uint32_t>(seed >> 50) % 16);
  }
  const auto pairs = match_sequences(a, b);
  EXPECT_TRUE(is_match(a, b, pairs));
  EXPECT_GT(pairs.size(), 5000u);
}

}  // namespace
}  // namespace flopcast
