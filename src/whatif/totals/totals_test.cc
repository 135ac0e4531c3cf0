#include "whatif/totals/totals.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "flopcast/whatif.h"
#include "whatif/changes.h"
#include "whatif/testing.h"

namespace flopcast::whatif::totals {
namespace {

using test::TraceText;
using testing::HasSubstr;

constexpr const char* kLinear =
    R"("Input Dims": [[4096, 512], [512, 2048]], "Input type": ["c10::BFloat16", "c10::BFloat16"])";
constexpr const char* kAttention =
    R"("Input Dims": [[2, 2048, 4, 128], [2, 2048, 4, 128], [2, 2048, 4, 128]],)"
    R"( "Input type": ["c10::BFloat16", "c10::BFloat16", "c10::BFloat16"])";
/// Of kLinear and kAttention, as anyone counts them: a multiplication and an addition each.
constexpr double kLinearFlops = 2.0 * 4096 * 512 * 2048;
constexpr double kAttentionFlops = 2.0 * 2 * 2 * 4 * 2048 * 2048 * 128;

/// A step of 1 ms: a product by two kernels, attention, and a backward kernel.
TraceSet training_step(const char* gpu = "NVIDIA H100 80GB HBM3") {
  TraceText text;
  text.step(1, 0, 1000);
  text.op("aten::mm", 0, 20, kLinear).launch(2, 6, 1).kernel("gemm", 10, 110, 7, 1);
  text.launch(8, 12, 2).kernel("splitk_gemm", 110, 120, 7, 2);
  text.op("aten::_flash_attention_forward", 20, 30, kAttention)
      .launch(22, 26, 3)
      .kernel("flash_fwd_kernel", 120, 210, 7, 3);
  text.thread(2)
      .op("autograd::engine::evaluate_function: MmBackward0", 30, 42)
      .launch(34, 38, 4)
      .kernel("gemm", 310, 1000, 7, 4);
  TraceSet set = text.read();
  set.traces.front().devices.push_back({0, gpu, 132, 0});
  return set;
}

WhatIfAnswer ask(TraceSet set, const WhatIfFacts& facts, const WhatIfChanges& changes) {
  Result<WhatIf> whatif = WhatIf::of(std::make_shared<const TraceSet>(std::move(set)));
  EXPECT_TRUE(whatif.ok());
  EXPECT_FALSE(whatif->tell(facts));
  const Result<WhatIfAnswer> answer = whatif->ask(changes);
  EXPECT_TRUE(answer.ok());
  return *answer;
}

std::string why_not(const WhatIfTotals& totals, std::string_view total) {
  for (const WhatIfTotals::Missing& missing : totals.missing) {
    if (missing.total == total) return missing.why;
  }
  return "";
}

TEST(WhatIfTotals, ForwardWorkIsThatOfItsShapes) {
  const ForwardWork work = find_forward_work(run_of(training_step()));
  EXPECT_EQ(work.linear, kLinearFlops);  // of both kernels
  EXPECT_EQ(work.attention, kAttentionFlops);
  EXPECT_EQ(work.tokens, 4096);
  EXPECT_EQ(work.sequence, 2048);
  EXPECT_EQ(work.told, 1);
  EXPECT_TRUE(work.trains);
  EXPECT_EQ(work.type, DataType::kBf16);
}

TEST(WhatIfTotals, AreWhatShapesAndTheChipMakeThem) {
  WhatIfChanges changes;
  changes.scale = {{"kernel:gemm", 0.5}};
  const WhatIfAnswer answer = ask(training_step(), {"", {}, {}, 3.6}, changes);
  for (const auto& [totals, step] :
       {std::pair(answer.totals_before, answer.before), std::pair(answer.totals, answer.after)}) {
    const double s = step.seconds();
    EXPECT_DOUBLE_EQ(*totals.tokens_per_step, 4096);
    EXPECT_DOUBLE_EQ(*totals.tokens_per_s, 4096 / s);
    EXPECT_DOUBLE_EQ(*totals.mfu, 3 * (kLinearFlops + kAttentionFlops) / s / 989.4e12);
    EXPECT_DOUBLE_EQ(*totals.energy_j, 700 * s);
    EXPECT_DOUBLE_EQ(*totals.cost_usd, 1e-3 * s);
    EXPECT_DOUBLE_EQ(*totals.usd_per_million_tokens, 1e-3 * s / 4096 * 1e6);
    EXPECT_FALSE(totals.memory_bytes);
    EXPECT_THAT(why_not(totals, "memory_bytes"), HasSubstr("--model"));
  }
  EXPECT_LT(answer.after, answer.before);
}

// No GPU does more than its peak, whatever is asked of its kernels.
TEST(WhatIfTotals, MoreThanThePeakIsNoUtilisation) {
  WhatIfChanges changes;
  changes.scale = {{"kernel:gemm", 1e-6}};
  const WhatIfAnswer answer = ask(training_step("NVIDIA L4"), {"", {}, {}, 3.6}, changes);
  EXPECT_TRUE(answer.totals_before.mfu);
  EXPECT_FALSE(answer.totals.mfu);
  EXPECT_THAT(why_not(answer.totals, "mfu"), HasSubstr("peak of l4"));
}

TEST(WhatIfTotals, WhatNothingTellsIsMissingAndNamed) {
  WhatIfChanges changes;
  changes.scale = {{"kernel:gemm", 0.5}};
  const WhatIfTotals unknown = ask(training_step("Some GPU"), {}, changes).totals;
  EXPECT_FALSE(unknown.mfu || unknown.energy_j || unknown.cost_usd);
  EXPECT_TRUE(unknown.tokens_per_s);
  EXPECT_THAT(why_not(unknown, "mfu"), HasSubstr("no GPU of the catalogue"));
  EXPECT_THAT(why_not(unknown, "energy_j"), HasSubstr("no GPU of the catalogue"));
  EXPECT_THAT(why_not(unknown, "cost_usd"), HasSubstr("--price"));

  TraceText text;
  text.op("aten::mm", 0, 20).launch(2, 6, 1).kernel("gemm", 10, 110, 7, 1);
  const WhatIfTotals shapeless = ask(text.read(), {}, changes).totals;
  EXPECT_FALSE(shapeless.tokens_per_s);
  EXPECT_THAT(why_not(shapeless, "tokens_per_s"), HasSubstr("--tokens-per-step"));
}

TEST(WhatIfTotals, TokensAreThoseThatAreTold) {
  WhatIfChanges changes;
  changes.scale = {{"kernel:gemm", 0.5}};
  const WhatIfAnswer answer = ask(training_step(), {"", 1e6, {}, 0}, changes);
  EXPECT_DOUBLE_EQ(*answer.totals.tokens_per_step, 1e6);
}

TEST(WhatIfTotals, FactsThatMakeNoSenseAreRefused) {
  Result<WhatIf> whatif = WhatIf::of(std::make_shared<const TraceSet>(training_step()));
  ASSERT_TRUE(whatif.ok());
  EXPECT_TRUE(whatif->tell({"no-such-model", {}, {}, 0}));
  EXPECT_TRUE(whatif->tell({"", 0, {}, 0}));
  EXPECT_TRUE(whatif->tell({"", {}, -1, 0}));
  EXPECT_TRUE(whatif->tell({"", {}, {}, -1}));
  EXPECT_FALSE(whatif->tell({"llama-3-8b", 1, 1, 0}));
}

// ---- shapes of runs -----------------------------------------------------------------------------

Change set_to(const char* name, double number) {
  WhatIfChanges asked;
  asked.set = {{name, fmt::format("{}", number)}};
  const auto changes = read_changes(asked);
  EXPECT_TRUE(changes.ok());
  return changes->front();
}

/// 2 x 2 x 2 ranks, 4 microbatches of 2 sequences of 1024 tokens.
RunShape eight_ranks() {
  TraceModel model;
  model.dp = model.pp = model.tp = 2;
  model.microbatches = 4;
  model.layers = 8;
  ForwardWork work;
  work.tokens = 2048;
  work.sequence = 1024;
  work.attends = true;
  return recorded_shape(model, work, {}, 8);
}

TEST(WhatIfRunShape, TokensAreOfAllReplicasAndMicrobatches) {
  const RunShape shape = eight_ranks();
  EXPECT_EQ(shape.gpus, 8);
  EXPECT_EQ(shape.tokens, 2048 * 4 * 2);
  EXPECT_EQ(shape.sequences(), 16);
  EXPECT_EQ(shape.micro_batch(), 2);
}

TEST(WhatIfRunShape, ChangesMultiplyGpusAndTokens) {
  const auto changed = [](const char* name, double number) {
    return changed_shape(eight_ranks(), {set_to(name, number)});
  };
  const double tokens = *eight_ranks().tokens;
  for (const auto& [name, number, gpus, times] :
       {std::tuple("dp", 8.0, 32.0, 4.0), std::tuple("pp", 1.0, 4.0, 1.0),
        std::tuple("tp", 4.0, 16.0, 1.0), std::tuple("microbatches", 8.0, 8.0, 2.0),
        std::tuple("microbatch_size", 1.0, 8.0, 0.5), std::tuple("sequence", 4096.0, 8.0, 4.0),
        std::tuple("tokens", 1.5, 8.0, 1.5), std::tuple("layers", 16.0, 8.0, 1.0)}) {
    const RunShape shape = changed(name, number);
    EXPECT_EQ(shape.gpus, gpus) << name;
    EXPECT_EQ(shape.tokens, tokens * times) << name;
    EXPECT_EQ(shape.more, times) << name;
  }
  EXPECT_EQ(changed("layers", 16).layers, 16);
  EXPECT_EQ(changed("sequence", 4096).micro_batch(), 2);
}

TEST(WhatIfRunShape, TokensThatRanksMayShareAreNotCounted) {
  TraceModel model;
  ForwardWork work;
  work.tokens = 2048;
  work.attends = true;
  const RunShape shape = recorded_shape(model, work, {}, 8);
  EXPECT_FALSE(shape.tokens);
  EXPECT_THAT(shape.no_tokens, HasSubstr("8 ranks"));
  const RunShape smaller = changed_shape(shape, {set_to("microbatch_size", 1)});
  EXPECT_FALSE(smaller.more);
}

// ---- with a model -------------------------------------------------------------------------------

Model small_model() {
  const Result<Model> model =
      parse_model(R"({"arch": "gpt", "layers": 8, "hidden": 1024, "ffn": 4096, "heads": 16,
                      "kv_heads": 8, "head_dim": 64, "vocab": 32000, "gated": false,
                      "seq_len": 1024})",
                  "made");
  EXPECT_TRUE(model.ok());
  return *model;
}

