#include <gtest/gtest.h>

#include "flopcast/report/live.h"

namespace flopcast {
namespace {

LiveReport that_waited_for_its_host(Time waited) {
  LiveReport report;
  report.cluster = "dgx-h100";
  LiveRank rank;
  rank.times.window = Time::from_us(1000);
  rank.times.exposed_compute = Time::from_us(1000) - waited;
  rank.times.host_bound = waited;
  report.ranks.push_back(rank);
  return report;
}

bool says_how_well_host_times_are_known(const LiveReport& report) {
  return live_text(report).find("host times are known to x1.6 either way") != std::string::npos;
}

TEST(LiveReportText, SaysHowWellHostTimesAreKnownWhereTheyMatter) {
  LiveReport report = that_waited_for_its_host(Time::from_us(400));
  report.host_spread = 1.6;
  EXPECT_TRUE(says_how_well_host_times_are_known(report));
  report.host_spread = 0;  // measured
  EXPECT_FALSE(says_how_well_host_times_are_known(report));
  report = that_waited_for_its_host(Time());
  report.host_spread = 1.6;
  EXPECT_FALSE(says_how_well_host_times_are_known(report));
}

}  // namespace
}  // namespace flopcast
