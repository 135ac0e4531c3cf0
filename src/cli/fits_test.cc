// Measurements of one's own: each kind of fit in each command that uses its numbers moves them as it says, and is refused
// by name everywhere else.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/testing.h"
#include "support/sample_run.h"
#include "support/temporary_folder.h"

namespace flopcast::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using Words = std::vector<std::string>;

/// What somebody measured of H100: collectives that take 0.1 ms and so many times what 200 GB/s take, between nodes twice.
std::string network_table(double slower) {
  std::string rows = "gpu,system,op,impl,dtype,gpus,nodes,bytes,time_us\n";
  for (const char* op : {"all_reduce", "all_gather", "reduce_scatter"}) {
    for (const auto& [nodes, gpus] :
         {std::pair(1, 2), std::pair(1, 4), std::pair(1, 8), std::pair(2, 16)}) {
      for (int power = 12; power <= 30; power += 2) {
        const double bytes = std::exp2(power), us = 100 + slower * nodes * bytes / 200e9 * 1e6;
        rows += fmt::format("h100-sxm,ours,{},NCCL nccl/2.27.3,half,{},{},{},{:.3f}\n", op, gpus,
                            nodes, bytes, us);
      }
    }
  }
  return rows;
}

/// GEMMs of H100 at so many TFLOP/s.
std::string kernel_table(double tflops) {
  std::string rows = "gemm_dtype,m,n,k,latency\n";
  for (const int m : {256, 1024, 2048, 4096, 8192, 16384}) {
    for (const int n : {1024, 4096, 8192, 14336}) {
      for (const int k : {1024, 4096, 8192, 14336}) {
        const double ms = 0.02 + 2.0 * m * n * k / (tflops * 1e12) * 1e3;
        rows += fmt::format("bfloat16,{},{},{},{:.6f}\n", m, n, k, ms);
      }
    }
  }
  return rows;
}

/// A file of every kind, as the commands make them.
class Fits : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new test::TemporaryFolder;
    calibrate({"network", folder_->write("net.csv", network_table(10)).string()}, "collectives");
    calibrate({"kernels", folder_->write("gemm.csv", kernel_table(100)).string(), "--chip", "h100"},
              "kernels");
    calibrate({"serving", "examples/serving_points.csv"}, "deployments");
    folder_->write("host.toml", test::read_text("catalog/live/host.toml"));
    folder_->write("training.toml", "[all]\nstep_s = 0.4\nband_low = 0.5\nband_high = 2\n");
    folder_->write("engine.toml", "[all]\nhost_serial_s = 5e-3\n");
  }
  static void TearDownTestSuite() { delete folder_; }

  static void calibrate(Words words, const std::string& name) {
    words.insert(words.begin(), "calibrate");
    words.insert(words.end(), {"-o", path(name)});
    const Answered made = answer_to(words);
    ASSERT_EQ(made.code, 0) << made.err;
  }
  static std::string path(const std::string& name) {
    return (folder_->path() / (name + ".toml")).string();
  }
  static Answered ask(Words words, const std::string& fit) {
    if (!fit.empty()) words.insert(words.end(), {"--fit", path(fit)});
    return answer_to(words);
  }
  /// What a command's document says with the fit, and that it says that it rests on it.
  static json told(const Words& words, const std::string& fit) {
    const Answered answer = ask(words, fit);
    EXPECT_EQ(answer.code, 0) << words[0] << " " << fit << ": " << answer.err;
    if (answer.code != 0) return {};
    if (!fit.empty()) EXPECT_THAT(answer.out, HasSubstr(path(fit))) << words[0];
    return json::parse(answer.out);
  }
  static void expect_refused(const Words& words, const std::string& fit) {
    const Answered answer = ask(words, fit);
    EXPECT_THAT(answer.code, testing::AnyOf(2, 3)) << words[0] << " " << fit << answer.out;
    EXPECT_THAT(answer.err, HasSubstr(path(fit))) << words[0];
    EXPECT_EQ(answer.out, "") << words[0];
  }
  static void expect_others_refused(const Words& words, const Words& used) {
    for (const char* fit :
         {"collectives", "kernels", "deployments", "host", "training", "engine"}) {
      if (std::ranges::find(used, fit) == used.end()) expect_refused(words, fit);
    }
  }

  inline static test::TemporaryFolder* folder_ = nullptr;
};

