// Launch configurations: read as people write them, and back.
#include "flopcast/parallel/files.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "parallel/launchers/texts.h"

namespace flopcast::parallel {
namespace {

PlanFile read(std::string_view text) {
  Result<PlanFile> file = parse_plan(text, "plan");
  EXPECT_TRUE(file) << file.error().text();
  return *file;
}

std::string refused(std::string_view text) {
  const Result<PlanFile> file = parse_plan(text, "plan");
  EXPECT_FALSE(file);
  return file.error().text();
}

// --- Megatron-LM --------------------------------------------------------------------------------

constexpr const char* kScript = R"(#!/bin/bash
# 405B on 16 nodes
torchrun --nproc_per_node 8 --nnodes=16 pretrain_gpt.py \
    --tensor-model-parallel-size 8 --pipeline-model-parallel-size 4 \
    --num-layers 126 --context-parallel-size 2 --cp-comm-type a2a --sequence-parallel \
    --micro-batch-size 1 --global-batch-size 64 --seq-length 8192 --bf16 \
    --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather \
    --recompute-granularity selective --recompute-modules core_attn layernorm \
    --data-path "/data/my corpus_text" --lr 1.0e-4 --adam-beta1 -0.9
)";

TEST(Megatron, WholeScript) {
  const PlanFile file = read(kScript);
  const Result<Plan> plan = with_chips(file);
  ASSERT_TRUE(plan);
  EXPECT_EQ(file.launcher, Launcher::kMegatronLm);
  EXPECT_EQ(file.chips, 128u);
  EXPECT_EQ(plan->tp, 8u);
  EXPECT_EQ(plan->pp, 4u);
  EXPECT_EQ(plan->cp, 2u);
  EXPECT_EQ(plan->dp, 2u);
  EXPECT_EQ(plan->context, ContextKind::kUlysses);
  EXPECT_TRUE(plan->sequence_parallel);
  EXPECT_EQ(plan->global_batch, 64);
  EXPECT_EQ(plan->sequence, 8192);
  EXPECT_EQ(plan->zero, Zero::kOptimizer);
  EXPECT_TRUE(plan->fp32_gradients);
  EXPECT_EQ(plan->recompute, Recompute::kSelective);
  EXPECT_EQ(plan->recompute_modules, kRecomputeCoreAttention | kRecomputeNorm);
  EXPECT_EQ(file.ignored, (std::vector<std::string>{"--data-path", "--lr", "--adam-beta1"}));
}

TEST(Megatron, ALaunchersFlagsEndAtTheProgram) {
  const PlanFile file = read("torchrun --nnodes 2 --nproc_per_node 8 pretrain_gpt.py --tp 4");
  EXPECT_EQ(file.chips, 16u);
  EXPECT_EQ(file.plan.tp, 4u);
}

TEST(PlanFiles, ATextWithoutSettingsIsNoPlan) {
  EXPECT_NE(refused("hello").find("found none"), std::string::npos);
  EXPECT_NE(refused("").find("found none"), std::string::npos);
}

TEST(Megatron, ShortFormsAndDefaults) {
  const PlanFile file = read("--tp 4 --pp=2 --vpp 3 --micro-batch-size 2 --fp16");
  EXPECT_EQ(file.plan.tp, 4u);
  EXPECT_EQ(file.plan.vpp, 3u);
  EXPECT_EQ(file.plan.schedule, ScheduleKind::kInterleaved);
  EXPECT_EQ(file.plan.precision, Precision::kFp16);
  EXPECT_EQ(file.plan.zero, Zero::kNone);
  EXPECT_FALSE(file.plan.overlap.gradients);
  const Result<Plan> plan = with_chips(file, 32);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->dp, 4u);
  EXPECT_EQ(plan->global_batch, 8);  // one microbatch for each replica
  EXPECT_FALSE(file.assumed.empty());
}

TEST(Megatron, VirtualStagesFromLayers) {
  EXPECT_EQ(read("--pp 4 --num-layers 96 --num-layers-per-virtual-pipeline-stage 4").plan.vpp, 6u);
  EXPECT_NE(refused("--pp 4 --num-layers-per-virtual-pipeline-stage 4").find("--num-layers"),
            std::string::npos);
}

