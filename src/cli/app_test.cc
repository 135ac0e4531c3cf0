#include "cli/testing.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "base/text/utf8.h"
#include "flopcast/workload/dataflow.h"
#include "support/sample_run.h"
#include "support/temporary_folder.h"

namespace flopcast::cli {
namespace {

/// A trace of one rank: a launch and its kernel in one step.
constexpr const char* kTrace = R"({"distributedInfo": {"rank": 0, "world_size": 1}, "traceEvents": [
{"ph":"X","cat":"user_annotation","name":"ProfilerStep#1","pid":1,"tid":1,"ts":0,"dur":100,"args":{}},
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":10,"dur":20,"args":{}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":15,"dur":5,"args":{"correlation":7}},
{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":30,"dur":50,"args":{"correlation":7,"stream":7,"device":0}}
]})";

class CommandLine : public testing::Test {
 protected:
  std::string file(const std::string& name, std::string_view text) {
    return folder_.write(name, text).string();
  }
  std::string trace() { return file("rank0.json", kTrace); }
  test::TemporaryFolder folder_;
};

TEST_F(CommandLine, VersionAndHelpGoToStdout) {
  EXPECT_EQ(answer_to({"--version"}).out.rfind("flopcast ", 0), 0u);
  const Answered help = answer_to({"replay", "--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_NE(help.out.find("Usage: flopcast replay "), std::string::npos);
  EXPECT_NE(help.out.find("Example:\n  flopcast replay "), std::string::npos);
  EXPECT_TRUE(help.err.empty());
}

TEST_F(CommandLine, HelpAndTextsFitTheTerminalDocumentsDoNotChange) {
  const auto widest = [](const std::string& text) {
    std::istringstream lines(text);
    std::size_t most = 0;
    for (std::string line; std::getline(lines, line);) most = std::max(most, display_width(line));
    return most;
  };
  const std::string sample = test::sample_run().string();
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"replay", "--help"},
                                             {"replay", sample, "--compare"},
                                             {"hw", "list"},
                                             {"hw", "show", "h100"}}) {
    EXPECT_GT(widest(answer_to(arguments).out), 80u) << arguments.back();
    EXPECT_LE(widest(answer_to(arguments, 80).out), 80u) << arguments.back();
  }
  EXPECT_EQ(answer_to({"hw", "list", "--json"}, 80).out, answer_to({"hw", "list", "--json"}).out);
  EXPECT_EQ(answer_to({"replay", sample, "--csv"}, 80).out,
            answer_to({"replay", sample, "--csv"}).out);
}

TEST_F(CommandLine, UsageErrorsAreCodeTwoAndNameTheHelp) {
  for (const std::vector<std::string>& bad :
       std::vector<std::vector<std::string>>{{},
                                             {"fly"},
                                             {"replay"},
                                             {"replay", "x", "--lags", "some"},
                                             {"replay", "x", "--baseline", "full"},
                                             {"replay", "x", "--json", "--csv"},
                                             {"replay", "x", "--structure-from", "1"},
                                             {"trace", "slice", "x"}}) {
    const Answered outcome = answer_to(bad);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_TRUE(outcome.out.empty());
    EXPECT_NE(outcome.err.find("--help"), std::string::npos) << outcome.err;
  }
}

TEST_F(CommandLine, UnreadableFileIsCodeThreeAndNamed) {
  const Answered missing = answer_to({"replay", (folder_ / "none.json").string()});
  EXPECT_EQ(missing.code, 3);
  EXPECT_NE(missing.err.find("none.json"), std::string::npos);
  const Answered not_json = answer_to({"trace", "info", file("a.json", "hello")});
  EXPECT_EQ(not_json.code, 3);
  EXPECT_NE(not_json.err.find("a.json"), std::string::npos);
}

