// Launch configurations as people write them, and plans as flags: what each file of tests/data/launch
// means, and that printed flags mean the plan they are printed for.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "flopcast/parallel/fields.h"
#include "flopcast/question/launch.h"
#include "flopcast/question/plan.h"

namespace flopcast {
namespace {

namespace fs = std::filesystem;

const std::string kFolder = "tests/data/launch/";

/// What Megatron-LM does where no flag says otherwise, beside Flopcast's own defaults.
Plan megatron_plan() {
  Plan plan;
  plan.global_batch = 0;
  plan.zero = Zero::kNone;
  plan.context = ContextKind::kRing;
  plan.overlap.gradients = plan.overlap.weights = false;
  return plan;
}

struct LaunchCase {
  const char* file;
  const char* plan;       ///< what differs from megatron_plan()
  unsigned chips = 0;     ///< that it launches, where it says
  const char* open = "";  ///< what it leaves to its caller
};
void PrintTo(const LaunchCase& one, std::ostream* out) { *out << one.file; }

const LaunchCase kCases[] = {
    {"append.sh", "tp 2, pp 4, micro_batch 2, global_batch 64"},
    {"arithmetic.sh", "tp 4, pp 2, micro_batch 2, global_batch 64", 32},
    {"array.sh", "tp 2, cp 2, global_batch 64", 8},
    {"array_of_pairs.sh", "global_batch 128, zero 1, precision fp8, fp32_gradients false"},
    {"auto.json",
     "zero 3, context ulysses, fp32_gradients false, offload 100, overlap_gradients true, "
     "overlap_weights true"},
    {"batch_schedule.sh", "micro_batch 4, global_batch 1152"},
    {"branches.sh", "tp 2, micro_batch 4, global_batch 64, sequence_parallel true"},
    {"caller_decides.sh", "pp 2, global_batch 64", 0, "tp $1, micro_batch $2"},
    {"case.sh", "tp 2, global_batch 16"},
    {"continuations.sh", "tp 8, global_batch 32, sequence_parallel true", 8},
    {"defaults.sh", "tp 2, pp 4, global_batch 64, sequence_parallel true"},
    {"eval.sh",
     "tp 2, micro_batch 2, global_batch 64, recompute full, precision fp16, fp32_gradients false",
     8},
    {"flags_only.txt", "tp 4, pp 2, global_batch 64"},
    {"function.sh", "tp 4, pp 2, global_batch 32", 8},
    {"here_document.sh",
     "micro_batch 2, global_batch 128, zero 3, fp32_gradients false, overlap_gradients true, "
     "overlap_weights true"},
    {"here_document_bf16.sh", "tp 4, pp 4, micro_batch 2, global_batch 64, zero 1, recompute full"},
    {"list.yaml", "tp 4, micro_batch 2, global_batch 64"},
    {"megatron_deepspeed.sh",
     "tp 2, cp 2, ep 4, etp 1, global_batch 64, zero 2, recompute full, context ulysses, "
     "precision fp16, fp32_gradients false"},
    {"model_config.yaml",
     "tp 2, pp 2, micro_batch 4, global_batch 32, zero 1, recompute selective, "
     "recompute_modules 6, sequence_parallel true"},
    {"mtp.sh", "global_batch 64, precision fp8_block, mtp_layers 1"},
    {"nothing_set.sh", "tp 2, global_batch 64"},
    {"offload.sh", "global_batch 64, zero 1, recompute selective, offload 75"},
    {"one_line.sh", "tp 4, pp 2, micro_batch 2, global_batch 128", 16},
    {"passed_on.sh", "tp 2, global_batch 32"},
    {"placeholders.sh",
     "tp 8, global_batch 1536, recompute full, precision fp16, fp32_gradients false"},
    {"plain_keys.yaml", "tp 4, pp 2, global_batch 32, sequence_parallel true"},
    {"precision_aware.sh",
     "global_batch 64, zero 1, fp32_gradients false, split_master true, moment_bytes 4"},
    {"quoted_string.sh",
     "tp 4, pp 2, micro_batch 4, global_batch 256, precision fp16, fp32_gradients false", 8},
    {"read_document.sh", "tp 2, global_batch 32"},
    {"site_numbers.sh", "tp 2, global_batch 64", 32},
    {"slurm.slurm", "tp 4, pp 12, micro_batch 2, global_batch 32", 32},
    {"sourced_by_others.sh", "tp 2, pp 2, micro_batch 2, global_batch 32"},
    {"string_in_string.sh", "tp 2, global_batch 64, zero 1", 8},
    {"torchtitan.toml",
     "tp 2, etp 1, micro_batch 2, sequence 8192, zero 3, recompute full, sequence_parallel true, "
     "context all_gather, precision fp8, overlap_gradients true, overlap_weights true"},
    {"two_launches.sh", "tp 2, pp 2, global_batch 32, sequence 4096"},
    {"virtual_stages.sh",
     "pp 4, vpp 4, global_batch 64, schedule interleaved, zero 1, overlap_gradients true, "
     "overlap_weights true"},
    {"whole_experts.sh", "global_batch 16, sequence 1024"},
    {"whole_model.sh", "global_batch 128, sequence 8192", 8},
    {"written_script.sh", "tp 8, global_batch 16", 8},
    {"zero_bubble.sh",
     "pp 8, global_batch 64, schedule zb-h1, zero 1, precision fp16, fp32_gradients false"},
    {"zero_two.json",
     "dp 16, micro_batch 4, global_batch 128, zero 2, context ulysses, precision fp16, "
     "fp32_gradients false",
     16},
};

class LaunchFiles : public testing::TestWithParam<LaunchCase> {};

/// Four nodes of eight chips.
PlanFile read_case(const char* file) {
  LaunchSite site;
  site.nodes = 4;
  site.chips_per_node = 8;
  Result<PlanFile> read = read_plan(kFolder + file, site);
  EXPECT_TRUE(read.ok()) << read.error().text();
  return read.ok() ? *read : PlanFile{};
}

TEST_P(LaunchFiles, MeanThePlan) {
  const LaunchCase& one = GetParam();
  const PlanFile file = read_case(one.file);
  EXPECT_EQ(plan_change_words(megatron_plan(), file.plan), one.plan);
  EXPECT_EQ(file.chips, one.chips);
  std::string open;
  for (const OpenSetting& left : file.open) {
    open += (open.empty() ? "" : ", ") + left.name + " " + left.value;
  }
  EXPECT_EQ(open, one.open);
}
INSTANTIATE_TEST_SUITE_P(All, LaunchFiles, testing::ValuesIn(kCases));

TEST(LaunchFilesFolder, HasNoFileWithoutItsPlan) {
  std::set<std::string> known = {"README.md", "expected.tsv", "trainers.tsv"};
  for (const LaunchCase& one : kCases) known.insert(one.file);
  for (const auto& entry : fs::directory_iterator(kFolder)) {
    const bool ours = entry.is_directory() || known.contains(entry.path().filename().string());
    EXPECT_TRUE(ours) << entry.path();
  }
  EXPECT_GE(std::size(kCases), 30u);
}

TEST(LaunchFilesModel, WhatAFileTellsWhole) {
  const PlanFile llama = read_case("whole_model.sh");
  ASSERT_TRUE(llama.model.whole.has_value());
  const Model known = *load_model("llama-3-8b");
  EXPECT_EQ(count_parameters(*llama.model.whole).total, count_parameters(known).total);
  EXPECT_TRUE(model_differences(llama.model, known).empty());
  const std::vector<std::string> other = model_differences(llama.model, *load_model("llama-3-70b"));
  ASSERT_GE(other.size(), 3u);
  EXPECT_EQ(other[0], "layers 32, not 80");
  const PlanFile experts = read_case("whole_experts.sh");
  ASSERT_TRUE(experts.model.whole.has_value());
  EXPECT_EQ(experts.model.whole->kinds.size(), 2u);
  EXPECT_EQ(experts.model.whole->count(0), 1);
  EXPECT_EQ(experts.model.whole->kinds[1].experts.top_k, 2);
  const PlanFile part = read_case("virtual_stages.sh");
  EXPECT_FALSE(part.model.whole.has_value());
  EXPECT_EQ(part.model.missing.front(), "--hidden-size");
}

TEST(LaunchFilesModel, IsTakenWhereNoneIsNamedAndComparedWhereOneIs) {
  PlanFile file = read_case("whole_model.sh");
  EXPECT_EQ(model_of("", &file)->layers(), 32);
  EXPECT_EQ(model_of("gpt2", &file)->layers(), 12);
  compare_model(file, *load_model("gpt2"));
  ASSERT_FALSE(file.assumed.empty());
  EXPECT_NE(file.assumed.front().find("layers 32, not 12"), std::string::npos);
  const PlanFile part = read_case("virtual_stages.sh");
  const Result<Model> none = model_of("", &part);
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().what.find("--vocab-size"), std::string::npos);
}

TEST(LaunchFilesOpen, AreGivenByFlagsOrByTheCall) {
  const PlanFile file = read_case("caller_decides.sh");
  const Result<NamedPlan> refused = make_plan({{"tp", "4"}}, 32, &file);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().where, "micro_batch");
  EXPECT_NE(refused.error().what.find("--micro-batch-size $2"), std::string::npos);
  EXPECT_EQ(make_plan({{"tp", "4"}, {"micro_batch", "2"}}, 32, &file)->plan.micro_batch, 2);
  LaunchSite site;
  site.arguments = "GLOBAL=128 4 2 big";
  const Result<PlanFile> called = read_plan(kFolder + "caller_decides.sh", site);
  ASSERT_TRUE(called.ok());
  EXPECT_TRUE(called->open.empty());
  EXPECT_EQ(called->plan.tp, 4u);
  EXPECT_EQ(called->plan.pp, 8u);
  EXPECT_EQ(called->plan.global_batch, 128);
}

