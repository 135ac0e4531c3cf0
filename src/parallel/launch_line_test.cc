// Launch lines: read back by the readers of launch files, they mean the plan and the model that they were written for.
#include "flopcast/parallel/launch_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "flopcast/parallel/fields.h"
#include "flopcast/parallel/files.h"
#include "flopcast/parallel/settings.h"

namespace flopcast {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr PlanFormat kLaunchers[] = {PlanFormat::kMegatron, PlanFormat::kTorchtitan,
                                     PlanFormat::kDeepspeed};

unsigned any_power(unsigned most) { return 1u << *rc::gen::inRange(0u, most + 1); }

/// Any plan of a search's, whoever runs it.
Plan any_searched_plan() {
  Plan plan;
  plan.tp = any_power(3);
  plan.cp = any_power(1);
  plan.pp = any_power(3);
  plan.dp = any_power(4);
  plan.micro_batch = *rc::gen::inRange(1, 3);
  plan.sequence = 4096;
  plan.zero = *rc::gen::elementOf(
      std::vector{Zero::kNone, Zero::kOptimizer, Zero::kGradients, Zero::kWeights, Zero::kWeights});
  plan.sequence_parallel = plan.tp > 1 && *rc::gen::inRange(0, 4) > 0;
  plan.recompute = static_cast<Recompute>(*rc::gen::inRange(0, 3));
  plan.context = static_cast<ContextKind>(*rc::gen::inRange(0, 3));
  if (plan.pp > 1) plan.schedule = static_cast<ScheduleKind>(*rc::gen::inRange(0, 6));
  const bool folded =
      plan.schedule == ScheduleKind::kZeroBubbleV || plan.schedule == ScheduleKind::kDualPipeV;
  if (plan.schedule == ScheduleKind::kInterleaved || folded) plan.vpp = 2;
  plan.global_batch = plan.micro_batch * plan.dp * plan.pp * *rc::gen::inRange(1, 4);
  return plan;
}

/// The plan with what is not said of it where nothing follows from it, and its layers as they are dealt.
Plan plain(Plan plan, std::int64_t layers) {
  if (plan.cp == 1) plan.context = ContextKind::kAllGather;
  if (plan.pp == 1) plan.schedule = ScheduleKind::kOneFOneB;
  if (plan.recompute != Recompute::kSelective) plan.recompute_modules = Plan{}.recompute_modules;
  if (plan.etp == plan.tp) plan.etp = 0;
  if (plan.zero != Zero::kWeights) plan.reshard = true;
  plan.stage_layers = layers_per_stage(plan, layers);
  plan.count_embedding = plan.count_loss = false;
  return plan;
}

Plan read_back(const Launch& launch, unsigned chips) {
  const std::string script = launch_script(launch);
  const Result<PlanFile> file = parse_plan(script, "launch");
  RC_ASSERT(file.ok());
  RC_ASSERT(file->unknown.empty());
  RC_ASSERT(file->unmodelled.empty());
  RC_ASSERT(file->chips == chips);
  PlanSettings elsewhere;
  for (const PlanElsewhere& other : launch.elsewhere) elsewhere[other.name] = other.value;
  const Result<NamedPlan> plan = make_plan(elsewhere, chips, &*file);
  RC_ASSERT(plan.ok());
  return plan->plan;
}

RC_GTEST_PROP(LaunchLines, MeanThePlanTheyAreWrittenFor, ()) {
  static const Model model = *load_model("llama-3-8b");
  const PlanFormat launcher =
      *rc::gen::element(PlanFormat::kMegatron, PlanFormat::kTorchtitan, PlanFormat::kDeepspeed);
  const LaunchContext context = launch_context(launcher, &model, {}, 9);
  Plan plan;
  bool runs = false;
  for (int tries = 0; tries < 40 && !runs; ++tries) {
    plan = any_searched_plan();
    settle_plan(plan, launcher, context);
    runs = launchable(plan, launcher, context) && plan_possible(plan, model);
  }
  RC_PRE(runs);
  RC_TAG(std::string(name(launcher)));
  const Launch launch = write_launch(plan, launcher, context, 8);
  RC_ASSERT(launch.lost.empty());
  const Plan again = plain(read_back(launch, plan.chips()), model.layers());
  RC_LOG() << launch_script(launch) << plan_change_words(plain(plan, model.layers()), again);
  RC_ASSERT(again == plain(plan, model.layers()));
}

TEST(LaunchLines, TellTheWholeModelWhereFlagsCan) {
  for (const char* name : {"llama-3-70b", "llama-3-8b", "gpt-3-175b", "mixtral-8x7b", "deepseek-v3",
                           "qwen3-30b-a3b"}) {
    const Result<Model> model = load_model(name);
    ASSERT_TRUE(model) << name;
    Plan plan;
    plan.global_batch = 8;
    plan.sequence = 2048;
    const LaunchContext context = launch_context(PlanFormat::kMegatron, &*model);
    const Launch launch = write_launch(plan, PlanFormat::kMegatron, context, 8);
    const Result<PlanFile> file = parse_plan(launch_script(launch), name);
    ASSERT_TRUE(file) << file.error().text();
    ASSERT_TRUE(file->model.whole) << name << testing::PrintToString(file->model.missing);
    EXPECT_THAT(model_differences(file->model, *model), IsEmpty()) << name;
    // What the flags cannot say is told.
    const bool same = file->model.whole->kinds == model->kinds;
    const bool told = std::any_of(launch.notes.begin(), launch.notes.end(), [](const auto& note) {
      return note.find("do not say all of") != std::string::npos;
    });
    EXPECT_EQ(told, !same) << name << testing::PrintToString(launch.notes);
  }
}

TEST(LaunchLines, KeepToTheColumnsAndTheChips) {
  const Model model = *load_model("llama-3-70b");
  Plan plan;
  plan.tp = 8, plan.pp = 4, plan.dp = 16, plan.global_batch = 1024, plan.sequence = 8192;
  plan.sequence_parallel = true;
  const LaunchContext context = launch_context(PlanFormat::kMegatron, &model, {}, 9);
  const std::string script = launch_script(write_launch(plan, PlanFormat::kMegatron, context, 8));
  EXPECT_THAT(script, HasSubstr("export CUDA_DEVICE_MAX_CONNECTIONS=1\n"));
  EXPECT_THAT(script, HasSubstr("torchrun --nnodes 64 --nproc-per-node 8 --rdzv-backend c10d"));
  EXPECT_THAT(script, HasSubstr("--mock-data"));
  for (std::size_t at = 0; at < script.size();) {
    const std::size_t end = script.find('\n', at);
    EXPECT_LE(end - at, 78U) << script.substr(at, end - at);
    at = end + 1;
  }
  plan.tp = 1, plan.pp = 1, plan.dp = 12, plan.global_batch = 12, plan.sequence_parallel = false;
  EXPECT_THAT(write_launch(plan, PlanFormat::kMegatron, context, 8).command,
              HasSubstr("--nnodes 2 --nproc-per-node 6"));
  plan.dp = plan.global_batch = 4;
  EXPECT_THAT(write_launch(plan, PlanFormat::kMegatron, context, 8).command,
              HasSubstr("--standalone --nproc-per-node 4"));
}

TEST(LaunchLines, EveryLauncherIsReadAsItself) {
  const Model model = *load_model("llama-3-8b");
  Plan plan;
  plan.dp = plan.global_batch = 8, plan.sequence = 2048, plan.zero = Zero::kWeights;
  constexpr Launcher kRead[] = {Launcher::kMegatronLm, Launcher::kTorchtitan, Launcher::kDeepspeed};
  for (const PlanFormat launcher : kLaunchers) {
    const LaunchContext context = launch_context(launcher, &model);
    const Launch launch = write_launch(plan, launcher, context, 8);
    const Result<PlanFile> file = parse_plan(launch_script(launch), "launch");
    ASSERT_TRUE(file) << file.error().text();
    EXPECT_EQ(file->launcher, kRead[static_cast<int>(launcher)]);
    if (launcher == PlanFormat::kTorchtitan) EXPECT_EQ(file->software, "fsdp-compiled");
  }
}

}  // namespace
}  // namespace flopcast
