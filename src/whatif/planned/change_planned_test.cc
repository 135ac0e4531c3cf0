// Steps that `estimate` writes, changed, against those that it writes of the changed plan.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "flopcast/analytic/graph.h"
#include "flopcast/whatif.h"

namespace flopcast::whatif::planned {
namespace {

using testing::HasSubstr;

constexpr double kTarget = 0.01;  // of the step

TrainingModel model_on(const char* model, const char* cluster) {
  const Catalog& catalog = Catalog::builtin();
  return std::move(*TrainingModel::make(*load_model(model), *catalog.cluster(cluster), catalog));
}

/// Llama 3 70B on 1,024 H100.
constexpr const char* kCluster = "128 x dgx-h100";
const TrainingModel& large() {
  static const TrainingModel made = model_on("meta-llama-3-70b", kCluster);
  return made;
}
Plan large_plan() {
  Plan plan;
  plan.tp = 8, plan.pp = 4, plan.dp = 32;
  plan.sequence_parallel = true;
  plan.global_batch = 1024;
  plan.sequence = 8192;
  return plan;
}

StepRun step_of(const TrainingModel& model, const Plan& plan) {
  const Result<StepWork> work = step_work(model, plan);
  EXPECT_TRUE(work.ok()) << (work ? "" : work.error().text());
  return std::move(*run_step(*work));
}

using Setting = std::pair<std::string, std::string>;

WhatIf recorded(const StepRun& run) {
  Result<WhatIf> whatif = WhatIf::of(std::make_shared<const TraceSet>(step_trace(run)));
  EXPECT_TRUE(whatif.ok()) << (whatif ? "" : whatif.error().text());
  return std::move(*whatif);
}

WhatIfAnswer ask(const WhatIf& whatif, const std::vector<Setting>& settings,
                 const std::string& on = "") {
  WhatIfChanges changes;
  changes.set = settings;
  changes.on = on;
  const Result<WhatIfAnswer> answer = whatif.ask(changes);
  EXPECT_TRUE(answer.ok()) << (answer ? "" : answer.error().text());
  return answer ? *answer : WhatIfAnswer{};
}

/// What is asked of the recorded plan, and the plan that is meant.
struct Question {
  std::vector<Setting> settings;
  std::function<void(Plan&)> meant;
  const char* on = "";
};

void expect_answers(const TrainingModel& model, const Plan& plan,
                    const std::vector<Question>& questions) {
  const WhatIf whatif = recorded(step_of(model, plan));
  for (const Question& question : questions) {
    Plan other = plan;
    question.meant(other);
    const double truth = step_of(model, other).step.value;
    const WhatIfAnswer answer = ask(whatif, question.settings, question.on);
    std::string asked = question.on;
    for (const auto& [name, value] : question.settings) asked += " " + name + "=" + value;
    ASSERT_TRUE(answer.refused.empty()) << asked << ": " << answer.refused.front().missing;
    EXPECT_NEAR(answer.after.seconds(), truth, kTarget * truth) << asked;
    EXPECT_LE(answer.band.low.seconds(), truth) << asked;
    EXPECT_GE(answer.band.high.seconds(), truth) << asked;
  }
}

TEST(PlannedSteps, NothingChangedIsTheSameStep) {
  const StepRun run = step_of(large(), large_plan());
  const WhatIfAnswer answer = ask(recorded(run), {{"microbatches", "32"}});
  ASSERT_TRUE(answer.refused.empty());
  EXPECT_EQ(answer.after, run.run.makespan);
  EXPECT_EQ(answer.before, run.run.makespan);
}

TEST(PlannedSteps, DepthOnTheSameCluster) {
  const auto deep = [](unsigned pp) {
    return Question{{{"pp", std::to_string(pp)}},
                    [pp](Plan& plan) { plan.pp = pp, plan.dp = 128 / pp; },
                    kCluster};
  };
  expect_answers(large(), large_plan(), {deep(2), deep(8), deep(16)});
}

TEST(PlannedSteps, MoreMicrobatchesAndOtherSchedules) {
  expect_answers(
      large(), large_plan(),
      {{{{"microbatches", "64"}}, [](Plan& plan) { plan.global_batch = 2048; }},
       {{{"microbatches", "8"}}, [](Plan& plan) { plan.global_batch = 256; }},
       {{{"schedule", "gpipe"}}, [](Plan& plan) { plan.schedule = ScheduleKind::kGpipe; }},
       {{{"schedule", "interleaved"}, {"chunks", "2"}}, [](Plan& plan) {
          plan.schedule = ScheduleKind::kInterleaved;
          plan.vpp = 2;
        }}});
}

// Everything that is scaled with the step: nothing of it hangs on a recorded moment.
TEST(PlannedSteps, OtherChangesWorkOnTheNewStep) {
  const WhatIf whatif = recorded(step_of(large(), large_plan()));
  WhatIfChanges changes;
  changes.set = {{"microbatches", "16"}};
  const Result<WhatIfAnswer> whole = whatif.ask(changes);
  changes.scale = {{"kernel:/./", 0.5}};
  const Result<WhatIfAnswer> half = whatif.ask(changes);
  ASSERT_TRUE(whole.ok() && half.ok() && half->refused.empty());
  EXPECT_NEAR(half->after.seconds(), whole->after.seconds() / 2, 1e-6);
}

TEST(PlannedSteps, WhatOneTaskDoesNotTellIsRefused) {
  const WhatIf whatif = recorded(step_of(large(), large_plan()));
  for (const char* name : {"tp", "cp", "hidden", "ffn", "heads", "sequence", "microbatch_size"}) {
    const WhatIfAnswer answer = ask(whatif, {{name, "3"}});
    ASSERT_EQ(answer.refused.size(), 1U) << name;
    EXPECT_THAT(answer.refused[0].missing, HasSubstr(name));
    EXPECT_THAT(answer.refused[0].missing, HasSubstr("one task"));
  }
  const WhatIfAnswer hidden = ask(whatif, {{"schedule", "dualpipev"}});
  ASSERT_EQ(hidden.refused.size(), 1U);
  EXPECT_THAT(hidden.refused[0].missing, HasSubstr("share a chip"));
}

}  // namespace
}  // namespace flopcast::whatif::planned
