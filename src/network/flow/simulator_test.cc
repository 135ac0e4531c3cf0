// Cases small enough to check by hand. Capacities are in 2^-10 byte/s; `unit` below is 1 byte/s.
#include "flopcast/network/flows.h"

#include <gtest/gtest.h>

namespace flopcast::network {
namespace {

constexpr std::int64_t kByte = 1024;  ///< 1 byte/s
constexpr Time kNever = Time::max();

Time seconds(double s) { return {static_cast<std::int64_t>(s * 1e12)}; }

struct Simulation {
  explicit Simulation(std::initializer_list<std::int64_t> capacities,
                      FlowSimulator::Options options = {})
      : flows(rates(capacities), options) {}
  static std::vector<Rate> rates(std::initializer_list<std::int64_t> values) {
    std::vector<Rate> list;
    for (const std::int64_t value : values) list.push_back({value});
    return list;
  }

  FlowId add(const std::vector<LinkId>& links, std::int64_t bytes, double start = 0) {
    return add(links, bytes, start, FlowSpec{});
  }
  FlowId add(const std::vector<LinkId>& links, std::int64_t bytes, double start, FlowSpec spec) {
    std::vector<LinkUse> path;
    for (const LinkId link : links) path.push_back({link});
    spec.path = path;
    spec.bytes = bytes;
    return flows.submit(spec, seconds(start)).value();
  }
  std::int64_t rate(FlowId flow) { return flows.query(flow).rate.value; }
  double end(FlowId flow) { return flows.query(flow).end.seconds(); }

