// Reading measured runs, and how near forecasts come to the public ones.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <optional>

#include "base/text/csv_table.h"
#include "flopcast/measured/training.h"
#include "measured/training/runs.h"
#include "measured/training/system.h"
#include "support/shared_traces.h"
#include "support/temporary_folder.h"

namespace flopcast::measured {
namespace {

using namespace measured;

TEST(RunSystem, ReadsPortsFromWords) {
  const auto gigabits = [](std::string_view words) {
    const NodePorts ports = parse_ports(words, 8);
    return ports.ports * ports.bytes_per_s * 8 / 1e9;
  };
  EXPECT_EQ(gigabits("8x HDR IB 200Gb/s per node (1 per GPU)"), 1600);
  EXPECT_EQ(gigabits("8x NDR IB 400Gb/s per node"), 3200);
  EXPECT_EQ(gigabits("1600Gb/s RoCE per node"), 1600);
  EXPECT_EQ(gigabits("400Gb/s RDMA per GPU"), 3200);
  EXPECT_EQ(gigabits("4x Omni-Path 100Gb/s per node"), 400);
  EXPECT_EQ(
      gigabits("Storage: 2x ConnectX-7 IB NDR 400Gb/s, Compute: 8x ConnectX-7 IB NDR 400Gb/s, "
               "Management: 100Gb/s Ethernet NIC"),
      3200);
  EXPECT_EQ(gigabits("8x200Gb/s RDMA per node, CLOS"), 1600);
  EXPECT_EQ(gigabits("BF3 200Gbps for NS and 2xBF3 400Gbps for EW"), 800);
  EXPECT_EQ(gigabits(""), 0);
  EXPECT_EQ(gigabits("Ethernet, Infiniband"), 0);
}

// The same network in every spelling: 8 ports of 50 GB/s.
TEST(RunSystem, BytesAreNotBits) {
  const auto node = [](std::string_view words) {
    const NodePorts ports = parse_ports(words, 8);
    return ports.ports * ports.bytes_per_s;
  };
  for (const char* words :
       {"8x 50 GB/s per node", "8x 50GBps", "8 x 50 GB", "8x 400 Gb/s", "8x 400Gbps per node",
        "8x NDR 400 Gbit/s", "8x 0.4 Tb/s", "8x 50000 MB/s per port", "50 GB/s per GPU",
        "400Gb/s/GPU", "400 GB/s per node", "3.2 Tb/s a node", "3200Gb/s/node", "8x 400G",
        "8x 400GbE", "400 Gb/s x 8", "8x 50 gigs, 8x 400Gb/Sec", "8x 100 GB/s bidirectional"}) {
    EXPECT_DOUBLE_EQ(node(words), 400e9) << words;
  }
  EXPECT_DOUBLE_EQ(node("8x 50 GiB/s"), 8 * 50 * 0x1p30);
  EXPECT_DOUBLE_EQ(node("4x 12.5 GB/s per node"), 50e9);
  for (const char* words : {"8x 400GBPS", "8x 400 gallons", "400 Gb/s", "8x H100", "8x 50 mB/s"}) {
    EXPECT_EQ(parse_ports(words, 8).ports, 0U) << words;
  }
}

// Spellings of MLPerf's system files: rates of a bus, of a switch or of one port, but no number of
// ports. None of them is a node with one port of that many Gb/s.
TEST(RunSystem, ARateWithoutANumberOfPortsLeavesTheNodeAsItIs) {
  for (const char* words : {"ROCE2; Data bandwidth for GPU-PCIe: 504 GB/s; PCIe-NIC: 500 GB/s",
                            "Infiniband:Data bandwidth for GPU-PCIe: 504GB/s; PCIe-NIC: 500GB/s",
                            "PCIe-NIC: 500 GB/s", "Data bandwidth for GPU-PCIe: 504 GB/s",
                            "100Gb/s Ethernet", "ConnectX-6 25Gb/s Ethernet"}) {
    EXPECT_EQ(parse_ports(words, 8).ports, 0U) << words;
    std::vector<std::string> assumed;
    const auto line =
        cluster_line({"H100-SXM5-80GB", 512, 8, words, 0}, Catalog::builtin(), assumed);
    ASSERT_TRUE(line) << line.error().text();
    EXPECT_EQ(*line, "512 x h100-sxm") << words;
    ASSERT_EQ(assumed.size(), 1U) << words;
    EXPECT_NE(assumed[0].find("8 x ndr"), std::string::npos) << assumed[0];
    EXPECT_NE(assumed[0].find("without a number of ports"), std::string::npos) << assumed[0];
  }
}

TEST(RunSystem, FindsChipsByWhatPeopleCallThem) {
  const auto line = [](const std::string& gpu, unsigned gpus, unsigned per_node,
                       const std::string& network = "") {
    std::vector<std::string> assumed;
    const auto made = cluster_line({gpu, gpus, per_node, network, 0}, Catalog::builtin(), assumed);
    return made ? *made : made.error().text();
  };
  EXPECT_EQ(line("NVIDIA H100-SXM5-80GB", 16, 8), "16 x h100-sxm");
  EXPECT_EQ(line("NVIDIA Blackwell GPU (B200-SXM-180GB)", 8, 8), "8 x b200-sxm");
  EXPECT_EQ(line("AMD Instinct MI300X 192GB HBM3", 8, 8), "8 x mi300x");
  EXPECT_EQ(line("H100-96GB-HBM2e-500W", 8, 8), "8 x h100-sxm, chip.power_w 500W");
  EXPECT_EQ(line("GB300-NVL72", 256, 4), "4 x gb300-nvl72, node.size 64");
  EXPECT_EQ(line("A100-SXM4-80GB", 384, 8, "4x Omni-Path 100Gb/s per node"),
            "384 x a100-sxm-80g, nic.ports 4, nic.bandwidth 100Gb/s");
  EXPECT_EQ(line("TPU v6e (Trillium)", 64, 4), "64 x tpu-v6e");
  EXPECT_EQ(line("TPU v5p-128", 64, 4), "64 x tpu-v5p");
  EXPECT_EQ(line("v5litepod: v5e-256", 256, 8), "256 x tpu-v5e");
  EXPECT_EQ(line("AWS Trainium2 (trn2.48xlarge)", 64, 16), "64 x trainium2");
  EXPECT_EQ(line("trn1.32xlarge", 64, 32), "64 x trainium1-core");
  EXPECT_EQ(line("NVIDIA L40S", 384, 4), "96 x ovx-l40s");
  EXPECT_EQ(line("Intel(R) Gaudi(R) 2 AI Accelerator", 8, 8), "8 x gaudi2");
  EXPECT_EQ(line("NVIDIA Blackwell Ultra GPU (GB300)", 72, 4), "72 x gb300");
  EXPECT_EQ(line("NVIDIA Blackwell GPU (GB200)", 8, 4), "8 x gb200");
  EXPECT_NE(line("Abacus 9000", 8, 8).find("Abacus"), std::string::npos);
}

// A run may count chips and split the model over the cores that its programs see.
TEST(RunSystem, DegreesTellCoresFromChips) {
  const auto line = [](unsigned devices) {
    std::vector<std::string> assumed;
    RunSystem system{"Ironwood", 64, 4, "", 0};
    system.devices = devices;
    const auto made = cluster_line(system, Catalog::builtin(), assumed);
    return made ? *made : made.error().text();
  };
  EXPECT_EQ(line(64), "64 x tpu-v7");
  EXPECT_EQ(line(128), "128 x tpu-v7-core");
  EXPECT_EQ(line(0), "128 x tpu-v7-core");  // over how many is not told: over all that programs see
}

// A host of four chips has eight devices: who counts eight counts devices.
TEST(RunSystem, HostsTellCoresFromChips) {
  std::vector<std::string> assumed;
  RunSystem system{"TPU7x", 64, 8, "", 0};
  system.devices = 64;
  EXPECT_EQ(*cluster_line(system, Catalog::builtin(), assumed), "64 x tpu-v7-core");
  system.devices = 0;
  EXPECT_EQ(*cluster_line(system, Catalog::builtin(), assumed), "64 x tpu-v7-core");
  EXPECT_TRUE(assumed.empty());
}

class RunFile {
 public:
  explicit RunFile(const std::string& text) : path_(folder_.write("runs.json", text)) {}
  const std::filesystem::path& path() const { return path_; }

