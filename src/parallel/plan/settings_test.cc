// Settings of a plan by name: the table, what it implies, what it refuses.
#include "flopcast/parallel/settings.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace flopcast::parallel {
namespace {

Plan made(const PlanSettings& settings, unsigned chips = 64) {
  const Result<NamedPlan> named = make_plan(settings, chips);
  EXPECT_TRUE(named) << named.error().text();
  return named ? named->plan : Plan{};
}

std::string refused(const PlanSettings& settings) {
  const Result<NamedPlan> named = make_plan(settings, 64);
  return named ? "" : named.error().text();
}

TEST(PlanSettings, EveryOneChangesThePlan) {
  // A value that is not the default, for each name.
  const PlanSettings values = {{"global_batch", "64"},
                               {"seq", "4096"},
                               {"tp", "8"},
                               {"pp", "2"},
                               {"cp", "2"},
                               {"dp", "4"},
                               {"ep", "2"},
                               {"etp", "2"},
                               {"vpp", "2"},
                               {"micro_batch", "2"},
                               {"schedule", "zb-h1"},
                               {"layout", "Et*3|t*3L"},
                               {"recompute", "full"},
                               {"recompute_modules", "core_attn,layernorm"},
                               {"recompute_layers", "2"},
                               {"zero", "3"},
                               {"shard", "8"},
                               {"sequence_parallel", "true"},
                               {"tp2", "2"},
                               {"panels", "4"},
                               {"tensor", "summa"},
                               {"context", "ulysses"},
                               {"precision", "fp8"},
                               {"optimizer", "sgd"},
                               {"fp32_gradients", "false"},
                               {"gradient_type", "bf16"},
                               {"split_master", "true"},
                               {"moment_bytes", "4"},
                               {"offload", "50%"},
                               {"fp8_gather", "false"},
                               {"overlap", "none"},
                               {"dispatcher", "deepep"},
                               {"cuda_graph", "true"},
                               {"lora_rank", "16"},
                               {"lora_mlp", "true"},
                               {"mtp_layers", "1"},
                               {"flash_attention", "false"},
                               {"reshard", "false"}};
  const Plan empty = base_plan({})->plan;
  std::set<std::string> names;
  for (const PlanSetting& setting : plan_settings()) {
    const std::string name(setting.name);
    EXPECT_TRUE(names.insert(name).second) << name;
    ASSERT_TRUE(values.contains(name)) << name;
    const Result<NamedPlan> changed = base_plan({{name, values.at(name)}});
    ASSERT_TRUE(changed) << changed.error().text();
    EXPECT_NE(changed->plan, empty) << name;
    if (setting.long_name.empty()) continue;
    const Result<NamedPlan> by_long_name =
        base_plan({{std::string(setting.long_name), values.at(name)}});
    ASSERT_TRUE(by_long_name) << by_long_name.error().text();
    EXPECT_EQ(by_long_name->plan, changed->plan) << setting.long_name;
  }
  EXPECT_EQ(names.size(), values.size());
}

TEST(PlanSettings, DataParallelismTakesWhatIsLeft) {
  EXPECT_EQ(made({{"tp", "8"}, {"pp", "2"}, {"global_batch", "64"}}).dp, 4u);
  EXPECT_EQ(made({{"tp", "8"}, {"dp", "2"}, {"global_batch", "64"}}).dp, 2u);
  // It cannot: plan_problems says why, beside every other reason.
  const Plan odd = made({{"tp", "7"}, {"sequence_parallel", "false"}, {"global_batch", "64"}});
  EXPECT_EQ(odd.dp, 1u);
  EXPECT_EQ(plan_problems(odd, *load_model("llama-3-8b"), 64).size(), 2u);
}

TEST(PlanSettings, SequenceParallelismComesWithTensorParallelism) {
  EXPECT_TRUE(made({{"tp", "8"}, {"global_batch", "64"}}).sequence_parallel);
  EXPECT_FALSE(made({{"global_batch", "64"}}).sequence_parallel);
  EXPECT_FALSE(made({{"tp", "8"}, {"sequence_parallel", "false"}, {"global_batch", "64"}})
                   .sequence_parallel);
}

TEST(PlanSettings, VirtualStagesInterleave) {
  EXPECT_EQ(made({{"pp", "2"}, {"vpp", "2"}, {"global_batch", "64"}}).schedule,
            ScheduleKind::kInterleaved);
  EXPECT_EQ(
      made({{"pp", "2"}, {"vpp", "2"}, {"schedule", "zb-v"}, {"global_batch", "64"}}).schedule,
      ScheduleKind::kZeroBubbleV);
  const Plan dealt = made({{"pp", "2"}, {"layout", "Et|t|t|tL"}, {"global_batch", "64"}});
  EXPECT_EQ(dealt.vpp, 2u);
  EXPECT_EQ(dealt.stage_layers, std::vector<unsigned>({1, 1, 1, 1}));
}

TEST(PlanSettings, LengthsAndBatchesHaveUnits) {
  EXPECT_EQ(made({{"global_batch", "64"}, {"seq", "8k"}}).sequence, 8192);
  EXPECT_EQ(made({{"global_batch", "64"}, {"seq", "128K"}}).sequence, 131072);
  const Result<NamedPlan> tokens = make_plan({{"global_batch", "16M"}, {"seq", "8k"}}, 64);
  ASSERT_TRUE(tokens) << tokens.error().text();
  EXPECT_EQ(tokens->plan.global_batch, 2048);
  ASSERT_EQ(tokens->assumed.size(), 1u);
  EXPECT_EQ(tokens->assumed[0],
            "global batch 16M: 16,777,216 tokens (by 1,024), 2,048 sequences of 8,192");
  EXPECT_EQ(made({{"global_batch", "16M tokens"}, {"seq", "4000"}}).global_batch, 4000);
  EXPECT_EQ(base_plan({{"global_batch", "4M"}, {"seq", "4096"}})->plan.global_batch, 1024);
  EXPECT_EQ(refused({{"global_batch", "16M"}}),
            "global_batch: '16M' is of tokens, and no length of a sequence is given (give seq, or "
            "the sequences of one step)");
  EXPECT_NE(refused({{"global_batch", "2k"}}).find("may be tokens, or sequences"),
            std::string::npos);
  EXPECT_NE(refused({{"global_batch", "16M"}, {"seq", "6000"}}).find("no whole number"),
            std::string::npos);
  for (const char* none : {"0", "-8", "8q", "", "k", "1.5"}) {
    EXPECT_NE(refused({{"global_batch", none}}), "") << none;
    EXPECT_NE(refused({{"global_batch", "64"}, {"seq", none}}), "") << none;
  }
}

TEST(PlanSettings, FoldedSchedulesHaveTwoVirtualStages) {
  const PlanSettings asked = {{"global_batch", "64"}, {"pp", "4"}, {"schedule", "zb-v"}};
  EXPECT_EQ(make_plan(asked, 8)->plan.vpp, 2u);
  PlanSettings told = asked;
  told.insert({"vpp", "1"});
  EXPECT_EQ(make_plan(told, 8)->plan.vpp, 1u);
}

TEST(PlanSettings, DegreesThatNoNumberHoldsAreNoCrash) {
  const std::string most = "1048576";
  const Result<NamedPlan> named = make_plan(
      {{"global_batch", "8"}, {"tp", most}, {"tp2", most}, {"cp", most}, {"pp", "16"}}, 8);
  ASSERT_TRUE(named) << named.error().text();
  EXPECT_EQ(named->plan.dp, 1u);
}

TEST(PlanSettings, AFileIsChangedWhereSaid) {
  const Result<PlanFile> file = parse_plan(
      "--tensor-model-parallel-size 4 --micro-batch-size 2 --bf16 "
      "--global-batch-size 32 --seq-length 4096",
      "flags");
  ASSERT_TRUE(file);
  const Result<NamedPlan> as_told = make_plan({}, 16, &*file);
  ASSERT_TRUE(as_told);
  EXPECT_EQ(as_told->plan.tp, 4u);
  EXPECT_EQ(as_told->plan.dp, 4u);
  EXPECT_EQ(as_told->plan.zero, Zero::kNone);
  EXPECT_FALSE(as_told->plan.sequence_parallel);
  // tp 3 does not divide the chips: that, and no senseless batch, is for plan_problems to tell.
  const Result<PlanFile> open = parse_plan("--micro-batch-size 2", "flags");
  ASSERT_TRUE(open);
  EXPECT_EQ(make_plan({{"tp", "3"}}, 16, &*open)->plan.global_batch, 2);
  const Result<NamedPlan> changed = make_plan({{"tp", "8"}, {"zero", "1"}}, 16, &*file);
  ASSERT_TRUE(changed);
  EXPECT_EQ(changed->plan.dp, 2u);
  EXPECT_EQ(changed->plan.zero, Zero::kOptimizer);
  EXPECT_EQ(changed->plan.micro_batch, 2);
  EXPECT_TRUE(changed->plan.sequence_parallel);
}

TEST(PlanSettings, ListsAndWords) {
  const Overlap overlap = base_plan({{"overlap", "tensor,experts"}})->plan.overlap;
  EXPECT_EQ(overlap, (Overlap{false, false, true, false, false, true}));
  const Plan pure = base_plan({{"precision", "bf16-pure"}})->plan;
  EXPECT_EQ(pure.precision, Precision::kBf16);
  EXPECT_FALSE(pure.fp32_master);
  EXPECT_EQ(base_plan({{"zero", "fsdp"}})->plan.zero, Zero::kWeights);
  EXPECT_EQ(base_plan({{"context", "p2p"}})->plan.context, ContextKind::kRing);
  EXPECT_EQ(base_plan({{"recompute_modules", "layernorm moe_act"}})->plan.recompute_modules,
            kRecomputeNorm | kRecomputeActivation);
}

TEST(PlanSettings, ErrorsSayWhatIsExpected) {
  EXPECT_NE(base_plan({{"layout", "x"}}).error().text().find("expected layers of each stage, such"),
            std::string::npos);
  EXPECT_NE(base_plan({{"overlap", "x"}}).error().text().find("expected all, none, or some of"),
            std::string::npos);
  EXPECT_NE(refused({{"tp", "8"}}).find("global_batch: is missing"), std::string::npos);
  EXPECT_NE(refused({{"tensor_parallel", "8"}}).find("there are global_batch, seq, tp"),
            std::string::npos);
  EXPECT_EQ(refused({{"tp", "eight"}}),
            "tp: expected a whole number from 1 to 1048576, found 'eight' (correct the value)");
  EXPECT_EQ(refused({{"zero", "4"}}), "zero: expected 0|1|2|3, found '4' (correct the value)");
  for (const auto& [name, value] : PlanSettings{{"overlap", "gradients,all"},
                                                {"layout", "t*"},
                                                {"recompute_modules", "everything"},
                                                {"reshard", "yes"},
                                                {"pp", "0"},
                                                {"precision", "int3"}}) {
    EXPECT_EQ(refused({{name, value}}).rfind(name + ": expected ", 0), 0u) << name;
  }
}

}  // namespace
}  // namespace flopcast::parallel