  FlowSimulator flows;
};

// --- Max-min fairness ---------------------------------------------------------------------------

TEST(FlowSimulator, M1TwoFlowsShareALink) {
  Simulation s({10});
  const FlowId a = s.add({0}, 1), b = s.add({0}, 1);
  s.flows.advance({0});
  EXPECT_EQ(s.rate(a), 5);
  EXPECT_EQ(s.rate(b), 5);
  EXPECT_EQ(s.flows.link_rate(0).value, 10);
}

TEST(FlowSimulator, M2ParkingLot) {
  Simulation s({1000, 1000, 1000});
  const FlowId through = s.add({0, 1, 2}, 1);
  const FlowId a = s.add({0}, 1), b = s.add({1}, 1), c = s.add({2}, 1);
  s.flows.advance({0});
  for (const FlowId flow : {through, a, b, c}) EXPECT_EQ(s.rate(flow), 500);
}

// The worked example of docs/theory/flows.md.
TEST(FlowSimulator, M3ThreeFlowsTwoLinks) {
  Simulation s({10 * kByte, 4 * kByte});
  const FlowId f1 = s.add({0}, 8), f2 = s.add({0, 1}, 2), f3 = s.add({1}, 4);
  s.flows.advance({0});
  EXPECT_EQ(s.rate(f1), 8 * kByte);
  EXPECT_EQ(s.rate(f2), 2 * kByte);
  EXPECT_EQ(s.rate(f3), 2 * kByte);
  s.flows.advance();
  EXPECT_EQ(s.end(f1), 1);
  EXPECT_EQ(s.end(f2), 1);
  EXPECT_EQ(s.end(f3), 1.5);
}

TEST(FlowSimulator, M4SecondFlowHalvesTheFirst) {
  Simulation s({10 * kByte});
  const FlowId f1 = s.add({0}, 100), f2 = s.add({0}, 50, 4);
  s.flows.advance();
  EXPECT_EQ(s.end(f1), 15);
  EXPECT_EQ(s.end(f2), 14);
}

// All three times 3, so that thirds of the capacity are whole: 30 byte/s; 300, 150 and 45 bytes.
struct M5 {
  explicit M5(bool repair, double late = 2) : s({30 * kByte}, {.repair = repair}) {
    f1 = s.add({0}, 300), f2 = s.add({0}, 150, 4);
    s.flows.advance(seconds(late - 2));
    f3 = s.add({0}, 45, 2);
  }
  void expect_ends(double end1, double end2, double end3) {
    s.flows.advance();
    EXPECT_EQ(s.end(f1), end1);
    EXPECT_EQ(s.end(f2), end2);
    EXPECT_EQ(s.end(f3), end3);
  }
  Simulation s;
  FlowId f1 = 0, f2 = 0, f3 = 0;
};

TEST(FlowSimulator, M5ThirdFlow) { M5(true).expect_ends(16.5, 14.5, 5.5); }

TEST(FlowSimulator, M5ThirdFlowSubmittedTenSecondsLate) {
  for (const bool repair : {false, true}) {
    M5 m5(repair, 12);
    EXPECT_EQ(m5.s.flows.now(), seconds(10));
    m5.expect_ends(16.5, 14.5, 5.5);
    EXPECT_EQ(m5.s.flows.work().repairs, repair ? 1U : 0U);
    EXPECT_EQ(m5.s.flows.work().rollbacks, repair ? 0U : 1U);
  }
}

// Rounded down, 3 + 3 + 3 of 11: handing out link 0 first and the rest later would give 3, 4, 4.
TEST(FlowSimulator, M6RemaindersGoToNobody) {
  Simulation s({11, 3});
  const FlowId a = s.add({0, 1}, 1), b = s.add({0}, 1), c = s.add({0}, 1);
  s.flows.advance({0});
  for (const FlowId flow : {a, b, c}) EXPECT_EQ(s.rate(flow), 3);
}

TEST(FlowSimulator, AWeightCountsForSoManyFlows) {
  FlowSimulator flows(std::vector<Rate>{{90}, {50}});
  const LinkUse macro[] = {{0, 2}, {1, 1}}, plain[] = {{0, 1}};
  FlowSpec spec;
  spec.bytes = 1;
  spec.path = macro;
  const FlowId a = flows.submit(spec, {0}).value();
  spec.path = plain;
  const FlowId b = flows.submit(spec, {0}).value();
  flows.advance({0});
  EXPECT_EQ(flows.query(a).rate.value, 30);
  EXPECT_EQ(flows.query(b).rate.value, 30);
  EXPECT_EQ(flows.link_rate(0).value, 90);
  EXPECT_EQ(flows.link_rate(1).value, 30);
}

TEST(FlowSimulator, ALimitLeavesTheRestToOthers) {
  Simulation s({100});
  FlowSpec limited;
  limited.limit = {20};
  const FlowId a = s.add({0}, 1, 0, limited), b = s.add({0}, 1);
  s.flows.advance({0});
  EXPECT_EQ(s.rate(a), 20);
  EXPECT_EQ(s.rate(b), 80);
}

TEST(FlowSimulator, AGroupSharesOneFlowsShare) {
  Simulation s({900});
  FlowSpec grouped;
  grouped.group = 7;
  const FlowId a = s.add({0}, 1, 0, grouped), b = s.add({0}, 1, 0, grouped), c = s.add({0}, 1);
  s.flows.advance({0});
  EXPECT_EQ(s.rate(a), 225);
  EXPECT_EQ(s.rate(b), 225);
  EXPECT_EQ(s.rate(c), 450);
  // One of the group gone, the other one is the group.
  EXPECT_FALSE(s.flows.cancel(a, {0}));
  EXPECT_EQ(s.rate(b), 450);
}

// --- Starts, ends, dependencies -----------------------------------------------------------------

TEST(FlowSimulator, EndsAreRoundedUpToPicoseconds) {
  Simulation s({3 * kByte});
  const FlowId flow = s.add({0}, 1);
  s.flows.advance();
  EXPECT_EQ(s.flows.query(flow).end.ps, 333'333'333'334);
}

TEST(FlowSimulator, LatencyCountsAfterTheLastByte) {
  Simulation s({10 * kByte});
  FlowSpec spec;
  spec.latency = seconds(1);
  const FlowId flow = s.add({0}, 20, 0, spec);
  s.flows.advance(seconds(2.5));
  EXPECT_EQ(s.flows.query(flow).phase, FlowPhase::kActive);
  EXPECT_EQ(s.flows.query(flow).sent.value, 20);
  EXPECT_EQ(s.rate(flow), 0);
  EXPECT_EQ(s.flows.advance(), seconds(3));
  EXPECT_EQ(s.flows.query(flow).phase, FlowPhase::kDone);
  EXPECT_EQ(s.end(flow), 3);
}

TEST(FlowSimulator, NothingToSendOrNowhereToSendItTakesTheLatency) {
  Simulation s({10 * kByte});
  FlowSpec spec;
  spec.latency = seconds(0.5);
  const FlowId empty = s.add({0}, 0, 1, spec), local = s.add({}, 1000, 2, spec);
  s.flows.advance();
  EXPECT_EQ(s.end(empty), 1.5);
  EXPECT_EQ(s.end(local), 2.5);
  EXPECT_EQ(s.flows.query(local).sent.value, 1000);
}

TEST(FlowSimulator, StartsWhenAllItWaitsForIsCompletePlusDelay) {
  Simulation s({10 * kByte, 10 * kByte});
  FlowSpec slow;
  slow.latency = seconds(4);
  const FlowId first[] = {s.add({0}, 10), s.add({1}, 20, 0, slow)};  // complete at 1 and 6
  FlowSpec then;
  then.after = first;
  then.delay = seconds(2);
  const FlowId last = s.add({0}, 10, 3, then);
  EXPECT_EQ(s.flows.query(last).start, kNever);
  EXPECT_EQ(s.flows.query(last).end, kNever);
  s.flows.advance();
  EXPECT_EQ(s.flows.query(last).start, seconds(8));
  EXPECT_EQ(s.end(last), 9);
}

TEST(FlowSimulator, WhatWaitsForACancelledFlowNeverStarts) {
  Simulation s({10 * kByte});
  const FlowId first[] = {s.add({0}, 100)};
  FlowSpec then;
  then.after = first;
  const FlowId last = s.add({0}, 10, 0, then);
  EXPECT_FALSE(s.flows.cancel(first[0], seconds(5)));
  s.flows.advance(seconds(100));
  EXPECT_EQ(s.flows.query(first[0]).phase, FlowPhase::kCancelled);
  EXPECT_EQ(s.flows.query(first[0]).sent.value, 50);
  EXPECT_EQ(s.flows.query(last).phase, FlowPhase::kWaiting);
}

TEST(FlowSimulator, BackgroundRunsUntilCancelled) {
  Simulation s({10 * kByte});
  FlowSpec spec;
  spec.background = true;
  const FlowId background = s.add({0}, 0, 0, spec), flow = s.add({0}, 50);
  EXPECT_EQ(s.flows.advance(), seconds(10));
  EXPECT_EQ(s.end(flow), 10);
  EXPECT_EQ(s.flows.query(background).phase, FlowPhase::kActive);
  EXPECT_EQ(s.flows.query(background).end, kNever);
  EXPECT_EQ(s.flows.query(background).sent.value, 50);
  EXPECT_FALSE(s.flows.cancel(background, seconds(5)));
  EXPECT_EQ(s.end(flow), 7.5);
  EXPECT_EQ(s.flows.query(background).sent.value, 25);
}

TEST(FlowSimulator, ALinkWithoutCapacityStallsItsFlows) {
  Simulation s({0, 10 * kByte});
  const FlowId stalled = s.add({0, 1}, 10), flow = s.add({1}, 10);
  EXPECT_EQ(s.flows.advance(), seconds(1));
  EXPECT_EQ(s.flows.query(stalled).end, kNever);
  EXPECT_EQ(s.end(flow), 1);
}

// --- Time travel --------------------------------------------------------------------------------

TEST(FlowSimulator, MovedAndCancelledInThePast) {
  for (const bool repair : {false, true}) {
    M5 m5(repair, 16);
    EXPECT_FALSE(m5.s.flows.update_start(m5.f3, seconds(0)));
    m5.expect_ends(16.5, 14, 3);
    EXPECT_FALSE(m5.s.flows.cancel(m5.f3, seconds(0)));
    EXPECT_EQ(m5.s.end(m5.f1), 15);
    EXPECT_EQ(m5.s.end(m5.f2), 14);
    EXPECT_FALSE(m5.s.flows.cancel(m5.f3, kNever));  // after all
    EXPECT_FALSE(m5.s.flows.update_start(m5.f3, seconds(2)));
    m5.expect_ends(16.5, 14.5, 5.5);
  }
}

TEST(FlowSimulator, QueriesReachBackToTheHorizon) {
  Simulation s({10 * kByte});
  const FlowId f1 = s.add({0}, 100);
  s.add({0}, 50, 4);
  s.flows.advance();
  EXPECT_EQ(s.flows.query(f1, seconds(2)).rate.value, 10 * kByte);
  EXPECT_EQ(s.flows.query(f1, seconds(6)).rate.value, 5 * kByte);
  EXPECT_EQ(s.flows.query(f1, seconds(6)).sent.value, 50);
  EXPECT_EQ(s.flows.query(f1, seconds(14.5)).rate.value, 10 * kByte);
  EXPECT_EQ(s.flows.query(f1, seconds(14.5)).phase, FlowPhase::kActive);
}

TEST(FlowSimulator, TakeChangesTellsWhatIsNoLongerAsReported) {
  Simulation s({10 * kByte});
  const FlowId f1 = s.add({0}, 100), f2 = s.add({0}, 50, 4);
  EXPECT_TRUE(s.flows.take_changes().empty());
  s.flows.advance();
  auto changes = s.flows.take_changes();
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_EQ(changes[0].flow, f1);
  EXPECT_EQ(changes[0].before, kNever);
  EXPECT_EQ(changes[0].after, seconds(15));
  EXPECT_TRUE(s.flows.take_changes().empty());
  s.add({0}, 15, 14);
  changes = s.flows.take_changes();
  ASSERT_EQ(changes.size(), 1U);  // f2 had ended; the new one has not by now
  EXPECT_EQ(changes[0].flow, f1);
  EXPECT_EQ(changes[0].before, seconds(15));
  EXPECT_EQ(changes[0].after, kNever);
  EXPECT_EQ(s.end(f2), 14);
}

TEST(FlowSimulator, FinalBehindTheHorizon) {
  Simulation s({10 * kByte});
  const FlowId f1 = s.add({0}, 100), f2 = s.add({0}, 50, 4);
  s.flows.advance();
  EXPECT_FALSE(s.flows.query(f2).final);
  s.flows.set_horizon(seconds(14.5));
  EXPECT_TRUE(s.flows.query(f2).final);
  EXPECT_EQ(s.flows.query(f2).end, seconds(14));
  EXPECT_EQ(s.flows.query(f2).sent.value, 50);
  EXPECT_FALSE(s.flows.query(f1).final);
  EXPECT_EQ(s.flows.horizon(), seconds(14.5));
}

TEST(FlowSimulator, MemoryFollowsTheWindow) {
  Simulation s({1000 * kByte});
  std::size_t early = 0;
  for (int i = 0; i < 20'000; ++i) {
    s.add({0}, 100, i * 0.1);
    s.flows.advance(seconds(i * 0.1));
    s.flows.set_horizon(s.flows.now());
    s.flows.take_changes();
    if (i == 1000) early = s.flows.work().bytes_held;
  }
  // What stays of a flow is when it started and ended.
  EXPECT_LT(s.flows.work().bytes_held, early + 20'000 * 48);
}

// --- Refusals -----------------------------------------------------------------------------------

TEST(FlowSimulator, RefusesWhatMakesNoSense) {
  Simulation s({10 * kByte});
  const auto refused = [&](const FlowSpec& spec, Time start) {
    const auto result = s.flows.submit(spec, start);
    return result.ok() ? std::string() : result.error().text();
  };
  const LinkUse unknown[] = {{1}}, twice[] = {{0}, {0}}, weightless[] = {{0, 0}};
  FlowSpec spec;
  spec.path = unknown;
  EXPECT_NE(refused(spec, {0}).find("link 1 of its path does not exist"), std::string::npos);
  spec.path = twice;
  EXPECT_NE(refused(spec, {0}).find("link 0 twice"), std::string::npos);
  spec.path = weightless;
  EXPECT_NE(refused(spec, {0}).find("weight 0"), std::string::npos);
  spec.path = {};
  spec.bytes = -1;
  EXPECT_NE(refused(spec, {0}).find("negative"), std::string::npos);
  spec.bytes = 1;
  const FlowId self[] = {0};
  spec.after = self;
  EXPECT_NE(refused(spec, {0}).find("waits for flow 0"), std::string::npos);
  spec.after = {};
  EXPECT_EQ(refused(spec, {0}), "");
  EXPECT_TRUE(s.flows.cancel(7, {0}).has_value());
  EXPECT_TRUE(s.flows.update_start(7, {0}).has_value());
}

TEST(FlowSimulator, RefusesChangesBeforeTheHorizon) {
  Simulation s({10 * kByte});
  const FlowId flow = s.add({0}, 100, 1);
  s.flows.advance(seconds(5));
  s.flows.set_horizon(seconds(4));
  EXPECT_FALSE(s.flows.submit({}, seconds(3)).ok());
  EXPECT_TRUE(s.flows.cancel(flow, seconds(3)).has_value());
  EXPECT_TRUE(s.flows.update_start(flow, seconds(6)).has_value());  // it has started at 1
  EXPECT_FALSE(s.flows.cancel(flow, seconds(4)).has_value());
}

}  // namespace
}  // namespace flopcast::network