TEST(WhatIfModelEstimate, IsThatOfThePlanItself) {
  const Result<Chip> chip = Catalog::builtin().chip("h100");
  ASSERT_TRUE(chip.ok());
  const auto estimate = estimate_of(small_model(), eight_ranks(), {}, *chip);
  ASSERT_TRUE(estimate.ok()) << estimate.error().text();
  Plan plan;
  plan.dp = plan.pp = plan.tp = 2;
  plan.micro_batch = 2;
  plan.global_batch = 16;
  plan.sequence = 1024;
  plan.zero = Zero::kNone;
  const auto cluster = Catalog::builtin().cluster("8 gpus of h100-sxm");
  ASSERT_TRUE(cluster.ok());
  const auto model = TrainingModel::make(small_model(), *cluster, Catalog::builtin());
  ASSERT_TRUE(model.ok());
  const auto own = model->estimate(plan);
  ASSERT_TRUE(own.ok()) << own.error().text();
  EXPECT_EQ(estimate->memory().total().value, own->memory().total().value);
  EXPECT_EQ(estimate->mfu, own->mfu);
}

TEST(WhatIfModelEstimate, SizesAreThoseOfTheChanges) {
  const Model model = small_model();
  const RunShape shape = changed_shape(eight_ranks(), {set_to("layers", 12), set_to("hidden", 2048),
                                                       set_to("ffn", 6144), set_to("heads", 32)});
  const auto changed = resized(model, shape);
  ASSERT_TRUE(changed.ok());
  EXPECT_EQ(changed->layers(), 12);
  EXPECT_EQ(changed->hidden, 2048);
  EXPECT_EQ(changed->layer(11).mlp.intermediate, 6144);
  EXPECT_EQ(changed->layer(0).attention.heads, 32);
  EXPECT_EQ(changed->layer(0).attention.kv_heads, 16);
  EXPECT_EQ(count_parameters(*resized(model, eight_ranks())).total, count_parameters(model).total);
}

TEST(WhatIfModelEstimate, WhatIsNotKnownIsNotMadeUp) {
  const Result<Chip> chip = Catalog::builtin().chip("h100");
  RunShape shape = eight_ranks();
  shape.sequence.reset();
  shape.no_sequence = "no attention";
  const auto estimate = estimate_of(small_model(), shape, {}, *chip);
  ASSERT_FALSE(estimate.ok());
  EXPECT_THAT(estimate.error().what, HasSubstr("no attention"));
  const auto deepseek = load_model("deepseek-v3");
  ASSERT_TRUE(deepseek.ok());
  EXPECT_FALSE(resized(*deepseek, eight_ranks()).ok());  // 3 dense layers and 58 others
}

}  // namespace
}  // namespace flopcast::whatif::totals
