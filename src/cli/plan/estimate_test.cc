// flopcast estimate as people call it.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/testing.h"
#include "flopcast/trace.h"
#include "support/temporary_folder.h"

namespace flopcast::cli {
namespace {

/// `flopcast estimate` with these arguments.
Answered estimate(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "estimate");
  return answer_to(arguments);
}

/// The example of the issue, and more arguments.
Answered example(const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {
      "meta-llama-3-70b", "--on", "128 x dgx-h100", "--tp", "8", "--pp", "4",
      "--global-batch",   "1024", "--seq",          "8192"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return estimate(arguments);
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(Estimate, AnswersInTextJsonAndCsv) {
  const Answered text = example();
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_TRUE(has(text.out, "a step (10-90 %: ")) << text.out;
  EXPECT_TRUE(has(text.out, "What this rests on"));
  const auto json = nlohmann::json::parse(example({"--json"}).out);
  EXPECT_EQ(json["plan"]["dp"], 32);
  EXPECT_EQ(json["chips"], 1024);
  EXPECT_TRUE(json["fits"]);
  EXPECT_LT(json["low_s"], json["time_s"]);
  EXPECT_LT(json["time_s"], json["high_s"]);
  EXPECT_EQ(json["stages"].size(), 4u);
  double sum = 0;
  for (const auto& part : json["parts_s"]) sum += part.get<double>();
  EXPECT_NEAR(sum, json["time_s"].get<double>(), 1e-9);
  const std::string csv = example({"--csv"}).out;
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 2);
  EXPECT_EQ(example({"--json", "--csv"}).code, 2);
}

TEST(Estimate, MegatronsNamesMeanTheSame) {
  const Answered longer =
      estimate({"llama-3-70b", "--on", "128 x dgx-h100", "--tensor-model-parallel-size", "8",
                "--pipeline-model-parallel-size", "4", "--global-batch-size", "1024",
                "--seq-length", "8192", "--sequence-parallel", "--json"});
  EXPECT_EQ(longer.code, 0) << longer.err;
  EXPECT_EQ(longer.out, example({"--json"}).out);
}

// 2,048 sequences of 8,192 tokens.
TEST(Estimate, TakesTokensWithUnits) {
  const std::vector<std::string> on = {"llama-3-70b", "--on", "128 x dgx-h100",
                                       "--tp",        "8",    "--json"};
  const auto asked = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = on;
    all.insert(all.end(), more.begin(), more.end());
    return estimate(all);
  };
  const Answered tokens = asked({"--global-batch", "16M", "--seq", "8k"});
  ASSERT_EQ(tokens.code, 0) << tokens.err;
  const auto json = nlohmann::json::parse(tokens.out);
  EXPECT_EQ(json["plan"]["global_batch"], 2048);
  EXPECT_EQ(json["plan"]["sequence"], 8192);
  EXPECT_TRUE(has(json["assumed"].dump(), "16M: 16,777,216 tokens")) << json["assumed"];
  const Answered either = asked({"--global-batch", "2k", "--seq", "8k"});
  EXPECT_EQ(either.code, 2);
  EXPECT_TRUE(has(either.err, "--global-batch: '2k' may be tokens")) << either.err;
}

TEST(Estimate, SettingsOfALaunchAreFlags) {
  const std::vector<std::string> all = {"mixtral-8x7b",
                                        "--on",
                                        "2 x dgx-h100",
                                        "--ep",
                                        "8",
                                        "--zero",
                                        "1",
                                        "--tp",
                                        "2",
                                        "--global-batch",
                                        "64",
                                        "--seq",
                                        "4k",
                                        "--recompute",
                                        "full",
                                        "--dispatcher",
                                        "hybridep",
                                        "--cuda-graph",
                                        "--gradient-type",
                                        "bf16",
                                        "--json"};
  const Answered told = estimate(all);
  ASSERT_TRUE(told.code == 0 || told.code == 4) << told.err;
  const auto json = nlohmann::json::parse(told.out);
  EXPECT_EQ(json["plan"]["dispatcher"], "hybridep");
  EXPECT_EQ(json["plan"]["cuda_graph"], true);
  EXPECT_EQ(json["plan"]["gradient_type"], "bf16");
  EXPECT_TRUE(has(json["assumed"].dump(), "HybridEP: rows are sent and sorted as by DeepEP"));
}

TEST(Estimate, WhatDoesNotFitIsCodeFourWithTheNearestPlanThatFits) {
  const std::vector<std::string> big = {"llama-3-70b",    "--on", "8 x dgx-h100", "--tp", "8",
                                        "--global-batch", "64"};
  const Answered outcome = estimate(big);
  EXPECT_EQ(outcome.code, 4);
  EXPECT_TRUE(has(outcome.err, "memory of pipeline stage 0: a chip needs")) << outcome.err;
  EXPECT_TRUE(has(outcome.err, "nearest plan that fits: ")) << outcome.err;
  EXPECT_TRUE(has(outcome.out, "DOES NOT FIT"));
  EXPECT_TRUE(has(outcome.out, "what would make it fit"));
  std::vector<std::string> recomputed = big;
  recomputed.insert(recomputed.end(), {"--recompute", "full"});
  EXPECT_EQ(estimate(recomputed).code, 0);
}

TEST(Estimate, MemoryMayBeBounded) {
  EXPECT_EQ(example({"--memory", "90%"}).code, 0);
  EXPECT_EQ(example({"--memory", "0.2"}).code, 4);
  for (const char* share : {"0", "120%", "much", "-1"}) {
    EXPECT_EQ(example({"--memory", share}).code, 2) << share;
  }
}

// What fits by a coin's toss is no plan that one would take, unless one says so.
TEST(Estimate, APlanAtTheEdgeOfMemoryFitsWithTheOddsThatAreAskedFor) {
  const auto whole = nlohmann::json::parse(example({"--json"}).out);
  const double total = whole["stages"][0]["memory_bytes"]["total"].get<double>();
  const double share = total / whole["capacity_bytes"].get<double>();
  EXPECT_LT(whole["memory_low_bytes"], total);
  EXPECT_GT(whole["memory_high_bytes"], total);
  EXPECT_GT(whole["fit_odds"], 0.99);
  const std::string edge = std::to_string(share * 1.002), room = std::to_string(share * 1.1);
  const Answered refused = example({"--memory", edge});
  EXPECT_EQ(refused.code, 4);
  EXPECT_TRUE(has(refused.err, "90.0 % are asked for (--fit-odds)")) << refused.err;
  EXPECT_TRUE(has(refused.err, "nearest plan that fits: ")) << refused.err;
  const Answered taken = example({"--memory", edge, "--fit-odds", "0.5", "--json"});
  EXPECT_EQ(taken.code, 0) << taken.err;
  const auto json = nlohmann::json::parse(taken.out);
  EXPECT_TRUE(json["fits"]);
  EXPECT_EQ(json["asked_odds"], 0.5);
  EXPECT_NEAR(json["fit_odds"], 0.5, 0.05);
  EXPECT_EQ(example({"--memory", room}).code, 0);
  EXPECT_EQ(example({"--memory", room, "--fit-odds", "0.9999"}).code, 4);
  for (const char* odds : {"0", "1", "90", "likely"}) {
    EXPECT_EQ(example({"--fit-odds", odds}).code, 2) << odds;
  }
}

TEST(Estimate, NonsenseIsRefusedWithEveryReason) {
  const Answered outcome = estimate(
      {"llama-3-70b", "--on", "8 x dgx-h100", "--tp", "3", "--dp", "100", "--global-batch", "4"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_TRUE(outcome.out.empty());
  EXPECT_TRUE(has(outcome.err, "number of heads 64 is not divisible by 3")) << outcome.err;
  EXPECT_TRUE(has(outcome.err, "global batch 4 is smaller than")) << outcome.err;
  EXPECT_TRUE(has(outcome.err, "makes 300 chips, not 64")) << outcome.err;
}

TEST(Estimate, AChipMustMultiplyInThePlansPrecision) {
  const Answered outcome = estimate(
      {"llama-3-8b", "--on", "8 x v100", "--tp", "8", "--global-batch", "8", "--seq", "2048"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_TRUE(has(outcome.err, "does not multiply in bf16 (use one of fp32, fp16)")) << outcome.err;
  EXPECT_EQ(example({"--precision", "nvfp4"}).code, 2);
  EXPECT_EQ(example({"--precision", "mxfp8"}).code, 0);
  // Neither other 32 bits nor 16 stand in for what a chip lacks.
  const auto in = [](const char* chips, const char* precision) {
    return estimate({"llama-3-8b", "--on", chips, "--dp", "8", "--zero", "3", "--global-batch", "8",
                     "--seq", "2048", "--recompute", "full", "--precision", precision});
  };
  EXPECT_TRUE(has(in("8 x v100", "tf32").err, "does not multiply in tf32")) << "v100";
  EXPECT_TRUE(has(in("8 x tpu-v5p", "fp32").err, "does not multiply in fp32")) << "tpu-v5p";
}

TEST(Estimate, WrongWordsAreUsageErrorsThatNameTheFlag) {
  EXPECT_TRUE(has(example({"--zero", "7"}).err, "--zero: expected 0|1|2|3, found '7'"));
  EXPECT_TRUE(has(example({"--print-as", "yaml"}).err, "megatron, torchtitan or deepspeed"));
  EXPECT_TRUE(has(estimate({"gpt2", "--on", "dgx-h100"}).err, "--global-batch: is missing"));
  EXPECT_TRUE(has(estimate({"gpt2", "--global-batch", "8"}).err, "--on: is missing"));
  EXPECT_TRUE(has(example({"--price", "-1"}).err, "--price"));
  for (const Answered& outcome :
       {example({"--zero", "7"}), example({"--print-as", "yaml"}), example({"--price", "-1"}),
        estimate({"gpt2", "--on", "dgx-h100"}), example({"--system", "B200-NVS8"})}) {
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    EXPECT_TRUE(outcome.out.empty());
  }
}

TEST(Estimate, PrintsThePlanForALauncherAndReadsItBack) {
  const test::TemporaryFolder folder;
  const std::string file = (folder / "flags.sh").string();
  const Answered flags = example({"--print-as", "megatron"});
  EXPECT_EQ(flags.code, 0) << flags.err;
  test::write_text(file, flags.out);
  const Answered again =
      estimate({"llama-3-70b", "--on", "128 x dgx-h100", "--plan-from", file, "--json"});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(nlohmann::json::parse(again.out)["time_s"],
            nlohmann::json::parse(example({"--json"}).out)["time_s"]);
  const Answered lost = example({"--print-as", "deepspeed"});
  EXPECT_TRUE(nlohmann::json::accept(lost.out));
  EXPECT_TRUE(has(lost.err, "deepspeed cannot run")) << lost.err;
}

TEST(Estimate, ALaunchScriptTellsTheModelAndWhatIsLeftOut) {
  const std::string whole = "tests/data/launch/whole_model.sh";
  const Answered outcome = estimate({"--on", "dgx-h100", "--plan-from", whole});
  EXPECT_NE(outcome.code, 2) << outcome.err;
  EXPECT_TRUE(has(outcome.out, "8.03 B parameters")) << outcome.out;
  const Answered other =
      estimate({"gpt2", "--on", "dgx-h100", "--plan-from", whole, "--seq", "1024"});
  EXPECT_TRUE(has(other.out, "trains another model than gpt2: layers 32, not 12")) << other.out;
  const Answered ignored = estimate({"gpt-3-1.3b", "--on", "dgx-h100", "--plan-from",
                                     "tests/data/launch/offload.sh", "--seq", "2048"});
  EXPECT_TRUE(has(ignored.out, "--cpu-offloading: activations stay on the chip")) << ignored.out;
  EXPECT_TRUE(
      has(ignored.out, "Ignored: without meaning for a step\n  --cpu-offloading-num-layers"));
  EXPECT_TRUE(has(estimate({"--on", "dgx-h100", "--global-batch", "8"}).err, "MODEL: is missing"));
}

TEST(Estimate, SettingsOfALaunchFileAreOfFourKinds) {
  const std::string invented = "tests/data/launch/megatron-lm/invented_flags.sh";
  std::vector<std::string> asked = {"gpt-3-1.3b", "--on",      "dgx-h100", "--plan-from",
                                    invented,     "--offload", "0",        "--json"};
  const Answered outcome = estimate(asked);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json["unknown"],
            (nlohmann::json{"--my-new-recompute-everything", "--faster-attention"}));
  EXPECT_EQ(json["unmodelled"][0], "--cpu-offloading: activations stay on the chip");
  EXPECT_EQ(json["ignored"], (nlohmann::json{"--lr", "--cpu-offloading-num-layers"}));
  EXPECT_EQ(json["used"].size(), 9U);
  asked.back() = "--strict";
  const Answered strict = estimate(asked);
  EXPECT_NE(strict.code, 0);
  EXPECT_TRUE(strict.out.empty());
  EXPECT_TRUE(has(strict.err, "not known: --my-new-recompute-everything")) << strict.err;
  EXPECT_TRUE(has(strict.err, "not modelled: --cpu-offloading")) << strict.err;
}

TEST(Estimate, ALaunchFileThatNamesItsModelNeedsNone) {
  const std::string lora = "tests/data/launch/ms-swift/lora.sh";
  const Answered outcome = estimate({"--on", "dgx-h100", "--plan-from", lora});
  EXPECT_TRUE(has(outcome.out, "megatron-2025")) << outcome.out << outcome.err;
  EXPECT_TRUE(has(outcome.out, "software of ms-swift's Megatron since 2025-02"));
  const Answered other =
      estimate({"--on", "dgx-h100", "--plan-from", "tests/data/launch/ms-swift/pretrain_half.sh"});
  EXPECT_EQ(other.code, 2);
  EXPECT_TRUE(has(other.err, "org/unheard-of-13B, which is not built in")) << other.err;
}

TEST(Estimate, WhatAScriptLeavesToItsCallerMustBeGiven) {
  const std::vector<std::string> asked = {
      "llama-3-8b", "--on", "dgx-h100", "--plan-from", "tests/data/launch/caller_decides.sh",
      "--seq",      "2048"};
  const Answered open = estimate(asked);
  EXPECT_EQ(open.code, 2);
  EXPECT_TRUE(has(open.err, "--micro-batch-size $2")) << open.err;
  EXPECT_TRUE(has(open.err, "--plan-args")) << open.err;
  std::vector<std::string> called = asked;
  called.insert(called.end(), {"--plan-args", "4 1", "--json"});
  const Answered closed = estimate(called);
  ASSERT_EQ(closed.code, 0) << closed.err;
  EXPECT_EQ(nlohmann::json::parse(closed.out)["plan"]["tp"], 4);
}

TEST(Estimate, TheHostMayKeepTheOptimizer) {
  const auto own = nlohmann::json::parse(example({"--json"}).out);
  const auto host = nlohmann::json::parse(example({"--offload", "100", "--json"}).out);
  EXPECT_EQ(host["stages"][0]["memory_bytes"]["optimizer"], 0);
  EXPECT_GT(own["stages"][0]["memory_bytes"]["optimizer"], 0);
  EXPECT_GT(host["time_s"], own["time_s"]);
  EXPECT_EQ(example({"--offload", "101"}).code, 2);
}

TEST(Estimate, AConfigurationThatCannotBeReadIsCodeThree) {
  const Answered missing = example({"--plan-from", "no/such/file"});
  EXPECT_EQ(missing.code, 3);
  EXPECT_TRUE(has(missing.err, "no/such/file"));
}

TEST(Estimate, PriceMakesCost) {
  const auto json = nlohmann::json::parse(example({"--price", "3.6", "--json"}).out);
  EXPECT_NEAR(json["cost_usd"], json["time_s"].get<double>() * 1024 * 1e-3, 1e-9);
  EXPECT_EQ(nlohmann::json::parse(example({"--json"}).out)["cost_usd"], 0);
}

TEST(Estimate, TheWholeRunFollowsFromItsTokens) {
  const Answered text = example(
      {"--tokens", "15T", "--price", "2", "--chip-mtbf", "50000h", "--checkpoint-time", "30s"});
  EXPECT_TRUE(has(text.out, "The whole run: 15 T tokens"));
  EXPECT_TRUE(has(text.out, "expected, one in"));
  const auto step =
      nlohmann::json::parse(example({"--tokens", "15T", "--price", "2", "--json"}).out);
  const auto& run = step["run"];
  EXPECT_NEAR(run["time_s"], step["time_s"].get<double>() * run["steps"].get<double>(),
              1e-6 * run["time_s"].get<double>());
  EXPECT_NEAR(run["cost_usd"], 2 * run["chip_hours"].get<double>(), 1);
  EXPECT_TRUE(nlohmann::json::parse(example({"--json"}).out)["run"].is_null());
  EXPECT_TRUE(has(example({"--tokens", "15T"}).out, "USD a chip and hour: "));
  EXPECT_TRUE(has(estimate({"llama-3-8b", "--on", "2 x dgx-b200", "--global-batch", "64", "--seq",
                            "8192", "--zero", "3", "--tokens", "15T"})
                      .out,
                  "no price told, nor known"));
  const auto told = nlohmann::json::parse(
      example({"--steps", "1000", "--pue", "1.2", "--co2", "0.5", "--restart-time", "10min",
               "--chip-mtbf", "50000h", "--checkpoint-time", "30s", "--json"})
          .out);
  EXPECT_EQ(told["run"]["steps"], 1000);
  EXPECT_NEAR(told["run"]["co2_kg"], told["run"]["energy_j"].get<double>() / 3.6e6 * 0.5, 1);
  EXPECT_GT(told["run"]["time_s"], told["run"]["work_s"]);
}

TEST(Estimate, ARunThatIsNotToldIsRefusedByTheFlagThatIsMissing) {
  EXPECT_TRUE(has(example({"--tokens", "many"}).err, "--tokens: expected a number such as 15T"));
  EXPECT_TRUE(has(example({"--co2", "0.4"}).err, "--tokens: is not given"));
  EXPECT_TRUE(has(example({"--tokens", "15T", "--steps", "10"}).err, "so is steps"));
  EXPECT_TRUE(has(example({"--tokens", "15T", "--chip-mtbf", "50000h"}).err, "checkpoint-time"));
  EXPECT_EQ(example({"--tokens", "15T", "--chip-mtbf", "often"}).code, 2);
  EXPECT_TRUE(has(example({"--tokens", "15T", "--restart-time", "10min"}).err, "chip-mtbf"));
  EXPECT_TRUE(has(example({"--on", "dgx-h100"}).err, "--on: names 2 clusters"));
  EXPECT_TRUE(has(example({"--price", "1,2"}).err, "--price: 2 prices for 1 cluster"));
}

TEST(Estimate, WritesAPage) {
  const test::TemporaryFolder folder;
  const std::string page = (folder / "e.html").string();
  const Answered outcome = example({"--html", page});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(has(test::read_text(page), "</html>"));
  EXPECT_TRUE(has(outcome.err, "e.html"));
  EXPECT_EQ(example({"--html", (folder / "no/e.html").string()}).code, 3);
}

TEST(Estimate, TheGraphIsASecondOpinionAndATimeline) {
  const test::TemporaryFolder folder;
  const std::string kineto = (folder / "step.json").string();
  const std::string perfetto = (folder / "step.perfetto-trace").string();
  const Answered outcome =
      example({"--engine", "graph", "--trace-out", kineto, "--trace-out", perfetto, "--json"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_NEAR(json["graph"]["time_s"], json["time_s"], 0.01 * json["time_s"].get<double>());
  EXPECT_EQ(json["graph"]["busy_s"].size(), 4u);
  const Result<TraceSet> timeline = read_traces({kineto});
  ASSERT_TRUE(timeline.ok()) << timeline.error().text();
  EXPECT_EQ(timeline->traces.size(), 4u);
  EXPECT_GT(std::filesystem::file_size(perfetto), 0u);
  const Answered text = example({"--engine", "graph"});
  EXPECT_TRUE(has(text.out, "Run as an execution graph of ")) << text.out;
  EXPECT_FALSE(has(example().out, "execution graph"));
  EXPECT_EQ(example({"--engine", "guess"}).code, 2);
  EXPECT_EQ(example({"--trace-out", (folder / "no/step.json").string()}).code, 3);
}

TEST(Estimate, TheTimelineNeedsNoGraphInTheAnswer) {
  const test::TemporaryFolder folder;
  const std::string kineto = (folder / "step.json").string();
  const Answered outcome = example({"--trace-out", kineto, "--json"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(nlohmann::json::parse(outcome.out)["graph"].is_null());
  EXPECT_TRUE(has(test::read_text(kineto), "forward m0"));
}

TEST(Estimate, PaperModeTakesTheSameFlags) {
  const Answered outcome =
      estimate({"gpt3_1T", "--model-of", "subramanian", "--system", "B200-NVS8", "--tp", "8",
                "--pp", "128", "--dp", "16", "--json"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  // The worked number of flopcast/published/subramanian.h.
  EXPECT_TRUE(has(outcome.out, "3.2665")) << outcome.out;
  const Answered mixed = estimate({"gpt3_1T", "--model-of", "subramanian", "--system", "B200-NVS8",
                                   "--tp", "8", "--zero", "3"});
  EXPECT_EQ(mixed.code, 2);
  EXPECT_TRUE(has(mixed.err, "zero")) << mixed.err;
}

}  // namespace
}  // namespace flopcast::cli
