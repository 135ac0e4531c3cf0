// The corpus of launch configurations, a folder for each launcher: what each file is read as, which of its
// settings are used, without meaning, not modelled and not known, and what is refused; and the table of
// docs/reference/launch-files.md.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "flopcast/machine/training.h"
#include "flopcast/parallel/names.h"
#include "flopcast/question/launch.h"
#include "parallel/launch/names.h"
#include "parallel/recognise.h"

namespace flopcast {
namespace {

namespace fs = std::filesystem;

const fs::path kCorpus = "tests/data/launch";

std::string text_of(const fs::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

/// Every file of a launcher's folder: "ms-swift/lora.sh".
std::set<std::string> corpus_files() {
  std::set<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(kCorpus)) {
    const fs::path path = fs::relative(entry.path(), kCorpus);
    if (entry.is_regular_file() && path.has_parent_path()) files.insert(path.string());
  }
  return files;
}

/// Files that others name: they are read with these.
bool is_named_by_others(const std::string& file) {
  return file.find("/beside_") != std::string::npos;
}

std::string list_of(const std::vector<std::string>& words) {
  return words.empty() ? "-" : fmt::format("{}", fmt::join(words, "; "));
}

constexpr std::string_view kTitles =
    "file\tlauncher\tmodel\tprecision\ttp\tpp\tcp\tep\tmicro_batch\tglobal_batch\tsequence\tzero\t"
    "recompute\tchips\tlora_rank\topen\tused\tignored\tunmodelled\tunknown";

/// The row of expected.tsv: of a file that is refused, by its error.
std::string row_of(const std::string& file) {
  const std::string path = (kCorpus / file).string();
  const Result<PlanFile> read = read_plan(path);
  if (!read) {
    std::string error = read.error().text();
    if (error.starts_with(path)) error.erase(0, path.size());
    return fmt::format("{}\trefused\t{}", file, error);
  }
  const Plan& p = read->plan;
  std::vector<std::string> open;
  for (const OpenSetting& one : read->open) open.push_back(one.name);
  return fmt::format(
      "{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}", file,
      name(read->launcher), read->model.name.empty() ? "-" : read->model.name, name(p.precision),
      p.tp, p.pp, p.cp, p.ep, p.micro_batch, p.global_batch, p.sequence, name(p.zero),
      name(p.recompute), read->chips, p.lora_rank, list_of(open), list_of(read->used),
      list_of(read->ignored), list_of(read->unmodelled), list_of(read->unknown));
}

std::map<std::string, std::string> expected_rows() {
  std::map<std::string, std::string> rows;
  std::istringstream lines(text_of(kCorpus / "expected.tsv"));
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, kTitles);
  while (std::getline(lines, line)) rows[line.substr(0, line.find('\t'))] = line;
  return rows;
}

TEST(LaunchCorpus, IsReadAsExpected) {
  const std::map<std::string, std::string> expected = expected_rows();
  std::set<std::string> files = corpus_files();
  std::erase_if(files, is_named_by_others);
  EXPECT_GE(files.size(), 30U);
  for (const std::string& file : files) {
    const auto row = expected.find(file);
    EXPECT_EQ(row == expected.end() ? "no row" : row->second, row_of(file));
  }
  for (const auto& [file, row] : expected) EXPECT_TRUE(files.contains(file)) << file;
}

// --- Promises, each by the case that would break it -----------------------------------------------

PlanFile read_file_of_corpus(const std::string& file) {
  Result<PlanFile> read = read_plan((kCorpus / file).string());
  EXPECT_TRUE(read.ok()) << read.error().text();
  return read.ok() ? *read : PlanFile{};
}

PlanFile read_text(std::string_view text) {
  Result<PlanFile> read = parse_plan(text, "text");
  EXPECT_TRUE(read.ok()) << read.error().text();
  return read.ok() ? *read : PlanFile{};
}

std::string refusal_of(std::string_view text) {
  const Result<PlanFile> read = parse_plan(text, "text");
  EXPECT_FALSE(read.ok()) << text;
  return read.ok() ? std::string() : read.error().text();
}

TEST(LaunchCorpus, EveryFileIsOfTheFolderItLiesIn) {
  for (const std::string& file : corpus_files()) {
    if (is_named_by_others(file)) continue;
    const std::string folder = file.substr(0, file.find('/'));
    const Result<PlanFile> read = read_plan((kCorpus / file).string());
    if (folder == "none") EXPECT_FALSE(read.ok()) << file;
    if (read) EXPECT_EQ(name(read->launcher), folder) << file;
  }
}

// A launcher whose usual type is bf16 once came out in fp32: its own word for precision was not known.
TEST(LaunchCorpus, NothingComesOutInFullPrecisionThatDoesNotSayIt) {
  for (const char* text :
       {"megatron sft --model Qwen/Qwen3-8B --max_length 4096",
        "torchrun run_recipe.py --recipe llama3_8b_pretrain_config",
        "nemo llm pretrain --factory llama3_8b",
        "python3 train.py --rollout-batch-size 8 --micro-batch-size 1 --hf-checkpoint x",
        "python3 -m verl.trainer.main_ppo actor_rollout_ref.model.path=x",
        "python3 -m verl.trainer.main_ppo actor_rollout_ref.model.path=x "
        "actor_rollout_ref.actor.strategy=megatron",
        "modules:\n  pre_trainer:\n    framework: megatron\n    model: llama2_7B.yaml\n",
        "trainer: {devices: 8}\nmodel: {micro_batch_size: 1, tensor_model_parallel_size: 1}\n"}) {
    EXPECT_EQ(read_text(text).plan.precision, Precision::kBf16) << text;
  }
  EXPECT_EQ(read_text("megatron sft --model x --fp16 true").plan.precision, Precision::kFp16);
  EXPECT_EQ(read_text("megatron sft --model x --torch_dtype float32").plan.precision,
            Precision::kFp32);
}

TEST(LaunchCorpus, WhatNobodyKnowsIsNotKnown) {
  const PlanFile file =
      read_text("pretrain_gpt.py --micro-batch-size 1 --my-new-recompute-everything");
  EXPECT_EQ(file.unknown, std::vector<std::string>{"--my-new-recompute-everything"});
  EXPECT_TRUE(file.ignored.empty());
}

TEST(LaunchCorpus, StrictRefusesWhatIsLeftOutByName) {
  const PlanFile file = read_file_of_corpus("megatron-lm/invented_flags.sh");
  const std::optional<Diagnostic> problem = strict_problem(file, "plan.sh");
  ASSERT_TRUE(problem.has_value());
  EXPECT_NE(problem->what.find("not known: --my-new-recompute-everything, --faster-attention"),
            std::string::npos);
  EXPECT_NE(problem->what.find("not modelled: --cpu-offloading"), std::string::npos);
  EXPECT_FALSE(strict_problem(read_text("--tp 2 --micro-batch-size 1 --lr 1"), "plan").has_value());
}

TEST(LaunchCorpus, LaunchersOwnNamesAreReadAndNotMegatronsDefaults) {
  const PlanFile swift = read_file_of_corpus("ms-swift/full.sh");
  EXPECT_EQ(swift.plan.sequence, 16384);
  EXPECT_EQ(swift.plan.zero, Zero::kOptimizer);
  EXPECT_EQ(swift.software, "megatron-2025");
  const PlanFile half = read_file_of_corpus("ms-swift/pretrain_half.sh");
  EXPECT_EQ(half.plan.recompute, Recompute::kSelective);  // unless it is told otherwise
  EXPECT_EQ(read_text("megatron sft --model x --recompute_granularity none").plan.recompute,
            Recompute::kNone);
  EXPECT_FALSE(read_text("megatron sft --model x --use_distributed_optimizer false").plan.zero !=
               Zero::kNone);
}

TEST(LaunchCorpus, RecipesAreOverriddenAndUnknownOnesRefused) {
  const PlanFile file = read_text(
      "run_recipe.py --recipe qwen3_32b_pretrain_config model.recompute_granularity=null "
      "model.tensor_model_parallel_size=4");
  EXPECT_EQ(file.plan.recompute, Recompute::kNone);  // the recipe's is full
  EXPECT_EQ(file.plan.tp, 4U);
  EXPECT_EQ(file.plan.pp, 2U);
  EXPECT_NE(refusal_of("run_recipe.py --recipe my_pretrain_config").find("my_pretrain_config"),
            std::string::npos);
  EXPECT_NE(refusal_of("nemo llm pretrain trainer.devices=8").find("names no recipe"),
            std::string::npos);
}

TEST(LaunchCorpus, DocumentsAreFilledInByTheirCaller) {
  const std::string path = (kCorpus / "primus/pretrain.yaml").string();
  LaunchSite site;
  site.arguments = "PRIMUS_TP=4 GBS=96";
  const Result<PlanFile> called = read_plan(path, site);
  ASSERT_TRUE(called.ok());
  EXPECT_EQ(called->plan.tp, 4U);
  EXPECT_EQ(called->plan.global_batch, 96);
  const PlanFile open = read_text(
      "modules:\n  pre_trainer:\n    overrides:\n      tensor_model_parallel_size: ${MY_TP}\n");
  ASSERT_EQ(open.open.size(), 1U);
  EXPECT_EQ(open.open[0].name, "tp");
  EXPECT_EQ(open.open[0].value, "$MY_TP");
  EXPECT_EQ(read_file_of_corpus("nemo1/pretrain.yaml").plan.sequence, 4096);  // ${.x}
}

TEST(LaunchCorpus, ALogTellsTheChipsAndTheModel) {
  const PlanFile file = read_file_of_corpus("megatron-lm/arguments.log");
  EXPECT_EQ(file.chips, 16U);
  ASSERT_TRUE(file.model.whole.has_value());
  EXPECT_EQ(file.model.whole->vocab, 128256);
  EXPECT_TRUE(file.unknown.empty()) << file.unknown.front();
  const PlanFile told = read_file_of_corpus("megatron-lm/defaults_told.log");
  EXPECT_FALSE(told.plan.overlap.pipeline);
  EXPECT_TRUE(told.unmodelled.empty()) << told.unmodelled.front();
  EXPECT_EQ(told.unknown, std::vector<std::string>{"zero_point_energy"});
}

TEST(LaunchCorpus, ServersAndOtherFilesAreToldWhatTheyAre) {
  EXPECT_NE(refusal_of("vllm serve x --tensor-parallel-size 2").find("vLLM"), std::string::npos);
  EXPECT_NE(refusal_of("python -m sglang.launch_server --tp 8").find("SGLang"), std::string::npos);
  EXPECT_NE(refusal_of("{\"model_type\": \"llama\"}").find("config.json"), std::string::npos);
  EXPECT_NE(refusal_of("torchrun own.py --bf16 --lr 1").find("own.py"), std::string::npos);
}

TEST(LaunchCorpus, TheModelThatAFileNamesIsTaken) {
  PlanFile file = read_file_of_corpus("ms-swift/lora.sh");
  const Result<Model> model = model_of("", &file);
  ASSERT_TRUE(model.ok()) << model.error().text();
  EXPECT_EQ(model->name, "qwen3-30b-a3b");
  const PlanFile other = read_file_of_corpus("ms-swift/pretrain_half.sh");
  const Result<Model> none = model_of("", &other);
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().what.find("org/unheard-of-13B, which is not built in"), std::string::npos);
  const PlanFile script = read_file_of_corpus("deepspeed/script.sh");
  EXPECT_EQ(model_of("", &script).error().what,
            "is missing, and the launch configuration does not tell it");
  compare_model(file, *load_model("gpt2"));
  ASSERT_FALSE(file.assumed.empty());
  EXPECT_NE(file.assumed.front().find("not gpt2"), std::string::npos);
}

