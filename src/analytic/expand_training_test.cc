#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "flopcast/analytic_graph.h"

namespace flopcast {
namespace {

using testing::HasSubstr;

TrainingModel llama_on(std::string_view cluster) {
  const Catalog& catalog = Catalog::builtin();
  return std::move(
      *TrainingModel::make(*load_model("meta-llama-3-70b"), *catalog.cluster(cluster), catalog));
}

Plan plan_of(ScheduleKind schedule, unsigned vpp) {
  Plan plan;
  plan.tp = 8;
  plan.sequence_parallel = true;
  plan.pp = 4;
  plan.vpp = vpp;
  plan.dp = 4;
  plan.schedule = schedule;
  plan.global_batch = 128;
  plan.sequence = 8192;
  return plan;
}

/// Closed form over graph, less one.
double difference(const TrainingModel& model, const Plan& plan) {
  const Result<TrainingEstimate> closed = model.estimate(plan);
  const Result<StepWork> work = step_work(model, plan);
  EXPECT_TRUE(closed.ok() && work.ok());
  if (!closed || !work) return 1;
  const Result<StepRun> run = run_step(*work);
  EXPECT_TRUE(run.ok());
  return run ? closed->step / run->step - 1 : 1;
}

// 32 microbatches: the closed form runs 16 of them and continues their period.
TEST(ExpandTraining, AgreesWithTheClosedFormForEverySchedule) {
  const TrainingModel model = llama_on("16 x dgx-h100");
  const std::pair<ScheduleKind, unsigned> kinds[] = {
      {ScheduleKind::kGpipe, 1},        {ScheduleKind::kOneFOneB, 1},
      {ScheduleKind::kInterleaved, 2},  {ScheduleKind::kInterleaved, 5},
      {ScheduleKind::kZeroBubbleH1, 1}, {ScheduleKind::kZeroBubbleV, 2},
      {ScheduleKind::kDualPipeV, 2}};
  for (const auto& [kind, vpp] : kinds) {
    for (const Zero zero : {Zero::kNone, Zero::kOptimizer, Zero::kWeights}) {
      Plan plan = plan_of(kind, vpp);
      plan.zero = zero;
      EXPECT_LT(std::abs(difference(model, plan)), 1e-9) << name(kind) << ' ' << vpp;
    }
  }
}

TEST(ExpandTraining, APlanWithoutAPipelineIsOneMicrobatchAfterAnother) {
  const TrainingModel model = llama_on("16 x dgx-h100");
  Plan plan = plan_of(ScheduleKind::kInterleaved, 1);
  plan.pp = 1;
  plan.dp = 16;
  EXPECT_LT(std::abs(difference(model, plan)), 1e-9);
}

TEST(ExpandTraining, ImpossiblePlansAndEndlessOnesAreRefused) {
  const TrainingModel model = llama_on("16 x dgx-h100");
  Plan plan = plan_of(ScheduleKind::kOneFOneB, 1);
  plan.tp = 7;
  EXPECT_FALSE(step_work(model, plan).ok());
  plan = plan_of(ScheduleKind::kOneFOneB, 1);
  plan.global_batch = 4 * 2'000'000;
  EXPECT_THAT(step_work(model, plan).error().text(), HasSubstr("too many for a graph"));
}

}  // namespace
}  // namespace flopcast