 private:
  test::TemporaryFolder folder_;
  std::filesystem::path path_;
};

constexpr std::string_view kRun = R"({"id": "mine-1", "model": {"arch": "llama", "layers": 32,
 "hidden": 4096, "ffn": 14336, "heads": 32, "kv_heads": 8, "head_dim": 128, "vocab": 128256,
 "gated": true, "seq_len": 8192}, "system": {"on": "2 x dgx-h100"},
 "parallel": {"tp": 2, "pp": 1, "dp": 8, "sp": true, "zero": 1}, "batch": {"gbs": 64, "mbs": 1},
 "dtype": "bf16", "recompute": "none", "measured": {"iter_time_s": 2.5}})";

TEST(TrainingRuns, ReadOneRunOfAUser) {
  const RunFile file{std::string(kRun)};
  const auto runs = read_training_runs(file.path());
  ASSERT_TRUE(runs) << runs.error().text();
  ASSERT_EQ(runs->size(), 1U);
  const TrainingRun& run = runs->front();
  EXPECT_EQ(run.incomplete, "");
  EXPECT_EQ(run.set, "mine");
  EXPECT_EQ(run.plan.tp, 2U);
  EXPECT_EQ(run.chips, 16U);
  EXPECT_TRUE(run.plan.sequence_parallel);
  const RunForecaster forecaster(*runs);
  const auto one = forecaster.forecast({{}, 1, {}, true}),
             two = forecaster.forecast({{}, 2, {}, true});
  ASSERT_EQ(one.size(), 1U);
  ASSERT_FALSE(one[0].failure) << one[0].failure->text();
  EXPECT_EQ(one[0].estimate.step.value, two[0].estimate.step.value);
  EXPECT_NEAR(one[0].error(), one[0].estimate.step.value / 2.5 - 1, 1e-15);
}

