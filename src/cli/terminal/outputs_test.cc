#include "cli/terminal/outputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "cli/testing.h"
#include "support/temporary_folder.h"

namespace flopcast::cli {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr const char* kRecording = R"({"traceEvents": [
{"ph":"X","cat":"user_annotation","name":"ProfilerStep#1","pid":1,"tid":1,"ts":0,"dur":100,"args":{}},
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":10,"dur":20,"args":{}}]})";

/// Runs commands in a folder of their own, which must not change where they are refused.
class OutputsTest : public testing::Test {
 protected:
  std::string at(const std::string& name) const { return (folder_.path() / name).string(); }
  std::string file(const std::string& name, std::string_view text) {
    return folder_.write(name, text).string();
  }
  void refused(const std::vector<std::string>& arguments, const std::string& kept,
               const std::string& word) {
    const std::string before = test::read_text(kept);
    const Answered outcome = answer_to(arguments);
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(word));
    EXPECT_EQ(test::read_text(kept), before);
  }

  test::TemporaryFolder folder_;
  std::string recording_ = file("rank0.json", kRecording);
};

TEST_F(OutputsTest, AnInputIsNotOverwrittenHoweverItIsSpelled) {
  fs::create_directory(at("sub"));
  fs::create_symlink(recording_, at("link.html"));
  fs::create_hard_link(recording_, at("hard.html"));
  for (const std::string& name :
       {recording_, at("./sub/../rank0.json"), at("link.html"), at("hard.html")}) {
    refused({"replay", recording_, "--html", name}, recording_, "is read as PATH");
    refused({"replay", recording_, "--trace-out", name}, recording_, "is read as PATH");
  }
  // A folder is read whole.
  refused({"replay", folder_.path().string(), "--trace-out", recording_}, recording_, "lies in");
}

TEST_F(OutputsTest, EveryCommandKeepsItsInputs) {
  const std::string table = file("table.csv", "gpu,system\n");
  const std::string model = file("config.json", "{}"), node = file("node.toml", "x = 1");
  const std::string shard = file("shard.jsonl", "{}\n");
  const std::vector<std::pair<std::vector<std::string>, std::string>> lines = {
      {{"calibrate", "network", table, "-o", table}, table},
      {{"calibrate", "kernels", table, "--chip", "a100", "-o", table}, table},
      {{"net", "run", table, "--on", "dgx-h100", "--html", table}, table},
      {{"net", "export", "--on", "2 x " + node, "--out", node}, node},
      {{"estimate", model, "--on", "dgx-h100", "--html", model}, model},
      {{"estimate", "llama-3-8b", "--on", node + ", rail NDR", "--trace-out", node}, node},
      {{"estimate", "llama-3-8b", "--on", "dgx-h100", "--plan-from", node, "--html", node}, node},
      {{"plan", "llama-3-8b", "--on", "dgx-h100", "--constants", node, "--out", node}, node},
      {{"map", model + ":training", "--on", "8 x sn10", "--toml", model}, model},
      {{"map", "--dfmodel", node, "--mps", node}, node},
      {{"explore", node, "--on", "8 x sn10", "--sweep", "sram=1x", "--resume", node}, node},
      {{"merge", shard, "--html", shard}, shard},
  };
  for (const auto& [line, kept] : lines) refused(line, kept, "is read as");
}

TEST_F(OutputsTest, TwoOutputsAreTwoFiles) {
  fs::create_symlink(at("z.html"), at("link.html"));  // of what is not there yet
  for (const std::string& other : {at("z.html"), at("./z.html"), at("link.html")}) {
    refused({"replay", recording_, "--html", at("z.html"), "--trace-out", other}, recording_,
            "is written by");
  }
  refused({"replay", recording_, "--trace-out", at("a.json"), "--trace-out", at("a.json")},
          recording_, "is written by --trace-out already");
  EXPECT_FALSE(fs::exists(at("z.html")));
}

TEST_F(OutputsTest, StandardInputIsReadOnceAndNotWritten) {
  EXPECT_THAT(answer_to({"replay", recording_, "--html", "-"}).err, HasSubstr("standard input"));
  const Answered twice = answer_to({"estimate", "-", "--on", "-"});
  EXPECT_EQ(twice.code, 2);
  EXPECT_THAT(twice.err, HasSubstr("standard input is read as MODEL already"));
}

TEST_F(OutputsTest, WhatCannotBeWrittenIsToldBeforeTheWork) {
  const Answered absent = answer_to({"replay", recording_, "--html", at("no/r.html")});
  EXPECT_EQ(absent.code, 3);
  EXPECT_THAT(absent.err, HasSubstr("make the folder first"));
  const Answered folder = answer_to({"replay", recording_, "--html", folder_.path().string()});
  EXPECT_EQ(folder.code, 3);
  EXPECT_THAT(folder.err, HasSubstr("is a directory"));
}

TEST_F(OutputsTest, DevicesAndNewFilesAreWritten) {
  const Answered outcome = answer_to({"replay", recording_, "--html", at("r.html"), "--trace-out",
                                      "/dev/null", "--trace-out", "/dev/null"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(fs::exists(at("r.html")));
  EXPECT_EQ(answer_to({"replay", recording_, "--html", at("r.html")}).code, 0);  // and once more
}

}  // namespace
}  // namespace flopcast::cli