TEST(Megatron, WhatIsIgnoredAndWhatIsNotModelledAreApart) {
  const PlanFile file =
      read("--tp 2 --bf16 --lr 1e-4 --mtp-num-layers 1 --hidden-size 64 --cpu-offloading");
  EXPECT_EQ(file.ignored, (std::vector<std::string>{"--lr"}));
  EXPECT_EQ(file.plan.mtp_layers, 1U);
  EXPECT_EQ(file.unmodelled,
            (std::vector<std::string>{"--cpu-offloading: activations stay on the chip"}));
}

TEST(Megatron, GradientsInSixteenBits) {
  EXPECT_TRUE(read("--bf16").plan.fp32_gradients);
  EXPECT_FALSE(read("--grad-reduce-in-bf16 --bf16").plan.fp32_gradients);
  EXPECT_FALSE(read("--fp16").plan.fp32_gradients);
}

TEST(Megatron, UnevenStages) {
  const PlanFile ends = read(
      "--pp 4 --num-layers 30 --decoder-first-pipeline-num-layers 7 "
      "--decoder-last-pipeline-num-layers 7");
  EXPECT_EQ(ends.plan.stage_layers, (std::vector<unsigned>{7, 8, 8, 7}));
  const PlanFile layout = read("--pp 4 --pipeline-model-parallel-layout 'Et*3|(tt|)*2,tttL'");
  EXPECT_EQ(layout.plan.stage_layers, (std::vector<unsigned>{3, 2, 2, 3}));
}

TEST(Megatron, Layouts) {
  using Layers = std::vector<unsigned>;
  EXPECT_EQ(parse_layout("E|(t|)*3tmL"), (Layers{0, 1, 1, 1, 1}));
  EXPECT_EQ(parse_layout("Ettt|L"), (Layers{3, 0}));
  for (const char* text : {"", "x", "(t", "t)", "t*", "t*x", "((((((((((((((((((t"}) {
    EXPECT_EQ(parse_layout(text), std::nullopt) << text;
  }
  EXPECT_EQ(parse_layout("((t*99999)*99999)*99999"), std::nullopt);
  EXPECT_EQ(parse_layout(write_layout({0, 4, 3})), (Layers{0, 4, 3}));
}

TEST(Megatron, WrongValuesNameTheirFlag) {
  EXPECT_EQ(refused("--tensor-model-parallel-size eight"),
            "plan: --tensor-model-parallel-size: expected a whole number from 1 to 1048576, found "
            "'eight' (correct the value)");
  EXPECT_NE(refused("--pp").find("--pp: expected"), std::string::npos);
  EXPECT_NE(refused("--tp 0").find("found '0'"), std::string::npos);
  EXPECT_NE(refused("--tp 99999999999999999999").find("--tp"), std::string::npos);
  EXPECT_NE(refused("--recompute-granularity some").find("selective, full"), std::string::npos);
  EXPECT_NE(refused("--recompute-modules core_attn foo").find("mla_up_proj"), std::string::npos);
}

// --- torchtitan ---------------------------------------------------------------------------------

constexpr const char* kToml = R"(
# Llama 3.1 405B
[job]
dump_folder = "./outputs"
[training]
local_batch_size = 2
seq_len = 8192
[parallelism]
data_parallel_replicate_degree = 2
data_parallel_shard_degree = -1
tensor_parallel_degree = 8
enable_async_tensor_parallel = true
[activation_checkpoint]
mode = "full"
[model]
converters = ["float8"]
)";

TEST(Torchtitan, HybridShardFollowsFromTheChips) {
  const PlanFile file = read(kToml);
  EXPECT_EQ(file.launcher, Launcher::kTorchtitan);
  const Result<Plan> plan = with_chips(file, 512);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->dp, 64u);
  EXPECT_EQ(plan->shard, 32u);
  EXPECT_EQ(plan->zero, Zero::kWeights);
  EXPECT_EQ(plan->micro_batch, 2);
  EXPECT_EQ(plan->global_batch, 128);
  EXPECT_EQ(plan->precision, Precision::kFp8);
  EXPECT_EQ(plan->recompute, Recompute::kFull);
  EXPECT_TRUE(plan->sequence_parallel);
  EXPECT_TRUE(plan->overlap.tensor);
}

