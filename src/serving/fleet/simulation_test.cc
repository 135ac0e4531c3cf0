#include "serving/fleet/simulation.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "serving/fleet/testing.h"

namespace flopcast::serving {
namespace {

constexpr Time ms(std::int64_t count) { return Time::from_us(1000 * count); }

FleetRun run_of(const FleetPlan& plan, const ServingWorkload& workload,
                const FleetOptions& options = {}) {
  const auto list = make_requests(workload);
  EXPECT_TRUE(list.ok()) << list.error().text();
  auto run = FleetSimulation(plan, workload, *list, options).run();
  EXPECT_TRUE(run.ok()) << run.error().text();
  return run.ok() ? std::move(*run) : FleetRun();
}

FleetPlan plain_fleet(unsigned replicas, PlainEngine::Speed speed, Time front = {},
                      Time back = {}) {
  FleetPlan plan;
  plan.pool = plain_pool(replicas, speed, front, back);
  return plan;
}

ServingWorkload users_of(std::int64_t users, std::int64_t count, std::int64_t input,
                         std::int64_t output) {
  ServingWorkload workload;
  workload.users = users;
  workload.count = count;
  workload.input = input;
  workload.output = output;
  return workload;
}

ServingWorkload trace_of(const std::vector<ServingRequest>& requests) {
  ServingWorkload workload;
  workload.kind = ServingWorkload::Kind::kTrace;
  workload.trace.requests = requests;
  return workload;
}

TEST(FleetSimulation, AUserAloneWaitsForEachAnswer) {
  const FleetRun run = run_of(plain_fleet(1, {ms(1), ms(2)}, ms(5), ms(3)), users_of(1, 4, 10, 11));
  // 5 there, 10 of prompt, 10 x 2 of answer, 3 back.
  ASSERT_EQ(run.requests.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(run.requests[i].sent, ms(38 * static_cast<std::int64_t>(i)));
    EXPECT_EQ(run.requests[i].scheduled - run.requests[i].sent, ms(5));
    EXPECT_EQ(run.requests[i].ttft(), ms(18));
    EXPECT_EQ(run.requests[i].tpot(), ms(2));
  }
  EXPECT_EQ(run.answered, 4U);
  EXPECT_EQ(run.end, ms(4 * 38));
  EXPECT_DOUBLE_EQ(run.output_tokens_per_s, 44 / 0.152);
  EXPECT_DOUBLE_EQ(run.total_tokens_per_s, 84 / 0.152);
  EXPECT_DOUBLE_EQ(run.ttft.p99.value, 0.018);
  EXPECT_EQ(run.inter_token.count, 40U);
  EXPECT_DOUBLE_EQ(run.inter_token.p50.value, 0.002);
  EXPECT_DOUBLE_EQ(run.replica_seconds, 0.152);
}

TEST(FleetSimulation, UsersBeginAtOnceAndSendWhenAnswered) {
  const FleetRun run = run_of(plain_fleet(1, {ms(1), ms(1)}), users_of(3, 5, 4, 7));
  // 10 ms a request, one after the other: users send at 0, 0, 0, 10, 20.
  const std::int64_t sent[] = {0, 0, 0, 10, 20};
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(run.requests[i].sent, ms(sent[i])) << i;
    EXPECT_EQ(run.requests[i].done, ms(10 * static_cast<std::int64_t>(i + 1))) << i;
  }
}

TEST(FleetSimulation, WarmUpEndsBeforeTheCountBegins) {
  ServingWorkload workload = users_of(2, 4, 4, 7);
  workload.warm_up = 3;
  const FleetRun run = run_of(plain_fleet(2, {ms(1), ms(1)}), workload);
  ASSERT_EQ(run.requests.size(), 7U);
  for (std::size_t i = 0; i < 7; ++i) EXPECT_EQ(run.requests[i].counted, i >= 3);
  // Two replicas: warm-up ends at 20, users then begin together.
  EXPECT_EQ(run.begin, ms(20));
  EXPECT_EQ(run.requests[3].sent, ms(20));
  EXPECT_EQ(run.requests[4].sent, ms(20));
  EXPECT_EQ(run.end, ms(40));
  EXPECT_EQ(run.answered, 4U);
  EXPECT_EQ(run.inter_token.count, 24U);
}

TEST(FleetSimulation, QueuesWithConstantServiceWaitAsPollaczekAndKhinchinSay) {
  for (const double load : {0.5, 0.8}) {
    ServingWorkload workload;
    workload.kind = ServingWorkload::Kind::kRate;
    workload.rate = load / 0.1;
    workload.count = 200'000;
    workload.input = 1;
    workload.output = 100;
    const FleetRun run = run_of(plain_fleet(1, {ms(1), ms(1)}), workload);
    const double wait = load * 0.1 / (2 * (1 - load));  // M/D/1
    EXPECT_NEAR(run.latency.mean.value, 0.1 + wait, 0.05 * wait) << load;
    EXPECT_NEAR(run.requests_per_s, workload.rate, 0.02 * workload.rate);
  }
}

TEST(FleetSimulation, RoundRobinSplitsEvenArrivals) {
  FleetPlan plan = plain_fleet(2, {ms(1), ms(1)});
  plan.router = Router::kRoundRobin;
  const FleetRun run = run_of(plan, trace_of({{ms(0), 1, 100}, {ms(1), 1, 1}, {ms(2), 1, 1}}));
  EXPECT_EQ(run.requests[0].replica, 0U);
  EXPECT_EQ(run.requests[1].replica, 1U);
  EXPECT_EQ(run.requests[2].replica, 0U);
  EXPECT_EQ(run.requests[2].done, ms(101)) << "behind the long one";
}

TEST(FleetSimulation, TheLeastLoadedGetsTheNextRequest) {
  const FleetRun run = run_of(plain_fleet(2, {ms(1), ms(1)}),
                              trace_of({{ms(0), 1, 100}, {ms(1), 1, 1}, {ms(2), 1, 1}}));
  EXPECT_EQ(run.requests[1].replica, 1U);
  EXPECT_EQ(run.requests[2].replica, 1U) << "done with its first at 2 ms";
  EXPECT_EQ(run.requests[2].done, ms(3));
}

TEST(FleetSimulation, PrefixesGoWhereTheyAreKnown) {
  FleetPlan plan = plain_fleet(3, {ms(1), ms(1)});
  plan.router = Router::kPrefixAware;
  ServingWorkload workload = trace_of({});
  workload.trace.prefixes = {1, 2, 3, 7, 8, 9};
  workload.trace.prefix_block = 10;
  const auto request = [](std::int64_t at, std::uint32_t begin, std::uint32_t end) {
    ServingRequest one{ms(at), 40, 1};
    one.prefix_begin = begin;
    one.prefix_end = end;
    return one;
  };
  workload.trace.requests = {request(0, 0, 3), request(1, 3, 6), request(200, 3, 6),
                             request(300, 0, 2), request(301, 0, 1)};
  const FleetRun run = run_of(plan, workload);
  EXPECT_EQ(run.requests[0].replica, 0U);
  EXPECT_EQ(run.requests[1].replica, 1U);
  EXPECT_EQ(run.requests[2].replica, 1U);
  EXPECT_EQ(run.requests[2].ttft(), ms(10));
  EXPECT_EQ(run.requests[3].replica, 0U);
  EXPECT_EQ(run.requests[3].ttft(), ms(20));
  EXPECT_NE(run.requests[4].replica, 0U) << "a quarter of the prompt is no reason";
}

TEST(FleetSimulation, SessionsStayUnlessLoadsDiffer) {
  FleetPlan plan = plain_fleet(2, {ms(1), ms(1)});
  plan.router = Router::kPrefixAware;
  std::vector<ServingRequest> requests;
  for (std::int64_t i = 0; i < 80; ++i) {
    requests.push_back({ms(i), 1000, 1});
    requests.back().session = 5;
  }
  const FleetRun run = run_of(plan, trace_of(requests));
  for (std::size_t i = 0; i < 65; ++i) EXPECT_EQ(run.requests[i].replica, 0U) << i;
  EXPECT_EQ(run.requests[65].replica, 1U) << "65 against none";
}

TEST(FleetSimulation, ARequestTooLongIsRefused) {
  const ServingWorkload workload = users_of(1, 1, 100, 10);
  const auto list = make_requests(workload);
  const FleetPlan plan = plain_fleet(1, {ms(1), ms(1), 50});
  const auto run = FleetSimulation(plan, workload, *list, FleetOptions()).run();
  ASSERT_FALSE(run.ok());
  EXPECT_EQ(run.error().code, ErrorCode::kTooLarge);
}

TEST(FleetSimulation, WhatIsNotAnsweredInTimeIsCounted) {
  FleetOptions options;
  options.longest = ms(25);
  const FleetRun run = run_of(plain_fleet(1, {ms(1), ms(1)}), users_of(1, 4, 4, 7), options);
  EXPECT_EQ(run.answered, 2U);
  EXPECT_EQ(run.unanswered, 2U);
  EXPECT_EQ(run.end, ms(20));
}

TEST(FleetSimulation, GoodputCountsAnswersWithinBothLimits) {
  const FleetRun run = run_of(plain_fleet(1, {ms(1), ms(1)}),
                              trace_of({{ms(0), 5, 5}, {ms(0), 5, 5}, {ms(0), 5, 5}}));
  // First tokens after 5, 14, 23 ms.
  EXPECT_DOUBLE_EQ(run.within(Seconds{0.014}, Seconds{0.001}), 2.0 / 3);
  EXPECT_DOUBLE_EQ(run.within(Seconds{1}, Seconds{0.0009}), 0);
}

ServingWorkload any_workload(bool closed) {
  ServingWorkload workload = users_of(*rc::gen::inRange(1, 9), *rc::gen::inRange(1, 60), 20, 20);
  workload.spread = 0.9;
  workload.seed = *rc::gen::arbitrary<std::uint64_t>();
  if (closed) {
    workload.warm_up = *rc::gen::inRange(0, 9);
  } else {
    workload.kind = ServingWorkload::Kind::kRate;
    workload.rate = *rc::gen::inRange(5, 100);
  }
  return workload;
}

RC_GTEST_PROP(FleetSimulation, EveryRequestIsAnsweredLostOrLeftOnce, ()) {
  FleetPlan plan = plain_fleet(*rc::gen::inRange(1U, 5U), {ms(1), ms(2)}, ms(3), ms(1));
  plan.router = *rc::gen::element(Router::kRoundRobin, Router::kLeastLoaded, Router::kPrefixAware);
  const auto faults = *rc::gen::inRange(0, 4);
  for (int i = 0; i < faults; ++i) {
    ReplicaFault fault;
    fault.replica = *rc::gen::inRange(0U, plan.pool.replicas);
    fault.at = ms(*rc::gen::inRange(0, 900));
    fault.retried = *rc::gen::arbitrary<bool>();
    if (*rc::gen::arbitrary<bool>()) fault.back = fault.at + ms(*rc::gen::inRange(1, 500));
    plan.faults.push_back(fault);
  }
  const ServingWorkload workload = any_workload(*rc::gen::arbitrary<bool>());
  const FleetRun run = run_of(plan, workload);
  std::uint64_t answered = 0, counted = 0;
  for (const RequestOutcome& request : run.requests) {
    if (!request.counted) continue;
    ++counted;
    if (request.done == Time::max()) continue;
    ++answered;
    RC_ASSERT(request.sent + ms(3) <= request.scheduled);
    RC_ASSERT(request.done - request.first_token == Time{ms(2).ps * (request.output - 1)});
  }
  RC_ASSERT(counted == static_cast<std::uint64_t>(workload.count));
  RC_ASSERT(run.answered == answered);
  RC_ASSERT(run.answered + run.lost + run.unanswered == counted);
  if (faults == 0) RC_ASSERT(run.answered == counted);
}

RC_GTEST_PROP(FleetSimulation, RunningAheadIsRunningInStep, ()) {
  FleetPlan plan = plain_fleet(*rc::gen::inRange(1U, 4U), {ms(1), ms(2)}, ms(2), ms(1));
  plan.router = *rc::gen::element(Router::kRoundRobin, Router::kLeastLoaded);
  plan.faults = {{0, ms(300), ms(400), true}};
  const ServingWorkload workload = any_workload(false);
  const FleetRun ahead = run_of(plan, workload);
  plan.in_step = true;
  const FleetRun bounded = run_of(plan, workload);
  RC_ASSERT(ahead.requests.size() == bounded.requests.size());
  for (std::size_t i = 0; i < ahead.requests.size(); ++i) {
    RC_ASSERT(ahead.requests[i].done == bounded.requests[i].done);
    RC_ASSERT(ahead.requests[i].replica == bounded.requests[i].replica);
  }
}

}  // namespace
}  // namespace flopcast::serving
