// From settings to fleets and loads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "flopcast/measured/serving.h"
#include "flopcast/serving/memory.h"
#include "question/serve/answer.h"
#include "question/serve/values.h"
#include "support/temporary_folder.h"

namespace flopcast::question {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

const ServeSettings kAsked = {{"tp", "4"}, {"users", "8"}, {"input", "100"}, {"output", "50"}};

Result<ServeQuestion> ask(ServeSettings more, const std::string& cluster = "2 x dgx-h100") {
  ServeSettings settings = kAsked;
  settings.insert(settings.end(), more.begin(), more.end());
  return make_serve_question("llama-3-70b", cluster, settings, Catalog::builtin());
}

std::string problem(ServeSettings more, const std::string& cluster = "2 x dgx-h100") {
  const auto question = ask(std::move(more), cluster);
  return question.ok() ? "no problem" : question.error().text();
}

TEST(ServeQuestions, ReplicasFillTheCluster) {
  const auto question = ask({});
  ASSERT_TRUE(question.ok()) << question.error().text();
  EXPECT_EQ(question->fleet.pool.replicas, 4U);
  EXPECT_EQ(question->fleet.chips(), 16U);
  EXPECT_EQ(question->workload.users, 8);
  EXPECT_DOUBLE_EQ(question->workload.spread, 0.2);
  EXPECT_THAT(question->assumed, Contains(HasSubstr("4, as many as the cluster holds")));
  EXPECT_EQ(ask({{"replicas", "3"}})->fleet.chips(), 12U);
}

TEST(ServeQuestions, TheLastOfSeveralHolds) {
  EXPECT_EQ(ask({{"tp", "8"}})->fleet.pool.replicas, 2U);
  EXPECT_EQ(ask({{"batch-tokens", "8k"}})->fleet.pool.deployment.settings.batch_tokens, 8192);
  EXPECT_EQ(ask({{"batch-tokens", "512"}, {"batch_tokens", "1024"}})
                ->fleet.pool.deployment.settings.batch_tokens,
            1024);
}

TEST(ServeQuestions, TheLargestLoadIsAskedWithinLimits) {
  const auto largest = [](ServeSettings settings, const char* model = "llama-3-70b") {
    return make_serve_question(model, "2 x dgx-h100", settings, Catalog::builtin());
  };
  const auto refused = [&](ServeSettings settings) {
    const auto question = largest(std::move(settings));
    return question.ok() ? std::string("a question") : question.error().text();
  };
  const auto question = largest({{"max_rate", "true"}, {"slo", "ttft.p99<1s"}});
  ASSERT_TRUE(question.ok()) << question.error().text();
  EXPECT_TRUE(question->largest);
  EXPECT_EQ(question->workload.kind, ServingWorkload::Kind::kRate);
  // The fewest chips that hold the model, and every length that nobody told, are told.
  EXPECT_EQ(question->fleet.pool.deployment.layout,
            *smallest_layout(question->fleet.pool.deployment));
  EXPECT_THAT(question->assumed, Contains(HasSubstr("no layout given")));
  EXPECT_THAT(question->assumed, Contains(HasSubstr("no --input given: 1024")));
  EXPECT_EQ(largest({{"max_users", "true"}, {"tp", "8"}, {"slo", "ttft.p99<1s"}})->workload.kind,
            ServingWorkload::Kind::kClosed);
  EXPECT_THAT(refused({{"max_rate", "true"}}), HasSubstr("slo: is missing"));
  EXPECT_THAT(refused({{"max_rate", "true"}, {"rate", "3"}, {"slo", "ttft.p99<1s"}}),
              HasSubstr("another flag tells one"));
  EXPECT_THAT(refused({{"max_rate", "true"}, {"max_users", "true"}, {"slo", "ttft.p99<1s"}}),
              HasSubstr("another flag tells one"));
}

TEST(ServeQuestions, AnotherPrecisionThanTheCheckpointsIsTold) {
  const auto told = [](const char* model, const char* precision) {
    const auto question = make_serve_question(
        model, "2 x dgx-h200",
        {{"tp", "8"}, {"users", "8"}, {"input", "100"}, {"output", "50"}, {"precision", precision}},
        Catalog::builtin());
    EXPECT_TRUE(question.ok()) << question.error().text();
    return question->assumed;
  };
  EXPECT_THAT(told("llama-3-70b", "fp8"), Contains(HasSubstr("needs a quantised checkpoint")));
  EXPECT_THAT(told("llama-3-70b", "bf16"), testing::Not(Contains(HasSubstr("checkpoint"))));
  for (const char* same : {"stored", "fp8"}) {
    EXPECT_THAT(told("deepseek-v3", same), testing::Not(Contains(HasSubstr("needs"))));
  }
}

TEST(ServeQuestions, PoolsMayBeApart) {
  const auto question = ask({{"disaggregated", "2:1"}, {"decode_tp", "8"}});
  ASSERT_TRUE(question.ok()) << question.error().text();
  ASSERT_TRUE(question->fleet.decode);
  EXPECT_EQ(question->fleet.pool.replicas, 2U);
  EXPECT_EQ(question->fleet.pool.deployment.layout.tp, 4U);
  EXPECT_EQ(question->fleet.decode->replicas, 1U);
  EXPECT_EQ(question->fleet.decode->deployment.layout.tp, 8U);
  EXPECT_EQ(question->fleet.chips(), 16U);
  EXPECT_THAT(problem({{"decode_tp", "8"}}), HasSubstr("--disaggregated"));
  EXPECT_THAT(problem({{"disaggregated", "2"}}), HasSubstr("expected N:M"));
  EXPECT_THAT(problem({{"disaggregated", "4:1"}}), HasSubstr("take 20 chips, the cluster has 16"));
}

TEST(ServeQuestions, EverySettingOfTheEngineCanBeSet) {
  const auto question = ask({{"set", "memory_share=0.85"},
                             {"set", "graphs=1,2,8"},
                             {"set", "capacity=max-utilisation"},
                             {"set", "decode.block=64"},
                             {"set", "overlap=no"}});
  ASSERT_TRUE(question.ok()) << question.error().text();
  const EngineSettings& settings = question->fleet.pool.deployment.settings;
  EXPECT_DOUBLE_EQ(settings.memory_share, 0.85);
  EXPECT_THAT(settings.graphs, ElementsAre(1, 2, 8));
  EXPECT_EQ(settings.capacity, CapacityPolicy::kMaxUtilisation);
  EXPECT_NE(settings.block, 64);  // of a decode pool alone
  EXPECT_FALSE(settings.overlap);
  EXPECT_THAT(problem({{"set", "memory_shares=1"}}), HasSubstr("memory_share"));
  EXPECT_THAT(problem({{"set", "graphs=2,1"}}), HasSubstr("no value of graphs"));
  EXPECT_THAT(problem({{"set", "block"}}), HasSubstr("expected KEY=VALUE"));
}

TEST(ServeQuestions, DraftsNeedToSayWhatTheyBring) {
  const auto drafts = [](ServeSettings more) {
    return ask(std::move(more))->fleet.pool.deployment.settings.speculation;
  };
  EXPECT_EQ(drafts({}).kind, Speculation::Kind::kNone);
  EXPECT_DOUBLE_EQ(drafts({{"drafts", "1"}, {"accepted", "1.8"}}).accepted, 1.8);
  EXPECT_DOUBLE_EQ(drafts({{"drafts", "2"}, {"accepted", "1:1.79,3:2.49"}}).accepted, 2.14);
  EXPECT_DOUBLE_EQ(drafts({{"drafts", "5"}, {"accepted", "1:1.79,3:2.49"}}).accepted, 2.49);
  EXPECT_EQ(drafts({{"drafts", "2"}, {"accepted", "2"}, {"draft_kind", "eagle"}}).kind,
            Speculation::Kind::kEagle);
  EXPECT_THAT(problem({{"drafts", "1"}}), HasSubstr("accepted: is missing"));
  EXPECT_THAT(problem({{"drafts", "1"}, {"accepted", "2.5"}}), HasSubstr("1 to 2 tokens"));
  EXPECT_THAT(problem({{"accepted", "2"}}), HasSubstr("nothing is drafted"));
}

TEST(ServeQuestions, FleetsHaveRoutersFaultsAndScaling) {
  const auto question =
      ask({{"router", "round-robin"},
           {"fault", "1@60s..90s:lost"},
           {"fault", "0@2"},
           {"autoscale", "least=1,most=3,aim=16,interval=5s,start-up=30s,idle=60s"}});
  ASSERT_TRUE(question.ok()) << question.error().text();
  const Fleet& fleet = question->fleet;
  EXPECT_EQ(fleet.router, Router::kRoundRobin);
  ASSERT_EQ(fleet.faults.size(), 2U);
  EXPECT_EQ(fleet.faults[0].replica, 1U);
  EXPECT_EQ(fleet.faults[0].back, Time::from_us(90'000'000));
  EXPECT_FALSE(fleet.faults[0].retried);
  EXPECT_EQ(fleet.faults[1].at, Time::from_us(2'000'000));
  EXPECT_EQ(fleet.faults[1].back, Time::max());
  ASSERT_TRUE(fleet.autoscaling);
  EXPECT_EQ(fleet.autoscaling->most, 3U);
  EXPECT_EQ(fleet.autoscaling->start_up, Time::from_us(30'000'000));
  EXPECT_THAT(problem({{"fault", "9@1s"}}), HasSubstr("there is no replica 9"));
  EXPECT_THAT(problem({{"fault", "now"}}), HasSubstr("not understood"));
  EXPECT_THAT(problem({{"autoscale", "most=9,aim=1"}}), HasSubstr("1 to 9 replicas of 4"));
  EXPECT_THAT(problem({{"autoscale", "aims=1"}}), HasSubstr("'aims=1' is not understood"));
}

TEST(ServeQuestions, MeasuredPointsAreFactors) {
  const auto question = ask({{"point", "decode=1.1,front=0.5"}});
  ASSERT_TRUE(question.ok()) << question.error().text();
  EXPECT_DOUBLE_EQ(question->fleet.pool.factors.decode, 1.1);
  EXPECT_DOUBLE_EQ(question->fleet.pool.factors.prefill, 1);
  EXPECT_DOUBLE_EQ(question->fleet.pool.factors.front, 0.5);
  EXPECT_THAT(problem({{"point", "decode=0"}}), HasSubstr("no factor"));
  EXPECT_THAT(problem({{"point", "no/such/file"}}), HasSubstr("no/such/file"));
}

TEST(ServeQuestions, FilesOfPointsHaveAnEntryForEachDeployment) {
  ServingCalibration wide, narrow;
  wide.engine = narrow.engine = "vllm";
  wide.model = narrow.model = "llama-3-70b";
  wide.chip = narrow.chip = "h100_sxm";
  wide.precision = narrow.precision = "bf16";
  wide.layout.tp = 8, narrow.layout.tp = 4;
  wide.factors.decode = 2, narrow.factors.decode = 0.5;
  const std::vector<ServingCalibration> both = {wide, narrow};
  const test::TemporaryFolder folder;
  const std::string path = folder.write("p.toml", serving_calibration_toml(both)).string();
  const auto question = ask({{"point", path}});
  ASSERT_TRUE(question.ok()) << question.error().text();
  EXPECT_DOUBLE_EQ(question->fleet.pool.factors.decode, 0.5);
  EXPECT_DOUBLE_EQ(ask({{"point", path}, {"tp", "8"}})->fleet.pool.factors.decode, 2);
  EXPECT_THAT(problem({{"point", path}, {"tp", "2"}}), HasSubstr("p.toml"));
}

TEST(ServeQuestions, WhatIsNoQuestionIsTold) {
  EXPECT_THAT(problem({{"user", "3"}}), HasSubstr("did you mean 'users'"));
  EXPECT_THAT(problem({{"rate", "3"}}), HasSubstr("only one of them"));
  EXPECT_THAT(problem({{"tp", "0"}}), HasSubstr("expected a whole number from 1 on"));
  EXPECT_THAT(problem({{"tp", "3"}}), HasSubstr("3"));
  EXPECT_THAT(problem({{"engine", "tgi"}}), HasSubstr("vllm, sglang or trtllm"));
  EXPECT_THAT(problem({{"replicas", "9"}}), HasSubstr("take 36 chips, the cluster has 16"));
  EXPECT_THAT(problem({{"tp", "8"}}, "4 x h100"), HasSubstr("takes 8 chips, the cluster has 4"));
  EXPECT_THAT(problem({{"slo", "fast"}}), HasSubstr("slo"));
  const auto nobody =
      make_serve_question("llama-3-70b", "dgx-h100", {{"tp", "4"}}, Catalog::builtin());
  EXPECT_THAT(nobody.error().text(), HasSubstr("--users, --rate"));
}

ServingPrecision precision_of(const std::string& model, ServeSettings more = {},
                              const std::string& cluster = "dgx-b200") {
  ServeSettings settings = {{"tp", "8"}, {"users", "1"}, {"input", "10"}, {"output", "10"}};
  settings.insert(settings.end(), more.begin(), more.end());
  const auto question = make_serve_question(model, cluster, settings, Catalog::builtin());
  EXPECT_TRUE(question.ok()) << model << ": " << question.error().text();
  return question.ok() ? question->fleet.pool.deployment.precision : ServingPrecision{};
}

TEST(ServeQuestions, ACheckpointsOwnPrecisionIsTheDefault) {
  EXPECT_EQ(precision_of("gpt-oss-120b").experts, GemmType::kMxfp4Weight);
  EXPECT_EQ(precision_of("gpt-oss-120b").attention, GemmType::kBf16);
  EXPECT_EQ(precision_of("deepseek-r1").experts, GemmType::kFp8Block);
  EXPECT_EQ(precision_of("kimi-k2-instruct").experts, GemmType::kFp8Block);
  EXPECT_EQ(precision_of("kimi-k2-thinking").experts, GemmType::kInt4WeightOnly);
  EXPECT_EQ(precision_of("kimi-k2-thinking").attention, GemmType::kBf16);
  EXPECT_EQ(precision_of("llama-3-70b").dense, GemmType::kBf16);
  EXPECT_EQ(precision_of("llama-3-70b", {{"precision", "fp8"}}).dense, GemmType::kFp8);
  // Told stands before the checkpoint's.
  EXPECT_EQ(precision_of("deepseek-r1", {{"precision", "fp4"}}).experts, GemmType::kNvfp4);
  // A name with a precision behind it is that of a checkpoint.
  EXPECT_EQ(precision_of("qwen3-235b-a22b-fp8").experts, GemmType::kFp8Block);
  EXPECT_EQ(precision_of("qwen3-235b-a22b").experts, GemmType::kBf16);
  EXPECT_EQ(precision_of("deepseek-r1-nvfp4").experts, GemmType::kNvfp4);
}

TEST(ServeQuestions, AConfigTellsWhatItsWeightsAreStoredIn) {
  const test::TemporaryFolder folder;
  const auto path = folder.write("config.json", R"({"model_type": "llama", "hidden_size": 4096,
      "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
      "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 8192,
      "quantization_config": {"quant_method": "fp8", "activation_scheme": "dynamic"}})");
  const ServingPrecision stored = precision_of(path.string());
  EXPECT_EQ(stored.dense, GemmType::kFp8);
  EXPECT_EQ(stored.kv_cache, DataType::kBf16);  // engines keep them in 16 bits unless told
  EXPECT_EQ(precision_of(path.string(), {{"kv_cache", "fp8"}}).kv_cache, DataType::kFp8);
}