TEST_F(CommandLine, ReplayPrintsTextJsonOrCsv) {
  const std::string path = trace();
  EXPECT_NE(answer_to({"replay", path}).out.find("ProfilerStep#1"), std::string::npos);
  const auto json = nlohmann::json::parse(answer_to({"replay", path, "--json"}).out);
  EXPECT_EQ(json.at("sets").at(0).at("ranks").at(0).at("steps").at(0).at("measured_s"), 1e-4);
  const std::string csv = answer_to({"replay", path, "--csv"}).out;
  EXPECT_EQ(csv.rfind("set,mode,baseline,rank,step,measured_s,", 0), 0u);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 2);
}

TEST_F(CommandLine, AFileCutShortIsWarnedOfOnStandardError) {
  const std::string_view whole = kTrace;
  const std::string cut = file("cut.json", whole.substr(0, whole.rfind(']') - 1));
  const std::string page = (folder_ / "cut.html").string();
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"replay", cut, "--html", page},
                                             {"replay", cut, "--json"},
                                             {"validate", "replay", cut},
                                             {"trace", "info", cut},
                                             {"trace", "validate", cut}}) {
    const Answered outcome = answer_to(command);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.err.rfind("flopcast: warning: cut short: ", 0), 0u) << outcome.err;
    EXPECT_NE(outcome.err.find("cut.json: the text ends"), std::string::npos) << outcome.err;
  }
  EXPECT_NE(test::read_text(page).find("cut short"), std::string::npos);
  EXPECT_TRUE(answer_to({"replay", trace()}).err.empty());
}

TEST_F(CommandLine, ATraceOfSomethingElseIsCodeThree) {
  const std::string other = file("other.json", R"({"traceEvents": [
{"ph":"X","cat":"Op","name":"MatMul","pid":1,"tid":1,"ts":0,"dur":5,"args":{}}]})");
  const Answered outcome = answer_to({"replay", other});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_NE(outcome.err.find("nothing to replay here"), std::string::npos) << outcome.err;
}

TEST_F(CommandLine, ManyStepsAreValidatedInFewLines) {
  std::string rows;
  for (int i = 0; i < 1000; ++i) {
    rows += fmt::format(
        R"({}{{"ph":"X","cat":"user_annotation","name":"ProfilerStep#{}","pid":1,"tid":1,"ts":{},"dur":90,"args":{{}}}})",
        i == 0 ? "" : ",", i, 100 * i);
  }
  const std::string many = file("many.json", "{\"traceEvents\": [" + rows + "]}");
  const Answered text = answer_to({"trace", "validate", many});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_LT(text.out.size(), 4000u) << text.out;
  EXPECT_NE(text.out.find("1,000"), std::string::npos) << text.out;
  EXPECT_LT(answer_to({"trace", "validate", many, "--json"}).out.size(), 40000u);
}

TEST_F(CommandLine, LagModeIsNamedInTheResult) {
  const Answered zero = answer_to({"replay", trace(), "--lags", "zero", "--json"});
  EXPECT_EQ(nlohmann::json::parse(zero.out).at("sets").at(0).at("mode"), "zero");
  EXPECT_NE(answer_to({"replay", trace(), "--lags", "recorded"}).out.find("nothing of accuracy"),
            std::string::npos);
}

TEST_F(CommandLine, CompareHasARowPerModel) {
  const Answered outcome = answer_to({"replay", trace(), "--compare"});
  for (const char* model : {"full", "single-stream", "no-inter-stream", "dpro"}) {
    EXPECT_NE(outcome.out.find(model), std::string::npos) << model;
  }
}

TEST_F(CommandLine, WritesPageAndTimelines) {
  const std::string page = (folder_ / "r.html").string();
  const std::string kineto = (folder_ / "t.json").string();
  const std::string perfetto = (folder_ / "t.perfetto-trace").string();
  const Answered outcome = answer_to(
      {"replay", trace(), "--html", page, "--trace-out", kineto, "--trace-out", perfetto});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(test::read_text(page).find("</html>"), std::string::npos);
  EXPECT_EQ(answer_to({"replay", kineto}).code, 0);
  EXPECT_GT(std::filesystem::file_size(perfetto), 0u);
}

