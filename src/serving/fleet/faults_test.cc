// Replicas that die, and replicas that are started and stopped.
#include <gtest/gtest.h>

#include "serving/fleet/simulation.h"
#include "serving/fleet/testing.h"

namespace flopcast::serving {
namespace {

constexpr Time seconds_of(double count) {
  return Time::from_us(static_cast<std::int64_t>(1e6 * count));
}

/// Prompts take no time to speak of, an answer of n tokens n - 1 seconds.
PlainEngine::Speed second_a_token() { return {Time{}, seconds_of(1)}; }

FleetRun run_trace(const FleetPlan& plan, const std::vector<ServingRequest>& requests) {
  ServingWorkload workload;
  workload.kind = ServingWorkload::Kind::kTrace;
  workload.trace.requests = requests;
  const auto list = make_requests(workload);
  auto run = FleetSimulation(plan, workload, *list, FleetOptions()).run();
  EXPECT_TRUE(run.ok()) << run.error().text();
  return run.ok() ? std::move(*run) : FleetRun();
}

FleetPlan fleet_of_seconds(unsigned replicas) {
  FleetPlan plan;
  plan.pool = plain_pool(replicas, second_a_token());
  return plan;
}

TEST(FleetFaults, RequestsOfADeadReplicaAreTriedElsewhere) {
  FleetPlan plan = fleet_of_seconds(2);
  plan.faults = {{0, seconds_of(4), Time::max(), true}};
  const FleetRun run = run_trace(plan, {{seconds_of(0), 1, 11}, {seconds_of(0), 1, 3}});
  EXPECT_EQ(run.requests[0].replica, 1U);
  EXPECT_EQ(run.requests[0].retries, 1);
  EXPECT_EQ(run.requests[0].done, seconds_of(14)) << "begun anew at 4 s";
  EXPECT_EQ(run.requests[0].ttft(), seconds_of(4));
  EXPECT_EQ(run.answered, 2U);
}

TEST(FleetFaults, OrAreLost) {
  FleetPlan plan = fleet_of_seconds(2);
  plan.faults = {{0, seconds_of(4), Time::max(), false}};
  const FleetRun run = run_trace(plan, {{seconds_of(0), 1, 11}, {seconds_of(0), 1, 3}});
  EXPECT_EQ(run.lost, 1U);
  EXPECT_EQ(run.answered, 1U);
  EXPECT_EQ(run.requests[0].done, Time::max());
}

TEST(FleetFaults, RequestsWaitForAReplicaThatIsBack) {
  FleetPlan plan = fleet_of_seconds(1);
  plan.faults = {{0, seconds_of(4), seconds_of(20), true}};
  const FleetRun run = run_trace(plan, {{seconds_of(0), 1, 11}, {seconds_of(6), 1, 3}});
  EXPECT_EQ(run.requests[0].done, seconds_of(30));
  EXPECT_EQ(run.requests[1].done, seconds_of(32));
  EXPECT_EQ(run.unanswered, 0U);
}

TEST(FleetFaults, NobodyLeftAnswersNobody) {
  FleetPlan plan = fleet_of_seconds(1);
  plan.faults = {{0, seconds_of(4), Time::max(), true}};
  const FleetRun run =
      run_trace(plan, {{seconds_of(0), 1, 3}, {seconds_of(0), 1, 11}, {seconds_of(6), 1, 3}});
  EXPECT_EQ(run.answered, 1U);
  EXPECT_EQ(run.unanswered, 2U);
}

FleetPlan scaled_fleet(unsigned least, unsigned most) {
  FleetPlan plan = fleet_of_seconds(most);
  Autoscaling scaling;
  scaling.least = least;
  scaling.most = most;
  scaling.requests_per_replica = 2;
  scaling.interval = seconds_of(10);
  scaling.start_up = seconds_of(25);
  scaling.idle_before_stop = seconds_of(30);
  plan.autoscaling = scaling;
  return plan;
}

TEST(FleetAutoscaling, ReplicasAreStartedForWhatIsOutstanding) {
  // Four requests of 100 s at 5 s: at 10 s two replicas are wanted; the second serves from 35 s on.
  std::vector<ServingRequest> requests(4, {seconds_of(5), 1, 101});
  requests.insert(requests.begin(), {seconds_of(0), 1, 1});
  requests.push_back({seconds_of(36), 1, 2});
  const FleetRun run = run_trace(scaled_fleet(1, 3), requests);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(run.requests[i].replica, 0U) << i;
  EXPECT_EQ(run.requests[5].replica, 1U);
  EXPECT_EQ(run.requests[5].done, seconds_of(37));
  EXPECT_EQ(run.requests[4].done, seconds_of(405));
  // The first from 0 to 405 s. At 40 s still two are wanted, and until two requests are left, at 205 s; looked at at
  // 210 s, the second has had nothing since 37 s: it was paid for from 10 s to 210 s.
  EXPECT_DOUBLE_EQ(run.replica_seconds, 405 + 200);
}

TEST(FleetAutoscaling, OneThatIsNotWantedGetsNothingAndIsStoppedOnceIdle) {
  std::vector<ServingRequest> requests = {{seconds_of(0), 1, 101},
                                          {seconds_of(0), 1, 21},
                                          {seconds_of(0), 1, 21},
                                          {seconds_of(95), 1, 2},
                                          {seconds_of(96), 1, 2}};
  FleetPlan plan = scaled_fleet(1, 2);
  plan.autoscaling->start_up = Time{};
  const FleetRun run = run_trace(plan, requests);
  // All three are outstanding at 10 s, on the first: the second serves at once, but has nothing. One request at a
  // time: they are answered at 100, 120, 140 s, so two are wanted until 100 s.
  EXPECT_EQ(run.requests[3].replica, 1U);
  EXPECT_EQ(run.requests[4].replica, 1U);
  // Looked at at 100 s (two outstanding: one wanted), and idle since 97 s: stopped at 130 s.
  EXPECT_DOUBLE_EQ(run.replica_seconds, 140 + (130 - 10));
}

TEST(FleetAutoscaling, ADeadReplicaIsReplaced) {
  FleetPlan plan = scaled_fleet(1, 2);
  plan.faults = {{0, seconds_of(4), Time::max(), true}};
  const FleetRun run = run_trace(plan, {{seconds_of(0), 1, 11}});
  // Started at 10 s, serves from 35 s.
  EXPECT_EQ(run.requests[0].replica, 1U);
  EXPECT_EQ(run.requests[0].done, seconds_of(45));
}

}  // namespace
}  // namespace flopcast::serving
