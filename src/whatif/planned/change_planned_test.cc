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

/// Whether the recording says what its tasks do not: degrees, layers, whole transfers.
enum class Told : std::uint8_t { kNo, kYes };

void expect_answers(const TrainingModel& model, const Plan& plan, Told told,
                    const std::vector<Question>& questions) {
  StepRun run = step_of(model, plan);
  if (told == Told::kNo) run.facts.reset();
  const WhatIf whatif = recorded(run);
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

class PlannedKnobs : public testing::TestWithParam<Told> {};
INSTANTIATE_TEST_SUITE_P(Facts, PlannedKnobs, testing::Values(Told::kNo, Told::kYes));

Question deep_on_cluster(unsigned pp) {
  return {{{"pp", std::to_string(pp)}},
          [pp](Plan& plan) { plan.pp = pp, plan.dp = 128 / pp; },
          kCluster};
}
Question of_schedule(ScheduleKind kind, unsigned chunks) {
  std::vector<Setting> settings = {{"schedule", std::string(name(kind))}};
  if (chunks > 1) settings.emplace_back("chunks", std::to_string(chunks));
  return {settings, [kind, chunks](Plan& plan) { plan.schedule = kind, plan.vpp = chunks; }};
}

TEST_P(PlannedKnobs, DepthOnTheSameCluster) {
  expect_answers(large(), large_plan(), GetParam(),
                 {deep_on_cluster(2), deep_on_cluster(8), deep_on_cluster(16)});
}

TEST_P(PlannedKnobs, MicrobatchesAndSchedules) {
  expect_answers(large(), large_plan(), GetParam(),
                 {{{{"microbatches", "64"}}, [](Plan& plan) { plan.global_batch = 2048; }},
                  {{{"microbatches", "8"}}, [](Plan& plan) { plan.global_batch = 256; }},
                  of_schedule(ScheduleKind::kGpipe, 1),
                  of_schedule(ScheduleKind::kInterleaved, 2)});
}

TEST(PlannedSteps, WhatIsToldIsUsed) {
  expect_answers(large(), large_plan(), Told::kYes,
                 {deep_on_cluster(1),
                  deep_on_cluster(32),
                  of_schedule(ScheduleKind::kZeroBubbleH1, 1),
                  of_schedule(ScheduleKind::kZeroBubbleV, 2),
                  {{{"dp", "16"}, {"microbatches", "64"}}, [](Plan& plan) { plan.dp = 16; }}});
}

// Replicas inside a node, then over nodes; transfers that passes hide, and no longer.
TEST(PlannedSteps, SmallerModelsOnFewerNodes) {
  const TrainingModel model = model_on("llama-3-8b", "4 x dgx-h100");
  Plan plan;
  plan.tp = 2, plan.pp = 4, plan.dp = 4;
  plan.sequence_parallel = true;
  plan.global_batch = 128;
  plan.sequence = 4096;
  const auto on_cluster = [](unsigned pp) {
    return Question{{{"pp", std::to_string(pp)}},
                    [pp](Plan& other) { other.pp = pp, other.dp = 16 / pp; },
                    "4 x dgx-h100"};
  };
  expect_answers(model, plan, Told::kYes, {on_cluster(1), on_cluster(2), on_cluster(8)});
}

TEST(PlannedSteps, MoreReplicasOnMoreNodes) {
  const TrainingModel half = model_on("llama-3-8b", "8 x dgx-h100");
  const TrainingModel whole = model_on("llama-3-8b", "32 x dgx-h100");
  Plan plan;
  plan.tp = 2, plan.pp = 4, plan.dp = 8;
  plan.sequence_parallel = true;
  plan.global_batch = 256;
  plan.sequence = 4096;
  const WhatIf whatif = recorded(step_of(half, plan));
  plan.dp = 32, plan.global_batch = 1024;
  const double truth = step_of(whole, plan).step.value;
  for (const char* on : {"", "32 x dgx-h100"}) {
    const WhatIfAnswer answer = ask(whatif, {{"dp", "32"}}, on);
    ASSERT_TRUE(answer.refused.empty()) << answer.refused.front().missing;
    EXPECT_NEAR(answer.after.seconds(), truth, kTarget * truth) << on;
  }
}

TEST(PlannedSteps, ModelsOfOtherDepth) {
  const WhatIf whatif = recorded(step_of(large(), large_plan()));
  const Catalog& catalog = Catalog::builtin();
  for (const std::size_t layers : {40U, 42U, 120U}) {
    Model other = *load_model("meta-llama-3-70b");
    other.order.resize(layers, other.order.front());
    const auto model = TrainingModel::make(other, *catalog.cluster(kCluster), catalog);
    const double truth = step_of(*model, large_plan()).step.value;
    const WhatIfAnswer answer = ask(whatif, {{"layers", std::to_string(layers)}});
    ASSERT_TRUE(answer.refused.empty()) << answer.refused.front().missing;
    EXPECT_NEAR(answer.after.seconds(), truth, kTarget * truth) << layers;
  }
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

TEST(PlannedSteps, WithoutFactsMoreIsRefused) {
  StepRun run = step_of(large(), large_plan());
  run.facts.reset();
  const WhatIf whatif = recorded(run);
  const std::pair<Setting, const char*> missing[] = {
      {{"schedule", "zb-h1"}, "recorded as one task"},
      {{"layers", "40"}, "how many layers"},
      {{"dp", "64"}, "how many replicas"}};
  for (const auto& [setting, why] : missing) {
    const WhatIfAnswer answer = ask(whatif, {setting});
    ASSERT_EQ(answer.refused.size(), 1U) << setting.first;
    EXPECT_THAT(answer.refused[0].missing, HasSubstr(why));
  }
  Plan two = large_plan();
  two.pp = 2, two.dp = 64;
  StepRun ends = step_of(large(), two);
  ends.facts.reset();
  const WhatIfAnswer answer = ask(recorded(ends), {{"pp", "4"}});
  ASSERT_EQ(answer.refused.size(), 1U);
  EXPECT_THAT(answer.refused[0].missing, HasSubstr("fewer than three stages"));
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