TrainingRun read_with(const std::string& more, const std::string& parallel = "") {
  std::string text(kRun);
  text.replace(text.find("\"dtype\""), 0, more);
  if (!parallel.empty()) text.replace(text.find("\"pp\": 1, \"dp\": 8"), 16, parallel);
  const RunFile file(text);
  auto runs = read_training_runs(file.path());
  EXPECT_TRUE(runs) << runs.error().text();
  return std::move(runs->front());
}

TEST(TrainingRuns, FineTuningPacksDocuments) {
  const TrainingRun tuned = read_with("\"task\": \"lora\", ");
  EXPECT_EQ(tuned.plan.lora_rank, 16);
  EXPECT_EQ(tuned.model.kinds[0].attention.chunk, 512);
  ASSERT_EQ(tuned.assumed.size(), 1U);
  EXPECT_NE(tuned.assumed[0].find("documents of 512 tokens"), std::string::npos);
  EXPECT_EQ(read_with("\"task\": \"pretrain\", ").model.kinds[0].attention.chunk, 0);
}

TEST(TrainingRuns, SoftwareIsOfItsYear) {
  const auto of_year = [](const std::string& year) {
    return read_with("\"year\": " + year + ", ").software;
  };
  EXPECT_EQ(of_year("2024"), "megatron-2024");
  EXPECT_EQ(read_with("\"year\": 2024, ").month, 202401);
  EXPECT_EQ(read_with("\"year\": 2024, \"container\": \"nemo:24.12-25.03\", ").month, 202412);
  EXPECT_EQ(read_with("\"container\": \"nemo:latest\", ").month, 0);
  EXPECT_EQ(read_with("\"round\": \"v5.0\", ").month, 202506);
  EXPECT_EQ(read_with("\"round\": \"v3.1\", ").month, 202311);
  EXPECT_EQ(read_with("\"round\": \"v5\", ").month, 0);
  EXPECT_EQ(read_with("\"round\": \"v6.0\", \"year\": 2026, ").month, 202606);
  EXPECT_EQ(read_with("\"round\": \"6.0\", ").software, "megatron");
  EXPECT_EQ(read_with("\"source\": {\"repo\": \"mlcommons/training_results_v6.0\"}, ").month,
            202606);
  EXPECT_EQ(of_year("2025"), "megatron-2025");
  EXPECT_EQ(read_with("\"round\": \"v5.0\", ").software, "megatron-2025-spring");
  EXPECT_EQ(read_with("\"round\": \"v5.1\", ").software, "megatron-2025");
  EXPECT_EQ(of_year("2027"), "megatron");
  EXPECT_EQ(read_with("").software, "megatron");
}

// What scripts/performance/configs of Megatron-Bridge 0.3 say of these.
TEST(TrainingRuns, RecipesOfMegatronBridgeAreKnown) {
  const auto run_of = [](const std::string& id, const std::string& model,
                         const std::string& cluster) {
    std::string text(kRun);
    const auto put = [&](std::string_view old, const std::string& now) {
      text.replace(text.find(old), old.size(), now);
    };
    put("mine-1", id);
    put("\"arch\": \"llama\"", "\"name\": \"" + model + "\", \"arch\": \"llama\"");
    put("2 x dgx-h100", cluster);
    put("\"none\"", "\"recipe-defined\"");
    put("\"dtype\"", "\"source\": {\"repo\": \"NVIDIA-NeMo/Megatron-Bridge\"}, \"dtype\"");
    const RunFile file(text);
    return read_training_runs(file.path())->front();
  };
  const TrainingRun small = run_of("bridge-26.02-x", "qwen3-30b-a3b", "16 x gb200");
  EXPECT_EQ(small.software, "megatron-2025-flex");
  EXPECT_FALSE(small.plan.overlap.experts);
  const TrainingRun large = run_of("bridge-26.02-x", "qwen3-235b-a22b", "2 x dgx-h100");
  EXPECT_EQ(large.software, "megatron-2025");
  EXPECT_TRUE(large.plan.overlap.experts);
  const TrainingRun oss = run_of("bridge-26.02-x", "gpt-oss-120b", "16 x gb200");
  EXPECT_EQ(oss.software, "megatron-2025");
  EXPECT_EQ(oss.plan.recompute_modules, kRecomputeNorm | kRecomputeActivation);
  EXPECT_EQ(run_of("bridge-26.02-x", "gpt-oss-120b", "16 x gb300").plan.recompute,
            Recompute::kNone);
  EXPECT_EQ(run_of("bridge-26.06-x", "gpt-oss-120b", "16 x gb300").software, "megatron");
  EXPECT_TRUE(run_of("bridge-26.02-x", "llama3-70b", "16 x gb200").plan.overlap.tensor);
  EXPECT_FALSE(oss.plan.overlap.tensor);
}