TEST(Torchtitan, PipelineSplitsTheLocalBatch) {
  const PlanFile file = read(
      "[parallelism]\npipeline_parallel_degree = 4\ndata_parallel_shard_degree = 2\n"
      "pipeline_parallel_schedule = \"1F1B\"\npipeline_parallel_microbatch_size = 2\n"
      "[training]\nlocal_batch_size = 16\n");
  const Result<Plan> plan = with_chips(file);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->chips(), 8u);
  EXPECT_EQ(plan->global_batch, 32);
  EXPECT_EQ(plan->microbatches(), 8);
  EXPECT_EQ(plan->schedule, ScheduleKind::kOneFOneB);
  EXPECT_FALSE(plan->reshard);  // weights stay gathered between microbatches
}

TEST(Torchtitan, WrongValues) {
  EXPECT_NE(refused("[parallelism]\ntensor_parallel_degree = \"eight\"\n").find("tensor_parallel"),
            std::string::npos);
  EXPECT_NE(refused("[parallelism]\npipeline_parallel_degree = 2\n"
                    "pipeline_parallel_schedule = \"Spiral\"\n")
                .find("DualPipeV"),
            std::string::npos);
  EXPECT_NE(refused("[parallelism]\nx = \n").find("plan:2"), std::string::npos);
}

// --- DeepSpeed ----------------------------------------------------------------------------------

TEST(Deepspeed, ZeroThree) {
  const PlanFile file = read(R"({
    "train_batch_size": 256, "train_micro_batch_size_per_gpu": 2,
    "gradient_accumulation_steps": 4, "bf16": {"enabled": true}, "fp16": {"enabled": "auto"},
    "zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}}})");
  const Result<Plan> plan = with_chips(file);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->dp, 32u);
  EXPECT_EQ(plan->microbatches(), 4);
  EXPECT_EQ(plan->zero, Zero::kWeights);
  EXPECT_EQ(plan->precision, Precision::kBf16);
  EXPECT_EQ(plan->offload, 100u);
  EXPECT_FALSE(plan->fp32_gradients);
}

TEST(Deepspeed, AutoIsTheLaunchersUsual) {
  const std::string both = R"({"bf16": {"enabled": "auto"}, "fp16": {"enabled": "auto"}})";
  const PlanFile file = read(both);
  EXPECT_EQ(file.plan.precision, Precision::kBf16);
  ASSERT_FALSE(file.assumed.empty());
  EXPECT_EQ(file.assumed[0], "precision \"auto\": bf16");
  LaunchSite old;
  old.bf16 = false;  // a V100
  EXPECT_EQ(parse_plan(both, "plan", old)->plan.precision, Precision::kFp16);
  EXPECT_EQ(read(R"({"fp16": {"enabled": "auto"}})").plan.precision, Precision::kFp16);
  EXPECT_EQ(read(R"({"zero_optimization": {"stage": 1}})").plan.precision, Precision::kFp32);
}

TEST(Deepspeed, AnObjectWithoutOneOfItsKeysIsRefused) {
  EXPECT_NE(refused(R"({"<|endoftext|>": 50256, "!": 0})").find("of no launcher that is known"),
            std::string::npos);
  EXPECT_NE(refused("{}").find("of no launcher that is known"), std::string::npos);
}

TEST(Deepspeed, Bf16AtStageZeroSharesTheOptimizer) {
  const PlanFile file = read(R"({"bf16": {"enabled": true}})");
  EXPECT_EQ(file.plan.zero, Zero::kOptimizer);
  EXPECT_TRUE(file.plan.fp32_gradients);
}

TEST(Deepspeed, BatchFromTheNumberOfChips) {
  const PlanFile file = read(R"({"train_micro_batch_size_per_gpu": 2,
                                 "gradient_accumulation_steps": 4})");
  EXPECT_EQ(with_chips(file, 16)->global_batch, 128);
}

