#include "whatif/durations/loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "flopcast/whatif.h"
#include "support/shared_traces.h"
#include "whatif/testing.h"

namespace flopcast::whatif {
namespace {

using namespace replaying;
using test::TraceText;
using test::us;
using testing::HasSubstr;

constexpr const char* kNext = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";

WhatIfAnswer without_loading(const TraceText& text) {
  const Result<WhatIf> whatif = WhatIf::of(std::make_shared<const TraceSet>(text.read()));
  EXPECT_TRUE(whatif.ok());
  WhatIfChanges changes;
  changes.remove = {"data-loading"};
  const Result<WhatIfAnswer> answer = whatif->ask(changes);
  EXPECT_TRUE(answer.ok()) << (answer.ok() ? "" : answer.error().text());
  return answer ? *answer : WhatIfAnswer{};
}

/// A step that loads for 60 us, 20 of them in an operator, and then launches a kernel of 100 us.
TraceText one_step(const char* loader = kNext) {
  TraceText text;
  text.step(1, 0, 300).annotation(loader, 5, 65).op("aten::stack", 20, 40);
  text.op("aten::mm", 70, 90).launch(75, 80, 1).kernel("gemm", 90, 190, 7, 1);
  return text;
}

TEST(WhatIfLoader, WhatLiesUnderItsRowsIsGone) {
  const WhatIfAnswer answer = without_loading(one_step());
  EXPECT_TRUE(answer.refused.empty());
  EXPECT_EQ(answer.before, us(190));
  // The window begins with the first operator, 20 us in: 20 us of it and 25 more until the end of
  // the loader's row go, the 5 us after it stay.
  EXPECT_EQ(answer.after, us(190 - 45));
}

TEST(WhatIfLoader, LightningsRowsTellAsMuch) {
  const char* name = "[pl][profile][_TrainingEpochLoop].train_dataloader_next";
  EXPECT_EQ(without_loading(one_step(name)).after, us(190 - 45));
}

TEST(WhatIfLoader, WaitingForItsThreadsIsGone) {
  TraceText text;
  text.step(1, 0, 500).op("aten::zero_", 0, 10).annotation(kNext, 12, 212);
  text.op("aten::mm", 215, 235).launch(220, 225, 1).kernel("gemm", 230, 330, 7, 1);
  text.thread(2).op("pin_memory", 110, 210);
  ChangedRun run = run_of(text.read());
  // The first thread sets the second off, and then waits for it.
  ASSERT_EQ(run.recording->thread_edges[0].size(), 2U);
  ASSERT_FALSE(remove_data_loading(run, {}));
  ASSERT_EQ(run.recording->thread_edges[0].size(), 1U);
  EXPECT_EQ(run.recording->thread_edges[0][0].to_thread, 1U);
  EXPECT_EQ(run.durations.ranks[0].gap[0][1], us(5));
  EXPECT_EQ(without_loading(text).after, us(330 - 200));
}

TEST(WhatIfLoader, WithoutItsRowsNothingIsKnown) {
  TraceText text;
  text.step(1, 0, 300).op("aten::mm", 70, 90).launch(75, 80, 1).kernel("gemm", 90, 190, 7, 1);
  const WhatIfAnswer answer = without_loading(text);
  ASSERT_EQ(answer.refused.size(), 1U);
  EXPECT_THAT(answer.refused[0].missing, HasSubstr("DataLoader"));
}

/// The same program with a loader that has workers: steps of 123 to 127 ms.
TEST(WhatIfLoader, ARunWithWorkersIsForecast) {
  FLOPCAST_SHARED_OR_SKIP(recording, "traces/resnet50_1xv100/num_workers_0.json.gz");
  FLOPCAST_SHARED_OR_SKIP(truth, "traces/resnet50_1xv100/num_workers_4.json.gz");
  const Result<WhatIf> whatif = WhatIf::open({recording});
  const Result<WhatIf> target = WhatIf::open({truth});
  ASSERT_TRUE(whatif.ok() && target.ok());
  WhatIfChanges changes;
  changes.remove = {"data-loading"};
  const Result<WhatIfAnswer> answer = whatif->ask(changes);
  const Result<WhatIfAnswer> there = target->ask({});
  ASSERT_TRUE(answer.ok() && there.ok());
  EXPECT_NEAR(there->before.seconds() * 1e3, 125, 1);
  EXPECT_NEAR(answer->after.seconds() / there->before.seconds(), 1, 0.06);
  EXPECT_LE(answer->band.low, there->before);
  EXPECT_GE(answer->band.high, there->before);
}

}  // namespace
}  // namespace flopcast::whatif
