#include "flopcast/serving/iteration.h"

#include <rapidcheck/gtest.h>

#include <array>

#include "serving/iteration/constants.h"
#include "serving/iteration/testing.h"
#include "serving/iteration/token_grid.h"

namespace flopcast::serving {
namespace {

using test::deployment;

IterationModel model_of(const Deployment& d) {
  Result<IterationModel> model = IterationModel::make(d, Catalog::builtin());
  EXPECT_TRUE(model) << (model ? "" : model.error().text());
  return std::move(*model);
}

RankLoad decodes(std::int64_t n, std::int64_t context, std::int64_t cap = 0) {
  RankLoad rank;
  rank.decodes = n;
  rank.context = n * context;
  if (cap == 0) return rank;
  rank.capped_context = n * std::min(context, cap);
  rank.uncapped = context < cap ? n : 0;
  return rank;
}

RankLoad prefill(std::int64_t tokens, std::int64_t before = 0) {
  RankLoad rank;
  rank.prefills = rank.sampled = 1;
  rank.prefill_tokens = tokens;
  rank.prefill_pairs = tokens * (2 * before + tokens + 1);
  rank.prefill_context = before;
  return rank;
}

/// Of every kind of attention and of layout.
std::vector<Deployment> samples() {
  std::vector<Deployment> all = {
      deployment("llama-3.1-8b", "1 x dgx-h100", "bf16", {}),
      deployment("llama-3.1-70b", "2 x dgx-h100", "fp8", {.tp = 4, .dp = 1, .ep = 1, .pp = 2}),
      deployment("gpt-oss-120b", "1 x dgx-b200", "fp4", {.tp = 2}, ServingEngine::kTensorRtLlm),
      deployment("deepseek-r1", "1 x dgx-h200", "fp8", {.tp = 1, .dp = 8, .ep = 8},
                 ServingEngine::kSglang),
      deployment("glm-5", "1 x dgx-b200", "fp8", {.tp = 4, .dp = 2, .ep = 8}),
      deployment("qwen3.5-397b-a17b", "1 x dgx-b200", "fp4", {.tp = 4}, ServingEngine::kSglang),
  };
  Deployment& drafting = all[3];
  drafting.settings.speculation = {Speculation::Kind::kMtp, 2, 2.1};
  all[0].settings.overlap = false;
  return all;
}

/// Of a small model the host is slower than the chip where nothing is captured; of a batch beyond the captured sizes, by
/// less: pieces of it are.
TEST(IterationModels, WithoutGraphsEveryKernelIsLaunched) {
  Deployment d = deployment("llama-3.1-8b", "1 x dgx-h100", "fp8", {});
  const std::vector<RankLoad> batch = {decodes(8, 500)};
  const Time captured = model_of(d).time(batch);
  d.settings.graphs = {1, 2, 4};
  const Time beyond = model_of(d).time(batch);
  d.settings.graphs = {};
  const IterationModel eager = model_of(d);
  EXPECT_GT(eager.time(batch).seconds(), 1.5 * captured.seconds());
  EXPECT_GT(eager.time(batch), beyond);
  EXPECT_NE(eager.source().find("launches"), std::string::npos);
  bool launches = false;
  for (const IterationPart& part : eager.parts(batch)) launches |= part.name == "launches";
  EXPECT_TRUE(launches);
}

/// What was measured: 52 ms a token of Qwen3-235B under vLLM, whatever the load.
TEST(IterationModels, LaunchesOfALargeModelAreThoseThatWereMeasured) {
  Deployment d = deployment("qwen3-235b-a22b", "1 x dgx-h200", "fp8", {.tp = 8});
  d.settings.graphs = {};
  const IterationModel eager = model_of(d);
  for (const std::int64_t users : {1, 16}) {
    const std::vector<RankLoad> batch = {decodes(users, 1000)};
    EXPECT_NEAR(eager.time(batch).seconds(), 52e-3, 6e-3) << users;
  }
}

const std::vector<IterationModel>& sample_models() {
  static const std::vector<IterationModel> models = [] {
    std::vector<IterationModel> out;
    for (const Deployment& d : samples()) out.push_back(model_of(d));
    return out;
  }();
  return models;
}

RC_GTEST_PROP(TokenGrid, MeetsItsKnotsAndNeverFallsBetween, ()) {
  const auto most = *rc::gen::inRange<std::int64_t>(1, 200'000);
  std::vector<std::int64_t> values(TokenGrid::knots(most));
  std::int64_t value = 0;
  for (auto& v : values) v = value += *rc::gen::inRange<std::int64_t>(0, 1'000'000'000);
  const auto n = *rc::gen::inRange<std::int64_t>(0, most + 1);
  RC_ASSERT(TokenGrid::at(values, n) <= TokenGrid::at(values, n + 1));
  const auto knot = *rc::gen::inRange<std::size_t>(0, values.size());
  RC_ASSERT(TokenGrid::at(values, TokenGrid::tokens(knot)) == values[knot]);
  RC_ASSERT(TokenGrid::tokens(values.size() - 1) > most);
}

/// The run's promise: as often as it says, exactly what stepping would give.
RC_GTEST_PROP(IterationModel, RunsEqualSteps, ()) {
  const auto& models = sample_models();
  const auto which = *rc::gen::inRange<std::size_t>(0, models.size());
  const IterationModel& model = models[which];
  const std::int64_t cap = model.context_cap();
  std::vector<RankLoad> ranks(samples()[which].layout.dp);
  for (RankLoad& rank : ranks) {
    rank.decodes = *rc::gen::inRange<std::int64_t>(0, 600);
    rank.context = rank.decodes * *rc::gen::inRange<std::int64_t>(1, 9000);
    if (cap == 0) continue;
    rank.uncapped = *rc::gen::inRange<std::int64_t>(0, rank.decodes + 1);
    rank.capped_context = (rank.decodes - rank.uncapped) * cap + rank.uncapped * (cap / 2);
  }
  const LinearRun run = model.run(ranks);
  RC_ASSERT(run.steps >= 1);
  const std::int64_t steps = std::min<std::int64_t>(run.steps, 40);
  for (std::int64_t i = 0; i < steps; ++i) {
    RC_ASSERT(model.time(ranks) == Time{run.first.ps + i * run.growth.ps});
    for (RankLoad& rank : ranks) {
      rank.context += rank.decodes;
      rank.capped_context += cap > 0 ? rank.uncapped : 0;
    }
  }
}

/// The last step of a piece is still on its line, and where a piece ends the next one begins.
RC_GTEST_PROP(IterationModel, PiecesOfRunsAreWholeToTheirEnds, ()) {
  const IterationModel& model = sample_models()[3];
  std::vector<RankLoad> ranks(8);
  for (RankLoad& rank : ranks) {
    rank = decodes(*rc::gen::inRange<std::int64_t>(0, 64), *rc::gen::inRange<std::int64_t>(1, 99));
  }
  const LinearRun run = model.run(ranks);
  const auto later = [&](std::int64_t i) {
    std::vector<RankLoad> moved = ranks;
    for (RankLoad& rank : moved) rank.context += i * rank.decodes;
    return model.time(moved);
  };
  if (run.steps > 1 << 20) return;
  RC_ASSERT(later(run.steps - 1) == Time{run.first.ps + (run.steps - 1) * run.growth.ps});
  RC_ASSERT(later(run.steps) > Time{run.first.ps + run.steps * run.growth.ps});
}

TEST(IterationModel, GrowsWithEverything) {
  for (const IterationModel& model : sample_models()) {
    const std::size_t which = static_cast<std::size_t>(&model - sample_models().data());
    const unsigned ranks = samples()[which].layout.dp;
    const std::int64_t cap = model.context_cap();
    Time before{0};
    for (const std::int64_t n : {1, 2, 7, 33, 64, 100, 200, 512}) {
      const std::vector<RankLoad> load(ranks, decodes(n, 1000, cap));
      EXPECT_GE(model.time(load), before) << which << " " << n;
      before = model.time(load);
    }
    before = Time{0};
    for (const std::int64_t n : {1, 16, 64, 100, 512, 700, 1024, 2048, 4096, 8192}) {
      const std::vector<RankLoad> load(ranks, prefill(n));
      EXPECT_GE(model.time(load), before) << which << " " << n;
      before = model.time(load);
    }
    const std::vector<RankLoad> early(ranks, prefill(512, 0)), late(ranks, prefill(512, 8192));
    EXPECT_GT(model.time(late), model.time(early));
    std::vector<RankLoad> both(ranks, prefill(512));
    for (RankLoad& rank : both) rank.decodes = 32, rank.context = 32'000;
    EXPECT_GT(model.time(both), model.time(std::vector<RankLoad>(ranks, prefill(512))));
  }
}

TEST(IterationModel, PartsAddUp) {
  for (const IterationModel& model : sample_models()) {
    const std::size_t which = static_cast<std::size_t>(&model - sample_models().data());
    RankLoad mixed = prefill(700, 300);
    mixed.decodes = 40, mixed.context = 40'000;
    for (const RankLoad& rank : {decodes(1, 100), decodes(300, 3000), prefill(5000), mixed}) {
      const std::vector<RankLoad> load(samples()[which].layout.dp, rank);
      double sum = 0;
      for (const IterationPart& part : model.parts(load)) {
        sum += part.time.value;
        EXPECT_FALSE(part.name.empty());
        EXPECT_FALSE(part.bound.empty());
      }
      EXPECT_NEAR(sum, model.time(load).seconds(), 64e-12) << which;
    }
  }
}

// A chip must read its weights once, and cannot multiply faster than its peak.
TEST(IterationModel, IsNeverFasterThanTheChip) {
  const Deployment d = deployment("llama-3.1-8b", "1 x dgx-h100", "bf16", {});
  const IterationModel model = model_of(d);
  const double weights = 2 * 7.5e9 / 3350e9, flops = 2 * 7.0e9 * 8192 / 989e12;
  EXPECT_GT(model.time(std::array{decodes(1, 100)}).seconds(), weights);
  EXPECT_LT(model.time(std::array{decodes(1, 100)}).seconds(), 2.5 * weights);
  EXPECT_GT(model.time(std::array{prefill(8192)}).seconds(), flops);
  EXPECT_LT(model.time(std::array{prefill(8192)}).seconds(), 2.5 * flops);
}

// 32 ranks gather 32 times their rows, or send theirs to the 7 chips that 8 experts of a token lie on.
TEST(IterationModel, WideExpertsSendRowsWhereTheyAreNeeded) {
  const Deployment d = deployment("deepseek-r1", "1 x gb200-nvl72", "fp4",
                                  {.tp = 1, .dp = 32, .ep = 32}, ServingEngine::kTensorRtLlm);
  const IterationModel model = model_of(d);
  double exchange = 0;
  for (const IterationPart& part : model.parts(std::vector<RankLoad>(32, decodes(256, 1000)))) {
    if (part.name == "exchange") exchange = part.time.value;
  }
  const double link = 900e9, gathered = 256 * 32 * 7168 * 2.0, sent = 256 * 7.2 * 7168 * 3.0;
  EXPECT_LT(exchange, 58 * 2 * gathered / link);
  EXPECT_GT(exchange, 58 * 0.9 * sent / link);
}

TEST(IterationModel, FactorsScaleWhatTheyAreOf) {
  const Deployment d = deployment("llama-3.1-8b", "1 x dgx-h100", "bf16", {});
  const ServingFactors slow{.decode = 2, .prefill = 3, .front = 4, .host = 5};
  const Result<IterationModel> model = IterationModel::make(d, Catalog::builtin(), slow);
  ASSERT_TRUE(model);
  const IterationModel plain = model_of(d);
  const auto chip = [](const IterationModel& m, const RankLoad& load) {
    double sum = 0;
    for (const IterationPart& part : m.parts(std::array{load})) {
      if (part.name != "host" && part.name != "launches") sum += part.time.value;
    }
    return sum;
  };
  EXPECT_NEAR(chip(*model, decodes(64, 2000)) / chip(plain, decodes(64, 2000)), 2, 1e-4);
  EXPECT_NEAR(chip(*model, prefill(4096)) / chip(plain, prefill(4096)), 3, 1e-3);
  EXPECT_EQ(model->front().ps, 4 * plain.front().ps);
}

TEST(IterationModel, RefusesWhatCannotRun) {
  const Deployment d = deployment("llama-3.1-8b", "1 x dgx-h100", "bf16", {.tp = 3});
  const Result<IterationModel> model = IterationModel::make(d, Catalog::builtin());
  ASSERT_FALSE(model);
  EXPECT_NE(model.error().hint.find("1, 2, 4, 8"), std::string::npos) << model.error().text();
}

TEST(ServingConstants, AreBuiltInAndChecked) {
  const Cluster on = *Catalog::builtin().cluster("h100");
  const Chip& chip = on.chip;
  EXPECT_NE(constants_for(on, ServingEngine::kVllm).kernel_floor_s, 0);
  EXPECT_FALSE(parse_constants("[all]\nflop_share = 2\n", chip, ServingEngine::kVllm));
  EXPECT_FALSE(parse_constants("[all]\nflops = 0.5\n", chip, ServingEngine::kVllm));
  const auto read = parse_constants(
      "[sources]\nx = \"here\"\n[all]\nsource = \"x\"\nflop_share = 0.5\n[engine.vllm]\nsource = "
      "\"x\"\nflop_share = 0.6\n",
      chip, ServingEngine::kVllm);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->flop_share, 0.6);
  // Of an architecture under an engine: over all others.
  const auto pair = parse_constants(
      "[engine.trtllm]\nflop_share = 0.6\n[pair.\"hopper+trtllm\"]\nflop_share = 0.7\n", chip,
      ServingEngine::kTensorRtLlm);
  ASSERT_TRUE(pair) << pair.error().text();
  EXPECT_EQ(pair->flop_share, 0.7);
  EXPECT_GT(constants_for(on, ServingEngine::kTensorRtLlm).expert_layer_s,
            constants_for(on, ServingEngine::kVllm).expert_layer_s);
  // A card that was timed layer by layer has values of its own.
  const Cluster card = *Catalog::builtin().cluster("rtx-4090");
  EXPECT_GT(constants_for(card, ServingEngine::kVllm).mixed_attention,
            constants_for(on, ServingEngine::kVllm).mixed_attention);
}

}  // namespace
}  // namespace flopcast::serving
