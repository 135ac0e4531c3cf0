#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "flopcast/analytic/graph.h"
#include "flopcast/trace/io.h"
#include "support/temporary_folder.h"

namespace flopcast::analytic {
namespace {

StepRun step() {
  StepWork work;
  work.schedule = *make_schedule(ScheduleKind::kInterleaved, 2, 4, 2);
  work.stages.assign(4, {{1e-3}, {1e-3}, {1e-3}, {1e-4}});
  work.chips.assign(2, {{2e-3}, {1e-3}, {5e-4}});
  return std::move(*run_step(work));
}

TEST(ExpandTrace, ARankPerChipAndAStreamPerKindOfWork) {
  const StepRun run = step();
  const TraceSet set = step_trace(run);
  ASSERT_EQ(set.traces.size(), 2);
  for (const Trace& trace : set.traces) {
    std::map<std::string, int> rows;
    for (std::size_t row = 0; row < trace.events.size(); ++row) {
      const Track& track = trace.tracks[trace.events.track[row]];
      ++rows[std::string(set.strings[track.thread_name])];
      EXPECT_LE(trace.events.end(row), run.run.makespan);
      EXPECT_GE(trace.events.start[row], trace.events.start[row == 0 ? 0 : row - 1]);
    }
    EXPECT_EQ(rows["steps"], 1);
    EXPECT_EQ(rows["compute"], 4 * 2 * 2 + 1);  // and the optimizer
    EXPECT_EQ(rows["data parallel"], 2);
    // 3 of 4 boundaries between stages lead to the other chip, in each direction.
    EXPECT_EQ(rows["send activations"], *trace.rank == 0 ? 8 : 4);
    EXPECT_EQ(rows["send gradients"], *trace.rank == 0 ? 4 : 8);
  }
}

TEST(ExpandTrace, WrittenTracesAreReadBackWithTheirStep) {
  const test::TemporaryFolder folder;
  const StepRun run = step();
  const TraceSet set = step_trace(run);
  ASSERT_TRUE(write_perfetto(set, folder / "step.perfetto-trace").ok());
  ASSERT_TRUE(write_kineto(set, folder / "step.json").ok());
  const Result<TraceSet> read = read_traces({folder / "step.json"});
  ASSERT_TRUE(read.ok()) << read.error().text();
  ASSERT_EQ(read->traces.size(), 2);
  const std::vector<Step> steps = find_steps(*read, read->traces[0]);
  ASSERT_EQ(steps.size(), 1);
  EXPECT_EQ((steps[0].end - steps[0].start), run.run.makespan);
  EXPECT_EQ(read->traces[0].events.size(), set.traces[0].events.size());
}

}  // namespace
}  // namespace flopcast::analytic
