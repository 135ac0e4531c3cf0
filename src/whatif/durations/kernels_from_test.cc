#include "whatif/durations/kernels_from.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "support/shared_traces.h"
#include "support/trace_text.h"
#include "whatif/change/stretch.h"

namespace flopcast::whatif {
namespace {

using replaying::Recording;
using test::TraceText;
using test::us;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

struct NamedKernel {
  const char* name;
  double us;
};

/// Kernels one after another on a stream, 1 us apart, each launched.
TraceSet program(const std::vector<NamedKernel>& kernels, int rank = 0) {
  TraceText text;
  text.rank(rank);
  double at = 100;
  std::int64_t id = 0;
  for (const NamedKernel& kernel : kernels) {
    ++id;
    text.launch(static_cast<double>(id), static_cast<double>(id) + 0.5, id);
    text.kernel(kernel.name, at, at + kernel.us, 7, id);
    at += kernel.us + 1;
  }
  return text.read();
}

struct ReadProgram {
  std::shared_ptr<const TraceSet> set;
  std::shared_ptr<const Recording> recording;
};
ReadProgram read_program(TraceSet set) {
  ReadProgram made;
  made.set = std::make_shared<const TraceSet>(std::move(set));
  Replay notes;
  made.recording =
      std::make_shared<const Recording>(replaying::make_recording(*made.set, 1, notes));
  return made;
}

struct Taken {
  ChangedRun run;
  std::vector<Time> times;  ///< of the first rank's GPU tasks
};
Taken taken(const std::vector<NamedKernel>& kernels, const std::vector<NamedKernel>& others,
            int rank = 0) {
  const ReadProgram here = read_program(program(kernels));
  const ReadProgram there = read_program(program(others, rank));
  Taken made;
  made.run.set = here.set;
  made.run.recording = here.recording;
  made.run.durations = replaying::recorded_durations(*here.recording);
  const KernelsFrom from{"other"};
  take_kernels_from(made.run, {from, "kernels-from other"}, from, *there.set, *there.recording);
  const auto& durations = made.run.durations.ranks.front();
  for (std::uint32_t t = 0; t < durations.gpu.size(); ++t)
    made.times.push_back(gpu_time(durations, t));
  return made;
}

TEST(KernelsFrom, ItselfChangesNothing) {
  const std::vector<NamedKernel> same = {{"a", 10}, {"b", 20}, {"a", 12}};
  EXPECT_THAT(taken(same, same).times, ElementsAre(us(10), us(20), us(12)));
}

TEST(KernelsFrom, PartnersByPosition) {
  const Taken made = taken({{"a", 10}, {"b", 20}, {"a", 12}}, {{"a", 5}, {"b", 30}, {"a", 7}});
  EXPECT_THAT(made.times, ElementsAre(us(5), us(30), us(7)));
  EXPECT_TRUE(made.run.refused.empty());
  ASSERT_THAT(made.run.doubts, SizeIs(1));  // from run to run
  EXPECT_LT(gpu_time(made.run.doubts[0].low.ranks[0], 1), us(30));
  EXPECT_GT(gpu_time(made.run.doubts[0].high.ranks[0], 1), us(30));
}

// The other ranks' recording stands for a rank that it does not have.
TEST(KernelsFrom, RanksMayBeOthers) {
  EXPECT_THAT(taken({{"a", 10}}, {{"a", 4}}, 3).times, ElementsAre(us(4)));
}

// One kernel there is two here, and the other way round: their time together, and a gap of 1 us for
// each kernel more.
TEST(KernelsFrom, ReplacedBetweenPartners) {
  EXPECT_THAT(
      taken({{"a", 10}, {"old", 70}, {"b", 20}}, {{"a", 10}, {"x", 2}, {"y", 10}, {"b", 20}}).times,
      ElementsAre(us(10), us(13), us(20)));
  EXPECT_THAT(
      taken({{"a", 10}, {"x", 5}, {"y", 15}, {"b", 20}}, {{"a", 10}, {"new", 41}, {"b", 20}}).times,
      ElementsAre(us(10), us(10), us(30), us(20)));
}

TEST(KernelsFrom, WithoutAPlaceTheMedianOfEquals) {
  // One more "a" at the end than the other recording has.
  const Taken made =
      taken({{"a", 10}, {"a", 10}, {"a", 10}, {"a", 10}}, {{"a", 3}, {"a", 5}, {"a", 4}});
  EXPECT_THAT(made.times, testing::Contains(us(4)));
  EXPECT_THAT(made.times, testing::Not(testing::Contains(us(10))));
}

TEST(KernelsFrom, WithoutAnEqualAsRecordedAndInDoubt) {
  const Taken made = taken({{"a", 10}, {"mine", 6}, {"b", 20}}, {{"a", 10}, {"b", 25}});
  EXPECT_THAT(made.times, ElementsAre(us(10), us(6), us(25)));
  ASSERT_THAT(made.run.doubts, SizeIs(2));
  EXPECT_EQ(gpu_time(made.run.doubts[1].low.ranks[0], 1), Time{});
  bool told = false;
  for (const WhatIfNote& note : made.run.notes)
    told = told || note.what.find("mine") != std::string::npos;
  EXPECT_TRUE(told);
}

// Work that this program does not have is left out, but the band knows of it.
TEST(KernelsFrom, WithoutAPlaceHereLeftOutAndInDoubt) {
  const Taken made = taken({{"a", 10}, {"b", 20}}, {{"a", 10}, {"theirs", 8}, {"b", 20}});
  EXPECT_THAT(made.times, ElementsAre(us(10), us(20)));
  ASSERT_THAT(made.run.doubts, SizeIs(2));
  EXPECT_EQ(gpu_time(made.run.doubts[1].high.ranks[0], 1), us(28));
}

TEST(KernelsFrom, CommunicationKeepsItsTime) {
  const char* nccl = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(int)";
  EXPECT_THAT(taken({{"a", 10}, {nccl, 50}}, {{"a", 4}, {nccl, 90}}).times,
              ElementsAre(us(4), us(50)));
}

TEST(KernelsFrom, AnotherProgramIsRefused) {
  const Taken made = taken({{"a", 10}}, {{"z", 10}});
  ASSERT_THAT(made.run.refused, SizeIs(1));
  EXPECT_THAT(made.run.refused[0].missing, HasSubstr("no kernel"));
}

// Eight ranks decode a step of 61 layers; one kernel of each is replaced by two. Both were recorded,
// the first twice.
TEST(KernelsFrom, SwappedDecodeKernels) {
  FLOPCAST_SHARED_OR_SKIP(runs, "traces/decode_kernels_8xh200");
  const auto change = [&](const char* from, const char* to) {
    const Result<WhatIf> whatif = WhatIf::open({runs / from});
    WhatIfChanges changes;
    changes.kernels_from = runs / to;
    const Result<WhatIfAnswer> answer = whatif->ask(changes);
    EXPECT_TRUE(answer.ok() && answer->refused.empty());
    return answer ? *answer : WhatIfAnswer{};
  };
  const WhatIfAnswer there = change("run1", "run4"), back = change("run4", "run1"),
                     repeat = change("run1", "run2");
  EXPECT_NEAR(there.after.seconds() / back.before.seconds(), 1, 0.005);
  EXPECT_NEAR(back.after.seconds() / there.before.seconds(), 1, 0.005);
  EXPECT_NEAR(repeat.after.seconds() / repeat.before.seconds(), 1, 0.005);
  EXPECT_LE(there.band.low, back.before);
  EXPECT_GE(there.band.high, back.before);
}

}  // namespace
}  // namespace flopcast::whatif