TEST(LaunchCorpus, TheLaunchersSoftwareIsTakenUnlessOneIsNamed) {
  PlanFile file = read_file_of_corpus("nemo1/pretrain.yaml");
  TrainingOptions options;
  take_software(file, options);
  EXPECT_EQ(options.software, "megatron-2024");
  EXPECT_NE(file.assumed.back().find("NeMo 1 since 2023-08"), std::string::npos);
  options.software = "fsdp";
  take_software(file, options);
  EXPECT_EQ(options.software, "fsdp");
}

TEST(LauncherFacts, NameProfilesThatThereAre) {
  const std::vector<std::string> known = training_software();
  for (const LauncherFacts& one : launchers()) {
    const bool there = std::find(known.begin(), known.end(), one.software) != known.end();
    EXPECT_TRUE(one.software.empty() || there) << one.name;
    EXPECT_EQ(parse_launcher(one.name), one.launcher);
  }
}

// --- docs/reference/launch-files.md ---------------------------------------------------------------

/// Names that files of the corpus use, by launcher: what is read, as far as the corpus shows it.
std::map<std::string, std::set<std::string>> used_names() {
  std::map<std::string, std::set<std::string>> names;
  for (const std::string& file : corpus_files()) {
    const Result<PlanFile> read = read_plan((kCorpus / file).string());
    if (!read) continue;
    auto& of_launcher = names[std::string(name(read->launcher))];
    // "recipe.yaml: max_length" of a file that another names.
    for (const std::string& used : read->used) {
      const std::size_t place = used.rfind(": ");
      of_launcher.insert(place == std::string::npos ? used : used.substr(place + 2));
    }
  }
  return names;
}

std::string launcher_table() {
  const auto used = used_names();
  std::string table =
      "| launcher | recognised by | software | settings that the corpus uses "
      "|\n|---|---|---|---|\n";
  for (const LauncherFacts& one : launchers()) {
    const auto names = used.find(std::string(one.name));
    if (names == used.end()) continue;
    std::vector<std::string> evidence = parallel::evidence_of(one.launcher);
    if (evidence.empty()) evidence = {"its flags"};
    std::string software(one.software.empty() ? "of several, not told" : one.software);
    if (!one.since.empty()) software += fmt::format(" (since {})", one.since);
    table += fmt::format("| {} | `{}` | {} | `{}` |\n", one.words, fmt::join(evidence, "`, `"),
                         software, fmt::join(names->second, "` `"));
  }
  return table;
}

TEST(LaunchDocs, TableIsWhatTheCorpusShows) {
  const std::string page = text_of("docs/reference/launch-files.md");
  const std::string table = launcher_table();
  EXPECT_NE(page.find(table), std::string::npos)
      << "docs/reference/launch-files.md should have this table:\n"
      << table;
}

}  // namespace
}  // namespace flopcast
