#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "flopcast/published/subramanian.h"

namespace flopcast {
namespace {

using enum PaperCollective;

constexpr double kGiga = 1e9;

PaperSystem system_of(const char* name) { return *paper_system(name); }

double time_of(const PaperSystem& system, PaperCollective kind, double gigabytes,
               std::int64_t group, std::int64_t in_domain, const PaperDefects& defects = {}) {
  return paper_collective_time(system, kind, {gigabytes * kGiga}, group, in_domain, defects).value;
}

struct CollectiveRow {
  const char* system;
  PaperCollective kind;
  double gigabytes;
  std::int64_t group, in_domain;
  double published, repaired;
};

// By the formulas of published/subramanian/collective.h, worked by hand; the published code gives the same.
TEST(PaperCollective, TakesTheTimeOfItsRing) {
  const CollectiveRow rows[] = {
      // 7 x 2.5 us + 7/8 x 0.1048576 / 630
      {"B200", kAllGather, 0.1048576, 8, 8, 0.00016313555555555554, 0.00016313555555555554},
      // 31 x 5 us + 31/32 x 1.5 / 35
      {"H200", kAllGather, 1.5, 32, 1, 0.04167285714285714, 0.04167285714285714},
      // 7 x 5 us + 24 x 2.5 us + 31/32 x 8.589934592 / (4 x 17.5)
      {"A100", kAllGather, 8.589934592, 32, 4, 0.11897355908571428, 0.11897355908571428},
      // no ring correction: 3 x 5 us + 12 x 2.5 us + 0.25 / 280
      {"B200", kBroadcast, 0.25, 16, 4, 0.0009378571428571428, 0.0009378571428571428},
      // one GPU a domain: the published code forgets the second pass of an all-reduce
      {"B200", kAllReduce, 0.02, 8, 1, 0.000285, 0.000535},
      {"B200", kPointToPoint, 0.0131072, 2, 2, 2.3305079365079363e-05, 2.3305079365079363e-05},
      // 32 NICs outrun NVLink: 5 us + 62 x 2.5 us + 63/64 x 0.3 / 630
      {"B200", kAllGather, 0.3, 64, 32, 0.00062875, 0.00062875},
      {"B200", kAllGather, 0, 8, 4, 0, 0},
      {"B200", kAllGather, 1, 1, 1, 0, 0},
  };
  for (const CollectiveRow& row : rows) {
    const PaperSystem system = system_of(row.system);
    const auto time = [&](const PaperDefects& defects) {
      return time_of(system, row.kind, row.gigabytes, row.group, row.in_domain, defects);
    };
    const std::string what = std::string(row.system) + " " + std::to_string(row.group);
    EXPECT_NEAR(time(PaperDefects::published()), row.published, 1e-12 * row.published) << what;
    EXPECT_NEAR(time(PaperDefects::repaired()), row.repaired, 1e-12 * row.repaired) << what;
  }
}

TEST(PaperCollective, ANicSharedByTwoGpusHalvesTheRateBetweenDomains) {
  PaperSystem system = system_of("A100");
  system.nvlink.latency = system.infiniband.latency = {0};
  const double whole = time_of(system, kAllGather, 1, 32, 4);
  system.nics_per_gpu = 0.5;
  EXPECT_DOUBLE_EQ(time_of(system, kAllGather, 1, 32, 4), 2 * whole);
}

TEST(PaperCollective, AnAllReduceAcrossDomainsIsTwoRingsInBothModes) {
  const PaperSystem system = system_of("B200");
  EXPECT_DOUBLE_EQ(time_of(system, kAllReduce, 1, 32, 8, PaperDefects::published()),
                   time_of(system, kAllReduce, 1, 32, 8, PaperDefects::repaired()));
}

RC_GTEST_PROP(PaperCollective, GrowsWithVolumeAndNeverBeatsTheWires, ()) {
  const PaperSystem system = system_of(*rc::gen::element("A100", "H200", "B200-next"));
  const auto in_domain = *rc::gen::element<std::int64_t>(1, 2, 4, 8);
  const auto group = in_domain * *rc::gen::inRange<std::int64_t>(2, 64);
  const auto kind = *rc::gen::element(kAllGather, kReduceScatter, kBroadcast, kReduce);
  const auto megabytes = *rc::gen::inRange(1, 10000);
  const double gigabytes = 1e-3 * megabytes;
  const double time = time_of(system, kind, gigabytes, group, in_domain);
  RC_ASSERT(time < time_of(system, kind, 1.01 * gigabytes, group, in_domain));
  const double fastest = system.nvlink.bandwidth.value * system.nvlink.efficiency;
  RC_ASSERT(time > gigabytes * kGiga / fastest / 2);
}

}  // namespace
}  // namespace flopcast