/// kRun with experts, on a container and a cluster; `model`, `more`: of its model, of the run.
TrainingRun experts_on(const std::string& container, const std::string& cluster,
                       const std::string& model = "", const std::string& more = "") {
  std::string text(kRun);
  const auto put = [&](std::string_view old, const std::string& now) {
    text.replace(text.find(old), old.size(), now);
  };
  put("2 x dgx-h100", cluster);
  put("\"arch\": \"llama\"",
      model + R"("arch": "moe", "experts": 8, "topk": 2, "expert_ffn": 14336)");
  put("\"sp\"", R"("ep": 4, "etp": 1, "sp")");
  put("\"dtype\"", more + "\"container\": \"" + container + "\", \"dtype\"");
  const RunFile file(text);
  TrainingRun run = read_training_runs(file.path())->front();
  EXPECT_EQ(run.incomplete, "");
  return run;
}

// DGX Cloud's recipes compute core attention of DeepSeek-V3 again on Blackwell until NeMo's container of July 2025.
TEST(TrainingRuns, LatentScoresGoThroughMemoryOnTheFirstBlackwells) {
  const std::string latent = R"("attn": "MLA", "q_lora": 1536, "kv_lora": 512, "rope_dim": 64, )";
  const TrainingRun spring = experts_on("nemo:25.04.01", "16 x gb200", latent);
  EXPECT_FALSE(spring.plan.flash_attention);
  EXPECT_EQ(spring.plan.recompute, Recompute::kSelective);
  EXPECT_EQ(spring.assumed.back(), "unfused attention, computed again");
  EXPECT_TRUE(experts_on("nemo:25.07.01", "16 x gb200", latent).plan.flash_attention);
  EXPECT_TRUE(experts_on("nemo:25.04.01", "2 x dgx-h100", latent).plan.flash_attention);
  EXPECT_TRUE(experts_on("nemo:25.04.01", "16 x gb200").plan.flash_attention);
}

TEST(TrainingRuns, ExpertsOf2024AreCutAsTheirLayers) {
  const TrainingRun early = experts_on("nemo:24.12", "2 x dgx-h100");
  EXPECT_EQ(early.plan.expert_tp(), 2U);
  EXPECT_EQ(early.assumed.back(), "experts cut as their layers");
  EXPECT_EQ(experts_on("nemo:25.04.01", "2 x dgx-h100").plan.expert_tp(), 1U);
}

// How a run's allocator was started and which activations were fused is read off what its report says.
TEST(TrainingRuns, LaunchesTellHowMemoryIsHeld) {
  const auto with = [](const std::string& extra) {
    std::string text(kRun);
    text.replace(text.find("\"dtype\""), 7, extra + ", \"dtype\"");
    const RunFile file(text);
    return read_training_runs(file.path())->front().software;
  };
  const std::string primus = R"("framework": "Primus", "year": 2026, "note": )";
  EXPECT_EQ(with(primus + R"("submitted config")"), "megatron-2025-apart");
  EXPECT_EQ(with(primus + R"("fused act with probs")"), "megatron-2025-flex");
  const auto titan = [&](const std::string& path) {
    return with(R"("framework": "FSDP", "source": {"repo": "pytorch/torchtitan", "path": ")" +
                path + R"("})");
  };
  EXPECT_EQ(titan("benchmarks/llama3_h100_202412_torchtitan.md"), "fsdp-compiled-2024");
  EXPECT_EQ(titan("benchmarks/llama3-8b_h200_202506_trainy-whitefiber.md"),
            "fsdp-compiled-segments");
}

TEST(TrainingRuns, ForcedRoutingGoesToNeighbours) {
  const auto routed = [](const std::string& note) {
    const TrainingRun run = experts_on("nemo:25.07.01", "2 x dgx-h100", "", note);
    return run.model.kinds.back().experts;
  };
  const Experts forced = routed(R"("note": "base; even routing forced", )");
  EXPECT_EQ(forced.groups, 4);
  EXPECT_EQ(forced.top_groups, 1);
  EXPECT_EQ(routed("").groups, 1);
}

// What DGX Cloud's recipes of DeepSeek-V3 compute again, where attention is fused.
TEST(TrainingRuns, DgxCloudsRecipesOfDeepSeekAreKnown) {
  const auto again = [](const std::string& name) {
    return experts_on("nemo:25.04.01", "2 x dgx-h100", "\"name\": \"" + name + "\", ",
                      R"("source": {"repo": "NVIDIA/dgxc-benchmarking"}, )"
                      R"("missing": ["recompute of the recipe"], )")
        .plan;
  };
  EXPECT_EQ(again("deepseek-v3").recompute_modules, kRecomputeLatentUp);
  EXPECT_EQ(again("grok-1").recompute, Recompute::kNone);
}

TEST(TrainingRuns, DegreesThatAreNotToldAreOne) {
  const TrainingRun run = read_with("", "\"dp\": 8");
  EXPECT_EQ(run.incomplete, "");
  EXPECT_EQ(run.plan.pp, 1U);
  EXPECT_NE(std::ranges::find(run.assumed, "pp 1"), run.assumed.end());
}