TEST_F(CommandLine, MissingFolderFailsBeforeTheWork) {
  const Answered outcome =
      answer_to({"replay", trace(), "--html", (folder_ / "no/r.html").string()});
  EXPECT_EQ(outcome.code, 3);  // as docs/reference/cli.md says of outputs that cannot be written
  EXPECT_TRUE(outcome.out.empty());
}

TEST_F(CommandLine, AFolderOfSeveralRunsIsReplayedRunByRun) {
  std::filesystem::create_directory(folder_ / "many");
  file("many/a.rank0.json", kTrace);
  file("many/b.rank0.json", kTrace);
  const std::string many = (folder_ / "many").string();
  const auto both = nlohmann::json::parse(answer_to({"replay", many, "--json"}).out);
  ASSERT_EQ(both.at("sets").size(), 2u);
  EXPECT_EQ(both.at("sets").at(1).at("name"), "many/b");
  const auto one =
      nlohmann::json::parse(answer_to({"replay", many, "--prefix", "a", "--json"}).out);
  EXPECT_EQ(one.at("sets").size(), 1u);
  const Answered page = answer_to({"replay", many, "--html", (folder_ / "r.html").string()});
  EXPECT_EQ(page.code, 2);
  EXPECT_NE(page.err.find("--prefix"), std::string::npos);
}

TEST_F(CommandLine, OneBadSetDoesNotLoseTheOthers) {
  const std::string bad = file("bad.json", "hello");
  const Answered outcome = answer_to({"validate", "replay", bad, trace(), "--json"});
  EXPECT_EQ(outcome.code, 3);
  const auto json = nlohmann::json::parse(outcome.out);
  ASSERT_EQ(json.at("sets").size(), 2u);
  EXPECT_TRUE(json.at("sets").at(0).contains("failure"));
  EXPECT_EQ(json.at("sets").at(1).at("ranks").size(), 1u);
  EXPECT_EQ(json.at("summary").at("failed_sets"), 1);
}

TEST_F(CommandLine, TraceCommandsAnswerInTextAndJson) {
  const std::string path = trace();
  for (const char* command : {"info", "validate"}) {
    EXPECT_EQ(answer_to({"trace", command, path}).code, 0);
    const auto json = nlohmann::json::parse(answer_to({"trace", command, path, "--json"}).out);
    EXPECT_TRUE(json.at("sets").at(0).at("name").is_string());
  }
}

TEST_F(CommandLine, ModelsAreListedAndShownUnderEveryNameTheyHave) {
  const std::string list = answer_to({"models", "list"}).out;
  for (const std::string& name : builtin_dataflows()) {
    EXPECT_NE(list.find("\n  " + name + " "), std::string::npos) << name;
    EXPECT_EQ(answer_to({"models", "show", name}).code, 0) << name;
  }
  EXPECT_EQ(answer_to({"models", "list", "workloads"}).out.find("llama-3-8b "), std::string::npos);
  // A model that is a published dataflow graph too.
  const auto both = nlohmann::json::parse(answer_to({"models", "show", "gpt3-175b", "--json"}).out);
  EXPECT_EQ(both.at("models").size(), 1u);
  EXPECT_EQ(both.at("workloads").size(), 1u);
  EXPECT_EQ(answer_to({"models", "show", "llama-3-8b:decode"}).code, 0);
  const Answered unknown = answer_to({"models", "show", "nonesuch"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_NE(unknown.err.find("models list"), std::string::npos) << unknown.err;
}

TEST_F(CommandLine, DoctorNamesVersionAndSystem) {
  const Answered outcome = answer_to({"doctor"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.out.find("flopcast "), std::string::npos);
  EXPECT_NE(outcome.out.find("cores"), std::string::npos);
}

TEST_F(CommandLine, SameInputSameBytesForAnyNumberOfThreads) {
  const std::filesystem::path& path = test::sample_run();
  const std::string one = answer_to({"replay", path.string(), "--json", "--threads", "1"}).out;
  EXPECT_EQ(one, answer_to({"replay", path.string(), "--json", "--threads", "4"}).out);
  EXPECT_FALSE(one.empty());
}

}  // namespace
}  // namespace flopcast::cli