TEST(Deepspeed, WrongValues) {
  EXPECT_NE(refused(R"({"zero_optimization": {"stage": "three"}})").find("stage"),
            std::string::npos);
  EXPECT_NE(refused(R"({"train_batch_size": 10, "train_micro_batch_size_per_gpu": 3,
                        "gradient_accumulation_steps": 2})")
                .find("multiple"),
            std::string::npos);
  EXPECT_NE(refused("{").find("JSON"), std::string::npos);
}

// --- All formats --------------------------------------------------------------------------------

TEST(PlanFiles, ChipsThatDoNotDivide) {
  const PlanFile file = read("--tp 8 --pp 4");
  const Result<Plan> plan = with_chips(file, 100);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().hint, "use a multiple of 32 chips");
}

TEST(PlanFiles, UnreadableFile) { EXPECT_FALSE(read_plan("/no/such/plan")); }

TEST(PlanFiles, WhatAFormatCannotSayIsNamed) {
  Plan plan;
  plan.pp = 2;
  plan.vpp = 2;
  plan.schedule = ScheduleKind::kZeroBubbleV;
  EXPECT_EQ(write_plan(plan, PlanFormat::kMegatron).lost.at(0), "the schedule zb-v");
  EXPECT_FALSE(write_plan(plan, PlanFormat::kDeepspeed).lost.empty());
  Plan narrow;
  narrow.precision = Precision::kMxfp4;
  EXPECT_EQ(write_plan(narrow, PlanFormat::kMegatron).lost.at(0), "the precision mxfp4");
  plan = Plan{};
  plan.recompute = Recompute::kSelective;
  plan.recompute_modules = kRecomputeOp;
  const PlanText text = write_plan(plan, PlanFormat::kMegatron);
  EXPECT_EQ(text.lost.at(0), "recompute of every second product (torchtitan's \"op\")");
  EXPECT_NE(text.text.find("--recompute-modules layernorm moe_act\n"), std::string::npos);
}

TEST(PlanFiles, WhatIsLostCannotBeLaunched) {
  Plan plan;
  EXPECT_TRUE(launchable(plan, PlanFormat::kMegatron));
  EXPECT_TRUE(write_plan(plan, PlanFormat::kMegatron).lost.empty());
  EXPECT_FALSE(launchable(plan, PlanFormat::kTorchtitan));  // ZeRO 1
  EXPECT_FALSE(launchable(plan, PlanFormat::kDeepspeed));   // which gathers no weights ahead in it
  plan.overlap.weights = false;
  EXPECT_TRUE(launchable(plan, PlanFormat::kDeepspeed));
  plan.pp = 4;
  plan.schedule = ScheduleKind::kZeroBubbleH1;
  EXPECT_FALSE(launchable(plan, PlanFormat::kMegatron));
  plan.schedule = ScheduleKind::kOneFOneB;
  plan.sequence = 2048;
  const PlanText text = write_plan(plan, PlanFormat::kDeepspeed);
  EXPECT_TRUE(text.lost.empty());
  ASSERT_EQ(text.elsewhere.size(), 2u);
  EXPECT_EQ(text.elsewhere[0].name, "pp");
  EXPECT_EQ(text.elsewhere[1].value, "2048");
}

unsigned power(int most) { return 1u << *rc::gen::inRange(0, most + 1); }