TEST_F(Fits, ACollectiveTakesWhatWasMeasured) {
  const Words net = {"net",  "time", "all_reduce",   "--size",
                     "1GiB", "--on", "2 x dgx-h100", "--json"};
  const json plain = told(net, ""), own = told(net, "collectives");
  const double measured = 100e-6 + 20 * std::exp2(30) / 200e9;
  EXPECT_NEAR(own["time_s"].get<double>(), measured, 0.02 * measured);
  EXPECT_GT(own["time_s"].get<double>(), 2 * plain["time_s"].get<double>());
  // The measurements are exact: their band is narrow, that of constants is not.
  EXPECT_LT(own["high_s"].get<double>() / own["low_s"].get<double>(), 1.3);
  EXPECT_EQ(own["own_fits"][0]["kind"], "collectives");
  EXPECT_EQ(own["basis"], "table");
  EXPECT_TRUE(plain["own_fits"].empty());
  expect_others_refused(net, {"collectives"});
  // What the fit does not hold is the catalogue's.
  Words other = net;
  other[2] = "broadcast";
  EXPECT_EQ(told(other, "collectives")["time_s"], told(other, "")["time_s"]);
}

TEST_F(Fits, AFitIsOfTheMachineThatWasMeasured) {
  const Answered other =
      ask({"net", "time", "all_reduce", "--size", "1GB", "--on", "2 x dgx-a100"}, "collectives");
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.err, HasSubstr("not on nodes of a100-sxm-80g"));
  const Answered chip = ask({"cost", "gemm", "64x64x64", "--on", "a100"}, "kernels");
  EXPECT_EQ(chip.code, 2);
  EXPECT_THAT(chip.err, HasSubstr("holds kernels of h100-sxm"));
  // Numbers that are other than those of the machine that was measured move what was measured.
  const auto time = [&](const std::string& on) {
    return told({"net", "time", "all_reduce", "--size", "1GB", "--on", on, "--json"},
                "collectives")["time_s"]
        .get<double>();
  };
  EXPECT_GT(time("2 x dgx-h100, nic.bandwidth 10GB/s"), 2 * time("2 x dgx-h100"));
}

TEST_F(Fits, AFitThatAQuestionLeavesAsideIsRefused) {
  for (const Words& past : {Words{"--source", "nccl"}, Words{"--source", "alpha_beta"},
                            Words{"--algorithm", "ring"}, Words{"--protocol", "ll"}}) {
    Words net = {"net", "time", "all_reduce", "--size", "1GB", "--on", "2 x dgx-h100"};
    net.insert(net.end(), past.begin(), past.end());
    expect_refused(net, "collectives");
  }
  expect_refused({"cost", "attention", "4096", "32/8", "bf16", "--on", "h100"}, "kernels");
  const std::string line = "2 x dgx-h100, fit " + path("collectives");
  EXPECT_EQ(answer_to({"net", "run", "examples/flows.csv", "--on", line}).code, 2);
  EXPECT_EQ(answer_to({"net", "export", "--on", line}).code, 2);
}

TEST_F(Fits, AKernelTakesWhatWasMeasured) {
  const Words cost = {"cost", "gemm", "4096x4096x4096", "bf16", "--on", "h100", "--json"};
  const double measured = 0.02e-3 + 2.0 * std::pow(4096, 3) / 100e12;
  const json own = told(cost, "kernels");
  EXPECT_NEAR(own["time_s"].get<double>(), measured, 0.05 * measured);
  EXPECT_THAT(own["source"].get<std::string>(), HasSubstr(path("kernels")));
  // fp16 is the same kernel by another name.
  EXPECT_NEAR(told({"cost", "gemm", "4096x4096x4096", "fp16", "--on", "h100", "--json"},
                   "kernels")["time_s"]
                  .get<double>(),
              measured, 0.05 * measured);
  expect_others_refused(cost, {"kernels"});
}

