// flopcast validate training as people call it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/testing.h"
#include "support/temporary_folder.h"

namespace flopcast::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;

Answered validate(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"validate", "training"});
  return answer_to(arguments);
}

/// A file in a folder of the test's own.
std::string file(const std::string& name, const std::string& text) {
  static const test::TemporaryFolder folder;
  return folder.write(name, text).string();
}

/// A run as a user writes it.
json run_of_eight() {
  return json::parse(R"({"id": "mine", "model": {"arch": "llama", "layers": 16, "hidden": 2048,
    "ffn": 8192, "heads": 32, "kv_heads": 8, "vocab": 128256, "gated": true, "seq_len": 4096},
    "system": {"on": "dgx-h100"}, "parallel": {"tp": 1, "pp": 1, "dp": 8},
    "batch": {"gbs": 32, "mbs": 2}, "dtype": "bf16", "recompute": "none",
    "measured": {"iter_time_s": 0.6}})");
}

TEST(ValidateTraining, TakesOneRun) {
  const std::string path = file("one.json", run_of_eight().dump());
  const Answered text = validate({path});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("ZeRO 1"));  // few runs: a line for each
  EXPECT_EQ(validate({path, "--cases"}).out, text.out);
  const json document = json::parse(validate({path, "--json"}).out);
  EXPECT_EQ(document["summary"]["n"], 1);
  EXPECT_GT(document["cases"][0]["forecast_s"], 0);
  EXPECT_EQ(document["summary"]["bias"], document["cases"][0]["error"]);
  const Answered csv = validate({path, "--csv"});
  EXPECT_THAT(csv.out, HasSubstr("\nmine,"));
}

TEST(ValidateTraining, SaysWhatARunLacks) {
  json run = run_of_eight();
  run["batch"].erase("gbs");
  const Answered outcome = validate({file("lacks.json", run.dump())});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("no run could be forecast"));
  EXPECT_THAT(outcome.out, HasSubstr("no global batch is told"));
}

TEST(ValidateTraining, UnseenSetsAreOnesThatSomethingIsKnownOf) {
  const std::string path = file("unseen.json", run_of_eight().dump());
  const Answered outcome = validate({path, "--unseen", "bridge", "--unseen", "brigde"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_TRUE(outcome.out.empty());
  EXPECT_THAT(outcome.err, HasSubstr("brigde: is no set of these runs"));
  EXPECT_THAT(outcome.err, HasSubstr("bridge, "));
  EXPECT_THAT(outcome.err, HasSubstr("mine, "));
  EXPECT_EQ(validate({path, "--unseen", "bridge"}).code, 0);
  EXPECT_EQ(validate({path, "--unseen", "mine"}).code, 0);  // the run's own set
}

TEST(ValidateTraining, FilesOfOtherKindsAreRefused) {
  EXPECT_EQ(validate({"/no/such/file.json"}).code, 3);
  for (const char* text : {"", "{", "[]", "[1]", "{\"cases\": 3}"}) {
    const Answered outcome = validate({file("bad.json", text)});
    EXPECT_NE(outcome.code, 0) << text;
    EXPECT_THAT(outcome.err, HasSubstr("bad.json")) << text;
  }
  const Answered csv = validate({file("bad.csv", "gpus,gbs\n8,32\n")});
  EXPECT_NE(csv.code, 0);
  EXPECT_THAT(csv.err, HasSubstr("bad.csv"));
}

TEST(ValidateTraining, AFolderIsAllRunsInIt) {
  const test::TemporaryFolder folder;
  const std::string empty = folder.path().string();
  const Answered none = validate({empty});
  EXPECT_EQ(none.code, 3);
  EXPECT_THAT(none.err, HasSubstr("is a folder without a file to read"));
  folder.write("a.json", run_of_eight().dump());
  folder.write("b.json", run_of_eight().dump());
  folder.write("notes.md", "not of these");
  const json both = json::parse(validate({empty, "--json"}).out);
  EXPECT_EQ(both["cases"].size(), 2U);
}

TEST(ValidateTraining, ConstantsComeFromAFile) {
  const std::string path = file("constants.json", run_of_eight().dump());
  const auto forecast_s = [&](const std::string& constants) {
    const Answered outcome = validate({path, "--json", "--constants", file("own.toml", constants)});
    return json::parse(outcome.out)["cases"][0]["forecast_s"].get<double>();
  };
  EXPECT_NEAR(forecast_s("[all]\nstep_s = 0.4\n[software.megatron]\nstep_s = 0.4\n") -
                  forecast_s("[all]\nstep_s = 0.1\n[software.megatron]\nstep_s = 0.1\n"),
              0.3, 1e-6);
  const Answered absent = validate({path, "--constants", "/no/such.toml"});
  EXPECT_EQ(absent.code, 3);
  EXPECT_THAT(absent.err, HasSubstr("/no/such.toml: cannot be read"));
  const Answered odd = validate({path, "--constants", file("odd.toml", "[all]\nspeed = 1\n")});
  EXPECT_EQ(odd.code, 3);
  EXPECT_THAT(odd.err, HasSubstr("odd.toml:2"));
}

TEST(ValidateTraining, FiltersAreChecked) {
  const std::string path = file("filters.json", run_of_eight().dump());
  const Answered set = validate({path, "--set", "hers"});
  EXPECT_EQ(set.code, 2);
  EXPECT_THAT(set.err, HasSubstr("there are mine"));
  EXPECT_EQ(validate({"--set", "mine", path}).code, 0);
  EXPECT_EQ(validate({path, "--quality", "Q"}).code, 2);
  EXPECT_EQ(validate({path, "--dense", "--moe"}).code, 2);
  EXPECT_THAT(validate({path, "--moe"}).out, HasSubstr("no run could be forecast"));
}

}  // namespace
}  // namespace flopcast::cli
