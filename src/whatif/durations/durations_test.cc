// Host, launches, straggler, network: by hand on small traces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "flopcast/whatif.h"
#include "support/trace_text.h"

namespace flopcast {
namespace {

using test::TraceText;
using test::us;
using testing::HasSubstr;

WhatIfAnswer asked(const TraceText& text, const WhatIfChanges& changes) {
  const Result<WhatIf> whatif = WhatIf::of(std::make_shared<const TraceSet>(text.read()));
  EXPECT_TRUE(whatif.ok()) << (whatif.ok() ? "" : whatif.error().text());
  if (!whatif) return {};
  const Result<WhatIfAnswer> answer = whatif->ask(changes);
  EXPECT_TRUE(answer.ok()) << (answer.ok() ? "" : answer.error().text());
  return answer ? *answer : WhatIfAnswer{};
}

WhatIfChanges without(const std::string& what) {
  WhatIfChanges changes;
  changes.remove = {what};
  return changes;
}

/// Steps of two short kernels, launched 5 us after their operator begins; an operator of 40 us, idle
/// time of 20 us before the second launch. The host holds the GPU up.
TraceText host_bound() {
  TraceText text;
  for (int s = 0; s < 3; ++s) {
    const double at = 150.0 * s;
    const int id = 10 * s + 1;
    text.step(s, at, at + 140);
    text.op("aten::mm", at, at + 40).launch(at + 5, at + 9, id);
    text.kernel("gemm", at + 7, at + 17, 7, id);
    text.op("aten::mm", at + 60, at + 100).launch(at + 65, at + 69, id + 1);
    text.kernel("gemm", at + 67, at + 77, 7, id + 1);
  }
  return text;
}

TEST(WhatIfHost, WithoutItKernelsFollowEachOther) {
  const WhatIfAnswer answer = asked(host_bound(), without("host"));
  EXPECT_EQ(answer.before, us(150));
  EXPECT_EQ(answer.after, us(20));             // two kernels of 10 us
  EXPECT_LT(answer.host_after, us(140 - 80));  // its operators are gone
}

TEST(WhatIfHost, AGraphLaunchesAStepAtOnce) {
  const WhatIfAnswer answer = asked(host_bound(), without("launches"));
  // From the end of the first launch to that of the second nothing takes time: 31 us of the first
  // operator, 20 us between, 5 us before the second launch and its own 4.
  EXPECT_EQ(answer.after, us(150 - 31 - 20 - 5 - 4));
  EXPECT_EQ(answer.before, us(150));
}

TEST(WhatIfHost, StepsAndHostMustBeRecorded) {
  TraceText no_steps;
  no_steps.op("aten::mm", 0, 10).launch(2, 6, 1).kernel("gemm", 8, 20, 7, 1);
  const WhatIfAnswer launches = asked(no_steps, without("launches"));
  ASSERT_EQ(launches.refused.size(), 1U);
  EXPECT_THAT(launches.refused[0].missing, HasSubstr("profiler.step()"));
}

/// Three ranks, one kernel and one all-reduce a step; the kernel takes 100 us, on rank 1 130 us, so
/// that the others wait for it.
TraceText three_ranks(double slow = 130) {
  TraceText text;
  for (int r = 0; r < 3; ++r) {
    text.rank(r);
    const double work = r == 1 ? slow : 100;
    for (int s = 0; s < 3; ++s) {
      const double at = 200.0 * s;
      const int id = 10 * s + 1;
      text.step(s, at, at + 190);
      text.op("aten::mm", at, at + 10).launch(at + 2, at + 6, id);
      text.op("c10d::allreduce_", at + 10, at + 20).launch(at + 12, at + 16, id + 1);
      text.call("cudaDeviceSynchronize", at + 20, at + 171, id + 2);
      text.kernel("gemm", at + 10, at + 10 + work, 7, id);
      text.collective(at + 10 + work, at + 160, 7, id + 1, s + 1, "0");
    }
  }
  return text;
}

TEST(WhatIfStraggler, TheRankThatIsWaitedForBecomesLikeItsEquals) {
  for (const char* what : {"straggler", "straggler:1"}) {
    const WhatIfAnswer answer = asked(three_ranks(), without(what));
    EXPECT_TRUE(answer.refused.empty()) << what;
    EXPECT_EQ(answer.before, us(200)) << what;
    EXPECT_EQ(answer.after, us(170)) << what;
  }
  EXPECT_EQ(asked(three_ranks(), without("straggler:0")).after, us(200));
}

/// Two stages with two ranks each: on the second, a rank has a slow kernel of 30 us before it sends. The first one receives
/// on rank 0 alone, which comes last to all collectives of its stage, through no fault of its own.
TraceText two_stages() {
  TraceText text;
  for (int r = 0; r < 4; ++r) {
    text.rank(r);
    for (int s = 0; s < 3; ++s) {
      const double at = 400.0 * s;
      const int id = 10 * s + 1;
      const double arrives = r < 2 ? (r == 0 ? 190 : 10) : 10;
      const double work = r == 3 ? 80 : 50;
      text.step(s, at, at + 390);
      text.op("aten::mm", at, at + 10).launch(at + 2, at + 6, id);
      text.op("c10d::allreduce_", at + 10, at + 20).launch(at + 12, at + 16, id + 1);
      text.call("cudaDeviceSynchronize", at + 20, at + 371, id + 2);
      text.kernel("gemm", at + arrives, at + arrives + work, 7, id);
      const double together = r < 2 ? 240 : 90;
      text.collective(at + arrives + work, at + together + 20, 7, id + 1, s + 1, r < 2 ? "0" : "1");
    }
  }
  return text;
}

TEST(WhatIfStraggler, WaitingForAnotherStageIsNobodysFault) {
  const WhatIfAnswer answer = asked(two_stages(), without("straggler"));
  ASSERT_TRUE(answer.refused.empty());
  ASSERT_FALSE(answer.notes.empty());
  const auto named = [&](const char* text) {
    return std::ranges::any_of(answer.notes, [&](const WhatIfNote& note) {
      return note.what.find(text) != std::string::npos;
    });
  };
  EXPECT_TRUE(named("rank 3 is the straggler"));
  EXPECT_LE(answer.after, answer.before);
}

TEST(WhatIfStraggler, IsNobodyWhereAllAreAlike) {
  const WhatIfAnswer answer = asked(three_ranks(100), without("straggler"));
  EXPECT_TRUE(answer.refused.empty());
  EXPECT_EQ(answer.after, answer.before);
  ASSERT_FALSE(answer.notes.empty());
  EXPECT_THAT(answer.notes[0].what, HasSubstr("no rank is a straggler"));
}

TEST(WhatIfStraggler, NeedsRanksToCompare) {
  const auto missing = [](const TraceText& text, const char* what) {
    const WhatIfAnswer answer = asked(text, without(what));
    return answer.refused.empty() ? std::string() : answer.refused[0].missing;
  };
  EXPECT_THAT(missing(host_bound(), "straggler"), HasSubstr("one rank"));
  EXPECT_THAT(missing(three_ranks(), "straggler:7"), HasSubstr("rank 7 was not recorded"));
}

TEST(WhatIfRank, IsScaledAlone) {
  WhatIfChanges changes;
  changes.scale.push_back({"rank:1", 2});
  const WhatIfAnswer answer = asked(three_ranks(), changes);
  EXPECT_GT(answer.after, us(200 + 130 - 10));
}

TEST(WhatIfNetwork, CollectivesTakeWhatTheNetworkGives) {
  WhatIfChanges changes;
  changes.on = "dgx-h100";
  const WhatIfAnswer answer = asked(three_ranks(), changes);
  ASSERT_TRUE(answer.refused.empty());
  // The all-reduce took 20 us once all had arrived; 4 kB on NVLink take less.
  EXPECT_LT(answer.after, us(200));
  EXPECT_GT(answer.after, us(180));
  bool modelled = false;
  for (const WhatIfNote& note : answer.notes) modelled = modelled || note.how == "modelled";
  EXPECT_TRUE(modelled);
  EXPECT_LT(answer.band.low, answer.band.high);
  changes.on = "nothing-of-the-kind";
  const Result<WhatIf> whatif = WhatIf::of(std::make_shared<const TraceSet>(three_ranks().read()));
  const Result<WhatIfAnswer> unknown = whatif->ask(changes);
  ASSERT_FALSE(unknown.ok());
  EXPECT_THAT(unknown.error().text(), HasSubstr("nothing-of-the-kind"));
  changes.on = "dgx-h100";
  EXPECT_THAT(asked(host_bound(), changes).refused[0].missing, HasSubstr("no collective"));
}

}  // namespace
}  // namespace flopcast