TEST_F(Fits, AStepRestsOnThem) {
  const Words estimate = {"estimate", "llama-3-8b", "--on", "2 x dgx-h100", "--global-batch",
                          "64",       "--tp",       "8",    "--json"};
  const json plain = told(estimate, ""), training = told(estimate, "training");
  const auto seconds = [](const json& one) { return one["time_s"].get<double>(); };
  EXPECT_GT(seconds(told(estimate, "collectives")), 1.5 * seconds(plain));
  EXPECT_GT(seconds(told(estimate, "kernels")), 1.5 * seconds(plain));
  // A step waits for the slower of two nodes.
  EXPECT_NEAR(seconds(training) - seconds(plain), 0.4 * (1 + std::log(2)), 0.05);
  // The band is the fit's own.
  EXPECT_NEAR(training["low_s"].get<double>(), 0.5 * seconds(training), 1e-9);
  EXPECT_NEAR(training["high_s"].get<double>(), 2 * seconds(training), 1e-9);
  expect_others_refused(estimate, {"collectives", "kernels", "training"});
  // --constants is the same by its old name.
  Words constants = estimate;
  constants.insert(constants.end(), {"--constants", path("training")});
  EXPECT_EQ(json::parse(answer_to(constants).out), training);
}

TEST_F(Fits, ASearchForPlansRestsOnThem) {
  const Words plan = {"plan",   "llama-3-8b", "--on",  "dgx-h100", "--global-batch",
                      "64",     "--seq",      "8192",  "--must",   "tp=8",
                      "--best", "1",          "--json"};
  const auto seconds = [&](const std::string& fit) {
    return told(plan, fit)["best"][0]["time_s"].get<double>();
  };
  const double plain = seconds("");
  EXPECT_GT(seconds("collectives"), 1.2 * plain);
  EXPECT_GT(seconds("kernels"), 1.5 * plain);
  EXPECT_GT(seconds("training"), plain + 0.3);
  expect_others_refused(plan, {"collectives", "kernels", "training"});
}

TEST_F(Fits, AFleetRestsOnThem) {
  const Words serve = {"serve",    "llama-3-8b", "--on",    "dgx-h100", "--engine", "vllm",
                       "--tp",     "8",          "--users", "16",       "--input",  "1024",
                       "--output", "64",         "--quick", "--json"};
  const auto token = [&](const std::string& fit) {
    return told(serve, fit)["tpot_s"]["mean"].get<double>();
  };
  const double plain = token("");
  EXPECT_GT(token("collectives"), 1.5 * plain);
  EXPECT_GT(token("engine"), plain + 3e-3);
  // Measured points are of one deployment.
  expect_others_refused(serve, {"collectives", "kernels", "engine"});
  const Words measured = {"serve",    "openai/gpt-oss-120b",
                          "--on",     "dgx-h100",
                          "--engine", "vllm",
                          "--tp",     "2",
                          "--users",  "8",
                          "--input",  "1024",
                          "--output", "64",
                          "--quick",  "--json"};
  const json own = told(measured, "deployments");
  EXPECT_NE(own["tpot_s"]["mean"], told(measured, "")["tpot_s"]["mean"]);
  Words point = measured;
  point.insert(point.end(), {"--point", path("deployments")});
  EXPECT_EQ(json::parse(answer_to(point).out)["tpot_s"], own["tpot_s"]);
  point.back() = path("kernels");
  EXPECT_EQ(answer_to(point).code, 2);
}

TEST_F(Fits, ASearchForFleetsRestsOnThem) {
  const Words search = {"serve-plan",  "llama-3-8b",  "--on",     "dgx-h100", "--engine",   "vllm",
                        "--precision", "bf16",        "--tp",     "8",        "--rate",     "2",
                        "--input",     "1024",        "--output", "64",       "--requests", "50",
                        "--slo",       "ttft.p99<9s", "--json"};
  const auto token = [&](const std::string& fit) {
    return told(search, fit)["best"][0]["tpot"]["mean_s"].get<double>();
  };
  const double plain = token("");
  EXPECT_GT(token("collectives"), 1.5 * plain);
  EXPECT_GT(token("engine"), plain + 3e-3);
  expect_others_refused(search, {"collectives", "kernels", "engine"});
}

