// Reading measured points, layouts whose labels contradict each other, and the rules on defects.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "flopcast/measured/serving.h"
#include "measured/serving/launches.h"
#include "measured/serving/layouts.h"
#include "support/shared_traces.h"

namespace flopcast::measured {
namespace {

using testing::HasSubstr;

/// A clean point of the public client, which tests change.
ServingPoint plain_point() {
  ServingPoint p;
  p.id = "p";
  p.engine = "vllm", p.version = "0.18.0", p.model = "openai/gpt-oss-120b", p.chip = "h100_sxm";
  p.precision = "fp4", p.date = "2026-03-25", p.origin = "table";
  p.input = 1024, p.output = 1024, p.users = 8;
  p.layout = {4, 1, 1, 1};
  p.ttft = Seconds{0.08}, p.tpot = Seconds{0.006};
  p.known_protocol = true;
  return p;
}

TEST(ServingPoints, ReadsARowAsTablesHaveIt) {
  const auto points = parse_serving_points(R"({"points": [{"id": "x", "backend": "trtllm",
    "model_path": "meta-llama/Llama-3.1-70B", "system": "h200_sxm", "mode": "agg", "isl": 1024,
    "osl": 8192, "gemm_quant_mode": "fp8", "tp_size": 2, "pp_size": 1, "moe_tp_size": 2,
    "moe_ep_size": 1, "silicon_ttft_ms": 100.5, "silicon_tpot_ms": 12.25, "concurrency": 16,
    "date": "2025-10-29"}]})",
                                           "here");
  ASSERT_TRUE(points) << points.error().text();
  const ServingPoint& p = points->front();
  EXPECT_EQ(p.precision, "fp8");
  EXPECT_EQ(p.layout, (ServingLayout{2, 1, 1, 1}));
  EXPECT_DOUBLE_EQ(p.ttft.value, 0.1005);
  EXPECT_DOUBLE_EQ(p.tpot.value, 0.01225);
  EXPECT_TRUE(p.known_protocol);
  EXPECT_TRUE(p.repaired.empty());
  // 16 users with answers of 8192 tokens on 2 chips
  EXPECT_NEAR(p.throughput(p.ttft, p.tpot), 16 * 8192 / (0.1005 + 8191 * 0.01225) / 2, 1e-9);
}

TEST(ServingPoints, ErrorsNameTheEntry) {
  const auto error = [](const char* text) {
    const auto points = parse_serving_points(text, "f.json");
    return points ? std::string("none") : points.error().text();
  };
  EXPECT_THAT(error("{"), HasSubstr("f.json"));
  EXPECT_THAT(error("{\"points\": []}"), HasSubstr("found none"));
  EXPECT_THAT(error("[3]"), HasSubstr("point 1"));
  EXPECT_THAT(error("[{\"backend\": \"vllm\"}]"), HasSubstr("model_path"));
  EXPECT_THAT(error("[{\"isl\": -1}]"), HasSubstr("isl is below 0"));
}

TEST(ServingLayouts, ProductsOfTwoLabelsAreChipsOnce) {
  const ServingPoint p = plain_point();
  const auto layout = [&](LayoutLabels labels) { return layout_of(labels, p).layout; };
  EXPECT_EQ(layout({64, 1, 8, 8, 1}), (ServingLayout{8, 1, 8, 1}));  // SGLang, TensorRT-LLM
  EXPECT_EQ(layout({1, 16, 4, 4, 1}), (ServingLayout{1, 4, 4, 1}));  // attention data parallel
  EXPECT_EQ(layout({4, 4, 1, 16, 1}), (ServingLayout{4, 1, 4, 1}));  // vLLM
  EXPECT_EQ(layout({1, 0, 2, 1, 1}), (ServingLayout{2, 1, 1, 1}));
  for (const LayoutLabels& labels : {LayoutLabels{8, 1, 2, 4, 1},
                                     {4, 1, 4, 1, 1},
                                     {1, 8, 1, 8, 1},
                                     {16, 1, 1, 16, 1},
                                     {1, 4, 4, 1, 1}}) {
    const ReadLayout read = layout_of(labels, p);
    EXPECT_TRUE(read.repaired.empty()) << read.repaired;
    EXPECT_EQ(read.layout.tp, labels.tp);
    EXPECT_EQ(read.layout.dp, labels.attention_dp);
    EXPECT_EQ(read.layout.ep, labels.ep);
  }
}

TEST(ServingLayouts, SglangSharesExpertsOutOverNodes) {
  ServingPoint p = plain_point();
  p.engine = "sglang";
  EXPECT_EQ(layout_of({1, 32, 32, 1, 1}, p).layout, (ServingLayout{1, 32, 32, 1}));
  EXPECT_EQ(layout_of({1, 4, 4, 1, 1}, p).layout,
            (ServingLayout{1, 4, 1, 1}));  // inside a node as told
}