TEST(ServeQuestions, RulesBeforeThoseThatAreFollowedAreRefused) {
  EXPECT_THAT(problem({{"set", "version=0.6.3"}}), HasSubstr("before 0.8 is not modelled"));
  EXPECT_TRUE(ask({{"set", "version=0.10.2"}}).ok());
}

TEST(ServeQuestions, LoadsAreUsersRatesOrTraces) {
  const auto rate = make_serve_question(
      "llama-3-70b", "2 x dgx-h100",
      {{"tp", "4"}, {"rate", "2"}, {"input", "100"}, {"output", "10"}}, Catalog::builtin());
  ASSERT_TRUE(rate.ok()) << rate.error().text();
  EXPECT_EQ(rate->workload.kind, ServingWorkload::Kind::kRate);
  EXPECT_EQ(counted_requests(rate->workload), 1200);  // ten minutes
  const auto trace = make_serve_question(
      "llama-3-70b", "2 x dgx-h100",
      {{"tp", "4"}, {"trace", "src/serving/requests/corpus/azure.csv"}, {"rate_scale", "4"}},
      Catalog::builtin());
  ASSERT_TRUE(trace.ok()) << trace.error().text();
  EXPECT_GT(trace->workload.trace.requests.size(), 0U);
  EXPECT_DOUBLE_EQ(trace->workload.time_scale, 4);
  const auto missing = make_serve_question("llama-3-70b", "2 x dgx-h100",
                                           {{"tp", "4"}, {"trace", "no.csv"}}, Catalog::builtin());
  EXPECT_EQ(missing.error().code, ErrorCode::kBadInput);
}

