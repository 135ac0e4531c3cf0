#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/serve/testing.h"
#include "report/serve/words.h"
#include "support/rows.h"

namespace flopcast::report {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(ServeText, FirstLinesAreTheAnswer) {
  const std::string text = serve_text(test::made_serve_answer());
  EXPECT_THAT(text,
              StartsWith("TTFT 100 ms (p99 150 ms), TPOT 20.0 ms (p99 30.0 ms), 800 output "
                         "tokens/s\n"
                         "MISSES ttft.p99<1s, surely: at the fast end of the 10-90 % band too\n"
                         "llama-3-70b on dgx-h100: vllm 0.19, 2 replicas of TP 4 (8 chips), 2 "
                         "users, 100\n    tokens in and 100 out\n"));
}

TEST(ServeText, HoldsEveryPartOfTheAnswer) {
  const std::string text = serve_text(test::made_serve_answer());
  for (const char* part :
       {"    fast   80.00 ms   72.00 ms",  // the band of TTFT
        "output tokens/s: 800 (640 to 1,000), 100.0 a chip", "75.0 % of requests, goodput 0.375",
        "5 USD per million output tokens", "1 preemption", "feed-forward      12.00 ms  60.0 %",
        "1.9 answers that see 150 tokens: 20.00 ms", "100 prompt tokens besides, 10.0 %",
        "90.0 % of it is reading memory", "one replica more", "+50.00 %",
        "TP 8 instead of 4: no answer: no room", "HBM bandwidth +10 %", "-7.41 %",
        "mean TPOT 0.80 to 1.25 of the forecast", "kernels of h100-sxm", "no precision given: bf16",
        "Latency against load"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(ServeText, KeepsTo80Columns) {
  ServeAnswer answer = test::made_serve_answer();
  answer.question.assumed.emplace_back(200, 'x');
  answer.question.assumed.back()[90] = ' ';
  answer.question.slo = "ttft.p99<1s,tpot.p99<50ms,latency.p99<100s,itl.max<1s,ttft.mean<300ms";
  answer.load_unit = "times the trace's rate";
  answer.largest = ServeLargest{{1234.5, 1236, 1000, 2000}, {}, {}, {}};
  for (ServeSummary* s : {&answer.summary, &*answer.low, &*answer.high}) {
    s->ttft.max = s->latency.max = {123456.789};  // a queue of a day
    s->output_tokens_per_s = 1234567;
  }
  answer.question.assumed.pop_back();
  EXPECT_LE(test::widest_row(serve_text(answer)), 80U) << serve_text(answer);
}

TEST(ServeText, TheLargestLoadComesFirst) {
  ServeAnswer answer = test::made_serve_answer();
  answer.load_unit = "requests/s";
  answer.largest = ServeLargest{{6.09, 6.1, 4.41, 0}, {}, {}, {}};
  EXPECT_THAT(
      serve_text(answer),
      StartsWith("6.09 requests/s: the most that hold ttft.p99<1s\n"
                 "  4.41 hold at the slow end of the 10-90 % band, none at the fast end\n"));
}

TEST(ServeText, WithoutLimitsNothingIsMissed) {
  ServeAnswer answer = test::made_serve_answer();
  answer.question.limits.clear();
  EXPECT_THAT(serve_text(answer), Not(HasSubstr("MISSES")));
}

TEST(ServeJson, HasTheNumbersAndTheQuestion) {
  const ServeAnswer answer = test::made_serve_answer();
  const auto json = nlohmann::json::parse(serve_json(answer));
  EXPECT_DOUBLE_EQ(json["ttft_s"]["p99"], 0.15);
  EXPECT_DOUBLE_EQ(json["fast"]["output_tokens_per_s"], 1000);
  EXPECT_EQ(json["pools"][0]["layout"]["tp"], 4);
  EXPECT_EQ(json["pools"][0]["iteration"]["parts"][1]["bound"], "bytes");
  EXPECT_EQ(json["next"][1]["refused"], "no room");
  EXPECT_FALSE(json["next"][1].contains("ttft_s"));
  EXPECT_EQ(json["curve"].size(), 3U);
  EXPECT_EQ(json["windows"][0]["sent"], 4);
}

TEST(ServeJson, ItsQuestionIsReadBack) {
  const ServeAnswer answer = test::made_serve_answer();
  const auto file = parse_serve_file(serve_json(answer), "answer.json");
  ASSERT_TRUE(file.ok()) << file.error().text();
  EXPECT_EQ(file->model, answer.question.model);
  EXPECT_EQ(file->cluster, answer.question.cluster);
  EXPECT_THAT(file->settings, testing::UnorderedElementsAreArray(answer.question.settings));
}

TEST(ServeCsv, IsALineOfTitlesAndOneOfValues) {
  const std::string csv = serve_csv(test::made_serve_answer());
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 2);
  EXPECT_THAT(csv, StartsWith("model,cluster,engine,"));
  EXPECT_THAT(csv, HasSubstr("ttft_p99_s"));
  const std::string titles = csv.substr(0, csv.find('\n')), values = csv.substr(csv.find('\n') + 1);
  EXPECT_EQ(std::count(titles.begin(), titles.end(), ','),
            std::count(values.begin(), values.end(), ','));
}

TEST(ServeCsv, RequestsThatWereNeverAnsweredHaveEmptyCells) {
  const std::string csv = serve_requests_csv(test::made_serve_answer());
  EXPECT_THAT(csv, HasSubstr("\n0,true,100,100,0,0.01,0.06,1.05,0,0,0\n"));
  EXPECT_THAT(csv, HasSubstr("\n3,true,100,100,0.6,,,,1,0,0\n"));
}

TEST(ServeTimelines, AreMeansOverTheirIntervals) {
  const ServeTimeline timeline = serve_timeline(test::made_serve_answer());
  EXPECT_DOUBLE_EQ(timeline.interval_s, 1.55 / 240);
  ASSERT_EQ(timeline.replica_kv.size(), 2U);
  EXPECT_NEAR(timeline.decodes[100], 2, 1e-9);
  EXPECT_NEAR(timeline.waiting[0], 1, 1e-9);
  EXPECT_NEAR(timeline.prompt_tokens_per_s[0], 2 * 100 / 0.05, 1e-6);
  EXPECT_NEAR(timeline.replica_kv[0][100], 0.5, 1e-9);
  EXPECT_NEAR(timeline.kv[100], 0.25, 1e-9);  // the other replica is idle
  // Nothing is lost between intervals: 100 tokens each of two prompts.
  double tokens = 0;
  for (const double rate : timeline.prompt_tokens_per_s) tokens += rate * timeline.interval_s;
  EXPECT_NEAR(tokens, 200, 1e-6);
}

TEST(ServeTraces, HaveIterationsAndRequests) {
  const TraceSet set = serve_trace(test::made_serve_answer());
  ASSERT_EQ(set.traces.size(), 2U);
  const Trace& first = set.traces[0];
  // Two iterations; two requests that overlap, on two lines, each with waiting, prompt and answer.
  EXPECT_EQ(first.events.size(), 2U + 2 * 4);
  EXPECT_EQ(first.tracks.size(), 3U);
  EXPECT_EQ(set.strings[first.tracks[0].process_name], "replica 0");
  std::vector<std::string> names;
  for (const std::uint32_t name : first.events.name) names.emplace_back(set.strings[name]);
  EXPECT_THAT(names, testing::Contains("request 0: 100 in, 100 out"));
  EXPECT_THAT(names, testing::Contains("2 answers, 99 times"));
  EXPECT_TRUE(std::is_sorted(first.events.start.begin(), first.events.start.end()));
  EXPECT_EQ(set.traces[1].events.size(),
            1U + 3);  // its first request never waited, the other never ran
}

TEST(ServePages, HoldTheAnswer) {
  const std::string page = serve_html(test::made_serve_answer());
  EXPECT_THAT(page, HasSubstr("<title>llama-3-70b on dgx-h100 · Flopcast serve</title>"));
  EXPECT_THAT(page, HasSubstr("\"slo\": \"ttft.p99\\u003c1s\""));
  EXPECT_THAT(page, HasSubstr("Latency against throughput"));
}

TEST(ServeWords, PoolsApart) {
  Fleet fleet = test::made_question().fleet;
  fleet.decode = fleet.pool;
  fleet.decode->replicas = 1;
  fleet.decode->deployment.layout = {2, 4, 8, 1};
  EXPECT_EQ(fleet_words(fleet),
            "2 replicas of TP 4 for prompts and 1 replica of TP 2, DP 4, EP 8 for answers");
  EXPECT_EQ(serving_layout_words({}), "1 chip");
}

}  // namespace
}  // namespace flopcast::report