TrainingRun open_run(const std::string& missing, const std::string& parallel,
                     const std::string& batch) {
  std::string text(kRun);
  const auto put = [&](std::string_view old, const std::string& now) {
    text.replace(text.find(old), old.size(), now);
  };
  put("\"dtype\"", "\"quality\": \"C\", \"missing\": [" + missing + "], \"dtype\"");
  put(R"({"tp": 2, "pp": 1, "dp": 8, "sp": true, "zero": 1})", parallel);
  put(R"("mbs": 1)", batch);
  const RunFile file(text);
  return read_training_runs(file.path())->front();
}

RunForecast forecast_of(const TrainingRun& run) {
  const RunForecaster forecaster({run});
  RunForecast forecast = forecaster.forecast({{}, 1, {}, true})[0];
  forecast.run = nullptr;  // goes with the forecaster
  return forecast;
}

TEST(OpenRuns, TakeTheMicrobatchOfTheFastestStepThatFits) {
  const std::string layout = R"({"tp": 2, "pp": 1, "dp": 8, "sp": true, "zero": 1})";
  const TrainingRun run = open_run("\"mbs\"", layout, "\"mbs\": null");
  ASSERT_EQ(run.incomplete, "");
  ASSERT_TRUE(run.open.micro_batch);
  const RunForecast open = forecast_of(run);
  ASSERT_FALSE(open.failure) << open.failure->text();
  EXPECT_TRUE(open.estimate.fits);
  for (const char* size : {"1", "2", "4", "8"}) {
    const TrainingRun told = open_run("\"mbs\"", layout, std::string("\"mbs\": ") + size);
    EXPECT_FALSE(told.open.micro_batch);
    const RunForecast one = forecast_of(told);
    ASSERT_FALSE(one.failure);
    if (!one.estimate.fits) continue;
    EXPECT_LE(open.estimate.step.value, one.estimate.step.value) << size;
  }
}

TEST(OpenRuns, TakeTheFastestLayout) {
  const std::string missing = "\"parallel layout not matched to a script\"";
  const TrainingRun run = open_run(missing, "{}", "\"mbs\": null, \"ga\": 8");
  ASSERT_EQ(run.incomplete, "");
  ASSERT_TRUE(run.open.layout);
  const RunForecast open = forecast_of(run);
  ASSERT_FALSE(open.failure) << open.failure->text();
  EXPECT_TRUE(open.estimate.fits);
  EXPECT_EQ(open.plan.microbatches(), 8);
  // 64 sequences in 8 microbatches: 8 replicas, which this layout has as well.
  const TrainingRun told = read_with("", "\"pp\": 1, \"dp\": 8");
  EXPECT_LE(open.estimate.step.value, forecast_of(told).estimate.step.value);
}

TEST(OpenRuns, ADefectIsLeftOut) {
  const TrainingRun run = open_run("\"mbs\", \"two layouts in one cell\"", "{}", "\"mbs\": null");
  EXPECT_NE(run.incomplete.find("mbs; two layouts in one cell"), std::string::npos);
  EXPECT_NE(open_run("", "{}", "\"mbs\": 1").incomplete, "");
}

// What MaxText calls its policies, and two types in one word.
TEST(TrainingRuns, WordsOfXlaAreRead) {
  const auto of_tpu = [](const std::string& words) {
    std::string text(kRun);
    const auto put = [&](std::string_view old, const std::string& now) {
      text.replace(text.find(old), old.size(), now);
    };
    put("2 x dgx-h100", "16 x tpu-v5e");
    put("\"dtype\": \"bf16\", \"recompute\": \"none\"", words);
    const RunFile file(text);
    return read_training_runs(file.path())->front();
  };
  const TrainingRun minimal = of_tpu("\"dtype\": \"bf16+int8\", \"recompute\": \"minimal\"");
  EXPECT_EQ(minimal.software, "xla");
  EXPECT_EQ(minimal.plan.precision, Precision::kInt8);
  EXPECT_EQ(minimal.plan.recompute_modules & kRecomputeMlp, 0);
  const TrainingRun offloaded =
      of_tpu("\"dtype\": \"bf16\", \"recompute\": \"qkv_proj_offloaded\"");
  EXPECT_NE(offloaded.plan.recompute_modules & kRecomputeMlp, 0);
  EXPECT_TRUE(of_tpu("\"dtype\": \"bf16\", \"recompute\": \"custom\"").open.recompute);
}

// Of any quality: who publishes a speed has tried.
TEST(TrainingRuns, UntoldMicrobatchesAreOpen) {
  const auto with = [](const std::string& batch) {
    std::string text(kRun);
    text.replace(text.find(R"("mbs": 1)"), std::string_view(R"("mbs": 1)").size(), batch);
    const RunFile file(text);
    return read_training_runs(file.path())->front();
  };
  EXPECT_FALSE(with(R"("mbs": 1)").open.micro_batch);
  EXPECT_TRUE(with(R"("mbs": null)").open.micro_batch);
  EXPECT_FALSE(with(R"("mbs": null, "ga": 4)").open.micro_batch);
}