TEST(ServeQuestions, WhatTheModelDoesNotTakeIsNotAsked) {
  EXPECT_THAT(problem({{"input", "8000"}, {"output", "500"}}), HasSubstr("longer than the 8192"));
  const test::TemporaryFolder folder;
  const auto trace = [&](const std::string& rows) {
    const std::string path = folder.write("t.csv", "arrival_s,input,output\n" + rows).string();
    return make_serve_question("llama-3-70b", "2 x dgx-h100", {{"tp", "4"}, {"trace", path}},
                               Catalog::builtin());
  };
  const auto some = trace("0,9000,1\n1,100,10\n");
  ASSERT_TRUE(some.ok()) << some.error().text();
  EXPECT_EQ(some->workload.trace.requests.size(), 1U);
  EXPECT_THAT(some->assumed, Contains(HasSubstr("1 of the trace's requests is longer")));
  EXPECT_THAT(trace("0,9000,1\n").error().text(), HasSubstr("every request is longer"));
}

TEST(ServeQuestions, NextFleetsHaveMoreChips) {
  const auto question = ask({});
  const auto next = next_fleets(*question, Catalog::builtin());
  ASSERT_EQ(next.size(), 3U);
  EXPECT_EQ(next[0].fleet.chips(), 20U);  // on three nodes
  EXPECT_EQ(next[0].fleet.pool.deployment.cluster.chips(), 24U);
  EXPECT_EQ(next[1].fleet.chips(), 32U);
  EXPECT_EQ(next[1].fleet.pool.deployment.layout.tp, 8U);
  EXPECT_EQ(next[2].fleet.chips(), 16U);
  EXPECT_EQ(next[2].fleet.pool.replicas, 2U);
}

TEST(ServeQuestions, NearbyMachinesDifferInOneNumber) {
  const auto question = ask({});
  const auto nearby = nearby_machines(*question);
  ASSERT_EQ(nearby.size(), 10U);
  const double now = question->fleet.pool.deployment.cluster.chip.hbm_bandwidth.value;
  EXPECT_EQ(nearby[2].words, "HBM bandwidth +10 %");
  EXPECT_NEAR(nearby[2].fleet.pool.deployment.cluster.chip.hbm_bandwidth.value, 1.1 * now, 1);
  EXPECT_NEAR(nearby[3].fleet.pool.deployment.cluster.chip.hbm_bandwidth.value, 0.9 * now, 1);
  EXPECT_DOUBLE_EQ(nearby[0].fleet.pool.factors.host, 1.1);
}

}  // namespace
}  // namespace flopcast::question
