// Fleets of real engines at real prices.
#include "flopcast/serving/fleet.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <thread>

#include "support/shared_traces.h"

namespace flopcast::serving {
namespace {

Deployment small_deployment(unsigned tp = 1) {
  Deployment deployment{
      *load_model("llama-3.1-8b"), *Catalog::builtin().cluster("2 x dgx-h100"), {}, {}, {}};
  deployment.layout.tp = tp;
  deployment.precision = *serving_precision("bf16", deployment.model);
  deployment.settings.batch_tokens = 2048;
  return deployment;
}

Fleet small_fleet(unsigned replicas, std::int64_t kv_tokens = 0) {
  Fleet fleet;
  fleet.pool.deployment = small_deployment();
  fleet.pool.deployment.settings.kv_tokens = kv_tokens;
  fleet.pool.replicas = replicas;
  return fleet;
}

PreparedFleet prepared_fleet(const Fleet& fleet) {
  auto prepared = PreparedFleet::make(fleet, Catalog::builtin());
  EXPECT_TRUE(prepared.ok()) << prepared.error().text();
  return std::move(*prepared);
}

FleetRun run_fleet(const PreparedFleet& fleet, const ServingWorkload& workload,
                   const FleetOptions& options = {}) {
  auto run = fleet.run(workload, options);
  EXPECT_TRUE(run.ok()) << run.error().text();
  return run.ok() ? std::move(*run) : FleetRun();
}

ServingWorkload some_users(std::int64_t users, std::int64_t count, std::int64_t input,
                           std::int64_t output) {
  ServingWorkload workload;
  workload.users = users;
  workload.count = count;
  workload.input = input;
  workload.output = output;
  return workload;
}

bool same_percentiles(const ServingPercentiles& a, const ServingPercentiles& b) {
  return a.mean == b.mean && a.p50 == b.p50 && a.p90 == b.p90 && a.p95 == b.p95 && a.p99 == b.p99 &&
         a.max == b.max && a.count == b.count;
}

bool same_outcome(const RequestOutcome& a, const RequestOutcome& b) {
  return a.sent == b.sent && a.scheduled == b.scheduled && a.first_token == b.first_token &&
         a.done == b.done && a.preemptions == b.preemptions && a.retries == b.retries;
}

/// Whose replica it was is left out.
bool same_for_clients(const FleetRun& a, const FleetRun& b) {
  return std::equal(a.requests.begin(), a.requests.end(), b.requests.begin(), b.requests.end(),
                    same_outcome) &&
         same_percentiles(a.ttft, b.ttft) && same_percentiles(a.tpot, b.tpot) &&
         same_percentiles(a.inter_token, b.inter_token) && a.begin == b.begin && a.end == b.end;
}

TEST(Fleets, AUserAloneTakesTheSumOfIterations) {
  const PreparedFleet fleet = prepared_fleet(small_fleet(1));
  const IterationModel& model = fleet.model();
  const FleetRun run = run_fleet(fleet, some_users(1, 2, 1000, 50));
  RankLoad prompt;
  prompt.prefills = prompt.sampled = 1;
  prompt.prefill_tokens = 1000;
  prompt.prefill_pairs = 1000 * 1001;
  const Time first = model.front() + model.time({&prompt, 1}) + model.back();
  Time rest;
  for (std::int64_t made = 1; made < 50; ++made) {
    RankLoad token;
    token.decodes = 1;
    token.context = 1000 + made;
    rest += model.time({&token, 1});
  }
  EXPECT_EQ(run.requests[0].ttft(), first);
  EXPECT_EQ(run.requests[0].done, first + rest);
  EXPECT_EQ(run.inter_token.count, 98U);
  EXPECT_DOUBLE_EQ(run.inter_token.mean.value, rest.seconds() / 49);
  EXPECT_EQ(run.requests[1].sent, run.requests[0].done);
  EXPECT_EQ(run.requests[1].done - run.requests[1].sent, first + rest);
  EXPECT_EQ(run.counts.iterations, 100);
}

TEST(Fleets, WhatCannotBeIsRefused) {
  const auto error = [](Fleet fleet) {
    const auto made = PreparedFleet::make(fleet, Catalog::builtin());
    EXPECT_FALSE(made.ok());
    EXPECT_FALSE(made.ok() || made.error().hint.empty());
    return made.ok() ? ErrorCode::kBadInput : made.error().code;
  };
  EXPECT_EQ(error(small_fleet(0)), ErrorCode::kUsage);
  EXPECT_EQ(error(small_fleet(17)), ErrorCode::kUsage) << "16 chips";
  Fleet fleet = small_fleet(1);
  fleet.pool.deployment.model = *load_model("llama-3.1-405b");
  EXPECT_EQ(error(fleet), ErrorCode::kTooLarge);
  fleet = small_fleet(1);
  fleet.faults = {{1, Time{}, Time::max(), true}};
  EXPECT_EQ(error(fleet), ErrorCode::kUsage);
  fleet.faults = {{0, Time{5}, Time{5}, true}};
  EXPECT_EQ(error(fleet), ErrorCode::kUsage);
  fleet = small_fleet(1);
  fleet.autoscaling.emplace();
  EXPECT_EQ(error(fleet), ErrorCode::kUsage) << "requests a replica";
  fleet.autoscaling->requests_per_replica = 8;
  fleet.decode = fleet.pool;
  EXPECT_EQ(error(fleet), ErrorCode::kUsage);
}

TEST(Fleets, ARequestThatNeverFitsIsRefused) {
  const PreparedFleet fleet = prepared_fleet(small_fleet(1, 4096));
  const auto run = fleet.run(some_users(1, 1, 5000, 50));
  ASSERT_FALSE(run.ok());
  EXPECT_EQ(run.error().code, ErrorCode::kTooLarge);
}

ServingWorkload drawn_workload() {
  ServingWorkload workload = some_users(*rc::gen::inRange(1, 40), *rc::gen::inRange(1, 120),
                                        *rc::gen::inRange(1, 3000), *rc::gen::inRange(1, 300));
  workload.spread = 0.8;
  workload.seed = *rc::gen::arbitrary<std::uint64_t>();
  workload.shared_prefix = *rc::gen::element(0.0, 0.5);
  workload.sessions = *rc::gen::inRange(0, 5);
  if (*rc::gen::arbitrary<bool>()) {
    workload.kind = ServingWorkload::Kind::kRate;
    workload.rate = *rc::gen::inRange(1, 100);
  } else {
    workload.warm_up = *rc::gen::inRange(0, 20);
  }
  return workload;
}

RC_GTEST_PROP(Fleets, LeapsAreSteps, ()) {
  Fleet asked = small_fleet(*rc::gen::inRange(1U, 5U));
  Deployment& deployment = asked.pool.deployment;
  const auto engine =
      *rc::gen::element(ServingEngine::kVllm, ServingEngine::kSglang, ServingEngine::kTensorRtLlm);
  deployment.layout.pp = *rc::gen::element(1U, 1U, 2U);
  deployment.settings = engine_defaults(engine, deployment.model, deployment.layout);
  deployment.settings.kv_tokens = *rc::gen::element(0, 4096, 8192);
  asked.router = *rc::gen::element(Router::kRoundRobin, Router::kLeastLoaded, Router::kPrefixAware);
  if (*rc::gen::arbitrary<bool>()) {
    asked.faults = {{0, Time::from_us(*rc::gen::inRange(0, 3'000'000)), Time::from_us(4'000'000),
                     *rc::gen::arbitrary<bool>()}};
  }
  const PreparedFleet fleet = prepared_fleet(asked);
  const ServingWorkload workload = drawn_workload();
  FleetOptions options;
  if (*rc::gen::arbitrary<bool>()) {
    options.longest = Time::from_us(*rc::gen::inRange(100'000, 5'000'000));
  }
  const FleetRun leaps = run_fleet(fleet, workload, options);
  options.leap = false;
  const FleetRun steps = run_fleet(fleet, workload, options);
  RC_ASSERT(same_for_clients(leaps, steps));
  RC_ASSERT(leaps.counts.iterations == steps.counts.iterations);
  RC_ASSERT(leaps.counts.decode_tokens == steps.counts.decode_tokens);
  RC_ASSERT(leaps.counts.busy == steps.counts.busy);
  for (std::size_t i = 0; i < leaps.requests.size(); ++i) {
    RC_ASSERT(leaps.requests[i].replica == steps.requests[i].replica);
  }
}

RC_GTEST_PROP(Fleets, WhichOfEqualReplicasIsMissingMakesNoDifference, ()) {
  Fleet asked = small_fleet(4);
  asked.router = *rc::gen::element(Router::kRoundRobin, Router::kLeastLoaded);
  const ServingWorkload workload = drawn_workload();
  const auto without = [&](unsigned replica) {
    asked.faults = {{replica, Time{}, Time::max(), true}};
    return run_fleet(prepared_fleet(asked), workload);
  };
  const FleetRun last = without(3);
  RC_ASSERT(same_for_clients(last, without(*rc::gen::inRange(0U, 3U))));
  asked.faults.clear();
  asked.pool.replicas = 3;
  RC_ASSERT(same_for_clients(last, run_fleet(prepared_fleet(asked), workload)));
}

TEST(FleetsThreads, AFleetMayBeRunByManyAtOnce) {
  const PreparedFleet fleet = prepared_fleet(small_fleet(3));
  ServingWorkload workload = some_users(20, 100, 700, 60);
  workload.spread = 0.5;
  const FleetRun alone = run_fleet(fleet, workload);
  std::vector<FleetRun> runs(4);
  std::vector<std::thread> threads;
  for (FleetRun& run : runs) {
    threads.emplace_back([&] { run = run_fleet(fleet, workload); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const FleetRun& run : runs) EXPECT_TRUE(same_for_clients(run, alone));
}

Fleet split_fleet(unsigned prefill, unsigned decode, unsigned decode_tp) {
  Fleet fleet = small_fleet(prefill);
  fleet.decode.emplace();
  fleet.decode->deployment = small_deployment(decode_tp);
  fleet.decode->replicas = decode;
  return fleet;
}

TEST(Fleets, SplitPoolsGiveEachTokenItsPrice) {
  // Two nodes: eight chips that compute prompts, and two replicas of four that make answers.
  const PreparedFleet fleet = prepared_fleet(split_fleet(8, 2, 4));
  const FleetRun run = run_fleet(fleet, some_users(1, 1, 1000, 3));
  RankLoad prompt;
  prompt.prefills = prompt.sampled = 1;
  prompt.prefill_tokens = 1000;
  prompt.prefill_pairs = 1000 * 1001;
  Time answer;
  for (const std::int64_t context : {1001, 1002}) {
    RankLoad token;
    token.decodes = 1;
    token.context = context;
    answer += fleet.model(true).time({&token, 1});
  }
  const Time fronts =
      fleet.model(true).front() + fleet.model().front();  // the router's, the server's
  const Time computed = fronts + fleet.model().time({&prompt, 1});
  const Time moved = run.requests[0].first_token - computed - fleet.model(true).back();
  EXPECT_EQ(run.requests[0].done - run.requests[0].first_token, answer);
  // 131,072 bytes a token go out of one chip's way to the other node, of 50 GB/s or somewhat less.
  EXPECT_GT(moved.seconds(), 131'072e3 / 50e9);
  EXPECT_LT(moved.seconds(), 1.3 * 131'072e3 / 50e9);
  EXPECT_EQ(run.inter_token.count, 2U);
}

TEST(Fleets, SplitPoolsAnswerEverybody) {
  ServingWorkload workload = some_users(60, 300, 900, 120);
  workload.spread = 0.5;
  workload.warm_up = 30;
  Fleet asked = split_fleet(3, 4, 2);
  asked.faults = {{1, Time::from_us(900'000), Time::from_us(2'000'000), true},
                  {4, Time::from_us(1'100'000), Time::from_us(2'500'000), true}};
  const PreparedFleet fleet = prepared_fleet(asked);
  const FleetRun leaps = run_fleet(fleet, workload);
  EXPECT_EQ(leaps.answered, 300U);
  FleetOptions options;
  options.leap = false;
  EXPECT_TRUE(same_for_clients(leaps, run_fleet(fleet, workload, options)));
  // Who is asked again makes some tokens twice.
  std::uint64_t gaps = 0;
  for (const RequestOutcome& request : leaps.requests) {
    if (request.counted) gaps += static_cast<std::uint64_t>(request.output - 1);
  }
  EXPECT_GE(leaps.inter_token.count, gaps);
  asked.faults.clear();
  EXPECT_EQ(run_fleet(prepared_fleet(asked), workload).inter_token.count, gaps);
}

RC_GTEST_PROP(Fleets, EveryTokenButTheFirstEndsAGap, ()) {
  Fleet asked = *rc::gen::arbitrary<bool>() ? split_fleet(2, 2, 1)
                                            : small_fleet(2, *rc::gen::element(0, 4096));
  const ServingWorkload workload = drawn_workload();
  const FleetRun run = run_fleet(prepared_fleet(asked), workload);
  std::uint64_t gaps = 0;
  double sum = 0;
  for (const RequestOutcome& request : run.requests) {
    if (!request.counted) continue;
    gaps += static_cast<std::uint64_t>(request.output - 1);
    sum += (request.done - request.first_token).seconds();
  }
  RC_ASSERT(run.inter_token.count == gaps);
  const double told = run.inter_token.mean.value * static_cast<double>(gaps);
  RC_ASSERT(std::abs(told - sum) <= 1e-9 * (1 + sum));
}

TEST(Fleets, PrefixesThatAreKnownAreNotComputedAgain) {
  ServingWorkload workload = some_users(0, 200, 2048, 16);
  workload.kind = ServingWorkload::Kind::kRate;
  workload.rate = 20;
  workload.shared_prefix = 0.75;
  workload.sessions = 8;
  Fleet asked = small_fleet(4);
  const auto computed = [&](Router router) {
    asked.router = router;
    return run_fleet(prepared_fleet(asked), workload).counts.prefill_tokens;
  };
  // Each session's 1,536 tokens are computed once by the router that knows, and by every replica otherwise.
  EXPECT_EQ(computed(Router::kPrefixAware), 200 * 512 + 8 * 1536);
  EXPECT_GT(computed(Router::kRoundRobin), 200 * 512 + 24 * 1536);
}

TEST(Fleets, AnHourOfAPublishedTraceIsAnswered) {
  FLOPCAST_SHARED_OR_SKIP(path, "serving/azure_2023_conv.csv");
  ServingWorkload workload;
  workload.kind = ServingWorkload::Kind::kTrace;
  workload.trace = *read_requests(path);
  const FleetRun run = run_fleet(prepared_fleet(small_fleet(4)), workload);
  EXPECT_EQ(run.answered, 19'366U);
  EXPECT_EQ(run.unanswered + run.lost, 0U);
  std::uint64_t gaps = 0;
  for (const RequestOutcome& request : run.requests) {
    gaps += static_cast<std::uint64_t>(request.output - 1);
  }
  EXPECT_EQ(run.inter_token.count, gaps);
}

}  // namespace
}  // namespace flopcast::serving
