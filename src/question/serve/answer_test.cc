// Summaries, windows and operating points of runs made by hand; answers of the whole.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "question/serve/answer.h"

namespace flopcast::question {
namespace {

using testing::HasSubstr;

Time at_ms(std::int64_t n) { return Time::from_us(n * 1000); }

/// Four requests of 11 tokens out: TTFT 100, 200, 300 ms and one that is never answered; 10 ms a token.
FleetRun four_requests() {
  FleetRun run;
  for (std::int64_t i = 0; i < 3; ++i) {
    RequestOutcome r;
    r.sent = r.scheduled = at_ms(1000 * i);
    r.first_token = r.sent + at_ms(100 * (i + 1));
    r.done = r.first_token + at_ms(100);
    r.input = 20, r.output = 11;
    run.requests.push_back(r);
  }
  RequestOutcome lost = run.requests.front();
  lost.scheduled = lost.first_token = lost.done = Time::max();
  run.requests.push_back(lost);
  run.answered = 3, run.unanswered = 1;
  run.end = at_ms(2400);
  run.requests_per_s = 3 / 2.4;
  run.output_tokens_per_s = 33 / 2.4;
  return run;
}

ServeSummary summary_of(const FleetRun& run, const Fleet& fleet, const ServeQuestion& question) {
  return summarize_serving(run, fleet, question.limits, question.usd_per_chip_hour);
}

TEST(ServeSummaries, GoodputIsTheShareThatKeepsEveryLimit) {
  ServeQuestion question;
  question.fleet.pool.deployment.layout.tp = 4;
  question.usd_per_chip_hour = 3.6;
  question.limits = {{ServiceLimit::Quantity::kTtft, 99, {0.25}},
                     {ServiceLimit::Quantity::kTpot, 99, {0.02}}};
  const ServeSummary summary = summary_of(four_requests(), question.fleet, question);
  EXPECT_DOUBLE_EQ(summary.within, 0.5);                        // two of four
  EXPECT_NEAR(summary.goodput_requests_per_s, 2 / 2.4, 1e-12);  // two in 2.4 s
  EXPECT_FALSE(summary.meets);
  // 4 chips at 0.001 USD a second each for 13.75 tokens a second
  EXPECT_NEAR(summary.usd_per_million_tokens, 4 * 0.001 / 13.75 * 1e6, 1e-6);
  question.limits.back().below = {0.009};
  EXPECT_DOUBLE_EQ(summary_of(four_requests(), question.fleet, question).within, 0);
}

TEST(ServeSummaries, AutoscaledFleetsPayForWhatRan) {
  ServeQuestion question;
  question.usd_per_chip_hour = 3.6;
  Fleet fleet;
  fleet.pool.replicas = 10;
  fleet.autoscaling = Autoscaling{};
  FleetRun run = four_requests();
  run.replica_seconds = 4.8;  // two replicas all the time
  EXPECT_NEAR(summary_of(run, fleet, question).usd_per_million_tokens, 2 * 0.001 / 13.75 * 1e6,
              1e-6);
}

TEST(ServeWindows, CountRequestsWhereTheyAreSent) {
  FleetRun run = four_requests();
  for (int more = 0; more < 4; ++more) {  // 64 requests make three windows
    const std::vector<RequestOutcome> same = run.requests;
    run.requests.insert(run.requests.end(), same.begin(), same.end());
  }
  run.answered = 48, run.unanswered = 16;
  const auto windows = serve_windows(run);
  ASSERT_EQ(windows.size(), 3U);
  EXPECT_EQ(windows[0].sent, 32U);  // the first and the lost one of each four
  EXPECT_EQ(windows[1].sent, 16U);
  EXPECT_EQ(windows[2].sent, 16U);
  EXPECT_NEAR(windows[1].ttft.p50.value, 0.2, 1e-12);
  EXPECT_EQ(windows[2].to, run.end);
  double tokens = 0;
  for (const ServeWindow& w : windows) {
    tokens += w.output_tokens_per_s * (w.to - w.from).seconds();
  }
  EXPECT_NEAR(tokens, 48 * 11, 1e-6);
}

Result<ServeAnswer> answer_to(ServeSettings settings, const ServeOptions& options = {}) {
  const Catalog& catalog = Catalog::builtin();
  const auto question = make_serve_question("llama-3-8b", "2 x dgx-h100", settings, catalog);
  if (!question) return question.error();
  return answer_serving(*question, catalog, options);
}

const ServeSettings kSmall = {{"users", "8"},        {"input", "256"},  {"output", "64"},
                              {"tp", "2"},           {"replicas", "2"}, {"requests", "40"},
                              {"slo", "ttft.p99<1s"}};

TEST(ServeAnswers, HoldTogether) {
  ServeOptions options;
  options.curve = true;
  const auto answer = answer_to(kSmall, options);
  ASSERT_TRUE(answer.ok()) << answer.error().text();
  EXPECT_EQ(answer->summary.answered, 40U);
  ASSERT_TRUE(answer->low && answer->high);
  EXPECT_LE(answer->low->tpot.mean, answer->summary.tpot.mean);
  EXPECT_GE(answer->high->tpot.mean, answer->summary.tpot.mean);
  ASSERT_EQ(answer->pools.size(), 1U);
  const ServePool& pool = answer->pools.front();
  Seconds sum;
  for (const IterationPart& part : pool.parts) sum += part.time;
  EXPECT_NEAR(sum.value, pool.iteration.seconds(), 1e-9);
  EXPECT_GT(pool.decodes, 1);
  EXPECT_LT(pool.decodes, 4.01);  // eight users on two replicas
  EXPECT_GT(pool.kv_peak, 0);
  EXPECT_LE(pool.kv_peak, 1);
  EXPECT_FALSE(answer->limits.empty());
  EXPECT_EQ(answer->next.front().summary.chips, 6U);
  ASSERT_GE(answer->curve.size(), 4U);
  EXPECT_EQ(answer->curve.front().load, 1);
}

TEST(ServeAnswers, MoreBandwidthIsNeverSlower) {
  const auto answer = answer_to(kSmall);
  ASSERT_TRUE(answer.ok()) << answer.error().text();
  ASSERT_EQ(answer->sensitivity.size(), 10U);
  const Seconds now = answer->summary.tpot.mean;
  for (std::size_t i = 0; i < answer->sensitivity.size(); ++i) {
    const ServeVariant& variant = answer->sensitivity[i];
    EXPECT_EQ(variant.refused, "") << variant.change;
    // Of times and latencies the first of each pair is worse, of rates better.
    const bool more_is_worse =
        variant.change.starts_with("host") || variant.change.starts_with("link latency");
    const bool worse = (i % 2 == 0) == more_is_worse;
    const double change = variant.summary.tpot.mean.value / now.value - 1;
    EXPECT_TRUE(worse ? change > -1e-3 : change < 1e-3) << variant.change << " " << change;
  }
  // Answers of a small batch read memory; links carry what a prompt's chips exchange.
  EXPECT_LT(answer->sensitivity[8].summary.ttft.mean, answer->summary.ttft.mean);
  EXPECT_LT(answer->sensitivity[2].summary.tpot.mean, now * 0.98);
}

TEST(ServeAnswersThreads, DoNotDependOnTheirNumber) {
  ServeOptions one, four;
  one.curve = four.curve = true;
  one.threads = 1, four.threads = 4;
  const auto a = answer_to(kSmall, one), b = answer_to(kSmall, four);
  ASSERT_TRUE(a.ok() && b.ok());
  ASSERT_EQ(a->curve.size(), b->curve.size());
  for (std::size_t i = 0; i < a->curve.size(); ++i) {
    EXPECT_EQ(a->curve[i].summary.ttft.mean, b->curve[i].summary.ttft.mean);
    EXPECT_EQ(a->curve[i].summary.output_tokens_per_s, b->curve[i].summary.output_tokens_per_s);
  }
  for (std::size_t i = 0; i < a->sensitivity.size(); ++i) {
    EXPECT_EQ(a->sensitivity[i].summary.tpot.mean, b->sensitivity[i].summary.tpot.mean);
  }
}

TEST(ServeAnswers, PoolsApartAreToldApart) {
  ServeSettings settings = kSmall;
  settings.erase(settings.begin() + 4);  // replicas
  settings.emplace_back("disaggregated", "1:1");
  const auto answer = answer_to(settings);
  ASSERT_TRUE(answer.ok()) << answer.error().text();
  ASSERT_EQ(answer->pools.size(), 2U);
  EXPECT_EQ(answer->pools[0].role, "prefill");
  EXPECT_EQ(answer->pools[1].role, "decode");
  EXPECT_FALSE(answer->pools[0].prompt_parts.empty());
  EXPECT_FALSE(answer->pools[1].parts.empty());
}

TEST(ServeAnswers, AQueueThatGrowsIsTold) {
  const ServeSettings calm = {
      {"rate", "2"}, {"input", "256"}, {"output", "64"}, {"replicas", "1"}, {"requests", "200"}};
  ServeSettings rush = calm;
  rush.front().second = "500";
  ServeOptions quick;
  quick.next = quick.sensitivity = false;
  const auto a = answer_to(calm, quick), b = answer_to(rush, quick);
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_THAT(a->limits, testing::Not(testing::Contains(HasSubstr("the queue grows"))));
  EXPECT_THAT(b->limits, testing::Contains(HasSubstr("the queue grows")));
}

TEST(ServeAnswers, AnOverloadedFleetHasABandOfItsThroughput) {
  const Catalog& catalog = Catalog::builtin();
  const auto answer_at = [&](const char* rate) {
    const auto question = make_serve_question(
        "llama-3-8b", "h100",
        {{"rate", rate}, {"input", "2000"}, {"output", "200"}, {"requests", "400"}}, catalog);
    EXPECT_TRUE(question.ok()) << question.error().text();
    auto answer = answer_serving(*question, catalog, {.sensitivity = false, .next = false});
    EXPECT_TRUE(answer.ok()) << answer.error().text();
    return std::move(*answer);
  };
  const ServeAnswer over = answer_at("200");
  ASSERT_TRUE(overloading_rate(over));
  EXPECT_GT(over.low->output_tokens_per_s, 1.02 * over.summary.output_tokens_per_s);
  EXPECT_LT(over.high->output_tokens_per_s, 0.98 * over.summary.output_tokens_per_s);
  EXPECT_LT(over.low->ttft.mean, over.summary.ttft.mean);
  EXPECT_GT(over.high->ttft.mean, over.summary.ttft.mean);
  const ServeAnswer calm = answer_at("1");
  EXPECT_FALSE(overloading_rate(calm));
  EXPECT_NEAR(calm.low->output_tokens_per_s / calm.summary.output_tokens_per_s, 1, 0.01);
}

TEST(ServeVerdicts, SayHowSurelyByTheBand) {
  const Catalog& catalog = Catalog::builtin();
  for (const bool closed : {true, false}) {
    const auto answer_to_limit = [&](double below) {
      const auto question = make_serve_question("llama-3-8b", "h100",
                                                {{closed ? "users" : "rate", "8"},
                                                 {"input", "512"},
                                                 {"output", "64"},
                                                 {"requests", "200"},
                                                 {"slo", fmt::format("tpot.p99<{}s", below)}},
                                                catalog);
      EXPECT_TRUE(question.ok()) << question.error().text();
      auto answer = answer_serving(*question, catalog, {.sensitivity = false, .next = false});
      EXPECT_TRUE(answer.ok());
      return std::move(*answer);
    };
    const ServeAnswer wide = answer_to_limit(10);
    // Percentiles have ends of their own, wider than those of the mean.
    EXPECT_GT(wide.high->tpot.p99 / wide.summary.tpot.p99,
              closed ? wide.high->tpot.mean / wide.summary.tpot.mean : 1);
    const double fast = wide.low->tpot.p99.value, p99 = wide.summary.tpot.p99.value,
                 slow = wide.high->tpot.p99.value;
    ASSERT_LT(fast, p99);
    ASSERT_LT(p99, slow);
    EXPECT_EQ(answer_to_limit(slow * 1.001).verdict, ServeVerdict::kSurely);
    EXPECT_EQ(answer_to_limit((p99 + slow) / 2).verdict, ServeVerdict::kLikely);
    EXPECT_EQ(answer_to_limit((fast + p99) / 2).verdict, ServeVerdict::kUnlikely);
    EXPECT_EQ(answer_to_limit(fast * 0.999).verdict, ServeVerdict::kNot);
  }
}

TEST(ServeLargest, IsWhatTheSameFleetHoldsWhenItIsAskedFor) {
  const Catalog& catalog = Catalog::builtin();
  const ServeOptions quick{.sensitivity = false, .next = false};
  for (const char* flag : {"max_rate", "max_users"}) {
    const std::string load = flag == std::string("max_rate") ? "rate" : "users";
    const ServeSettings common = {{"input", "512"},
                                  {"output", "64"},
                                  {"requests", "300"},
                                  {"slo", "ttft.p99<400ms,tpot.p99<12ms"}};
    const auto asked = [&](const std::string& name, const std::string& value) {
      ServeSettings settings = common;
      settings.emplace_back(name, value);
      const auto question = make_serve_question("llama-3-8b", "2 x h100", settings, catalog);
      EXPECT_TRUE(question.ok()) << question.error().text();
      auto answer = answer_serving(*question, catalog, quick);
      EXPECT_TRUE(answer.ok()) << answer.error().text();
      return std::move(*answer);
    };
    const ServeAnswer largest = asked(flag, "true");
    ASSERT_TRUE(largest.largest);
    const LoadMargin& margin = largest.largest->margin;
    ASSERT_GT(margin.load, 0);
    EXPECT_LE(margin.slow, margin.load);
    EXPECT_GE(margin.fast, margin.load);
    const ServeAnswer same = asked(load, fmt::format("{}", margin.load));
    EXPECT_TRUE(same.summary.meets);
    EXPECT_EQ(same.summary.ttft.p99, largest.summary.ttft.p99);
    EXPECT_EQ(same.summary.output_tokens_per_s, largest.summary.output_tokens_per_s);
    EXPECT_EQ(same.high->tpot.p99, largest.high->tpot.p99);
    const ServeAnswer next = asked(load, fmt::format("{}", margin.next));
    EXPECT_TRUE(!next.summary.meets || outpaced(next.run));
    const ServeAnswer slow = asked(load, fmt::format("{}", margin.slow));
    EXPECT_EQ(slow.verdict, ServeVerdict::kSurely);
    for (const TriedLoad& one : largest.largest->tried) {
      if (one.load <= margin.load) EXPECT_TRUE(one.holds) << one.load;
    }
  }
}

TEST(ServeLargest, OfATraceIsAScale) {
  ServeQuestion question = *make_serve_question(
      "llama-3-8b", "h100",
      {{"max_rate", "true"}, {"input", "512"}, {"output", "32"}, {"slo", "ttft.p99<1s"}},
      Catalog::builtin());
  question.workload.kind = ServingWorkload::Kind::kTrace;
  for (std::int64_t i = 0; i < 200; ++i) {
    question.workload.trace.requests.push_back({at_ms(1000 * i), 512, 32, 0, 0, 0});
  }
  const auto answer =
      answer_serving(question, Catalog::builtin(), {.sensitivity = false, .next = false});
  ASSERT_TRUE(answer.ok()) << answer.error().text();
  EXPECT_EQ(answer->load_unit, "times the trace's rate");
  EXPECT_EQ(answer->question.workload.time_scale, answer->largest->margin.load);
  EXPECT_GT(answer->largest->margin.load, 1);
}

TEST(ServeLargest, WithoutAFirstTokenLimitKeepsUpWithWhatComes) {
  const auto question = make_serve_question(
      "llama-3-8b", "h100",
      {{"max_rate", "true"}, {"input", "512"}, {"output", "32"}, {"slo", "tpot.p99<1s"}},
      Catalog::builtin());
  const auto answer =
      answer_serving(*question, Catalog::builtin(), {.sensitivity = false, .next = false});
  ASSERT_TRUE(answer.ok()) << answer.error().text();
  EXPECT_FALSE(overloading_rate(*answer));
  EXPECT_GT(answer->largest->margin.next, 0);
}

TEST(ServeLargest, NoLoadThatHoldsIsNoAnswer) {
  const auto question = make_serve_question(
      "llama-3-8b", "h100", {{"max_rate", "true"}, {"slo", "tpot.p99<10us"}}, Catalog::builtin());
  ASSERT_TRUE(question.ok()) << question.error().text();
  EXPECT_THAT(question->assumed, testing::Contains(HasSubstr("1024 tokens")));
  const auto answer = answer_serving(*question, Catalog::builtin());
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().code, ErrorCode::kNoAnswer);
  EXPECT_THAT(answer.error().text(), HasSubstr("no load holds tpot.p99<10us"));
}

TEST(ServeAnswers, LongPromptsUnderTensorRtLlmAreCut) {
  const Catalog& catalog = Catalog::builtin();
  const auto tokens = [&](const char* engine, ServeSettings more) {
    ServeSettings settings = {{"engine", engine}, {"tp", "4"},       {"users", "16"},
                              {"input", "8192"},  {"output", "256"}, {"requests", "48"},
                              {"spread", "0"}};
    settings.insert(settings.end(), more.begin(), more.end());
    const auto question = make_serve_question("llama-3.1-70b", "dgx-h100", settings, catalog);
    EXPECT_TRUE(question.ok()) << question.error().text();
    const auto answer = answer_serving(*question, catalog, {.sensitivity = false, .next = false});
    EXPECT_TRUE(answer.ok());
    return std::pair(answer->summary.output_tokens_per_s, question->assumed);
  };
  const double vllm = tokens("vllm", {}).first;
  EXPECT_NEAR(tokens("trtllm", {}).first / vllm, 1, 0.4);
  // Before it cut them, one at a time: slow, and told.
  const auto [whole, assumed] = tokens("trtllm", {{"set", "version=1.2"}});
  EXPECT_LT(whole, vllm / 2);
  EXPECT_THAT(assumed, testing::Contains(HasSubstr("prompts are not cut")));
}

TEST(ServeAnswers, WhatDoesNotFitIsTooLarge) {
  const Catalog& catalog = Catalog::builtin();
  const auto question = make_serve_question(
      "llama-3-70b", "dgx-h100", {{"users", "8"}, {"input", "256"}, {"output", "64"}}, catalog);
  ASSERT_TRUE(question.ok()) << question.error().text();
  const auto answer = answer_serving(*question, catalog);
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().code, ErrorCode::kTooLarge);
  EXPECT_NE(answer.error().hint, "");
}

}  // namespace
}  // namespace flopcast::question
