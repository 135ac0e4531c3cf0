#include <gtest/gtest.h>

#include "flopcast/network/traffic.h"

namespace flopcast::network {
namespace {

std::vector<TrafficRow> parsed(const char* text) {
  Result<std::vector<TrafficRow>> rows = parse_traffic(text, "t.csv");
  EXPECT_TRUE(rows.ok()) << (rows.ok() ? "" : rows.error().text());
  return rows.ok() ? std::move(*rows) : std::vector<TrafficRow>();
}

std::string refusal(const char* text) {
  const Result<std::vector<TrafficRow>> rows = parse_traffic(text, "t.csv");
  return rows.ok() ? "" : rows.error().where + ": " + rows.error().what;
}

TEST(TrafficFile, ReadsFlowsWithUnits) {
  const auto rows = parsed("src,dst,bytes,start,limit\n0,8,1GB,2.5us,10GB/s\n8,0,64,,\n");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].src, 0U);
  EXPECT_EQ(rows[0].dst, 8U);
  EXPECT_EQ(rows[0].bytes, 1000000000);
  EXPECT_EQ(rows[0].start, Time{2500000});
  EXPECT_EQ(rows[0].limit, Rate::from(BytesPerSecond{10e9}));
  EXPECT_EQ(rows[1].id, "2");
  EXPECT_EQ(rows[1].start, Time{});
}

TEST(TrafficFile, ReadsCollectivesAndWhatTheyWaitFor) {
  const auto rows = parsed(
      "id,op,ranks,bytes,after\na,all_reduce,0-3 8,1MB,\nb,AllGather,,2MB,a\nc,all_to_all,0-1,1,a "
      "b\n");
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].op, CollectiveOp::kAllReduce);
  EXPECT_EQ(rows[0].ranks, (std::vector<std::uint32_t>{0, 1, 2, 3, 8}));
  EXPECT_TRUE(rows[1].ranks.empty());
  EXPECT_EQ(rows[2].after, (std::vector<std::uint32_t>{0, 1}));
}

TEST(TrafficFile, NamesLineAndFieldOfAMistake) {
  EXPECT_EQ(refusal("src,dst,bytes\n0,1,5\n0,x,5\n"),
            "t.csv:3: dst: expected the number of a chip, found 'x'");
  EXPECT_EQ(refusal("src,dst,bytes\n0,1,-5\n"),
            "t.csv:2: bytes: expected 0 to 1e15 bytes, such as 64MB, found '-5'");
  EXPECT_EQ(refusal("src,dst,bytes,start\n0,1,5,3GB\n"),
            "t.csv:2: start: expected a time from 0 to 1e6 s, found '3GB'");
  EXPECT_EQ(refusal("id,src,dst,bytes,after\na,0,1,5,b\nb,0,1,5,\n"),
            "t.csv:2: after: expected ids of rows above, found 'b'");
  EXPECT_EQ(refusal("id,src,dst,bytes\na,0,1,5\na,0,1,5\n"),
            "t.csv:3: the id 'a' is taken by an earlier row");
  EXPECT_EQ(refusal("src,bytes\n0,5\n"), "t.csv: expected columns src,dst or op, found src,bytes");
  EXPECT_NE(refusal("src,dst,bytes\n0,5\n"), "");
}

TEST(TrafficFile, RanksAreNumbersAndRanges) {
  EXPECT_EQ(*parse_ranks("0-2,7 5"), (std::vector<std::uint32_t>{0, 1, 2, 7, 5}));
  EXPECT_TRUE(parse_ranks("")->empty());
  for (const char* bad : {"3-1", "a", "1-", "1..4", "-1", "99999999"}) {
    EXPECT_FALSE(parse_ranks(bad).ok()) << bad;
  }
  std::string many;  // each is short; all together would fill the memory
  for (int i = 0; i < 1000; ++i) many += "0-16777214 ";
  EXPECT_FALSE(parse_ranks(many).ok());
}

class TrafficRun : public ::testing::Test {
 protected:
  static TrafficResult run(const char* cluster_text, const char* csv) {
    const Result<Cluster> cluster = Catalog::builtin().cluster(cluster_text);
    EXPECT_TRUE(cluster.ok());
    const Result<Topology> topology = Topology::build(*cluster);
    EXPECT_TRUE(topology.ok());
    Result<TrafficResult> result = run_traffic(*cluster, *topology, parsed(csv), 50);
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().text());
    return std::move(*result);
  }
};

TEST_F(TrafficRun, TwoFlowsShareTheirLinkAndOneHasItAlone) {
  const auto alone = run("2 x dgx-h100", "src,dst,bytes\n0,8,1GB\n");
  const auto both = run("2 x dgx-h100", "src,dst,bytes\n0,8,1GB\n0,8,1GB\n");
  const double one = (alone.rows[0].end - alone.rows[0].start).seconds();
  const double two = (both.rows[0].end - both.rows[0].start).seconds();
  EXPECT_NEAR(two / one, 2.0, 1e-3);
}

TEST_F(TrafficRun, LinksCarryWhatWasSentAndNeverMoreThanTheyCan) {
  const auto result = run("2 x dgx-h100",
                          "id,src,dst,bytes,start,after\n"
                          "a,0,8,1GB,0,\nb,1,9,512MB,1ms,\nc,8,0,256MB,0,a b\n");
  ASSERT_FALSE(result.links.empty());
  EXPECT_GT(result.rows[2].start, result.rows[0].end - Time{1});
  double most = 0;
  for (const TrafficResult::LinkUse& link : result.links) {
    double sum = 0;
    for (const float used : link.used) {
      EXPECT_LE(used, 1.0F + 1e-6F);
      sum += static_cast<double>(used);
    }
    // The last interval may reach beyond the end: the mean is over the run itself.
    const double run_intervals = result.end.seconds() / result.interval.seconds();
    EXPECT_NEAR(sum / run_intervals, link.mean, 1e-6);
    most = std::max(most, link.carried.value);
  }
  EXPECT_NEAR(most, 1e9, 1);
}

TEST_F(TrafficRun, ACollectiveOccupiesLinks) {
  const auto result = run("2 x dgx-h100", "op,ranks,bytes\nall_reduce,,256MB\n");
  EXPECT_GT(result.end, Time{});
  EXPECT_FALSE(result.links.empty());
}

TEST_F(TrafficRun, ChipsThatAreNotThereAreRefused) {
  const Result<Cluster> cluster = Catalog::builtin().cluster("2 x dgx-h100");
  const Result<Topology> topology = Topology::build(*cluster);
  const auto result = run_traffic(*cluster, *topology, parsed("src,dst,bytes\n0,16,1\n"), 10);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().where, "t.csv:2");
}

}  // namespace
}  // namespace flopcast::network