// Scripts of one engine say nothing of workers that prompts are computed apart for.
TEST(ServingLaunches, AreOfOneEngineOrOfPoolsApart) {
  ServingPoint p = plain_point();
  p.engine = "sglang", p.model = "deepseek-ai/DeepSeek-V3", p.chip = "b300_sxm";
  p.precision = "fp8", p.layout = {8, 1, 1, 1};
  p.known_protocol = true;
  Deployment one, apart;
  EXPECT_FALSE(apply_launches(p, one));
  p.disaggregated = true;
  EXPECT_FALSE(apply_launches(p, apart));
  EXPECT_EQ(one.settings.max_requests, 128);
  EXPECT_EQ(apart.settings.max_requests, Deployment().settings.max_requests);
  EXPECT_FALSE(one.settings.prefix_cache);
  EXPECT_FALSE(apart.settings.prefix_cache);
  // Nor of chips that they were not run on: 128 requests are no limit of racks.
  Deployment rack;
  p.chip = "gb300", p.disaggregated = false;
  EXPECT_FALSE(apply_launches(p, rack));
  EXPECT_EQ(rack.settings.max_requests, Deployment().settings.max_requests);
}

// The same label, launched with the flag of data-parallel attention at many users and without it at few.
TEST(ServingLayouts, LaunchesTellDataParallelAttentionApart) {
  ServingPoint p = plain_point();
  p.model = "MiniMaxAI/MiniMax-M2.5", p.chip = "b200_sxm", p.date = "2026-04-22", p.users = 256;
  EXPECT_EQ(layout_of({2, 2, 1, 4, 1}, p).layout, (ServingLayout{1, 2, 2, 1}));
  p.users = 128;
  EXPECT_EQ(layout_of({2, 2, 1, 4, 1}, p).layout, (ServingLayout{2, 1, 2, 1}));
  p.users = 256, p.date = "2026-04-08";
  EXPECT_EQ(layout_of({2, 2, 1, 4, 1}, p).layout, (ServingLayout{2, 1, 2, 1}));
}

std::string excluded(std::vector<ServingPoint> points, std::size_t of = 0) {
  label_defects(points);
  return points[of].excluded;
}

TEST(ServingDefects, RowsByThemselves) {
  EXPECT_EQ(excluded({plain_point()}), "");
  ServingPoint deepseek = plain_point();
  deepseek.engine = "trtllm", deepseek.model = "deepseek-ai/DeepSeek-R1",
  deepseek.layout = {8, 1, 1, 1};
  deepseek.version = "1.2.0rc6.post2", deepseek.chip = "b200_sxm", deepseek.date = "2026-02-03";
  EXPECT_EQ(excluded({deepseek}), "");
  deepseek.date = "2026-01-20";
  EXPECT_EQ(excluded({deepseek}), "attention-dp-lost");
  deepseek.date = "2026-02-20", deepseek.version = "1.2.0rc6.post3";
  EXPECT_EQ(excluded({deepseek}), "drafts");
  deepseek.version = "", deepseek.layout = {36, 1, 1, 1};
  EXPECT_EQ(excluded({deepseek}), "disaggregated-as-one");
  ServingPoint early = plain_point();
  early.engine = "sglang", early.date = "2025-11-20";
  EXPECT_EQ(excluded({early}), "compiles-while-measured");
  ServingPoint apart = plain_point();
  apart.disaggregated = true;
  EXPECT_EQ(excluded({apart}), "workers-not-told");
  ServingPoint alone = plain_point();
  alone.users = 0;
  EXPECT_EQ(excluded({alone}), "users-not-told");
}

TEST(ServingDefects, EqualTimesInTwoTablesAreOneRun) {
  ServingPoint first = plain_point(), copy = plain_point();
  first.date = "", first.known_protocol = false, first.origin = "copy";
  first.ttft = Seconds{0.08003};  // rounded
  EXPECT_EQ(excluded({first, copy}, 0), "duplicate");
  EXPECT_EQ(excluded({first, copy}, 1), "");
  copy.users = 16;
  EXPECT_EQ(excluded({first, copy}, 0), "");
}

