#include <gtest/gtest.h>

#include <algorithm>

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

/// One kernel of unknown work that may take so much more of a millisecond than it is priced.
LiveReport with_unknown(Time floor) {
  LiveReport report = that_waited_for_its_host(Time());
  report.unknown.push_back({"mystery", 12, Time::from_us(2), 3'000'000'000, floor});
  return report;
}

TEST(LiveReportText, UnknownWorkAboveOnePercentIsToldFirst) {
  const std::string first = "12 launches of kernels whose work is unknown";
  const std::string large = live_text(with_unknown(Time::from_us(500)));
  const std::size_t at = large.find(first);
  ASSERT_NE(at, std::string::npos);
  EXPECT_LT(at, large.find("where the time of a GPU goes"));
  EXPECT_NE(large.find("33.4 %"), std::string::npos) << large;  // 500 of 1,498
  EXPECT_NE(large.find("mystery"), std::string::npos);
  const std::string small = live_text(with_unknown(Time::from_us(3)));
  EXPECT_EQ(small.find(first), std::string::npos);
  EXPECT_NE(small.find("mystery"), std::string::npos);
  const std::string json = live_json(with_unknown(Time::from_us(500)));
  EXPECT_NE(
      json.find("\"unknown_work\": {\"kernels\": 12, \"unbounded\": 0, \"bytes\": 3000000000"),
      std::string::npos)
      << json;
  for (std::size_t begin = 0; begin < large.size();) {
    const std::size_t end = large.find('\n', begin);
    const std::string line = large.substr(begin, end - begin);
    const auto columns =
        std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xc0) != 0x80; });
    EXPECT_LE(columns, 80) << line;
    begin = end + 1;
  }
}

TEST(LiveReportText, NothingIsSaidToBeFittedThatUnknownWorkMayBe) {
  // 998 us of fitted kernels and 2 us of one that moves at least what takes 500 us.
  LiveReport report = with_unknown(Time::from_us(500));
  report.coverage = {{"fitted", 100, Time::from_us(998)}, {"unknown", 12, Time::from_us(2)}};
  const std::string text = live_text(report);
  EXPECT_NE(text.find("at most 66.6 %"), std::string::npos) << text;  // 998 of 1,498
  EXPECT_NE(text.find("at least 33.4 %"), std::string::npos) << text;
  EXPECT_EQ(text.find("99"), text.find("998")) << text;  // no 99.8 % anywhere
  const std::string json = live_json(report);
  EXPECT_NE(json.find("\"time_s\": 0.000998, \"share\": 0.66"), std::string::npos) << json;
  // Where all is known, shares are what they are.
  report.unknown.clear();
  report.coverage.pop_back();
  EXPECT_EQ(live_text(report).find("at most"), std::string::npos);
}

}  // namespace
}  // namespace flopcast
