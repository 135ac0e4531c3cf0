#include <gtest/gtest.h>

#include "flopcast/report/replay.h"
#include "report/replay/testing.h"

namespace flopcast::report {
namespace {

using test::MadeRow;

class UtilisationOf : public testing::Test {
 protected:
  Utilisation run(const std::vector<MadeRow>& rows, const std::vector<std::uint64_t>& blocks,
                  std::int64_t to_us, std::int64_t interval_us) {
    Trace trace = test::make_trace(set_, 0, rows);
    trace.devices = {{0, "GPU", 100, 0}};
    for (std::size_t row = 0; row < blocks.size(); ++row) {
      trace.events.detail[row] = static_cast<std::uint32_t>(row);
      trace.kernels.push_back({blocks[row], 128, 0, kNoId});
    }
    set_.traces = {trace};
    const Timeline times = test::recorded_times(set_);
    return utilisation(trace, times.start[0], times.end[0], Time{}, Time::from_us(to_us),
                       Time::from_us(interval_us));
  }
  TraceSet set_;
};

TEST_F(UtilisationOf, ActiveTimeAndSmsUsedPerInterval) {
  // 50 of 100 SMs for 0-15 us; from 10 us a second kernel that asks for more than there are.
  const Utilisation u = run(
      {{"a", Category::kKernel, 0, 15, 7}, {"b", Category::kKernel, 10, 20, 8}}, {50, 400}, 40, 10);
  ASSERT_EQ(u.active.size(), 4u);
  EXPECT_FLOAT_EQ(u.active[0], 1);
  EXPECT_FLOAT_EQ(u.active[1], 1);
  EXPECT_FLOAT_EQ(u.active[2], 0);
  ASSERT_EQ(u.sms_used.size(), 4u);
  EXPECT_FLOAT_EQ(u.sms_used[0], 0.5F);
  EXPECT_FLOAT_EQ(u.sms_used[1], 1);
}

TEST_F(UtilisationOf, UnknownShapesLeaveSmsOut) {
  const Utilisation u = run({{"a", Category::kKernel, 0, 15, 7}}, {0}, 20, 10);
  EXPECT_FLOAT_EQ(u.active[1], 0.5F);
  EXPECT_TRUE(u.sms_used.empty());
}

TEST_F(UtilisationOf, LastIntervalMayBeShorter) {
  const Utilisation u = run({{"a", Category::kKernel, 0, 15, 7}}, {100}, 15, 10);
  ASSERT_EQ(u.active.size(), 2u);
  EXPECT_FLOAT_EQ(u.active[1], 1);
}

TEST_F(UtilisationOf, LongWindowsGetWiderIntervals) {
  const Utilisation u = run({{"a", Category::kKernel, 0, 15, 7}}, {100}, 3'600'000'000, 1);
  EXPECT_LE(u.active.size(), 1'000'000u);
  EXPECT_EQ(u.interval, Time::from_us(10'000));
}

TEST_F(UtilisationOf, EmptyWindow) { EXPECT_TRUE(run({}, {}, 0, 10).active.empty()); }

}  // namespace
}  // namespace flopcast::report