TEST(ServingDefects, OfTwoRunsTheOneWithDraftsIsQuickerPerTokenAndSlowerToTheFirst) {
  ServingPoint drafts = plain_point();
  drafts.engine = "sglang", drafts.version = "0.5.9", drafts.model = "deepseek-ai/DeepSeek-R1";
  drafts.chip = "b200_sxm", drafts.precision = "fp8", drafts.layout = {8, 1, 1, 1};
  drafts.ttft = Seconds{0.586}, drafts.tpot = Seconds{0.0117};
  ServingPoint plain = drafts;
  plain.ttft = Seconds{0.402}, plain.tpot = Seconds{0.0132};
  EXPECT_EQ(excluded({drafts, plain}, 0), "drafts");
  EXPECT_EQ(excluded({drafts, plain}, 1), "");
  EXPECT_EQ(excluded({plain}), "drafts");  // alone it could be either
  plain.version = "0.5.10";
  EXPECT_EQ(excluded({plain}), "");
}

TEST(ServingDefects, LimitsOfServersAndTwinsContradictOtherRows) {
  ServingPoint few = plain_point(), many = plain_point();
  many.users = 512, many.ttft = Seconds{22}, many.tpot = Seconds{0.0045};
  EXPECT_EQ(excluded({few, many}, 1), "server-limit");
  many.tpot = Seconds{0.03};  // keys and values are full: that can be forecast
  EXPECT_EQ(excluded({few, many}, 1), "");
  ServingPoint twin = plain_point();
  twin.ttft = Seconds{0.12};
  EXPECT_EQ(excluded({few, twin}, 0), "twins-apart");
  EXPECT_EQ(excluded({few, twin}, 1), "twins-apart");
  twin.ttft = Seconds{0.1};
  EXPECT_EQ(excluded({few, twin}, 1), "");
}

TEST(ServingDefects, AreWhereTheCatalogueSaysAndTellIt) {
  const ContradictionLimits& limits = contradiction_limits();
  for (const double told : {limits.same, limits.repeats, limits.twins, limits.most_of_peak,
                            limits.falls, limits.stays, limits.fewer_users, limits.explodes}) {
    EXPECT_GT(told, 0);
  }
  const ServingPoint point = plain_point();
  ServingPoint twin = point;
  twin.ttft = Seconds{0.99 * limits.twins * point.ttft.value};
  EXPECT_EQ(excluded({point, twin}, 1), "");
  twin.ttft = Seconds{1.01 * limits.twins * point.ttft.value};
  EXPECT_EQ(excluded({point, twin}, 1), "twins-apart");
  const auto why = [](std::string_view name) {
    const auto found = std::ranges::find(serving_rules(), name, &ServingRule::name);
    return found != serving_rules().end() ? std::string(found->why) : std::string();
  };
  EXPECT_NE(why("twins-apart").find(fmt::format("{:.4g} %", 100 * (limits.twins - 1))),
            std::string::npos);
  EXPECT_NE(
      why("users-of-several-replicas").find(fmt::format("{:.4g} %", 100 * limits.most_of_peak)),
      std::string::npos);
}

TEST(ServingDefects, ATableAboveThePeakCountsUsersOfSeveralReplicas) {
  ServingPoint p = plain_point();
  p.date = "", p.known_protocol = false, p.chip = "h200_sxm", p.precision = "fp8";
  p.model = "nvidia/Llama-3.1-8B-Instruct-FP8", p.layout = {2, 1, 1, 1};
  p.input = 2000, p.output = 100, p.users = 96;
  p.ttft = Seconds{0.0757}, p.tpot = Seconds{0.0094};
  ServingPoint slower = p;
  slower.users = 4;
  EXPECT_EQ(excluded({p, slower}, 0), "users-of-several-replicas");
  EXPECT_EQ(excluded({p, slower}, 1), "users-of-several-replicas");
  EXPECT_EQ(excluded({slower}), "");
}

TEST(ServingDefects, EveryExclusionIsARuleWithAReason) {
  for (const ServingRule& rule : serving_rules()) {
    EXPECT_FALSE(rule.name.empty());
    EXPECT_GT(rule.why.size(), 20U) << rule.name;
  }
}

TEST(ServingDefects, CountsOfTheSharedTable) {
  FLOPCAST_SHARED_OR_SKIP(path, "measured/serving.json");
  auto points = read_serving_points(path);
  ASSERT_TRUE(points) << points.error().text();
  label_defects(*points);
  std::map<std::string, int> counts;
  int known = 0;
  for (const ServingPoint& p : *points) {
    ++counts[p.excluded];
    if (p.excluded.empty() && p.known_protocol && !p.disaggregated) ++known;
  }
  std::string all;
  for (const auto& [name, n] : counts) all += fmt::format("{}={} ", name, n);
  EXPECT_EQ(points->size(), 2675U);
  EXPECT_GE(known, 950) << all;
  EXPECT_LE(known, 1050) << all;
  EXPECT_EQ(counts["disaggregated-as-one"], 31) << all;
  EXPECT_EQ(counts["eager"], 39) << all;
  EXPECT_GE(counts["users-of-several-replicas"], 9) << all;
}

}  // namespace
}  // namespace flopcast::measured
