// What launchers run, as data: conditions are read as they are written, and each rule holds of what it is about.
#include "parallel/launch/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalog_files.h"
#include "flopcast/parallel/fields.h"

namespace flopcast::parallel {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr PlanFormat kEvery[] = {PlanFormat::kMegatron, PlanFormat::kTorchtitan,
                                 PlanFormat::kDeepspeed};

LaunchContext with(double capability, int software) {
  LaunchContext context;
  context.capability = capability;
  context.software = software;
  return context;
}

bool holds(std::string_view text, const Plan& plan, const LaunchContext& context = {}) {
  const Result<Condition> condition = Condition::parse(text, "test", {"fast", "slow"});
  EXPECT_TRUE(condition) << condition.error().text();
  return condition && condition->holds(PlanFacts(plan, context));
}

TEST(LaunchConditions, AreReadAsTheyAreWritten) {
  Plan plan;
  plan.tp = 4, plan.pp = 2, plan.dp = 3, plan.sequence = 24;
  plan.schedule = ScheduleKind::kInterleaved, plan.vpp = 5;
  plan.stage_layers = {1, 2};
  EXPECT_TRUE(holds("", plan));
  EXPECT_TRUE(holds("tp*pp == 8 and dp < 4", plan));
  EXPECT_FALSE(holds("tp*pp == 8 and dp > 3", plan));
  EXPECT_TRUE(holds("tp == 1 and dp == 3 or pp >= 2", plan));
  EXPECT_TRUE(holds("schedule == interleaved and schedule != 1f1b", plan));
  EXPECT_TRUE(holds("sequence % tp*2 == 0", plan));
  EXPECT_TRUE(holds("sequence % tp*pp*dp*2 != 0", plan));
  EXPECT_TRUE(holds("overlap_gradients and not overlap_tensor", plan));
  EXPECT_TRUE(holds("stage_layers == 2 and stages == 10 and replicas == 3", plan));
  EXPECT_TRUE(holds("precision > fp16 and precision <= bf16 and zero < 2", plan));
  EXPECT_TRUE(holds("software == fast and capability == 90 and not model", plan, with(9.0, 0)));
  EXPECT_TRUE(holds("software != fast and software != slow", plan, with(0, -1)));
}

TEST(LaunchConditions, OthersAreRefusedByTheirWords) {
  for (const auto& [text, word] : {std::pair("tpp > 1", "'tpp'"),
                                   {"tp >> 1", "'>>'"},
                                   {"schedule == fast", "'fast'"},
                                   {"tp > 1 and", "a test is"},
                                   {"tp > 1 and pp", ""},
                                   {"tp / 2 == 1", "a test is"}}) {
    const Result<Condition> read = Condition::parse(text, "rule", {});
    if (*word == '\0') {
      EXPECT_TRUE(read) << text;
    } else {
      ASSERT_FALSE(read) << text;
      EXPECT_THAT(read.error().text(), HasSubstr(word));
    }
  }
}

TEST(LaunchRules, OfTheCatalogueAreReadWhole) {
  for (const PlanFormat format : kEvery) {
    const std::string path = "launch/rules/" + std::string(name(format)) + ".toml";
    bool found = false;
    for (const CatalogFile& file : catalog_files()) {
      if (file.path != path) continue;
      found = true;
      const Result<LauncherRules> read = LauncherRules::parse(file.text, path);
      EXPECT_TRUE(read) << read.error().text();
    }
    EXPECT_TRUE(found) << path;
    EXPECT_FALSE(LauncherRules::of(format).words().empty());
    EXPECT_FALSE(LauncherRules::of(format).softwares().empty());
  }
}

TEST(LaunchRules, WithoutASourceOrWithAWrongFieldAreRefused) {
  const auto error = [](std::string_view text) {
    const Result<LauncherRules> read = LauncherRules::parse(text, "rules.toml");
    return read ? std::string("read") : read.error().text();
  };
  EXPECT_THAT(error("[[refuses]]\nwhen = \"tp > 1\"\nwhat = \"x\"\n"), HasSubstr("no source"));
  const std::string start = "[sources]\na = \"b\"\n";
  EXPECT_THAT(error(start + "[[refuses]]\nsource = \"a\"\n"), HasSubstr("no 'what'"));
  EXPECT_THAT(error(start + "[[refuses]]\nwhen = \"x > 1\"\nwhat = \"x\"\nsource = \"a\"\n"),
              HasSubstr("'x'"));
  EXPECT_THAT(error(start + "[[does]]\nwhat = \"schedule = fast\"\nsource = \"a\"\n"),
              HasSubstr("sets no field"));
  EXPECT_EQ(error(start + "[[does]]\nwhat = \"schedule = gpipe\"\nsource = \"a\"\n"), "read");
}

// The kinds of plans that launchers are known to refuse, and one change that each runs.
struct Refused {
  PlanFormat launcher;
  const char* fields;  ///< of Plan{}, settled
  const char* what;    ///< that is told
  const char* change;  ///< after which it runs
};
const Refused kRefused[] = {
    {PlanFormat::kTorchtitan, "tp=8 dp=16 sequence_parallel=true zero=0", "replicated weights",
     "zero=3"},
    {PlanFormat::kTorchtitan, "pp=4 dp=16 zero=0 global_batch=256", "replicated weights", "zero=3"},
    {PlanFormat::kTorchtitan, "tp=8 sequence_parallel=true zero=0", "16 bits in tensor", "tp=1"},
    {PlanFormat::kTorchtitan, "pp=4 vpp=2 dp=2 zero=3 schedule=dualpipev global_batch=64",
     "dualpipev of compiled layers", "schedule=interleaved"},
    {PlanFormat::kTorchtitan, "pp=4 dp=2 zero=3 global_batch=4", "fewer microbatches",
     "global_batch=8"},
    {PlanFormat::kMegatron, "overlap_gradients=false", "reductions of gradients that do not",
     "overlap_weights=false"},
    {PlanFormat::kMegatron, "tp=2 overlap_tensor=true", "without sequence parallelism",
     "sequence_parallel=true"},
    {PlanFormat::kMegatron, "tp=2 ep=2 dp=2", "experts with tensor", "sequence_parallel=true"},
    {PlanFormat::kMegatron, "cp=4 sequence=12", "a multiple of 2 cp", "sequence=16"},
    {PlanFormat::kMegatron, "offload=50", "on the host", "split_master=true"},
    {PlanFormat::kMegatron, "dp=2 optimizer=muon", "Muon", "zero=0 overlap_gradients=false"},
    {PlanFormat::kMegatron, "zero=0 precision=fp8", "weights gathered in 8 bits", "zero=1"},
    {PlanFormat::kDeepspeed, "pp=2 dp=2 zero=2", "with a pipeline", "zero=1"},
    {PlanFormat::kDeepspeed, "dp=2 zero=0", "bf16 with whole", "zero=1"},
};

Plan changed(Plan plan, std::string_view fields) {
  while (!fields.empty()) {
    const std::string_view one = fields.substr(0, fields.find(' '));
    fields.remove_prefix(std::min(one.size() + 1, fields.size()));
    const std::size_t sign = one.find('=');
    const auto value = fact_value(one.substr(0, sign), one.substr(sign + 1), {});
    EXPECT_TRUE(value) << one;
    set_fact(plan, find_fact(one.substr(0, sign)).value_or(0), value.value_or(0));
  }
  return plan;
}

TEST(LaunchRules, RefuseWhatLaunchersRefuse) {
  for (const Refused& one : kRefused) {
    const LauncherRules& rules = LauncherRules::of(one.launcher);
    Plan plan = changed(Plan{}, one.fields);
    if (plan.global_batch == 1) plan.global_batch = plan.dp;
    rules.settle(plan, {}, {});
    EXPECT_FALSE(rules.runs(plan, {})) << one.fields;
    EXPECT_THAT(rules.refusals(plan, {}), Contains(HasSubstr(one.what))) << one.fields;
    Plan other = changed(plan, one.change);
    rules.settle(other, {}, {});
    EXPECT_THAT(rules.refusals(other, {}), IsEmpty()) << one.fields << ", then " << one.change;
    EXPECT_TRUE(rules.runs(other, {}));
  }
}

TEST(LaunchRules, WhatSomebodyNamedIsNotSettledAway) {
  Plan plan;
  plan.dp = plan.global_batch = 2;
  const LauncherRules& rules = LauncherRules::of(PlanFormat::kDeepspeed);
  const std::string named[] = {"overlap"};
  Plan kept = plan;
  rules.settle(kept, {}, named);
  EXPECT_EQ(kept, plan);
  EXPECT_THAT(rules.refusals(kept, {}), Contains("what overlaps"));
  rules.settle(plan, {}, {});
  EXPECT_FALSE(plan.overlap.weights);
  EXPECT_TRUE(rules.runs(plan, {}));
}

TEST(LaunchRules, TheEnvironmentIsThatOfTheChipAndTheSharding) {
  const LauncherRules& rules = LauncherRules::of(PlanFormat::kMegatron);
  const auto environment = [&](unsigned tp, Zero zero, double capability) {
    Plan plan;
    plan.tp = tp, plan.zero = zero;
    const std::vector<std::string> all = rules.environment(plan, with(capability, 0));
    return all.empty() ? std::string() : all.front();
  };
  EXPECT_EQ(environment(8, Zero::kOptimizer, 9.0), "CUDA_DEVICE_MAX_CONNECTIONS=1");
  EXPECT_EQ(environment(8, Zero::kOptimizer, 0), "CUDA_DEVICE_MAX_CONNECTIONS=1");
  EXPECT_EQ(environment(8, Zero::kOptimizer, 10.0), "");
  EXPECT_EQ(environment(1, Zero::kOptimizer, 9.0), "");
  EXPECT_EQ(environment(8, Zero::kGradients, 9.0), "CUDA_DEVICE_MAX_CONNECTIONS=8");
  Plan sharded;
  sharded.zero = Zero::kGradients;
  EXPECT_THAT(rules.needs(sharded, {}), Contains("--ckpt-format fsdp_dtensor"));
  EXPECT_THAT(rules.needs(Plan{}, {}), IsEmpty());
}

}  // namespace
}  // namespace flopcast::parallel
