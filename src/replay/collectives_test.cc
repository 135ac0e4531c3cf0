// Collectives matched across ranks, and the clocks they straighten.
#include "flopcast/replay/collectives.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "replay/clocks.h"
#include "support/trace_text.h"

namespace flopcast::replaying {
namespace {

using test::TraceText;

using test::us;

struct Matched {
  TraceSet set;
  std::vector<RankModel> ranks;
  Anomalies anomalies;
  std::vector<Collective> collectives;
  Time residual;

  explicit Matched(const TraceText& text, bool align = false) : set(text.read()) {
    std::int64_t origin = set.traces.at(0).origin_ns;
    for (const Trace& t : set.traces) origin = std::min(origin, t.origin_ns);
    for (std::uint32_t i = 0; i < set.traces.size(); ++i) {
      ranks.push_back(make_rank_model(set, i, Time::from_ns(set.traces[i].origin_ns - origin)));
    }
    collectives = match_collectives(set, ranks, anomalies);
    if (align) residual = align_rank_clocks(ranks, collectives);
    update_arrivals(ranks, collectives);
  }
  std::uint64_t without_partners() const { return anomalies.count("collective_without_partners"); }

  /// "0.1+1.0" for the second GPU task of rank 0 and the first of rank 1; by rank.
  std::string text(std::size_t c) const {
    std::vector<std::string> parts;
    for (const CollectiveMember& m : collectives[c].members)
      parts.push_back(fmt::format("{}.{}", m.rank, m.task));
    std::sort(parts.begin(), parts.end());
    std::string out;
    for (const std::string& part : parts) out += (out.empty() ? "" : "+") + part;
    return out;
  }
};

/// A launch and its kernel without any metadata.
TraceText& plain(TraceText& text, double from, double to, std::int64_t correlation,
                 std::string_view name = "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)") {
  return text.launch(from - 10, from - 8, correlation).kernel(name, from, to, 20, correlation);
}

TEST(Collectives, SequenceNumbersMatchAtWindowEdges) {
  TraceText text;
  for (int r = 0; r < 2; ++r) {
    text.rank(r);
    for (int i = 0; i < 3; ++i) {
      text.launch(1000 * i, 1000 * i + 5, i + 1);
      text.collective(1000 * i + 10, 1000 * i + 500, 20, i + 1, 7 + i + r);
    }
  }
  const Matched m(text);
  ASSERT_EQ(m.collectives.size(), 2u);
  EXPECT_EQ(m.text(0), "0.1+1.0");
  EXPECT_EQ(m.text(1), "0.2+1.1");
  EXPECT_EQ(m.without_partners(), 2u);
  EXPECT_EQ(m.set.strings[m.collectives[0].name], "allreduce");
  EXPECT_EQ(m.collectives[0].bytes, 4000);
  EXPECT_EQ(m.ranks[0].gpu[0].collective, kNoIndex);
  EXPECT_EQ(m.ranks[0].gpu[2].collective, 1u);
}

TEST(Collectives, GroupsAreMatchedApart) {
  TraceText text;
  for (int r = 0; r < 2; ++r) {
    text.rank(r).launch(0, 5, 1).launch(6, 9, 2);
    // The ranks run the two groups in another order.
    text.collective(r == 0 ? 10 : 200, r == 0 ? 190 : 400, 20, 1, 3, "0");
    text.collective(r == 0 ? 200 : 10, r == 0 ? 400 : 190, 21, 2, 3, "1");
  }
  const Matched m(text);
  ASSERT_EQ(m.collectives.size(), 2u);
  EXPECT_EQ(m.without_partners(), 0u);
  EXPECT_EQ(std::min(m.text(0), m.text(1)), "0.0+1.1");
  EXPECT_EQ(std::max(m.text(0), m.text(1)), "0.1+1.0");
}

TEST(Collectives, WithoutMetadataTheOrderCounts) {
  TraceText text;
  for (int r = 0; r < 3; ++r) {
    text.rank(r, 10000 * r);  // clocks far apart: time says nothing
    for (int i = 0; i < 4; ++i) plain(text, 100 + 700 * i, 600 + 700 * i, i + 1);
  }
  const Matched m(text);
  ASSERT_EQ(m.collectives.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(m.text(i), fmt::format("0.{0}+1.{0}+2.{0}", i));
  EXPECT_EQ(m.without_partners(), 0u);
}

TEST(Collectives, AlgorithmAndProtocolMayDifferBetweenRanks) {
  TraceText text;
  plain(text.rank(0), 100, 600, 1, "ncclDevKernel_AllReduce(ncclDevComm*)");
  plain(text.rank(1), 100, 600, 1, "ncclDevKernel_AllReduce(other*)");
  EXPECT_EQ(Matched(text).collectives.size(), 1u);
}

TEST(Collectives, OtherLengthsWithoutNumbersMatchByTime) {
  TraceText text;
  text.rank(0);
  for (int i = 0; i < 3; ++i) plain(text, 100 + 2000 * i, 1000 + 2000 * i, i + 1);
  text.rank(1);
  for (int i = 1; i < 3; ++i) plain(text, 200 + 2000 * i, 1000 + 2000 * i, i + 1);
  const Matched m(text);
  ASSERT_EQ(m.collectives.size(), 2u);
  EXPECT_EQ(m.text(0), "0.1+1.0");
  EXPECT_EQ(m.text(1), "0.2+1.1");
  EXPECT_EQ(m.without_partners(), 1u);
}

TEST(Collectives, ASendMeetsItsReceive) {
  TraceText text;
  text.rank(0).launch(0, 5, 1).collective(10, 90, 20, 1, 1, "0", "send");
  text.rank(1).launch(0, 5, 1).collective(20, 90, 20, 1, 1, "0", "recv");
  EXPECT_EQ(Matched(text).collectives.size(), 1u);
}

TEST(Collectives, OneRankAloneHasNoPartnersToMiss) {
  TraceText text;
  plain(text, 100, 600, 1);
  const Matched m(text);
  EXPECT_TRUE(m.collectives.empty());
  EXPECT_EQ(m.without_partners(), 0u);
}

TEST(Collectives, EveryoneWaitsForTheLast) {
  TraceText text;
  for (int r = 0; r < 3; ++r) {
    text.rank(r).launch(0, 5, 1).collective(10 + 30 * r, 200, 20, 1, 1);
  }
  const Matched m(text);
  ASSERT_EQ(m.collectives.size(), 1u);
  EXPECT_TRUE(m.collectives[0].rendezvous());
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(m.collectives[0].members[i].rank, i);  // by start
    EXPECT_EQ(m.collectives[0].members[i].contributors, 3u);
    EXPECT_EQ(m.collectives[0].members[i].latest_arrival, us(70));
  }
}

TEST(Collectives, WhoEndedBeforeAnotherBeganDidNotWaitForIt) {
  TraceText text;
  text.rank(0).launch(0, 5, 1).collective(10, 90, 20, 1, 1);
  text.rank(1).launch(0, 5, 1).collective(50, 140, 20, 1, 1);
  text.rank(2).launch(0, 5, 1).collective(120, 150, 20, 1, 1);
  const Matched m(text);
  ASSERT_EQ(m.collectives.size(), 1u);
  EXPECT_FALSE(m.collectives[0].rendezvous());
  const auto& members = m.collectives[0].members;
  EXPECT_EQ(members[0].contributors, 2u);
  EXPECT_EQ(members[0].latest_arrival, us(50));
  EXPECT_EQ(members[1].contributors, 3u);
  EXPECT_EQ(members[2].contributors, 3u);
  EXPECT_EQ(members[2].latest_arrival, us(120));
}

// ---- who waits for whom -------------------------------------------------------------------------

/// Two of a collective called `name`: rank 0 leaves 70 us before rank 1 comes, then comes last.
TraceText left_early(std::string_view name) {
  TraceText text;
  text.rank(0).launch(0, 5, 1).collective(10, 50, 20, 1, 1, "0", name);
  text.launch(200, 205, 2).collective(300, 350, 20, 2, 2, "0", name);
  text.rank(1).launch(0, 5, 1).collective(120, 150, 20, 1, 1, "0", name);
  text.launch(200, 205, 2).collective(260, 355, 20, 2, 2, "0", name);
  return text;
}
const CollectiveMember& member(const Collective& c, std::uint32_t rank) {
  return *std::find_if(c.members.begin(), c.members.end(),
                       [&](const CollectiveMember& m) { return m.rank == rank; });
}

TEST(Contributors, AllOfWhatNeedsEveryInput) {
  Matched m(left_early("allreduce"));
  settle_contributors(m.set, m.ranks, us(5), m.collectives);
  ASSERT_EQ(m.collectives.size(), 2u);
  EXPECT_TRUE(m.collectives[0].rendezvous());
  EXPECT_EQ(member(m.collectives[0], 0).latest_arrival, us(120));  // its clock is off
}

TEST(Contributors, ASendThatLeftAloneOnceWaitsInNoRepeat) {
  Matched m(left_early("send"));
  settle_contributors(m.set, m.ranks, us(5), m.collectives);
  ASSERT_EQ(m.collectives.size(), 2u);
  for (const Collective& c : m.collectives) {
    EXPECT_EQ(member(c, 0).contributors, 1u);
    EXPECT_EQ(member(c, 1).contributors, 2u);
  }
  EXPECT_EQ(member(m.collectives[1], 0).latest_arrival, us(300));
}

TEST(Contributors, ClocksDoNotTellWhoLeftALittleEarlier) {
  Matched m(left_early("send"));
  settle_contributors(m.set, m.ranks, us(80), m.collectives);
  EXPECT_TRUE(m.collectives[0].rendezvous());
  EXPECT_TRUE(m.collectives[1].rendezvous());
}

// ---- clocks -------------------------------------------------------------------------------------

TEST(Clocks, KernelsDoNotStartBeforeTheirLaunches) {
  TraceText text;
  for (int i = 0; i < 50; ++i) {
    text.launch(100 * i + 50, 100 * i + 55, i + 1);
    text.kernel("k", 100 * i + 50 - 30 + i % 5, 100 * i + 90 - 30, 7, i + 1);
  }
  const TraceSet set = text.read();
  RankModel model = make_rank_model(set, 0, Time{});
  align_gpu_clock(model);
  EXPECT_EQ(model.gpu_offset, us(34));
  for (const GpuTask& t : model.gpu) EXPECT_FALSE(starts_before_launch(model, t));
  EXPECT_EQ(smallest_launch_latency(model), us(4));
}

TEST(Clocks, AGoodGpuClockIsLeftAlone) {
  TraceText text;
  for (int i = 0; i < 50; ++i)
    text.launch(100 * i, 100 * i + 5, i + 1).kernel("k", 100 * i + 7, 100 * i + 90, 7, i + 1);
  const TraceSet set = text.read();
  RankModel model = make_rank_model(set, 0, Time{});
  align_gpu_clock(model);
  EXPECT_EQ(model.gpu_offset, Time{});
  EXPECT_EQ(smallest_launch_latency(model), us(7));
}

TEST(Clocks, OneRowOutOfPlaceMovesNoClock) {
  TraceText text;
  for (int i = 0; i < 400; ++i) {
    text.launch(100 * i + 50, 100 * i + 55, i + 1);
    text.kernel("k", 100 * i + (i == 200 ? 30 : 56), 100 * i + 90, 7, i + 1);
  }
  const TraceSet set = text.read();
  RankModel model = make_rank_model(set, 0, Time{});
  align_gpu_clock(model);
  EXPECT_EQ(model.gpu_offset, Time{});
}

TEST(Clocks, ABackloggedGpuHasNoLatencyToShow) {
  TraceText text;
  for (int i = 0; i < 50; ++i) {
    text.launch(10 * i, 10 * i + 5, i + 1).kernel("k", 5000 + 100 * i, 5090 + 100 * i, 7, i + 1);
  }
  const TraceSet set = text.read();
  EXPECT_EQ(smallest_launch_latency(make_rank_model(set, 0, Time{})), us(35));
}

// Ranks whose clocks are off by anything: alignment finds how far, from one another.
RC_GTEST_PROP(ClocksProperty, RankOffsetsAreRecovered, ()) {
  const auto skew = *rc::gen::container<std::vector<int>>(4, rc::gen::inRange(-3000, 3000));
  const auto late = *rc::gen::container<std::vector<int>>(40, rc::gen::inRange(0, 300));
  TraceText text;
  for (int r = 0; r < 4; ++r) {
    text.rank(r, skew[static_cast<std::size_t>(r)] + 3000);
    text.op("start", 0, 1);
    for (int i = 0; i < 10; ++i) {
      const double from = 1000 * i + 100 + late[static_cast<std::size_t>(4 * i + r)];
      text.launch(from - 20, from - 15, i + 1).collective(from, 1000 * i + 800, 20, i + 1, i);
    }
  }
  const Matched m(text, true);
  RC_ASSERT(m.collectives.size() == 10u);
  RC_ASSERT(m.residual == Time{});
  for (const Collective& c : m.collectives) {
    RC_ASSERT(c.rendezvous());
    for (const CollectiveMember& member : c.members) {
      const CollectiveMember& first = c.members[0];
      RC_ASSERT(m.ranks[member.rank].gpu[member.task].end ==
                m.ranks[first.rank].gpu[first.task].end);
    }
  }
  // The host moves with its GPU: the first operators of all ranks coincide.
  for (const RankModel& rank : m.ranks) {
    RC_ASSERT(rank.threads[0].pieces[0].start == m.ranks[0].threads[0].pieces[0].start);
  }
}

}  // namespace
}  // namespace flopcast::replaying
