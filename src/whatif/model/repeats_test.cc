#include "whatif/model/repeats.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace flopcast::whatif {
namespace {

using Sequence = std::vector<std::uint32_t>;

Sequence of(const std::string& letters) { return {letters.begin(), letters.end()}; }

/// Every run of every period, looked at one by one.
Repeat slow_longest(const Sequence& tokens, std::uint32_t shortest) {
  Repeat best;
  std::uint32_t most = 0;
  for (std::uint32_t period = std::max(shortest, 1U); 2 * period <= tokens.size(); ++period) {
    for (std::uint32_t start = 0; start + 2 * period <= tokens.size(); ++start) {
      std::uint32_t length = period;
      while (start + length < tokens.size() &&
             tokens[start + length] == tokens[start + length - period]) {
        ++length;
      }
      if (length < 2 * period || length <= most) continue;
      most = length;
      best = {start, period, length / period, length % period};
    }
  }
  return best;
}

TEST(Repeats, LayersBetweenEmbeddingAndHead) {
  const Repeat run = longest_repeat(of("xyabcdabcdabcdzw"), 2);
  EXPECT_EQ(run, (Repeat{2, 4, 3, 0}));
}

TEST(Repeats, WhatAgreesAroundThemMayBelongToThem) {
  // The run may start at 'd' or at 'a': "dabcdabcda" has period 4 all along.
  EXPECT_EQ(longest_repeat(of("xdabcdabcday"), 2), (Repeat{1, 4, 2, 2}));
}

TEST(Repeats, SmallestPeriodOfEquallyLongOnes) {
  EXPECT_EQ(longest_repeat(of("abababab"), 1).period, 2U);
  EXPECT_EQ(longest_repeat(of("abababab"), 3).period, 4U);
}

TEST(Repeats, NoneInWhatDoesNotRepeat) {
  EXPECT_EQ(longest_repeat(of("abcdefgh"), 1).copies, 0U);
  EXPECT_EQ(longest_repeat({}, 1).copies, 0U);
  EXPECT_TRUE(find_repeats(of("a"), 1).empty());
}

TEST(Repeats, TwoKindsOfLayersOneAfterTheOther) {
  const std::vector<Repeat> runs = find_repeats(of("xabcabcabcyqrstqrstqrstqrstz"), 3);
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0], (Repeat{1, 3, 3, 0}));
  EXPECT_EQ(runs[1], (Repeat{11, 4, 4, 0}));
}

RC_GTEST_PROP(Repeats, AgreeWithLookingAtEveryRun, ()) {
  const auto size = *rc::gen::inRange<std::size_t>(0, 40);
  const auto letters = *rc::gen::inRange<std::uint32_t>(1, 4);
  const auto tokens =
      *rc::gen::container<Sequence>(size, rc::gen::inRange<std::uint32_t>(0, letters));
  const auto shortest = *rc::gen::inRange<std::uint32_t>(1, 5);
  RC_ASSERT(longest_repeat(tokens, shortest) == slow_longest(tokens, shortest));
}

/// Layers are planted between other kernels; every kernel of a layer has a name of its own.
RC_GTEST_PROP(Repeats, PlantedLayersAreFound, ()) {
  const auto period = *rc::gen::inRange<std::uint32_t>(4, 30);
  const auto copies = *rc::gen::inRange<std::uint32_t>(2, 12);
  const auto before = *rc::gen::inRange<std::uint32_t>(0, 20);
  const auto after = *rc::gen::inRange<std::uint32_t>(0, 20);
  Sequence tokens;
  for (std::uint32_t i = 0; i < before; ++i) tokens.push_back(1000 + i);
  for (std::uint32_t c = 0; c < copies; ++c) {
    for (std::uint32_t i = 0; i < period; ++i) tokens.push_back(i);
  }
  for (std::uint32_t i = 0; i < after; ++i) tokens.push_back(2000 + i);
  const std::vector<Repeat> runs = find_repeats(tokens, 4);
  RC_ASSERT(runs == (std::vector<Repeat>{{before, period, copies, 0}}));
}

RC_GTEST_PROP(Repeats, DoNotOverlapAndDoRepeat, ()) {
  const auto tokens = *rc::gen::container<Sequence>(rc::gen::inRange<std::uint32_t>(0, 3));
  std::uint32_t last = 0;
  for (const Repeat& run : find_repeats(tokens, 2)) {
    RC_ASSERT(run.start >= last);
    RC_ASSERT(run.copies >= 2U && run.period >= 2U);
    last = run.end();
    RC_ASSERT(last <= tokens.size());
    for (std::uint32_t i = run.start; i + run.period < last; ++i) {
      RC_ASSERT(tokens[i] == tokens[i + run.period]);
    }
  }
}

TEST(Likeness, ShareOfTheLongerThatIsInBothInOrder) {
  EXPECT_DOUBLE_EQ(likeness(of("abcd"), of("abcd")), 1);
  EXPECT_DOUBLE_EQ(likeness(of("abcd"), of("abxcyd")), 4.0 / 6);
  EXPECT_DOUBLE_EQ(likeness(of("abcd"), of("efgh")), 0);
  EXPECT_DOUBLE_EQ(likeness(of(""), of("a")), 0);
}

}  // namespace
}  // namespace flopcast::whatif