/// Plans a format can say.
Plan any_megatron_plan() {
  Plan plan;
  plan.tp = power(3);
  plan.cp = power(2);
  plan.pp = power(3);
  plan.dp = power(4);
  plan.ep = power(3);
  plan.etp = *rc::gen::element(0u, 1u, 2u);
  plan.vpp = plan.pp > 1 ? *rc::gen::inRange(1u, 4u) : 1;
  if (plan.vpp > 1) plan.schedule = ScheduleKind::kInterleaved;
  if (plan.vpp == 1 && *rc::gen::arbitrary<bool>()) plan.stage_layers.assign(plan.pp, 3);
  plan.context = static_cast<ContextKind>(*rc::gen::inRange(0, 3));
  plan.sequence_parallel = plan.tp > 1 && *rc::gen::arbitrary<bool>();
  plan.micro_batch = *rc::gen::inRange(1, 9);
  plan.global_batch = plan.micro_batch * plan.dp * *rc::gen::inRange(1, 9);
  plan.sequence = *rc::gen::element(0, 2048, 8192);
  plan.zero = static_cast<Zero>(*rc::gen::inRange(0, 4));
  if (plan.dp * plan.cp > 1 && *rc::gen::arbitrary<bool>()) plan.shard = plan.dp * plan.cp / 2;
  plan.recompute = static_cast<Recompute>(*rc::gen::inRange(0, 3));
  if (plan.recompute == Recompute::kSelective) {
    plan.recompute_modules = static_cast<std::uint8_t>(*rc::gen::inRange(1, 32));
  }
  if (plan.recompute == Recompute::kFull) plan.recompute_layers = *rc::gen::inRange(0u, 3u);
  plan.precision =
      *rc::gen::element(Precision::kFp32, Precision::kFp16, Precision::kBf16, Precision::kFp8,
                        Precision::kFp8Block, Precision::kMxfp8, Precision::kNvfp4);
  plan.fp32_gradients = plan.precision >= Precision::kFp16 && *rc::gen::arbitrary<bool>();
  if (plan.precision == Precision::kFp8) plan.fp8_gather = *rc::gen::arbitrary<bool>();
  plan.flash_attention = *rc::gen::arbitrary<bool>();
  plan.mtp_layers = *rc::gen::inRange(0u, 3u);
  plan.count_embedding = *rc::gen::arbitrary<bool>();
  plan.count_loss = *rc::gen::arbitrary<bool>();
  plan.optimizer = static_cast<OptimizerKind>(*rc::gen::inRange(0, 3));
  const bool eight = plan.precision == Precision::kFp8 && plan.fp8_gather;
  if (plan.precision >= Precision::kBf16 && !eight && plan.optimizer == OptimizerKind::kAdam) {
    plan.split_master = *rc::gen::arbitrary<bool>();
    if (plan.split_master) plan.moment_bytes = *rc::gen::element(0u, 2u, 3u, 4u, 5u, 6u);
    if (plan.split_master) plan.offload = *rc::gen::inRange(0u, 101u);
  }
  plan.overlap = {*rc::gen::arbitrary<bool>(),
                  *rc::gen::arbitrary<bool>(),
                  *rc::gen::arbitrary<bool>(),
                  *rc::gen::arbitrary<bool>(),
                  true,
                  *rc::gen::arbitrary<bool>()};
  return plan;
}

/// The same without what Megatron-LM refuses together (catalog/launch/rules/megatron.toml).
Plan any_megatron_run() {
  Plan plan = any_megatron_plan();
  if (plan.optimizer == OptimizerKind::kMuon) {
    plan.zero = Zero::kNone;
    plan.overlap.gradients = false;
  }
  if (plan.zero == Zero::kNone) plan.shard = 0, plan.fp8_gather = plan.precision != Precision::kFp8;
  if (plan.tp > 1 && plan.ep > 1) plan.sequence_parallel = true;
  if (plan.sequence == 0) plan.sequence = 4096;
  Overlap& overlap = plan.overlap;
  overlap.weights &= overlap.gradients;
  overlap.tensor &= plan.sequence_parallel;
  overlap.pipeline |= plan.pp == 2;
  overlap.experts &= plan.ep > 1 && plan.recompute != Recompute::kFull && plan.mtp_layers == 0 &&
                     (plan.pp == 1 || plan.vpp > 1) && plan.precision >= Precision::kFp16;
  if (plan.vpp > 1) plan.global_batch = plan.micro_batch * plan.dp * plan.pp * 2;
  settle_plan(plan, PlanFormat::kMegatron, {});
  return plan;
}

void expect_round_trip(const Plan& plan, PlanFormat format) {
  const PlanText written = write_plan(plan, format);
  RC_ASSERT(written.lost.empty());
  const Result<PlanFile> file = parse_plan(written.text, "written");
  RC_ASSERT(file.ok());
  const Result<Plan> again = with_chips(*file, plan.chips());
  RC_ASSERT(again.ok());
  if (!(*again == plan)) RC_LOG(written.text);
  RC_ASSERT(*again == plan);
}