// torchtitan of 2024: 8 sequences a replica on two stages are two microbatches of 4.
TEST(TrainingRuns, PipelinesOfTorchtitanCutABatchByTheirStages) {
  const auto micro_batch = [](const std::string& month, const std::string& mbs) {
    std::string text(kRun);
    const auto put = [&](std::string_view old, const std::string& now) {
      text.replace(text.find(old), old.size(), now);
    };
    put("\"pp\": 1, \"dp\": 8", "\"pp\": 2, \"dp\": 4");
    put("\"gbs\": 64, \"mbs\": 1", "\"gbs\": 32, \"mbs\": " + mbs);
    put("\"dtype\"", R"("source": {"repo": "pytorch/torchtitan", "path": "b/x_)" + month +
                         R"(_torchtitan.md"}, "dtype")");
    const RunFile file(text);
    const TrainingRun run = read_training_runs(file.path())->front();
    EXPECT_EQ(run.incomplete, "");
    return run.plan.micro_batch;
  };
  EXPECT_EQ(micro_batch("202412", "8"), 4);
  EXPECT_EQ(micro_batch("202412", "null"), 4);
  EXPECT_EQ(micro_batch("202412", "1"), 1);  // told as what a stage passes on
  EXPECT_EQ(micro_batch("202506", "8"), 8);
}

std::vector<std::string> nothing() { return {}; }

TEST(RunFields, AreUsedOrTold) {
  const TrainingRun run = read_with(
      R"("verified": "repo", "_draft": 1, "dtpye": "fp8", "source": {"licence": "MIT"}, )",
      R"("pp": 1, "dp": 8, "sharp": true, "tensor_parallel": 4)");
  EXPECT_EQ(run.incomplete, "");
  EXPECT_EQ(run.unknown, (std::vector<std::string>{"dtpye", "parallel.tensor_parallel"}));
  EXPECT_EQ(run.ignored, (std::vector<std::string>{"_draft", "source.licence", "verified"}));
  EXPECT_EQ(run.unmodelled,
            std::vector<std::string>{"parallel.sharp: reductions in switches: rings and trees of "
                                     "chips are taken"});
  const TrainingRun plain = read_with("");
  EXPECT_EQ(plain.unknown, nothing());
  EXPECT_EQ(plain.ignored, nothing());
  EXPECT_EQ(plain.unmodelled, nothing());
}

// The short form of a model has no other fields; what its reader takes beside them is not told.
TEST(RunFields, OfTheShortFormAreTold) {
  std::string text(kRun);
  text.replace(text.find("\"gated\""), 0, "\"kv_head\": 2, \"tie_word_embeddings\": true, ");
  const RunFile file(text);
  EXPECT_EQ(read_training_runs(file.path())->front().unknown,
            std::vector<std::string>{"model.kv_head"});
}

// With a line for the cluster nothing else of the system is read.
TEST(RunFields, BesideALineAreTold) {
  std::string text(kRun);
  text.replace(text.find("\"on\""), 0, "\"gpu\": \"A100\", ");
  const RunFile file(text);
  EXPECT_EQ(read_training_runs(file.path())->front().unmodelled,
            std::vector<std::string>{"system.gpu: system.on is taken"});
}

TEST(RunFields, OfAnotherKindAreRefusedByName) {
  const auto why = [](const std::string& parallel) { return read_with("", parallel).incomplete; };
  EXPECT_EQ(why("\"pp\": 1, \"dp\": \"8\""), "parallel.dp: expected a whole number, found '8'");
  EXPECT_EQ(why("\"dp\": 8, \"dp_overlap\": \"yes\""),
            "parallel.dp_overlap: expected true or false, found 'yes'");
}

TEST(RunFields, OfAPartThatIsNoneAreRefused) {
  const auto runs = parse_runs(R"([{"parallel": [1]}, {"batch": "64"}])", "here", {});
  ASSERT_TRUE(runs);
  EXPECT_EQ((*runs)[0].incomplete, "parallel: expected an object, found '[1]'");
  EXPECT_EQ((*runs)[1].incomplete, "batch: expected an object, found '64'");
}

/// kRun with eight replicas and these fields of `parallel`.
Plan plan_with(const std::string& parallel) {
  const TrainingRun run = read_with("", "\"pp\": 1, \"dp\": 8, " + parallel);
  EXPECT_EQ(run.incomplete, "");
  EXPECT_EQ(run.unknown, nothing());
  return run.plan;
}

