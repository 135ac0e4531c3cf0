// What servers are started with, read as questions: every file of tests/data/serve, by its row in expected.tsv; and the
// tables of flags in docs/reference/serve-files.md, which are made here.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "flopcast/question/serve.h"
#include "flopcast/serving/fields.h"
#include "flopcast/serving/servers.h"
#include "support/temporary_folder.h"

namespace flopcast {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

namespace fs = std::filesystem;

const fs::path kServerFiles = "tests/data/serve";

/// "tp=4 dp=1 set:graphs=1,2": settings as they are, in order.
std::string settings_text(const ServeFile& file) {
  std::string text;
  for (const auto& [name, value] : file.settings) {
    text += (text.empty() ? "" : " ") + name + (name == "set" ? ":" : "=") + value;
  }
  return text;
}

/// A row of the table: model, settings, what is not modelled, what is not known; or the refusal.
std::string row_of(const fs::path& path) {
  const Result<ServeFile> file = read_serve_file(path);
  if (!file) return "refused\t" + file.error().what;
  const LaunchedFlags flags = file->launch.value_or(LaunchedFlags{});
  return fmt::format("{}\t{}\t{}\t{}", file->model, settings_text(*file),
                     fmt::join(flags.unmodelled, "; "), fmt::join(flags.unknown, "; "));
}

std::map<std::string, std::string> expected_rows() {
  std::map<std::string, std::string> rows;
  std::ifstream table(kServerFiles / "expected.tsv");
  std::string line;
  std::getline(table, line);  // what the columns are
  while (std::getline(table, line)) {
    const std::size_t tab = line.find('\t');
    rows[line.substr(0, tab)] = line.substr(tab + 1);
  }
  return rows;
}

TEST(ServerFiles, EachIsReadAsItsRowSays) {
  const std::map<std::string, std::string> expected = expected_rows();
  std::set<std::string> seen;
  for (const auto& entry : fs::directory_iterator(kServerFiles)) {
    const std::string name = entry.path().filename().string();
    if (name == "expected.tsv") continue;
    const auto row = expected.find(name);
    ASSERT_NE(row, expected.end()) << name << "\t" << row_of(entry.path());
    EXPECT_EQ(row_of(entry.path()), row->second) << name;
    seen.insert(name);
  }
  EXPECT_EQ(seen.size(), expected.size());
}

/// Each file that is read becomes a fleet, with nothing of another engine's.
TEST(ServerFiles, EachThatIsReadIsAQuestion) {
  for (const auto& [name, row] : expected_rows()) {
    if (row.starts_with("refused")) continue;
    Result<ServeFile> file = read_serve_file(kServerFiles / name);
    ASSERT_TRUE(file.ok()) << name;
    file->cluster = "6 x dgx-h200";
    if (file->model.empty()) file->model = "llama-3-8b";  // left to who starts it
    for (const auto& more : ServeSettings{{"users", "4"}, {"input", "64"}, {"output", "16"}}) {
      file->settings.push_back(more);
    }
    const bool drafts = row.find(" drafts=") != std::string::npos;
    if (drafts) file->settings.emplace_back("accepted", "1.5");
    const Result<ServeQuestion> question = make_serve_question(*file, Catalog::builtin());
    ASSERT_TRUE(question.ok()) << name << ": " << question.error().text();
    const EngineSettings& settings = question->fleet.pool.deployment.settings;
    EXPECT_EQ(
        row.find("engine=" + std::string(flopcast::name(settings.engine))) != std::string::npos,
        true)
        << name;
    EXPECT_TRUE(question->launch) << name;
  }
}

ServeFile read_text(const std::string& text, const std::string& arguments = {}) {
  const Result<ServeFile> file = parse_serve_file(text, "run.sh", {}, arguments);
  EXPECT_TRUE(file.ok()) << file.error().text();
  return file.ok() ? *file : ServeFile{};
}

TEST(ServerFiles, FlagsAreOfFourKinds) {
  const LaunchedFlags flags =
      *read_text("vllm serve m -tp 2 --port 8 --cpu-offload-gb 4 --invented-flag 3").launch;
  EXPECT_THAT(flags.used, Contains("--tp 2"));
  EXPECT_THAT(flags.without_meaning, Contains("--port 8"));
  EXPECT_THAT(flags.unmodelled, Contains("--cpu-offload-gb 4: weights stay on the chip"));
  EXPECT_THAT(flags.unknown, Contains("--invented-flag 3"));
  const auto problem = strict_problem(flags, "run.sh");
  ASSERT_TRUE(problem);
  EXPECT_THAT(problem->text(), HasSubstr("not known: --invented-flag 3"));
  EXPECT_THAT(problem->text(), HasSubstr("not modelled: --cpu-offload-gb 4"));
  EXPECT_FALSE(strict_problem(*read_text("vllm serve m -tp 2 --port 8").launch, "run.sh"));
}

TEST(ServerFiles, AFlagOfAnotherEngineIsNotKnown) {
  const LaunchedFlags flags =
      *read_text("python -m sglang.launch_server --model-path m --max-num-seqs 4").launch;
  EXPECT_THAT(flags.unknown, Contains("--max-num-seqs 4"));
}

TEST(ServerFiles, WhatTheCallerDecidesIsToldByArguments) {
  const std::string script = "vllm serve llama-3-70b --tensor-parallel-size $GPUS";
  EXPECT_THAT(parse_serve_file(script, "run.sh").error().text(), HasSubstr("$GPUS"));
  EXPECT_THAT(read_text(script, "GPUS=8").settings, Contains(Pair("tp", "8")));
}

TEST(ServerFiles, OptionsLieBesideTheScript) {
  const test::TemporaryFolder folder;
  folder.write("options.yaml", "max_batch_size: 7\n");
  const auto path =
      folder.write("run.sh", "trtllm-serve llama-3-8b --max_batch_size 9 --config options.yaml\n");
  const Result<ServeFile> file = read_serve_file(path);
  ASSERT_TRUE(file.ok()) << file.error().text();
  EXPECT_THAT(file->settings, Contains(Pair("max_requests", "7")));  // the file overrules flags
}

TEST(ServerFiles, FlagsOfTheLineStandBeforeTheFiles) {
  ServeFile file = read_text("vllm serve llama-3-8b --max-num-seqs 9 --max-num-batched-tokens 512");
  for (const auto& more :
       ServeSettings{{"users", "4"}, {"input", "64"}, {"output", "16"}, {"batch_tokens", "1024"}}) {
    file.settings.push_back(more);
  }
  file.cluster = "dgx-h100";
  const Result<ServeQuestion> question = make_serve_question(file, Catalog::builtin());
  ASSERT_TRUE(question.ok()) << question.error().text();
  EXPECT_EQ(question->fleet.pool.deployment.settings.batch_tokens, 1024);
  EXPECT_EQ(question->fleet.pool.deployment.settings.max_requests, 9);
}

TEST(ServerFiles, RequestsLongerThanTheServerTakesAreRefused) {
  ServeFile file = read_text("vllm serve llama-3-8b --max-model-len 256");
  for (const auto& more : ServeSettings{{"users", "4"}, {"input", "250"}, {"output", "16"}}) {
    file.settings.push_back(more);
  }
  file.cluster = "dgx-h100";
  EXPECT_THAT(make_serve_question(file, Catalog::builtin()).error().text(), HasSubstr("256"));
}

TEST(ServerFiles, AScriptThatStartsNoServerIsToldSo) {
  const auto what = [](const char* where) {
    return parse_serve_file("torchrun pretrain_gpt.py --tensor-model-parallel-size 4\n", where)
        .error()
        .what;
  };
  EXPECT_EQ(what("train.sh"), "starts no server that is known");
  EXPECT_NE(what("train.toml"), "starts no server that is known");
}

TEST(ServerFiles, QuestionsAreNoServers) {
  EXPECT_FALSE(names_server("model = \"llama-3-70b\"\nengine = \"vllm\"\ntp = 4\n"));
  EXPECT_FALSE(names_server("# of services: four\nengine = \"sglang\"\n"));
  EXPECT_FALSE(parse_serve_file("engine = \"vllm\"\ntp = 4\n", "q.toml")->launch);
}

/// Settings that flags may become are settings that there are.
TEST(ServerFlagTable, EveryUsedFlagBecomesASetting) {
  std::set<std::string> settings = {"tp", "dp", "ep", "pp"};
  EngineSettings none;
  visit_engine_settings(none, [&](std::string_view name, auto&) { settings.emplace(name); });
  for (const auto engine :
       {ServingEngine::kVllm, ServingEngine::kSglang, ServingEngine::kTensorRtLlm}) {
    const auto known = known_server_flags(engine);
    ASSERT_GT(known.size(), 50U) << name(engine);
    for (const KnownServerFlag& flag : known) {
      if (!flag.used || flag.becomes.starts_with('@')) continue;
      const std::string target(flag.becomes.substr(0, flag.becomes.find('=')));
      EXPECT_TRUE(settings.contains(target)) << flag.name << " becomes " << target;
    }
  }
}

/// The tables of the documents: what is used, and what is taken instead of what is not modelled.
std::string flag_tables() {
  std::string text;
  for (const auto engine :
       {ServingEngine::kVllm, ServingEngine::kSglang, ServingEngine::kTensorRtLlm}) {
    std::map<std::string, std::vector<std::string>> instead;
    std::vector<std::string> used;
    std::size_t meaningless = 0;
    for (const KnownServerFlag& flag : known_server_flags(engine)) {
      if (flag.used) used.push_back(fmt::format("`{}`", flag.name));
      if (!flag.used && flag.becomes.empty()) ++meaningless;
      if (!flag.used && !flag.becomes.empty()) {
        instead[std::string(flag.becomes)].push_back(fmt::format("`{}`", flag.name));
      }
    }
    text += fmt::format("### {}\n\nUsed: {}.\n\nWithout meaning: {} others.\n\n", name(engine),
                        fmt::join(used, ", "), meaningless);
    text += "| not modelled | taken instead |\n|---|---|\n";
    for (const auto& [what, flags] : instead) {
      text += fmt::format("| {} | {} |\n", fmt::join(flags, ", "), what);
    }
    text += "\n";
  }
  return text;
}

TEST(ServerFlagTable, IsThatOfTheDocuments) {
  std::ifstream file("docs/reference/serve-files.md");
  std::stringstream all;
  all << file.rdbuf();
  const std::string text = all.str(), begin = "<!-- flags of servers -->\n";
  const std::size_t first = text.find(begin), last = text.find("<!-- end -->");
  ASSERT_NE(first, std::string::npos);
  ASSERT_NE(last, std::string::npos);
  EXPECT_EQ(text.substr(first + begin.size(), last - first - begin.size()), flag_tables());
}

}  // namespace
}  // namespace flopcast