RC_GTEST_PROP(PlanFiles, MegatronRoundTrip, ()) {
  expect_round_trip(any_megatron_run(), PlanFormat::kMegatron);
}

RC_GTEST_PROP(PlanFiles, TorchtitanRoundTrip, ()) {
  Plan plan;
  plan.tp = power(3);
  plan.cp = power(2);
  plan.pp = power(3);
  plan.dp = power(4);
  plan.ep = power(3);
  plan.etp = power(1);
  plan.sequence_parallel = plan.tp > 1;
  plan.overlap.tensor = *rc::gen::arbitrary<bool>();
  plan.context = *rc::gen::element(ContextKind::kRing, ContextKind::kAllGather);
  plan.micro_batch = *rc::gen::inRange(1, 9);
  plan.sequence = 8192;
  // Replicas of whole weights are of data parallelism alone, and one copy of 16 bits is on one chip.
  const bool alone = plan.tp * plan.cp * plan.pp == 1;
  if (alone && plan.dp == 1) plan.ep = 1;
  plan.zero = alone && plan.ep == 1 && (plan.dp == 1 || *rc::gen::arbitrary<bool>())
                  ? Zero::kNone
                  : Zero::kWeights;
  if (plan.zero == Zero::kWeights && plan.dp * plan.cp == 1) plan.dp = 2;
  if (plan.etp > 1) plan.etp = plan.tp;
  plan.global_batch = plan.micro_batch * plan.dp * *rc::gen::inRange(1, 9);
  if (plan.zero == Zero::kWeights && plan.dp > 2) plan.shard = plan.dp * plan.cp / 2;
  plan.reshard = *rc::gen::arbitrary<bool>();
  plan.precision = *rc::gen::element(Precision::kBf16, Precision::kFp8, Precision::kMxfp8);
  if (plan.precision == Precision::kFp8) plan.fp8_gather = *rc::gen::arbitrary<bool>();
  plan.recompute = static_cast<Recompute>(*rc::gen::inRange(0, 3));
  if (plan.recompute == Recompute::kSelective) {
    plan.recompute_modules = kRecomputeOp;
  }
  if (plan.pp > 1) {
    plan.schedule = *rc::gen::element(ScheduleKind::kGpipe, ScheduleKind::kOneFOneB,
                                      ScheduleKind::kInterleaved);
    if (plan.schedule == ScheduleKind::kInterleaved) plan.vpp = 2;
    plan.global_batch = plan.micro_batch * plan.dp * plan.pp * *rc::gen::inRange(1, 4);
  }
  expect_round_trip(plan, PlanFormat::kTorchtitan);
}

RC_GTEST_PROP(PlanFiles, DeepspeedRoundTrip, ()) {
  Plan plan;
  plan.tp = power(3);
  plan.cp = power(2);
  plan.dp = power(6);
  plan.context = ContextKind::kUlysses;
  plan.micro_batch = *rc::gen::inRange(1, 9);
  plan.global_batch = plan.micro_batch * plan.dp * *rc::gen::inRange(1, 9);
  plan.zero = static_cast<Zero>(*rc::gen::inRange(0, 4));
  plan.overlap.weights = plan.zero == Zero::kWeights;
  plan.overlap.gradients = *rc::gen::arbitrary<bool>();
  plan.fp32_gradients = *rc::gen::arbitrary<bool>();
  plan.precision = *rc::gen::element(Precision::kFp32, Precision::kFp16, Precision::kBf16);
  if (plan.precision == Precision::kBf16) plan.zero = std::max(plan.zero, Zero::kOptimizer);
  if (plan.precision == Precision::kFp16) plan.fp32_gradients &= plan.zero != Zero::kNone;
  plan.overlap.weights = plan.zero == Zero::kWeights;
  if (plan.zero != Zero::kNone) plan.offload = *rc::gen::inRange(0u, 101u);
  plan.optimizer = static_cast<OptimizerKind>(*rc::gen::inRange(0, 3));
  if (plan.zero == Zero::kWeights) plan.shard = power(3);
  expect_round_trip(plan, PlanFormat::kDeepspeed);
}

}  // namespace
}  // namespace flopcast::parallel
