#include "report/replay/gpu_activity.h"

#include <gtest/gtest.h>

#include <random>

#include "report/replay/testing.h"

namespace flopcast::report {
namespace {

using test::MadeRow;

Breakdown of(const std::vector<MadeRow>& rows, std::int64_t from_us, std::int64_t to_us) {
  TraceSet set;
  set.traces.push_back(test::make_trace(set, 0, rows));
  const Timeline times = test::recorded_times(set);
  return test::breakdown(set, set.traces[0], times.start[0], times.end[0], Time::from_us(from_us),
                         Time::from_us(to_us));
}

constexpr const char* kNccl = "ncclDevKernel_AllReduce";

TEST(GpuActivity, WorkedExampleOfTheHeader) {
  const Breakdown b = of({{"gemm", Category::kKernel, 0, 10, 7},
                          {kNccl, Category::kKernel, 5, 25, 20},
                          {"gemm", Category::kKernel, 20, 30, 7},
                          {"Memcpy", Category::kMemcpy, 40, 45, 7}},
                         0, 50);
  EXPECT_EQ(b.exposed_compute, Time::from_us(10));
  EXPECT_EQ(b.overlapped, Time::from_us(10));
  EXPECT_EQ(b.exposed_communication, Time::from_us(10));
  EXPECT_EQ(b.other, Time::from_us(20));
  EXPECT_EQ(b.idle, Time::from_us(15));
}

TEST(GpuActivity, NoRowsIsAllIdle) {
  const Breakdown b = of({}, 3, 10);
  EXPECT_EQ(b.other, Time::from_us(7));
  EXPECT_EQ(b.idle, Time::from_us(7));
}

TEST(GpuActivity, WindowBeforeFirstAndAfterLastRow) {
  const std::vector<MadeRow> rows = {{"gemm", Category::kKernel, 10, 20, 7}};
  EXPECT_EQ(of(rows, 0, 10).idle, Time::from_us(10));
  EXPECT_EQ(of(rows, 20, 25).idle, Time::from_us(5));
  EXPECT_EQ(of(rows, 0, 30).exposed_compute, Time::from_us(10));
}

TEST(GpuActivity, AnnotationsAndHostRowsAreNoWork) {
  const Breakdown b = of(
      {{"span", Category::kGpuUserAnnotation, 0, 10, 7}, {"aten::mm", Category::kCpuOp, 0, 10, 7}},
      0, 10);
  EXPECT_EQ(b.idle, Time::from_us(10));
}

/// The slow oracle: what runs at each microsecond.
Breakdown by_microseconds(const std::vector<MadeRow>& rows, std::int64_t from, std::int64_t to) {
  Breakdown sum;
  for (std::int64_t at = from; at < to; ++at) {
    bool compute = false;
    bool communication = false;
    bool copy = false;
    for (const MadeRow& row : rows) {
      if (row.start_us > at || row.end_us <= at) continue;
      if (row.category != Category::kKernel) {
        copy = true;
      } else {
        (is_communication_kernel(row.name) ? communication : compute) = true;
      }
    }
    const Time us = Time::from_us(1);
    if (compute && communication) {
      sum.overlapped += us;
    } else if (compute) {
      sum.exposed_compute += us;
    } else if (communication) {
      sum.exposed_communication += us;
    } else {
      sum.other += us;
      if (!copy) sum.idle += us;
    }
  }
  return sum;
}

TEST(GpuActivity, EqualsTheSlowOracleOnRandomRows) {
  std::mt19937 random(7);
  const auto upto = [&](std::int64_t n) { return static_cast<std::int64_t>(random() % n); };
  for (int round = 0; round < 200; ++round) {
    std::vector<MadeRow> rows;
    for (std::int64_t i = upto(12); i >= 0; --i) {
      const std::int64_t start = upto(60);
      const bool copy = upto(4) == 0;
      rows.push_back({upto(2) == 0 ? kNccl : "gemm", copy ? Category::kMemcpy : Category::kKernel,
                      start, start + upto(20), 7});
    }
    const std::int64_t from = upto(40);
    const std::int64_t to = from + upto(60);
    const Breakdown fast = of(rows, from, to);
    const Breakdown slow = by_microseconds(rows, from, to);
    EXPECT_EQ(fast.exposed_compute, slow.exposed_compute);
    EXPECT_EQ(fast.exposed_communication, slow.exposed_communication);
    EXPECT_EQ(fast.overlapped, slow.overlapped);
    EXPECT_EQ(fast.other, slow.other);
    EXPECT_EQ(fast.idle, slow.idle);
  }
}

}  // namespace
}  // namespace flopcast::report