TEST(RunFields, OfLaunchesAreSettingsOfThePlan) {
  EXPECT_TRUE(plan_with("\"cuda_graph\": true").cuda_graph);
  EXPECT_FALSE(plan_with("\"cuda_graph\": \"none\"").cuda_graph);
  EXPECT_EQ(plan_with("\"cp_comm_type\": \"a2a\"").context, ContextKind::kUlysses);
  EXPECT_EQ(plan_with("\"cp_comm_type\": \"all-gather\"").context, ContextKind::kAllGather);
  EXPECT_EQ(plan_with("\"cp_comm_type\": \"ring\"").context, ContextKind::kRing);
  EXPECT_TRUE(plan_with("\"ep_overlap\": true").overlap.experts);
  EXPECT_FALSE(plan_with("\"pp_overlap\": false").overlap.pipeline);
  EXPECT_EQ(plan_with("\"dispatcher\": \"all-to-all\"").dispatcher, DispatcherKind::kAllToAll);
  EXPECT_EQ(plan_with("\"dispatcher\": \"DeepEP\"").dispatcher, DispatcherKind::kDeepEp);
  EXPECT_EQ(plan_with("\"dispatcher\": \"HybridEP\"").dispatcher, DispatcherKind::kHybridEp);
  const Plan wide = plan_with("\"gradient_type\": \"fp32\"");
  EXPECT_EQ(wide.gradient_type, GradientType::kFp32);
  EXPECT_TRUE(wide.fp32_gradients);  // Megatron adds up in what it reduces
  EXPECT_FALSE(plan_with("\"grad_reduce_in_fp32\": false").fp32_gradients);
  const Plan sharded = plan_with("\"fsdp\": 8, \"gradient_type\": \"bf16\"");
  EXPECT_EQ(sharded.gradient_type, GradientType::kBf16);
  const TrainingRun other = read_with("\"software\": \"deepspeed-2022\", ",
                                      R"("pp": 1, "dp": 8, "gradient_type": "bf16")");
  EXPECT_EQ(other.plan.gradient_type, GradientType::kBf16);
  EXPECT_TRUE(other.plan.fp32_gradients);  // DeepSpeed has a type for each
}

TEST(RunFields, TellWhichReplicasShare) {
  EXPECT_EQ(plan_with("\"zero_group\": 4").shard, 4U);
  EXPECT_EQ(plan_with("\"fsdp_degree\": 2").shard, 2U);
  EXPECT_EQ(plan_with("\"zero_instances\": 2").shard, 4U);
  EXPECT_EQ(plan_with("\"zero_group\": 8").shard, 0U);  // all of them
  const Plan sharded = plan_with("\"fsdp\": 4");
  EXPECT_EQ(sharded.zero, Zero::kWeights);
  EXPECT_EQ(sharded.shard, 4U);
}

TEST(RunFields, WordsThatNothingPricesAreTold) {
  const auto told = [](const std::string& field) {
    const TrainingRun run = read_with("", "\"pp\": 1, \"dp\": 8, " + field);
    EXPECT_EQ(run.incomplete, "");
    return run.unmodelled.size() == 1 ? run.unmodelled[0] : "";
  };
  EXPECT_EQ(told("\"dispatcher\": \"allgather\""),
            "parallel.dispatcher 'allgather': the software's is taken");
  EXPECT_EQ(told("\"cp_comm_type\": \"a2a+p2p\""),
            "parallel.cp_comm_type 'a2a+p2p': ring is taken");
  EXPECT_EQ(told("\"cuda_graph\": \"attn\""),
            "parallel.cuda_graph 'attn': graphs of whole layers are taken");
  EXPECT_EQ(told("\"gradient_type\": \"e5m2\""),
            "parallel.gradient_type 'e5m2': the type in which gradients are added up is taken");
}

TEST(TrainingRuns, UntoldVirtualStagesAreAssumed) {
  const std::string parallel = "\"pp\": 4, \"vp\": null, \"dp\": 2";
  EXPECT_EQ(read_with("\"year\": 2024, ", parallel).plan.vpp, 8U);  // NeMo's recipes
  const TrainingRun other = read_with("", parallel);
  EXPECT_EQ(other.plan.vpp, 1U);
  ASSERT_EQ(other.assumed.size(), 1U);
  EXPECT_EQ(other.assumed[0], "1 virtual stages a chip");
}

TEST(TrainingRuns, SayWhatIsMissing) {
  const auto why = [](const std::string& from, const std::string& to) {
    std::string text(kRun);
    text.replace(text.find(from), from.size(), to);
    const RunFile file(text);
    const auto runs = read_training_runs(file.path());
    return runs ? runs->front().incomplete : runs.error().text();
  };
  EXPECT_NE(why("\"dp\": 8", "\"dp\": 4").find("tp x pp x cp x dp is 8"), std::string::npos);
  EXPECT_NE(why("2.5", "null").find("no iteration time"), std::string::npos);
  EXPECT_NE(why("bf16", "bf17").find("precision"), std::string::npos);
  EXPECT_NE(why("\"gbs\": 64", "\"gbs\": null").find("global batch"), std::string::npos);
  EXPECT_NE(why("dgx-h100", "dgx-x100").find("dgx-x100"), std::string::npos);
  EXPECT_NE(why("\"hidden\": 4096,", "").find("hidden"), std::string::npos);
  EXPECT_NE(why("\"gbs\": 64", "\"gbs\": 1e18").find("batch.gbs is too large"), std::string::npos);
  EXPECT_NE(why("2.5}", "2.5}, \"quality\": \"D\"").find("not A, B or C"), std::string::npos);
}

TEST(TrainingRuns, RefuseWhatHoldsNoRuns) {
  const RunFile file("{\"cases\": []}");
  const auto runs = read_training_runs(file.path());
  ASSERT_FALSE(runs);
  EXPECT_NE(runs.error().text().find("expected measured runs"), std::string::npos);
  EXPECT_FALSE(read_training_runs("/nowhere/runs.json"));
}

