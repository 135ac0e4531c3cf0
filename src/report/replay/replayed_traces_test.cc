#include <gtest/gtest.h>

#include "report/replay/testing.h"

namespace flopcast::report {
namespace {

TEST(ReplayedTraces, RowsHaveReplayedTimesAndStaySorted) {
  const TraceSet set = test::made_set();
  Replay replay = test::made_replay(set);
  replay.replayed.start[0][4] = Time::from_us(50);  // the gemm moves behind everything
  replay.replayed.end[0][4] = Time::from_us(65);
  const TraceSet moved = replayed_traces(set, replay);
  const Events& events = moved.traces[0].events;
  ASSERT_EQ(events.size(), set.traces[0].events.size());
  const std::size_t last = events.size() - 1;
  EXPECT_EQ(moved.strings[events.name[last]], "gemm");
  EXPECT_EQ(events.start[last], Time::from_us(50));
  EXPECT_EQ(events.duration[last], Time::from_us(15));
  for (std::size_t row = 1; row < events.size(); ++row) {
    EXPECT_LE(events.start[row - 1], events.start[row]);
  }
}

TEST(ReplayedTraces, AllRanksShareTheEarliestOrigin) {
  TraceSet set = test::made_set();
  set.traces[0].origin_ns = 2000;
  set.traces[1].origin_ns = 1000;
  const TraceSet moved = replayed_traces(set, test::made_replay(set));
  EXPECT_EQ(moved.traces[0].origin_ns, 1000);
  EXPECT_EQ(moved.traces[1].origin_ns, 1000);
}

TEST(ReplayedTraces, FlowsMoveWithTheirRows) {
  TraceSet set = test::made_set();
  set.traces[0].flows = {{1, 0, Time::from_us(3), true}};
  Replay replay = test::made_replay(set);
  replay.replayed.start[0][3] += Time::from_us(10);  // the launch at 3 us
  replay.replayed.end[0][3] += Time::from_us(10);
  const TraceSet moved = replayed_traces(set, replay);
  EXPECT_EQ(moved.traces[0].flows[0].time, Time::from_us(13));
}

}  // namespace
}  // namespace flopcast::report