TEST(LaunchFilesOpen, AFileForOtherChipsSaysSo) {
  const PlanFile file = read_case("one_line.sh");
  const Result<NamedPlan> named = make_plan({}, 64, &file);
  ASSERT_TRUE(named.ok());
  EXPECT_EQ(named->plan.dp, 8u);
  ASSERT_EQ(named->assumed.size(), 1u);
  EXPECT_EQ(named->assumed[0], "the file launches 16 chips: replicas are those of 64");
}

TEST(LaunchFilesNone, AreRefused) {
  for (const char* text : {"", "hello", "#!/bin/bash\necho --verbose", "name: x\nsteps: 4\n",
                           "[project]\nname = 'x'\n", "{\"vocab\": 1}"}) {
    EXPECT_FALSE(parse_plan(text, "file").ok()) << text;
  }
}

// --- Printed flags ------------------------------------------------------------------------------

struct Printed {
  PlanFormat launcher;
  const char* model;
  std::vector<std::string> constraints;
};
void PrintTo(const Printed& one, std::ostream* out) { *out << name(one.launcher) << one.model; }

class PrintedFlags : public testing::TestWithParam<Printed> {};

TEST_P(PrintedFlags, MeanThePlanTheyArePrintedFor) {
  const Printed& one = GetParam();
  PlanQuestion question;
  question.model = one.model;
  question.cluster = "2 x dgx-h100";
  question.global_batch = 64;
  question.sequence = 2048;
  question.launchable = one.launcher;
  for (const std::string& text : one.constraints) {
    question.constraints.push_back(*parse_plan_constraint(text));
  }
  const Result<PlanReport> report = answer(question);
  ASSERT_TRUE(report.ok()) << report.error().text();
  ASSERT_FALSE(report->best.empty());
  const Catalog& catalog = Catalog::builtin();
  const Model model = *load_model(one.model);
  TrainingOptions options;
  options.software = report->software;
  const Result<TrainingModel> training =
      TrainingModel::make(model, *catalog.cluster(question.cluster), catalog, options);
  ASSERT_TRUE(training.ok());
  for (const PlanCandidate& candidate : report->best) {
    const Plan& plan = candidate.found.plan;
    const Launch launch =
        write_launch(plan, one.launcher, launch_context(one.launcher, &model, report->software), 8);
    EXPECT_TRUE(launch.lost.empty()) << launch.lost.front();
    const std::string script = launch_script(launch);
    const Result<PlanFile> file = parse_plan(script, "printed");
    ASSERT_TRUE(file.ok()) << file.error().text();
    EXPECT_EQ(file->chips, report->chips) << script;
    EXPECT_TRUE(file->unknown.empty()) << file->unknown.front();
    PlanSettings elsewhere;
    for (const PlanElsewhere& other : launch.elsewhere) elsewhere[other.name] = other.value;
    const Result<NamedPlan> again = make_plan(elsewhere, report->chips, &*file);
    ASSERT_TRUE(again.ok()) << again.error().text();
    const Result<TrainingEstimate> told =
        training->estimate(again->plan, &candidate.found.placement);
    ASSERT_TRUE(told.ok()) << told.error().text();
    EXPECT_EQ(told->step.value, candidate.found.time.value) << script;
    EXPECT_EQ(told->memory().total().value, candidate.found.memory.value) << script;
  }
}

