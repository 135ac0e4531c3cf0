// Searches for fleets as they are asked, written and read back, cut and merged.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "flopcast/question/serve_plan.h"

namespace flopcast {
namespace {

using testing::HasSubstr;

ServeSettings usual_settings() {
  return {{"engine", "vllm"},
          {"precision", "bf16,fp8"},
          {"batch-tokens", "2048"},
          {"chips", "4"},
          {"pp", "1"},
          {"rate", "20"},
          {"input", "1024"},
          {"output", "64"},
          {"requests", "60"},
          {"price", "2.5"},
          {"slo", "ttft.p99<300ms,tpot.p99<14ms"}};
}

ServePlanQuestion question_with(const ServeSettings& more = {}) {
  ServeSettings settings = usual_settings();
  settings.insert(settings.end(), more.begin(), more.end());
  auto question = make_serve_plan_question("llama-3-8b", "dgx-h100", settings, Catalog::builtin());
  EXPECT_TRUE(question) << question.error().text();
  return *question;
}

ServePlanReport report_of(const ServePlanQuestion& question, unsigned shard = 0,
                          unsigned shards = 1) {
  auto report = answer_serve_plan(question, Catalog::builtin(), {1, shard, shards, {}});
  EXPECT_TRUE(report) << report.error().text();
  return *report;
}

std::string serve_plan_error(const ServeSettings& settings) {
  const auto question =
      make_serve_plan_question("llama-3-8b", "dgx-h100", settings, Catalog::builtin());
  return question ? std::string("a question") : question.error().text();
}

TEST(ServePlanQuestions, AreReadFromSettings) {
  const ServePlanQuestion q = question_with({{"engine", "sglang, trtllm"},
                                             {"tp", "1,2,2"},
                                             {"pools", "both"},
                                             {"router", "round-robin"},
                                             {"best", "3"},
                                             {"max_requests", "32,64"}});
  const FleetSearch& s = q.search;
  // The last of a name holds.
  EXPECT_EQ(s.space.engines, (std::vector{ServingEngine::kSglang, ServingEngine::kTensorRtLlm}));
  EXPECT_EQ(s.space.tp, (std::vector<unsigned>{1, 2}));
  EXPECT_EQ(s.space.max_requests, (std::vector<std::int64_t>{32, 64}));
  EXPECT_TRUE(s.space.aggregated && s.space.disaggregated);
  EXPECT_EQ(s.router, Router::kRoundRobin);
  EXPECT_EQ(s.best, 3U);
  EXPECT_EQ(s.chip_usd_per_hour, 2.5);
  EXPECT_EQ(s.limits.size(), 2U);
  EXPECT_EQ(s.workload.kind, ServingWorkload::Kind::kRate);
  EXPECT_EQ(s.workload.rate, 20);
}

TEST(ServePlanQuestions, SayWhatIsWrong) {
  const auto with = [](std::string name, std::string value) {
    ServeSettings settings = usual_settings();
    settings.emplace_back(std::move(name), std::move(value));
    return serve_plan_error(settings);
  };
  EXPECT_EQ(with("front", "false"), "a question");
  EXPECT_THAT(with("engin", "vllm"), HasSubstr("did you mean 'engine'"));
  EXPECT_THAT(with("engine", "vllm,tgi"), HasSubstr("there is no engine 'tgi'"));
  EXPECT_THAT(with("tp", "1,0"), HasSubstr("found '0'"));
  EXPECT_THAT(with("chips", "2,4"), HasSubstr("takes one number"));
  EXPECT_THAT(with("pools", "none"), HasSubstr("there is no choice 'none'"));
  EXPECT_THAT(with("slo", "ttft<1s"), HasSubstr("a percentile such as p99"));
  EXPECT_THAT(with("price", "-1"), HasSubstr("expected USD"));
  EXPECT_THAT(with("users", "3"), HasSubstr("only one of them"));
  EXPECT_THAT(serve_plan_error({{"users", "3"}, {"input", "9"}, {"output", "9"}}),
              HasSubstr("slo: is missing"));
  EXPECT_EQ(serve_plan_error({{"users", "3"}, {"input", "9"}, {"output", "9"}, {"front", "true"}}),
            "a question");
}

/// What serve is asked so that it serves that fleet.
ServeSettings settings_of(const ServePlanQuestion& question, const FleetChoice& choice) {
  ServeSettings settings;
  for (const auto& [key, value] : question.settings) {
    for (const ServeSetting& one : serve_settings()) {
      if (one.name == key && (one.topic == ServeTopic::kLoad || key == "slo")) {
        settings.emplace_back(key, value);
      }
    }
  }
  const auto add = [&](const std::string& prefix, const ServingLayout& layout) {
    settings.emplace_back(prefix + "tp", std::to_string(layout.tp));
    settings.emplace_back(prefix + "dp", std::to_string(layout.dp));
    settings.emplace_back(prefix + "ep", std::to_string(layout.ep));
    settings.emplace_back(prefix + "pp", std::to_string(layout.pp));
  };
  if (question.search.largest) settings.emplace_back("max_rate", "true");
  settings.emplace_back("engine", std::string(name(choice.engine)));
  settings.emplace_back("precision", choice.precision);
  settings.emplace_back("batch_tokens", std::to_string(choice.batch_tokens));
  if (choice.max_requests > 0) {
    settings.emplace_back("max_requests", std::to_string(choice.max_requests));
  }
  if (choice.decode) {
    settings.emplace_back("disaggregated",
                          fmt::format("{}:{}", choice.pool.replicas, choice.decode->replicas));
    add("prefill_", choice.pool.layout);
    add("decode_", choice.decode->layout);
  } else {
    settings.emplace_back("replicas", std::to_string(choice.pool.replicas));
    add("", choice.pool.layout);
  }
  return settings;
}

/// Both commands are asked of the fleet: every number is the same, to the bit.
void expect_serve_agrees(const ServePlanQuestion& question, const FleetCandidate& one) {
  auto asked = make_serve_question(question.model, question.cluster,
                                   settings_of(question, one.choice), Catalog::builtin());
  RC_ASSERT(asked.ok());
  const auto answer =
      answer_serving(*asked, Catalog::builtin(), {.sensitivity = false, .next = false});
  RC_ASSERT(answer.ok());
  const auto same = [](const ServingPercentiles& a, const ServingPercentiles& b) {
    return a.mean == b.mean && a.p50 == b.p50 && a.p90 == b.p90 && a.p95 == b.p95 &&
           a.p99 == b.p99 && a.max == b.max && a.count == b.count;
  };
  const ServeSummary& s = answer->summary;
  RC_ASSERT(same(s.ttft, one.ttft));
  RC_ASSERT(same(s.tpot, one.tpot));
  RC_ASSERT(same(s.inter_token, one.inter_token));
  RC_ASSERT(same(s.latency, one.latency));
  RC_ASSERT(s.output_tokens_per_s == one.output_tokens_per_s);
  RC_ASSERT(s.requests_per_s == one.requests_per_s);
  RC_ASSERT(s.chips == one.choice.chips());
  RC_ASSERT(s.meets == (one.ratio < 1));
  if (one.slow_ratio > 0) RC_ASSERT(answer->high->meets == (one.slow_ratio < 1));
  if (question.search.largest) RC_ASSERT(answer->largest->margin == one.largest);
}

RC_GTEST_PROP(ServePlanAnswers, AreWhatServeSaysOfTheSameFleet, ()) {
  const auto one_of = [](std::initializer_list<const char*> list) {
    return std::string(*rc::gen::elementOf(std::vector<std::string>(list.begin(), list.end())));
  };
  ServeSettings settings = {
      {"batch_tokens", one_of({"1024,8192", "512", "2048,4096"})},
      {"engine", one_of({"vllm", "sglang", "trtllm", "vllm,sglang"})},
      {"chips", one_of({"2", "4"})},
      {"pp", "1"},
      {"pools", one_of({"aggregated", "aggregated", "both"})},
      {"input", one_of({"128", "1024", "3000"})},
      {"output", one_of({"1", "32", "100"})},
      {"slo", one_of({"ttft.p99<1s", "ttft.p99<200ms,tpot.p99<12ms", "tpot.mean<8ms,ttft.mean<90ms",
                      "latency.p90<2s", "ttft.p99<20ms"})}};
  const std::string load = one_of({"users", "rate", "rate", "none"});
  if (load == "users") settings.emplace_back("users", one_of({"1", "8", "40"}));
  if (load == "rate") settings.emplace_back("rate", one_of({"1", "6.5", "40", "200"}));
  // Long enough to be cut short where it is hopeless.
  if (load != "none") settings.emplace_back("requests", one_of({"50", "1200"}));
  if (load == "none") settings.emplace_back("requests", "60");
  const auto question = make_serve_plan_question(one_of({"llama-3-8b", "gpt-oss-20b"}), "dgx-h100",
                                                 settings, Catalog::builtin());
  RC_ASSERT(question.ok());
  const auto report = answer_serve_plan(*question, Catalog::builtin(), {1, 0, 1, {}});
  RC_ASSERT(report.ok());
  for (const FleetCandidate& one : report->answer.best) expect_serve_agrees(*question, one);
  const auto& nearest = report->answer.nearest;
  if (nearest && !question->search.largest) {
    RC_ASSERT(nearest->ttft.count > 0U);
    expect_serve_agrees(*question, *nearest);
  }
  const auto back = read_serve_plan_reports(serve_plan_json(*report), "test");
  RC_ASSERT(back.ok());
  RC_ASSERT(serve_plan_json(back->front()) == serve_plan_json(*report));
}

TEST(ServePlanQuestions, SearchTheCheckpointsOwnPrecision) {
  const auto precisions = [](const char* model) {
    auto question = make_serve_plan_question(
        model, "dgx-h200",
        {{"slo", "ttft.p99<1s"}, {"users", "4"}, {"input", "64"}, {"output", "8"}},
        Catalog::builtin());
    EXPECT_TRUE(question.ok()) << question.error().text();
    return question->assumed;
  };
  EXPECT_THAT(precisions("llama-3-8b"), testing::Contains("no precision given: bf16"));
  EXPECT_THAT(precisions("deepseek-v3"),
              testing::Contains(HasSubstr("no precision given: the checkpoint's own, fp8")));
  const auto asked = question_with({{"precision", "bf16,fp8"}});
  EXPECT_THAT(asked.assumed, testing::Contains(HasSubstr("fp8 needs a quantised checkpoint")));
}

TEST(ServePlanQuestions, WithoutALoadAskForTheLargest) {
  const ServeSettings none = {{"slo", "ttft.p99<1s"}};
  const auto question =
      make_serve_plan_question("llama-3-8b", "dgx-h100", none, Catalog::builtin());
  ASSERT_TRUE(question.ok()) << question.error().text();
  EXPECT_TRUE(question->search.largest);
  EXPECT_THAT(serve_plan_error({}), HasSubstr("slo: is missing"));
  EXPECT_THAT(serve_plan_error({{"front", "true"}}),
              HasSubstr("front: is of fleets under one load"));
}

TEST(ServePlanReports, ReadBackWhatTheyWrite) {
  for (const bool front : {false, true}) {
    const ServePlanReport report =
        report_of(question_with({{"front", front ? "true" : "false"}, {"pools", "both"}}));
    ASSERT_TRUE(report.found());
    EXPECT_FALSE(report.launches.empty());
    for (const std::string& text : {serve_plan_json(report), serve_plan_json_line(report)}) {
      const auto back = read_serve_plan_reports(text, "test");
      ASSERT_TRUE(back) << back.error().text();
      ASSERT_EQ(back->size(), 1U);
      EXPECT_EQ(serve_plan_json(back->front()), serve_plan_json(report));
      EXPECT_EQ(question_key(back->front()), question_key(report));
      EXPECT_EQ(back->front().answer.best.front().choice, report.answer.best.front().choice);
    }
  }
}

TEST(ServePlanReports, OfSearchesWithoutAnAnswerReadBack) {
  for (const char* slo : {"tpot.p99<100us", "ttft.p99<19ms,tpot.p99<8ms"}) {
    const ServePlanReport report = report_of(question_with({{"slo", slo}}));
    EXPECT_FALSE(report.found());
    const auto back = read_serve_plan_reports(serve_plan_json_line(report), "test");
    ASSERT_TRUE(back) << back.error().text();
    EXPECT_EQ(serve_plan_json(back->front()), serve_plan_json(report));
    EXPECT_EQ(serve_plan_refusal(back->front()).text(), serve_plan_refusal(report).text());
    EXPECT_EQ(serve_plan_refusal(report).code, ErrorCode::kNoAnswer);
  }
}

TEST(ServePlanReports, OfShardsMergeToTheSameBytes) {
  for (const char* slo : {"ttft.p99<300ms,tpot.p99<14ms", "tpot.p99<100us"}) {
    const ServePlanQuestion question = question_with({{"slo", slo}});
    const std::string whole = serve_plan_json(report_of(question));
    for (const unsigned shards : {1U, 2U, 3U, 8U}) {
      std::vector<ServePlanReport> parts;
      for (unsigned i = shards; i-- > 0;) {  // in any order, through text
        const auto read =
            read_serve_plan_reports(serve_plan_json_line(report_of(question, i, shards)), "shard");
        ASSERT_TRUE(read) << read.error().text();
        parts.push_back(read->front());
      }
      const auto merged = merge_serve_plans(parts);
      ASSERT_TRUE(merged) << merged.error().text();
      EXPECT_EQ(serve_plan_json(*merged), whole) << shards;
    }
  }
}

TEST(ServePlanReports, RefuseShardsThatAreNoWhole) {
  const ServePlanQuestion question = question_with();
  const ServePlanReport a = report_of(question, 0, 2), b = report_of(question, 1, 2);
  const auto error_of = [](std::vector<ServePlanReport> shards) {
    const auto merged = merge_serve_plans(shards);
    return merged ? std::string("merged") : merged.error().text();
  };
  EXPECT_EQ(error_of({b, a}), "merged");
  EXPECT_THAT(error_of({}), HasSubstr("there are none"));
  EXPECT_THAT(error_of({a}), HasSubstr("shard 1/2 is missing"));
  EXPECT_THAT(error_of({a, a}), HasSubstr("0/2 is there twice"));
  const ServePlanReport other = report_of(question_with({{"rate", "21"}}), 1, 2);
  EXPECT_THAT(error_of({a, other}), HasSubstr("different searches"));
}

TEST(ServePlanReports, SayWhichLineIsDamaged) {
  const std::string line = serve_plan_json_line(report_of(question_with()));
  const auto error_of = [](const std::string& text) {
    const auto read = read_serve_plan_reports(text, "file");
    return read ? std::string("read") : read.error().text();
  };
  EXPECT_THAT(error_of(line + line.substr(0, 300) + '\n'), HasSubstr("file:2: this is no JSON"));
  EXPECT_THAT(error_of("{}\n"), HasSubstr("'asked' is missing"));
  const auto replaced = [&](std::string_view from, std::string_view to) {
    std::string text = line;
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  EXPECT_THAT(error_of(replaced("\"chips\": 4", "\"chips\": -4")), HasSubstr("'chips'"));
  EXPECT_THAT(error_of(replaced("\"engine\": \"vllm\"", "\"engine\": \"tgi\"")),
              HasSubstr("'engine' names no engine"));
  EXPECT_THAT(error_of(replaced("\"tp\": ", "\"tp\": \"x")), HasSubstr("file:1"));
}

ServePlanComparison compared(const std::vector<std::string>& clusters, const std::string& prices) {
  ServeSettings settings = usual_settings();
  settings.emplace_back("price", prices);
  const auto questions =
      make_serve_plan_questions("llama-3-8b", clusters, settings, Catalog::builtin());
  EXPECT_TRUE(questions) << questions.error().text();
  std::vector<ServePlanReport> reports;
  for (const ServePlanQuestion& question : *questions) reports.push_back(report_of(question));
  return compare_serve_plans(std::move(reports));
}

TEST(ServePlanComparisons, FindTheCheapestClusterAndTheSmallest) {
  // The newer chip needs fewer; at a hundred times the price it is not cheaper.
  for (const bool dear : {false, true}) {
    const auto all = compared({"dgx-h100", "dgx-b200"}, dear ? "1,100" : "1,0.1");
    ASSERT_TRUE(all.found());
    EXPECT_LE(all.reports[1].answer.best.front().choice.chips(),
              all.reports[0].answer.best.front().choice.chips());
    ASSERT_TRUE(all.cheapest);
    EXPECT_EQ(*all.cheapest, dear ? 0U : 1U);
    EXPECT_EQ(&all.winner(), &all.reports[*all.cheapest]);
    for (const ServePlanReport& r : all.reports) {
      EXPECT_GE(usd_per_hour(r), usd_per_hour(all.winner()));
    }
    // No fleet of the common front is beaten by one of another cluster, and each cluster's unbeaten are all there.
    for (const auto& [i, j] : all.pareto) {
      const FleetCandidate& mine = all.reports[i].answer.pareto[j];
      for (const ServePlanReport& r : all.reports) {
        for (const FleetCandidate& other : r.answer.pareto) {
          EXPECT_FALSE(other.cost_per_million_tokens < mine.cost_per_million_tokens &&
                       other.ttft.mean < mine.ttft.mean && other.tpot.mean < mine.tpot.mean);
        }
      }
    }
    EXPECT_FALSE(all.pareto.empty());
  }
}

TEST(ServePlanComparisons, WithoutPricesCompareChipsAlone) {
  const auto all = compared({"dgx-h100", "dgx-b200"}, "0");
  EXPECT_TRUE(all.fewest);
  EXPECT_FALSE(all.cheapest);
  EXPECT_TRUE(all.pareto.empty());
}

TEST(ServePlanComparisons, OfShardsAreTheSame) {
  ServeSettings settings = usual_settings();
  settings.emplace_back("price", "2,3");
  const std::vector<std::string> clusters = {"dgx-h100", "dgx-b200"};
  const auto questions =
      *make_serve_plan_questions("llama-3-8b", clusters, settings, Catalog::builtin());
  std::vector<ServePlanReport> shards;
  for (const unsigned shard : {0U, 1U}) {
    for (const auto& question : questions) shards.push_back(report_of(question, shard, 2));
  }
  const auto merged = merge_and_compare_serve_plans(shards);
  ASSERT_TRUE(merged) << merged.error().text();
  EXPECT_EQ(serve_plans_json(*merged), serve_plans_json(compared(clusters, "2,3")));
  shards.push_back(report_of(question_with({{"rate", "21"}}), 0, 1));
  shards.back().on = "another";
  const auto mixed = merge_and_compare_serve_plans(shards);
  ASSERT_FALSE(mixed);
  EXPECT_THAT(mixed.error().text(), HasSubstr("loads, limits or what is searched differ"));
}

TEST(ServePlanComparisons, SayWhatIsWrong) {
  const auto error_of = [](const std::vector<std::string>& clusters, const std::string& prices) {
    ServeSettings settings = usual_settings();
    settings.emplace_back("price", prices);
    const auto questions =
        make_serve_plan_questions("llama-3-8b", clusters, settings, Catalog::builtin());
    return questions ? std::string("questions") : questions.error().text();
  };
  EXPECT_THAT(error_of({}, "1"), HasSubstr("no cluster is named"));
  EXPECT_THAT(error_of({"dgx-h100", "dgx-b200"}, "1,2,3"), HasSubstr("3 prices for 2 clusters"));
  EXPECT_THAT(error_of({"dgx-h100", "dgx-h100"}, "1"), HasSubstr("named twice"));
  EXPECT_EQ(error_of({"dgx-h100", "dgx-b200"}, "1"), "questions");
}

}  // namespace
}  // namespace flopcast