TEST_F(Fits, MappingsMakeNoUseOfAny) {
  for (const char* fit : {"collectives", "kernels", "deployments", "host", "training", "engine"}) {
    for (const Words& words :
         {Words{"map", "gpt3-175b"}, Words{"explore", "gpt3-175b", "--sweep", "sram=1x,2x"}}) {
      Words with = words;
      with.insert(with.end(), {"--on", "8 x sn10, fit " + path(fit)});
      const Answered answer = answer_to(with);
      EXPECT_EQ(answer.code, 2) << fit;
      EXPECT_THAT(answer.err, HasSubstr(path(fit)));
    }
  }
}

TEST_F(Fits, NetworksOfRecordingsRestOnThem) {
  const std::string sample = test::sample_run().string();
  const Words replay = {"replay", sample, "--network", "dgx-h100", "--json"};
  const Words whatif = {"whatif", sample, "--on", "dgx-h100", "--json"};
  EXPECT_NE(told(replay, "collectives")["sets"][0]["ranks"], told(replay, "")["sets"][0]["ranks"]);
  EXPECT_GT(told(whatif, "collectives")["after_s"].get<double>(),
            1.2 * told(whatif, "")["after_s"].get<double>());
  expect_others_refused(replay, {"collectives"});
  expect_others_refused(whatif, {"collectives"});
  EXPECT_EQ(ask({"replay", sample}, "collectives").code, 2);  // nothing would use it
  EXPECT_EQ(ask({"whatif", sample, "--remove", "host"}, "collectives").code, 2);
}

TEST_F(Fits, StandInTheFileOfAClusterToo) {
  const Words net = {"net", "time", "all_reduce", "--size", "1GB", "--on"};
  const auto time = [&](const std::string& on) {
    Words words = net;
    words.insert(words.end(), {on, "--json"});
    const Answered answer = answer_to(words);
    EXPECT_EQ(answer.code, 0) << answer.err;
    return json::parse(answer.out)["time_s"].get<double>();
  };
  const double own = time("2 x dgx-h100, fit " + path("collectives"));
  // beside the file, whatever the folder that the command runs in
  const std::string one = folder_
                              ->write("one.toml",
                                      "cluster = \"2 x dgx-h100\"\nfit = "
                                      "\"collectives.toml\"\n")
                              .string();
  EXPECT_EQ(time(one), own);
  const std::string two =
      folder_->write("two.toml", "cluster = \"2 x dgx-h100\"\nfit = [\"collectives.toml\"]\n")
          .string();
  EXPECT_EQ(time(two), own);
  for (const char* wrong : {"fit = 3\n", "fit = [3]\n", "fit = \"no_such.toml\"\n"}) {
    const std::string file =
        folder_->write("wrong.toml", "cluster = \"2 x dgx-h100\"\n" + std::string(wrong)).string();
    Words words = net;
    words.push_back(file);
    EXPECT_EQ(answer_to(words).code, 3) << wrong;
  }
}

TEST_F(Fits, WhatIsNoFitIsRefusedByName) {
  const Words net = {"net", "time", "all_reduce", "--size", "1GB", "--on", "2 x dgx-h100", "--fit"};
  const std::pair<const char*, const char*> files[] = {
      {"graph.toml", "[[kernel]]\nname = \"a\"\nm = 4\n"},
      {"cluster.toml", "cluster = \"2 x dgx-h100\"\n"},
      {"empty.toml", ""},
      {"text.toml", "what?"},
      {"bands.toml", "[aggregated.vllm]\nttft = { low = 0.7, high = 1.2 }\n"}};
  for (const auto& [name, text] : files) {
    Words words = net;
    words.push_back(folder_->write(name, text).string());
    const Answered answer = answer_to(words);
    EXPECT_THAT(answer.code, testing::AnyOf(2, 3)) << name;
    EXPECT_THAT(answer.err, HasSubstr(name));
    EXPECT_EQ(answer.out, "") << name;
  }
}

TEST_F(Fits, OfCollectivesAreTomlAndRefuseJson) {
  const Answered asked = answer_to({"calibrate", "network", "examples/collectives.csv", "--json"});
  EXPECT_EQ(asked.code, 2);
  EXPECT_THAT(asked.err, HasSubstr("--hold-out"));
  EXPECT_EQ(asked.out, "");
}

}  // namespace
}  // namespace flopcast::cli
