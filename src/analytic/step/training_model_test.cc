// One step of a plan: times against closed forms and the whole schedule, bounds, memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "analytic/step/time.h"
#include "analytic/step/training_state.h"
#include "flopcast/analytic.h"
#include "support/temporary_folder.h"

namespace flopcast::analytic {
namespace {

using namespace analytic;

TrainingModel model_on(const std::string& model, const std::string& cluster,
                       const std::string& software = "") {
  TrainingOptions options;
  options.software = software;
  auto made = TrainingModel::make(*load_model(model), *Catalog::builtin().cluster(cluster),
                                  Catalog::builtin(), options);
  EXPECT_TRUE(made) << made.error().text();
  return std::move(*made);
}

Plan plan_of(unsigned tp, unsigned pp, unsigned dp, std::int64_t batch) {
  Plan plan;
  plan.tp = tp, plan.pp = pp, plan.dp = dp;
  plan.sequence_parallel = tp > 1;
  plan.global_batch = batch;
  plan.sequence = 2048;
  return plan;
}

/// Calls visit(plan, placement) for plans of 16 chips of every schedule and ZeRO stage.
template <typename Visit>
void for_plans(const TrainingModel& model, const Visit& visit) {
  constexpr std::array kKinds = {ScheduleKind::kGpipe,       ScheduleKind::kOneFOneB,
                                 ScheduleKind::kInterleaved, ScheduleKind::kZeroBubbleH1,
                                 ScheduleKind::kZeroBubbleV, ScheduleKind::kDualPipeV};
  for (const unsigned tp : {1U, 4U}) {
    for (const unsigned cp : {1U, 2U}) {
      for (const unsigned vpp : {1U, 2U, 3U}) {
        for (const Zero zero : {Zero::kNone, Zero::kOptimizer, Zero::kGradients, Zero::kWeights}) {
          for (const ScheduleKind kind : kKinds) {
            Plan plan = plan_of(tp, 2, 8 / (tp * cp), 64);
            plan.cp = cp, plan.vpp = vpp, plan.zero = zero, plan.schedule = kind;
            if (!plan_possible(plan, model.model(), 16)) continue;
            for (const Placement& placement : placements(plan, model.tiers())) {
              visit(plan, placement);
            }
          }
        }
      }
    }
  }
}

TEST(TrainingModel, GraphsTakeLaunchesAway) {
  // Small layers on a software whose launches take 45 us each: the host is slower than the chip.
  const TrainingModel model = model_on("gpt-3-1.3b", "2 x dgx-h100", "megatron-2021");
  Plan plan = plan_of(8, 1, 2, 64);
  const auto launched = model.estimate(plan);
  plan.cuda_graph = true;
  const auto replayed = model.estimate(plan);
  ASSERT_TRUE(launched && replayed);
  EXPECT_LT(replayed->step.value, 0.9 * launched->step.value);
  EXPECT_LT(replayed->part(TimePart::kHost).value, launched->part(TimePart::kHost).value);
  EXPECT_GT(replayed->part(TimePart::kHost).value, 0);  // per microbatch and step
  EXPECT_EQ(replayed->part(TimePart::kMatrix).value, launched->part(TimePart::kMatrix).value);
  ASSERT_EQ(replayed->assumed.size(), 1u);
  EXPECT_NE(replayed->assumed[0].find("CUDA graphs"), std::string::npos);
}

// Experts' kernels are launched one by one whatever the rest is.
TEST(TrainingModel, GraphsLeaveExpertsOut) {
  const TrainingModel model = model_on("mixtral-8x7b", "2 x dgx-h100", "megatron-2024");
  Plan plan = plan_of(1, 1, 16, 64);
  plan.ep = 8;
  plan.cuda_graph = true;
  PlanCosts costs(model.state());
  const ExecutionCost& cost = costs.priced(plan);
  const PassCost& pass = cost.layers.front().forward;
  EXPECT_GT(pass.expert_launches_s, 0);
  EXPECT_NEAR(pass.launches_s, pass.expert_launches_s + model.state().constants.launch_s, 1e-12);
}

TEST(TrainingModel, DispatchersSendRowsOnceOrForEachExpert) {
  const auto expert_s = [](const std::string& software, DispatcherKind dispatcher) {
    const TrainingModel model = model_on("mixtral-8x7b", "2 x dgx-h100", software);
    Plan plan = plan_of(1, 1, 16, 64);
    plan.ep = 8, plan.dispatcher = dispatcher;
    const auto estimate = model.estimate(plan);
    EXPECT_TRUE(estimate) << estimate.error().text();
    return estimate->part(TimePart::kExpert).value;
  };
  const double rows = expert_s("megatron", DispatcherKind::kAllToAll);
  EXPECT_GT(rows, expert_s("megatron", DispatcherKind::kDeepEp));
  EXPECT_EQ(expert_s("megatron", DispatcherKind::kHybridEp),
            expert_s("megatron", DispatcherKind::kDeepEp));
  // The one that a software has anyway changes nothing.
  EXPECT_EQ(expert_s("megatron-2025", DispatcherKind::kAllToAll),
            expert_s("megatron-2025", DispatcherKind::kUsual));
  EXPECT_EQ(expert_s("megatron-2025-flex", DispatcherKind::kDeepEp),
            expert_s("megatron-2025-flex", DispatcherKind::kUsual));
}

TEST(TrainingModel, GradientsAreReducedInTheTypeThatIsTold) {
  const TrainingModel model = model_on("gpt-3-1.3b", "2 x dgx-h100");
  Plan plan = plan_of(1, 1, 16, 64);
  const auto all_reduced = [&](GradientType type) {
    plan.gradient_type = type;
    ChipWeights weights;
    weights.dense = weights.dense_trainable = 1000;
    return weight_transfers(plan, weights).after_backward.front();
  };
  EXPECT_EQ(all_reduced(GradientType::kSummed).size.value, 4000);
  EXPECT_EQ(all_reduced(GradientType::kBf16).size.value, 2000);
  EXPECT_EQ(all_reduced(GradientType::kBf16).type, DataType::kBf16);
  EXPECT_EQ(all_reduced(GradientType::kFp16).type, DataType::kFp16);
  plan.fp32_gradients = false;
  EXPECT_EQ(all_reduced(GradientType::kSummed).size.value, 2000);
  EXPECT_EQ(all_reduced(GradientType::kFp32).size.value, 4000);
  plan.overlap.gradients = false;
  const double wide = model.estimate(plan)->part(TimePart::kGradients).value;
  plan.gradient_type = GradientType::kBf16;
  EXPECT_NEAR(model.estimate(plan)->part(TimePart::kGradients).value / wide, 0.5, 0.1);
}

TEST(TrainingModel, PartsSumToTheStep) {
  const TrainingModel model = model_on("gpt-3-1.3b", "2 x dgx-h100");
  for_plans(model, [&](const Plan& plan, const Placement& placement) {
    const auto estimate = model.estimate(plan, &placement);
    ASSERT_TRUE(estimate) << estimate.error().text();
    Seconds sum;
    for (const Seconds part : estimate->parts) sum += part;
    EXPECT_NEAR(sum / estimate->step, 1, 1e-12);
    EXPECT_LE(estimate->low.value, estimate->step.value);
    EXPECT_GE(estimate->high.value, estimate->step.value);
  });
}

TEST(PlanScorer, IsTheEstimateAndKeepsItsBounds) {
  const TrainingModel model = model_on("gpt-3-1.3b", "2 x dgx-h100");
  PlanScorer scorer(model);
  std::size_t plans = 0;
  for_plans(model, [&](const Plan& plan, const Placement& placement) {
    const auto estimate = model.estimate(plan, &placement);
    ASSERT_TRUE(estimate);
    const double time = scorer.time(plan, placement).value;
    EXPECT_EQ(time, estimate->step.value);
    EXPECT_EQ(scorer.memory(plan).value, estimate->memory().total().value);
    EXPECT_LE(scorer.time_at_least(plan, placement).value, time * (1 + 1e-12));
    EXPECT_LE(scorer.time_at_least(plan).value, time * (1 + 1e-12));
    ++plans;
  });
  EXPECT_GT(plans, 100U);
}

// A schedule of few microbatches, continued by its period, against the whole one.
TEST(StepTime, ContinuesSchedulesAsTheyGoOn) {
  const TrainingModel model = model_on("gpt-3-6.7b", "4 x dgx-h100");
  for (const ScheduleKind kind :
       {ScheduleKind::kOneFOneB, ScheduleKind::kInterleaved, ScheduleKind::kZeroBubbleH1,
        ScheduleKind::kZeroBubbleV, ScheduleKind::kDualPipeV}) {
    Plan plan = plan_of(1, 8, 4, 512);
    plan.schedule = kind;
    const bool one = kind == ScheduleKind::kOneFOneB || kind == ScheduleKind::kZeroBubbleH1;
    plan.vpp = one ? 1 : 2;
    ASSERT_TRUE(plan_possible(plan, model.model(), 32)) << name(kind);
    PlanCosts costs(model.state());
    const StepCosts step = step_costs(costs, plan, default_placement(plan, model.tiers()));
    const auto whole = make_schedule(kind, plan.pp, plan.microbatches(), plan.vpp);
    ASSERT_TRUE(whole);
    const double expected = pipeline_time(*whole, stage_times(costs, step)).total.value;
    EXPECT_NEAR(step_time(costs, plan, step).pipeline.total.value / expected, 1, 2e-3)
        << name(kind);
  }
}

// One chip, no transfers: the step is what its kernels, its optimiser and its host take.
TEST(StepTime, OfOneChipIsItsKernels) {
  const TrainingModel model = model_on("gpt-3-1.3b", "1 x h100");
  const Plan plan = plan_of(1, 1, 1, 4);
  const auto estimate = model.estimate(plan);
  ASSERT_TRUE(estimate);
  for (const TimePart part : {TimePart::kTensor, TimePart::kContext, TimePart::kExpert,
                              TimePart::kWeights, TimePart::kGradients}) {
    EXPECT_EQ(estimate->part(part).value, 0) << name(part);
  }
  EXPECT_NEAR(estimate->part(TimePart::kBubble).value, 0, 1e-12);
  EXPECT_GT(estimate->mfu, 0.2);
  EXPECT_LT(estimate->mfu, 0.8);
  const TrainingFlops flops = training_flops(model.model(), 2048);
  EXPECT_NEAR(estimate->mfu,
              4 * (flops.linear + flops.attention).value / estimate->step.value / 989.4e12, 1e-3);
}

// The mean of the largest of n exponential times: the n-th harmonic number, here against one that is at most 1 + ln n.
TEST(StepTime, StepsWaitForTheSlowestHost) {
  const TrainingModel model = model_on("gpt-3-1.3b", "64 x dgx-h100");
  const PlanCosts costs(model.state());
  const double mean = model.state().constants.step_s;
  ASSERT_GT(mean, 0);
  EXPECT_DOUBLE_EQ(fixed_s(costs, plan_of(1, 1, 8, 64)), mean);
  double harmonic = 0;
  for (unsigned nodes = 1; nodes <= 64; ++nodes) {
    harmonic += 1.0 / nodes;
    const double waited = fixed_s(costs, plan_of(1, 1, 8 * nodes, 512)) / mean;
    EXPECT_GE(waited, harmonic - 1e-12);
    EXPECT_LE(waited, harmonic + 0.4228 + 1e-12);  // 1 - Euler's constant
  }
}

// Weights, gradients and optimiser of mixed-precision Adam: 2 + 4 + 12 bytes (Korthikanti et al.,
// section 4, and ZeRO, section 3.1).
TEST(TrainingMemory, KeepsEighteenBytesAWeight) {
  const TrainingModel model = model_on("gpt-3-6.7b", "1 x dgx-h100");
  Plan plan = plan_of(8, 1, 1, 8);
  plan.zero = Zero::kNone;
  const auto estimate = model.estimate(plan);
  ASSERT_TRUE(estimate);
  const StageMemory& memory = estimate->memory();
  const double state = (memory.weights + memory.gradients + memory.optimizer).value;
  const auto total = static_cast<double>(count_parameters(model.model()).total);
  EXPECT_NEAR(state / (18 * total / 8), 1, 0.01);
}

TEST(TrainingMemory, ShrinksWithShardsRecomputeAndStages) {
  const TrainingModel model = model_on("gpt-3-6.7b", "4 x dgx-h100");
  PlanScorer scorer(model);
  const Plan plan = plan_of(2, 1, 16, 64);
  const auto bytes = [&](auto change) {
    Plan changed = plan;
    change(changed);
    return scorer.memory(changed).value;
  };
  const double base = bytes([](Plan&) {});
  EXPECT_LT(bytes([](Plan& p) { p.recompute = Recompute::kFull; }), base);
  EXPECT_LT(bytes([](Plan& p) { p.zero = Zero::kWeights; }), base);
  EXPECT_LT(bytes([](Plan& p) { p.tp = 4, p.dp = 8; }), base);
  EXPECT_GT(bytes([](Plan& p) { p.micro_batch = 2; }), base);
}

TEST(TrainingModel, RefusesWhatCannotRun) {
  const TrainingModel model = model_on("gpt-3-1.3b", "1 x dgx-h100");
  EXPECT_FALSE(model.estimate(plan_of(5, 1, 1, 8)));  // heads
  EXPECT_FALSE(model.estimate(plan_of(8, 2, 1, 8)));  // chips
  EXPECT_FALSE(model.estimate(plan_of(1, 1, 8, 4)));  // batch
  TrainingOptions options;
  options.software = "abacus";
  const auto refused =
      TrainingModel::make(*load_model("gpt-3-1.3b"), *Catalog::builtin().cluster("8 x h100"),
                          Catalog::builtin(), options);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text().find("megatron"), std::string::npos);
}

// Found among generated machines: products of a type that the chip lacks, or is slow in, beside those of 16 bits.
TEST(TrainingModel, NoStepIsAboveThePeakOfWhatItMultipliesIn) {
  for (const char* on : {"2 x ovx-l40s, chip.matrix.bf16 4TFLOP/s, chip.vector.fp32 2TFLOP/s",
                         "1 x dgx-b300, chip.matrix.fp8 4TFLOP/s"}) {
    const TrainingModel model = model_on("gpt-3-1.3b", on);
    for (const Precision precision : {Precision::kFp8Block, Precision::kNvfp4, Precision::kMxfp4}) {
      Plan plan = plan_of(1, 1, 8, 64);
      plan.precision = precision;
      const auto estimate = model.estimate(plan);
      ASSERT_TRUE(estimate) << on << " " << name(precision) << ": " << estimate.error().text();
      EXPECT_GT(estimate->mfu, 0) << on;
      EXPECT_LE(estimate->hfu, 1) << on;
    }
  }
}

TEST(TrainingModel, ChipsWaitForSendsThatDoNotOverlap) {
  const TrainingModel model = model_on("gpt-3-1.3b", "2 x dgx-h100", "fsdp");
  Plan plan = plan_of(1, 2, 8, 64);
  PlanCosts costs(model.state());
  const Layouts layouts = layouts_of(plan, placements(plan, model.tiers()).front());
  const StepCosts hidden = step_costs(costs, plan, layouts);
  plan.overlap.pipeline = false;
  const StepCosts waited = step_costs(costs, plan, layouts);
  const double send_s = hidden.stages[0].send_s;
  EXPECT_GT(send_s, 0);
  EXPECT_EQ(waited.stages[0].send_s, 0);
  EXPECT_EQ(waited.stages[0].forward_s, hidden.stages[0].forward_s + send_s);
  EXPECT_EQ(waited.stages[1].input_s, hidden.stages[1].input_s + send_s);
  EXPECT_EQ(waited.stages[1].forward_s, hidden.stages[1].forward_s);
  EXPECT_EQ(waited.stages[0].input_s, hidden.stages[0].input_s);
}

// Megatron-Core's interleaved schedule: those beside no pass the other way.
TEST(TrainingModel, MegatronWaitsForSendsThatNothingHides) {
  const TrainingModel model = model_on("gpt-3-1.3b", "2 x dgx-h100", "megatron");
  Plan plan = plan_of(1, 2, 8, 64);
  PlanCosts costs(model.state());
  const Layouts layouts = layouts_of(plan, placements(plan, model.tiers()).front());
  EXPECT_FALSE(step_costs(costs, plan, layouts).sends_wait);
  plan.vpp = 2, plan.schedule = ScheduleKind::kInterleaved;
  const StepCosts interleaved = step_costs(costs, plan, layouts);
  EXPECT_GT(interleaved.stages[0].send_s, 0);
  EXPECT_TRUE(stage_times(costs, interleaved)[0].send_alone);
  plan.schedule = ScheduleKind::kZeroBubbleV;
  EXPECT_FALSE(step_costs(costs, plan, layouts).sends_wait);
}

// Chips of a tensor group that all hold what their stage hands on send a part each, and gather the parts
// (Narayanan et al. 2021, section 4.1): over NVLink, where a node's ports would carry it eight times.
TEST(TrainingModel, TensorGroupsSendPartsAndGatherThem) {
  const TrainingModel model = model_on("gpt-3-175b", "2 x dgx-h100", "megatron");
  PlanCosts costs(model.state());
  const auto send_s = [&](bool sequence_parallel) {
    Plan plan = plan_of(8, 2, 1, 16);
    plan.sequence_parallel = sequence_parallel;
    const Layouts layouts = layouts_of(plan, default_placement(plan, model.tiers()));
    return step_costs(costs, plan, layouts).stages[0].send_s;
  };
  const Bytes whole{2.0 * 2048 * 12288};
  GroupLayout node;
  node.tiers = 2, node.inside[0] = node.inside[1] = 8;
  const double gather =
      costs.times.time(CollectiveOp::kAllGather, whole, DataType::kBf16, node).seconds;
  const double share = model.state().constants.collective_share;
  ASSERT_GT(gather, 0);
  EXPECT_NEAR(send_s(false) - send_s(true), gather / share, 1e-9);
  EXPECT_LT(send_s(false), costs.times.send(whole, DataType::kBf16, true).seconds / share / 2);
}

// Each virtual stage passes its microbatch on by itself.
TEST(TrainingModel, VirtualStagesCostTheHostApart) {
  const TrainingModel model = model_on("gpt-3-1.3b", "2 x dgx-h100", "megatron");
  PlanCosts costs(model.state());
  const auto host_s = [&](unsigned vpp) {
    Plan plan = plan_of(1, 2, 8, 64);
    plan.vpp = vpp;
    if (vpp > 1) plan.schedule = ScheduleKind::kInterleaved;
    const Layouts layouts = layouts_of(plan, placements(plan, model.tiers()).front());
    double seconds = 0;
    for (StageCost& stage : step_costs(costs, plan, layouts).stages) {
      seconds += at(stage.parts, TimePart::kHost);
    }
    return seconds;
  };
  const double each = model.state().constants.microbatch_s;
  ASSERT_GT(each, 0);
  EXPECT_NEAR(host_s(3) - host_s(1), 4 * each, 1e-12);
}

// What hides behind kernels takes compute units and memory from them: a share of its own time.
TEST(TrainingModel, HiddenGradientsSlowTheKernelsBesideThem) {
  const TrainingModel model = model_on("gpt-3-1.3b", "1 x dgx-h100");
  Plan plan = plan_of(1, 1, 8, 128);
  plan.micro_batch = 16;  // backward is long enough to hide all
  PlanCosts costs(model.state());
  const Layouts layouts = layouts_of(plan, placements(plan, model.tiers()).front());
  const StepCosts hidden = step_costs(costs, plan, layouts);
  plan.overlap.gradients = plan.overlap.weights = false;
  const StepCosts seen = step_costs(costs, plan, layouts);
  const double bucket = 1 / static_cast<double>(model.model().layers());
  const double lost = model.state().constants.contention;
  ASSERT_GT(lost, 0);
  EXPECT_NEAR(hidden.tails[0].reduce_s / seen.tails[0].reduce_s, bucket + lost * (1 - bucket),
              1e-9);
  EXPECT_NEAR(hidden.tails[0].gather_s / seen.tails[0].gather_s, bucket + lost * (1 - bucket),
              1e-9);
}

// Products that add gradients up in place read the sum: 2 bytes a weight in 16 bits, 4 and 2 written more in fp32.
TEST(TrainingModel, ProductsThatAddUpReadTheSum) {
  const TrainingModel model = model_on("gpt-3-1.3b", "1 x dgx-h100");
  PlanCosts costs(model.state());
  const auto weight_s = [&](std::int64_t batch, bool wide) {
    Plan plan = plan_of(1, 1, 8, batch);
    plan.fp32_gradients = wide;
    return step_costs(costs, plan, Layouts{}).stages[0].weight_s;
  };
  const double first = weight_s(8, false), sums = weight_s(16, false), wide = weight_s(16, true);
  const auto weights = static_cast<double>(count_parameters(model.model()).total);
  const double rate = model.cluster().chip.hbm_bandwidth.value;
  EXPECT_GT(sums - first, 2 * weights / rate);
  EXPECT_LT(sums - first, 2 * 2 * weights / rate);
  EXPECT_NEAR((wide - first) / (sums - first), 3, 0.5);
}

// Heads of 108 elements in scores that are written out: their rows start off 16 bytes.
TEST(TrainingModel, RowsOffSixteenBytesMultiplySlowly) {
  Model aligned = *load_model("gpt-3-1.3b");
  Model odd = aligned;
  for (Layer& kind : odd.kinds) kind.attention.head_dim = kind.attention.value_dim = 124;
  Plan plan = plan_of(1, 1, 8, 64);
  plan.flash_attention = false;
  const Catalog& catalog = Catalog::builtin();
  const auto fast = TrainingModel::make(aligned, *catalog.cluster("8 x h100"), catalog);
  const auto slow = TrainingModel::make(odd, *catalog.cluster("8 x h100"), catalog);
  ASSERT_TRUE(fast && slow);
  const auto a = fast->estimate(plan), b = slow->estimate(plan);
  ASSERT_TRUE(a && b);
  EXPECT_GT(b->part(TimePart::kMatrix).value, a->part(TimePart::kMatrix).value);
}

// Frozen weights have no gradient of their own: 4 FLOPs a weight and token, not 6.
TEST(TrainingModel, ModelFlopsOfLoraLeaveOutFrozenGradients) {
  const TrainingModel model = model_on("gpt-3-1.3b", "1 x h100");
  Plan plan = plan_of(1, 1, 1, 4);
  plan.lora_rank = 16;
  const auto estimate = model.estimate(plan);
  ASSERT_TRUE(estimate);
  const TrainingFlops flops = training_flops(model.model(), 2048);
  const double done = 4 * (flops.linear.value * 4 / 6 + flops.attention.value);
  EXPECT_NEAR(estimate->mfu, done / estimate->step.value / 989.4e12, 1e-3);
}

// The first stage of DeepSeek-V3 has dense layers only and ends last; most work is elsewhere.
TEST(TrainingModel, PartsAreThoseOfTheBusiestChip) {
  const TrainingModel model = model_on("deepseek-v3", "32 x dgx-h100");
  Plan plan = plan_of(1, 16, 16, 256);
  plan.ep = 16;
  const auto estimate = model.estimate(plan);
  ASSERT_TRUE(estimate) << estimate.error().text();
  const auto busiest = std::ranges::max_element(
      estimate->stages, {}, [](const StageEstimate& s) { return s.busy.value; });
  EXPECT_NE(busiest, estimate->stages.begin());
  EXPECT_GT(estimate->part(TimePart::kExpert).value, 0);
  const double work = estimate->step.value - estimate->part(TimePart::kBubble).value;
  EXPECT_GE(work, busiest->busy.value);
}

// The cliff that tables of kernels give, which sort the tokens of all chips: half the experts on a chip,
// half the rows of each.
TEST(TrainingModel, FewerExpertsOnAChipCostNoMore) {
  const TrainingModel model = model_on("deepseek-v3", "4 x gb200-nvl72, node.size 64");
  std::vector<double> matrix;
  for (const unsigned ep : {8U, 64U}) {
    Plan plan = plan_of(1, 4, 64, 2048);
    plan.ep = ep;
    const auto estimate = model.estimate(plan);
    ASSERT_TRUE(estimate) << estimate.error().text();
    matrix.push_back(estimate->part(TimePart::kMatrix).value);
  }
  EXPECT_LT(matrix[1], 1.1 * matrix[0]);
}

// Shares of grouped products concern groups: eight experts on eight chips are a product each, like those of
// dense layers; on four chips they are grouped.
TEST(TrainingModel, AnExpertAloneIsAProductLikeOthers) {
  const test::TemporaryFolder folder;
  const auto matrix_s = [&](unsigned ep, const std::string& share) {
    TrainingOptions options;
    options.fits = {
        *read_fit_file(folder.write(share + ".toml", "[all]\nexpert_share = " + share + "\n"))};
    const auto model =
        TrainingModel::make(*load_model("mixtral-8x7b"), *Catalog::builtin().cluster("dgx-h100"),
                            Catalog::builtin(), options);
    EXPECT_TRUE(model) << model.error().text();
    Plan plan = plan_of(1, 1, 8, 64);
    plan.ep = ep, plan.etp = 1;
    return model->estimate(plan)->part(TimePart::kMatrix).value;
  };
  EXPECT_EQ(matrix_s(8, "0.5"), matrix_s(8, "1.0"));
  EXPECT_GT(matrix_s(4, "0.5"), 1.3 * matrix_s(4, "1.0"));
}

// What recipes with scales per block do in the kernels of experts' products costs nothing beside them.
TEST(TrainingModel, FusedExpertsPassOverNoRows) {
  const auto memory_bound = [](const std::string& software, Precision precision) {
    TrainingOptions options;
    options.software = software;
    const auto model =
        TrainingModel::make(*load_model("gpt-oss-120b"), *Catalog::builtin().cluster("8 x b200"),
                            Catalog::builtin(), options);
    EXPECT_TRUE(model) << model.error().text();
    Plan plan = plan_of(1, 1, 8, 8);
    plan.ep = 8, plan.precision = precision;
    return model->estimate(plan)->part(TimePart::kMemoryBound).value;
  };
  const double fused = memory_bound("megatron", Precision::kMxfp8);
  EXPECT_LT(fused, 0.75 * memory_bound("megatron-2025", Precision::kMxfp8));
  EXPECT_LT(fused, 0.75 * memory_bound("megatron", Precision::kBf16));
}

// Sixteen experts a chip, six products each, four kernels a product under scales per block: the host of one
// microbatch needs that long, however few rows there are.
TEST(TrainingModel, SmallMicrobatchesWaitForLaunchesOfExperts) {
  const auto host_share = [](const std::string& software, std::int64_t microbatch) {
    Plan plan = plan_of(1, 1, 8, 512);
    plan.ep = 8, plan.etp = 1, plan.micro_batch = microbatch;
    plan.precision = Precision::kMxfp8;
    const TrainingEstimate estimate =
        *model_on("qwen3-30b-a3b", "8 x b200", software).estimate(plan);
    return estimate.part(TimePart::kHost) / estimate.step;
  };
  EXPECT_GT(host_share("megatron-2025", 1), 0.3);
  EXPECT_LT(host_share("megatron-2025", 16), 0.1);
  EXPECT_LT(host_share("megatron", 1), 0.05);  // one kernel for all
}

// Kernels of cuDNN (tests/data/kernels/attention_training.csv has those of 16 bits): in 8 bits backward does not skip.
TEST(TrainingModel, BackwardInEightBitsSkipsNothingOutsideOfWindows) {
  const auto attention_s = [](const std::string& software, Precision precision) {
    Plan plan = plan_of(1, 1, 64, 1280);
    plan.ep = 16, plan.etp = 1, plan.micro_batch = 4, plan.sequence = 4096;
    plan.precision = precision;
    const TrainingEstimate estimate =
        *model_on("gpt-oss-120b", "64 x gb300", software).estimate(plan);
    return estimate.part(TimePart::kAttention).value;
  };
  const double wide = attention_s("megatron", Precision::kBf16);
  EXPECT_EQ(attention_s("megatron-2025", Precision::kMxfp8), wide);
  EXPECT_GT(attention_s("megatron", Precision::kMxfp8), 1.2 * wide);
}

TEST(TrainingModel, FurtherTokensCostTheLastStage) {
  const TrainingModel model = model_on("deepseek-v3", "4 x gb200-nvl72, node.size 64");
  Plan plan = plan_of(1, 4, 64, 2048);
  plan.ep = 64, plan.etp = 1, plan.sequence = 4096;
  plan.stage_layers = {15, 16, 16, 14};
  const auto weights = [&](const TrainingEstimate& estimate, std::size_t chip) {
    return estimate.stages[chip].memory.weights.value;
  };
  const TrainingEstimate without = *model.estimate(plan);
  plan.mtp_layers = 1;
  const TrainingEstimate with = *model.estimate(plan);
  EXPECT_EQ(weights(with, 0), weights(without, 0));
  // A layer, a product and the table of tokens more.
  EXPECT_GT(weights(with, 3), weights(without, 3) + 2.0 * (129280 + 2 * 7168) * 7168);
  // Three of the four stages have a layer more than the last, which now has its module and another output matrix.
  EXPECT_GT(with.step.value, without.step.value);
  EXPECT_LT(with.step.value, 1.08 * without.step.value);
}

// Products alone, as they come to 8 bits: at most twice as fast as in 16, and never slower than the table.
TEST(TrainingModel, CopiesOfNarrowProductsAreTakenOut) {
  const auto matrix_s = [](Precision precision) {
    Plan plan = plan_of(1, 1, 1, 8);
    plan.precision = precision;
    const TrainingEstimate estimate = *model_on("llama-3-8b", "h100").estimate(plan);
    return estimate.parts[static_cast<std::size_t>(TimePart::kMatrix)].value;
  };
  const double ratio = matrix_s(Precision::kFp8) / matrix_s(Precision::kBf16);
  EXPECT_GT(ratio, 0.45);
  EXPECT_LT(ratio, 0.75);
  // The table's product with few columns, which is nearly all copy, takes most of the time of one with many.
  const auto b200 = KernelModel::make(*Catalog::builtin().chip("b200"), Catalog::builtin());
  const auto seconds = [&](std::int64_t columns) {
    return b200->time(Gemm{32768, columns, 4096, 1, GemmType::kFp8}).time.value;
  };
  EXPECT_NEAR(seconds(128) / seconds(2048), 0.38 / 0.51, 0.05);
}

TEST(TrainingModel, BandsAreWiderOnChipsWithoutMeasuredRuns) {
  const auto band = [](const std::string& cluster) {
    const TrainingEstimate estimate =
        *model_on("llama-3-8b", cluster).estimate(plan_of(1, 1, 8, 64));
    return estimate.high.value / estimate.low.value;
  };
  EXPECT_GT(band("8 x gaudi3"), 1.3 * band("8 x h100"));
}

TEST(TrainingModel, ChipsThatOnlyXlaCompilesForRunIt) {
  EXPECT_EQ(model_on("llama-3-8b", "8 x tpu-v6e").software(), "xla");
  EXPECT_EQ(model_on("llama-3-8b", "8 x trainium2").software(), "xla");
  EXPECT_EQ(model_on("llama-3-8b", "8 x h100").software(), "megatron");
}

// Every pass of a rotation by operators is listed: how much else a software leaves unfused does not multiply them.
TEST(TrainingModel, UnfusedRotationIsCountedOnce) {
  const auto memory_bound = [](bool scaled, const std::string& software) {
    Model model = *load_model("gpt-oss-20b");
    for (Layer& kind : model.kinds) kind.attention.scaled_rotary = scaled;
    TrainingOptions options;
    options.software = software;
    const auto made = TrainingModel::make(std::move(model), *Catalog::builtin().cluster("8 x h100"),
                                          Catalog::builtin(), options);
    return made->estimate(plan_of(1, 1, 8, 64))->part(TimePart::kMemoryBound).value;
  };
  const double fused_software =
      memory_bound(true, "megatron-2024") - memory_bound(false, "megatron-2024");
  const double other = memory_bound(true, "megatron") - memory_bound(false, "megatron");
  EXPECT_GT(other, 0);
  EXPECT_LT(other, 1.01 * fused_software);
}

TEST(TrainingModel, SlowerPowerLimitsAreSlower) {
  const Plan plan = plan_of(1, 1, 8, 64);
  const auto full = model_on("gpt-3-1.3b", "8 x h100").estimate(plan);
  const auto held = model_on("gpt-3-1.3b", "8 x h100, chip.power_w 500W").estimate(plan);
  ASSERT_TRUE(full && held);
  EXPECT_GT(held->step.value, 1.05 * full->step.value);
}

}  // namespace
}  // namespace flopcast::analytic