TEST(RunErrors, AreWhatTheyAreCalled) {
  TrainingRun run;
  run.measured_s = 1;
  run.plan.global_batch = 1;
  std::vector<RunForecast> forecasts(3);
  std::vector<const RunForecast*> all;
  std::vector<TrainingRun> runs(3, run);
  for (std::size_t i = 0; i < 3; ++i) {
    runs[i].measured_s = 1.0 + 0.1 * static_cast<double>(i);
    forecasts[i].run = &runs[i];
    forecasts[i].estimate.step = Seconds{i == 0 ? 0.9 : runs[i].measured_s * 1.2};
    forecasts[i].estimate.stages.resize(1);
    forecasts[i].estimate.low = forecasts[i].estimate.step * 0.9;
    forecasts[i].estimate.high = forecasts[i].estimate.step * 1.15;
    all.push_back(&forecasts[i]);
  }
  const RunErrors errors = run_errors(all);
  EXPECT_EQ(errors.n, 3U);
  EXPECT_NEAR(errors.mape, (0.1 + 0.2 + 0.2) / 3, 1e-12);
  EXPECT_NEAR(errors.bias, (-0.1 + 0.2 + 0.2) / 3, 1e-12);
  EXPECT_NEAR(errors.band, 1.0 / 3, 1e-12);
  EXPECT_NEAR(errors.spearman, 1, 1e-12);
}

/// All published runs, forecast once.
class PublicRuns : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto runs = read_training_runs(test::data_path("training.json"));
    ASSERT_TRUE(runs) << runs.error().text();
    forecaster_.emplace(std::move(*runs));
    forecasts_ = forecaster_->forecast();
  }
  static void TearDownTestSuite() {
    forecasts_.clear();
    forecaster_.reset();
  }
  template <typename Wanted>
  static RunErrors errors_of(const Wanted& wanted) {
    std::vector<const RunForecast*> chosen;
    for (const RunForecast& f : forecasts_) {
      if (!f.failure && wanted(*f.run)) chosen.push_back(&f);
    }
    return run_errors(chosen);
  }

  static inline std::optional<RunForecaster> forecaster_;

 private:
  static inline std::vector<RunForecast> forecasts_;
};

// The dense runs of quality A.
TEST_F(PublicRuns, AreForecastWell) {
  const RunErrors errors =
      errors_of([](const TrainingRun& run) { return !run.experts && run.quality == 'A'; });
  EXPECT_GT(errors.n, 300U);
  EXPECT_LT(errors.mape, 0.05);
  EXPECT_LT(std::abs(errors.bias), 0.02);
  EXPECT_LT(errors.p90, 0.11);
}

TEST_F(PublicRuns, OfExpertsAreForecast) {
  const RunErrors errors = errors_of([](const TrainingRun& run) { return run.experts; });
  EXPECT_GT(errors.n, 40U);
  EXPECT_LT(errors.mape, 0.12);
  EXPECT_LT(std::abs(errors.bias), 0.06);
}

/// Share of a set's runs that lie in their band, mean of the sets of at least four.
double coverage_of_sets(const std::vector<RunForecast>& forecasts, bool experts) {
  std::map<std::string, std::vector<const RunForecast*>> sets;
  for (const RunForecast& f : forecasts) {
    const bool counted = !f.failure && f.run->experts == experts && f.run->quality != 'C';
    if (counted) sets[f.run->set].push_back(&f);
  }
  std::erase_if(sets, [](const auto& set) { return set.second.size() < 4; });
  double sum = 0;
  for (const auto& [name, some] : sets) sum += run_errors(some).band;
  return sum / static_cast<double>(sets.size());
}

// Experts without a software had an error of 22 % and a band that held 30 % of the runs: not to know is to be told.
TEST_F(PublicRuns, BandsOfAnUnstatedSoftwareHoldFourOfFive) {
  const std::vector<RunForecast> untold = forecaster_->forecast({{}, 0, {}, false});
  for (const bool experts : {false, true}) {
    EXPECT_NEAR(coverage_of_sets(untold, experts), 0.8, 0.1) << experts;
  }
}

// Peers forecast the whole of each set, of which the file has the public part.
TEST_F(PublicRuns, AreForecastNearerThanByPeers) {
  const Result<CsvTable> peers = CsvTable::read(test::data_path("peers.csv"));
  ASSERT_TRUE(peers) << peers.error().text();
  ASSERT_EQ(peers->rows(), 4U);
  for (std::size_t row = 0; row < peers->rows(); ++row) {
    const std::string_view set = peers->text(row, *peers->column("runs"));
    const RunErrors ours =
        errors_of([&](const TrainingRun& run) { return run.id.starts_with(set); });
    EXPECT_GE(ours.n, 3U) << set;
    EXPECT_LT(100 * ours.mape, *peers->number(row, *peers->column("mape_pct"))) << set;
  }
}

}  // namespace
}  // namespace flopcast::measured