const Printed kPrinted[] = {
    {PlanFormat::kMegatron, "gpt-3-1.3b", {}},
    {PlanFormat::kMegatron, "gpt-3-1.3b", {"pp=16"}},
    {PlanFormat::kMegatron, "mixtral-8x7b", {"tp<=4", "pp<=4"}},
    {PlanFormat::kTorchtitan, "gpt-3-1.3b", {"zero=0,3"}},
    {PlanFormat::kTorchtitan, "llama-3-8b", {"zero=3", "pp=2,4", "schedule=1f1b,interleaved"}},
    {PlanFormat::kDeepspeed, "gpt-3-1.3b", {"sequence_parallel=off"}},
    {PlanFormat::kDeepspeed, "llama-3-8b", {"sequence_parallel=off", "pp=2", "recompute=full"}},
};
INSTANTIATE_TEST_SUITE_P(All, PrintedFlags, testing::ValuesIn(kPrinted));

TEST(PrintedFlagsOf, APlanThatALauncherCannotRunSayWhat) {
  PlanQuestion question;
  question.model = "gpt-3-1.3b";
  question.cluster = "dgx-h100";
  question.global_batch = 64;
  question.sequence = 2048;
  question.constraints = {*parse_plan_constraint("schedule=zb-v"), *parse_plan_constraint("pp=4")};
  question.best = 1;
  const Result<PlanReport> any = answer(question);
  ASSERT_TRUE(any.ok());
  ASSERT_FALSE(any->best.empty());
  EXPECT_NE(plan_json(*any).find("\"megatron_lacks\""), std::string::npos);
  EXPECT_NE(plan_json(*any).find("the schedule zb-v"), std::string::npos);
  question.launchable = PlanFormat::kMegatron;
  const Result<PlanReport> none = answer(question);
  ASSERT_TRUE(none.ok());
  EXPECT_TRUE(none->best.empty());
  EXPECT_TRUE(std::any_of(
      none->search.refused.begin(), none->search.refused.end(), [](const auto& refused) {
        return refused.first == "launchable: megatron cannot run the schedule zb-v";
      }));
}

}  // namespace
}  // namespace flopcast
