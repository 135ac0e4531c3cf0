// Setup files of the published DFModel, as text made here.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "flopcast/workload/dataflow.h"

namespace flopcast::workload {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

DfmodelSetup parsed(const std::string& text) {
  Result<DfmodelSetup> setup = parse_dfmodel_setup(text, "setup.txt");
  EXPECT_TRUE(setup) << (setup ? "" : setup.error().text());
  return setup ? std::move(*setup) : DfmodelSetup{};
}

std::string setup_refusal(const std::string& text) {
  const Result<DfmodelSetup> setup = parse_dfmodel_setup(text, "setup.txt");
  return setup ? "read" : setup.error().text();
}

constexpr const char* kSmall = R"(
# Two kernels of a forward pass on a 4 x 2 torus.
dataflow_graph {
  kernels {
    name: "up" id: 1 config: 0 fwd_bwd: FWD type: SYSTOLIC
    gemm_input1_weight {
      outer: 1 M: 32 K: 16 N: 8
      input_tensor_size: 256.0 weight_tensor_size: 1024.0 output_tensor_size: 512.0
      tiling: N_TILING
      memory_size: 64.0
    }
  }
  kernels <
    name: 'act'; id: 7; config: -1; fwd_bwd: FWD; type: SIMD;
    elementwise_input1: { outer: 2, M: 16, N: 8, output_tensor_size: 1342177300.0, tiling: N_TILING }
    sram_extra: 5
  >
  connections { startIdx: 1 endIdx: 7 id: 1 zero_out: true }
}
system {
  num_chip: 8
  accelerator { core: 640 systolic_width: 32 systolic_height: 6 sram_cap: 335544320.0 freq: 1.25
                link_latency: 150 pmu: 3 }
  r_r { x: 4 y: 2 link_bw_x: 50.0 link_bw_y: 25 par_x: "TP" par_y: "PP" }
  memory { dram_bw: 100.0 dram_cap: 1099511600000.0 }
}
cost { link_unit_price: 2.0 accelerator_price: 33000 link_unit_power_y: 0.5 dram_unit_power: 0.25 }
execution {
  llm { hidden_dim: 16 head_dim: 4 num_head: 4 seq_len: 8 num_layer: 12 num_layer_in_graph: 3
        global_batch_size: 24 micro_batch_size: 2 tile_size: 4 }
  execution_style: DATAFLOW num_config: 2 perfect_overlap: true compute_util: 0.9 word: 2
}
gurobi { thread: 144 gap: 0.001 }
)";

TEST(DfmodelSetupFile, GraphAndPins) {
  const DfmodelSetup setup = parsed(kSmall);
  const DataflowGraph& graph = setup.workload.graph;
  ASSERT_EQ(graph.kernels.size(), 2u);
  EXPECT_THAT(setup.pins, ElementsAre(0, -1));
  const DataflowKernel& up = graph.kernels[0];
  EXPECT_EQ(up.name, "up");
  EXPECT_EQ(up.kind, DataflowKind::kGemm);
  EXPECT_THAT((std::array{up.outer, up.m, up.n, up.k}), ElementsAre(1, 32, 8, 16));
  EXPECT_EQ(up.weight.value, 1024);
  EXPECT_EQ(up.traffic.value, 64 * 4) << "one chip's, of 4 that share a layer";
  EXPECT_EQ(up.tiled, KernelDimension::kN);
  EXPECT_EQ(graph.kernels[1].batch, KernelDimension::kOuter);
  ASSERT_EQ(graph.tensors.size(), 2u);
  EXPECT_EQ(graph.tensors[0].bytes.value, 512);
  EXPECT_EQ(graph.tensors[0].uses, (std::vector<DataflowUse>{{1, Operand::kPointwise}}));
  EXPECT_TRUE(graph.tensors[1].uses.empty()) << "what the layer hands on";
  EXPECT_EQ(graph.tensors[1].bytes.value, 1342177280) << "reals have 32 bits";
}

TEST(DfmodelSetupFile, SystemCostAndRun) {
  const DfmodelSetup setup = parsed(kSmall);
  EXPECT_EQ(setup.chips, 8);
  EXPECT_EQ(setup.cores, 640);
  EXPECT_EQ(setup.width, 32);
  EXPECT_EQ(setup.height, 6);
  EXPECT_EQ(setup.gigahertz, 1.25);
  EXPECT_EQ(setup.link_latency_ns, 150);
  ASSERT_EQ(setup.dimensions.size(), 2u);
  EXPECT_EQ(setup.dimensions[0].kind, "r");
  EXPECT_EQ(setup.dimensions[0].size, 4);
  EXPECT_EQ(setup.dimensions[1].gigabytes_per_second, 25);
  EXPECT_EQ(setup.dimensions[1].parallelism, "PP");
  EXPECT_EQ(setup.dram_gigabytes_per_second, 100);
  EXPECT_EQ(setup.accelerator_price, 33000);
  EXPECT_EQ(setup.link_power[1], 0.5);
  EXPECT_EQ(setup.dram_power, 0.25);
  EXPECT_FALSE(setup.kernel_by_kernel);
  EXPECT_TRUE(setup.perfect_overlap);
  EXPECT_EQ(setup.partitions, 2);
  EXPECT_EQ(setup.tile, 4);
  EXPECT_EQ(setup.microbatch, 2);
  EXPECT_FLOAT_EQ(static_cast<float>(setup.utilisation), 0.9F);
  EXPECT_EQ(setup.workload.layers, 4) << "12 layers, 3 in the graph";
  EXPECT_EQ(setup.workload.global_batch, 24);
  EXPECT_EQ(setup.workload.tokens, 8);
  EXPECT_EQ(setup.workload.boundary.value, 16 * 8 * 2);
}

TEST(DfmodelSetupFile, CountsAndNamesWhatItDoesNotKnow) {
  const DfmodelSetup setup = parsed(kSmall);
  EXPECT_EQ(setup.unknown.list().size(), 3u);
  EXPECT_EQ(setup.unknown.count("system.accelerator.pmu"), 1u);
  EXPECT_EQ(setup.unknown.count("dataflow_graph.kernels.sram_extra"), 1u);
  EXPECT_EQ(setup.unknown.count("dataflow_graph.connections.zero_out"), 1u);
  EXPECT_THAT(setup.unknown.list()[0].first, HasSubstr("setup.txt:"));
}

/// A graph as the published generators write it: one message a line.
std::string setup_text(const DataflowGraph& graph, const std::string& rest) {
  std::string text = "dataflow_graph {\n";
  for (std::size_t i = 0; i < graph.kernels.size(); ++i) {
    const DataflowKernel& k = graph.kernels[i];
    double output = 0;
    std::size_t inputs = 0;
    for (const DataflowTensor& tensor : graph.tensors) {
      if (tensor.producer == i) output = tensor.bytes.value;
      for (const DataflowUse& use : tensor.uses) inputs += use.kernel == i;
    }
    const char* variant = k.weight.value > 0 ? "gemm_input1_weight"
                          : k.systolic()     ? "gemm_input1_input2"
                          : inputs == 2      ? "elementwise_input1_input2"
                                             : "elementwise_input1";
    text +=
        fmt::format("kernels {{ name: \"{}\" id: {} config: -1 fwd_bwd: {} type: {} {} {{ ", k.name,
                    i + 1, k.backward ? "BWD" : "FWD", k.systolic() ? "SYSTOLIC" : "SIMD", variant);
    text +=
        fmt::format("outer: {} M: {} N: {} K: {} weight_tensor_size: {} output_tensor_size: {} ",
                    k.outer, k.m, k.n, k.k, k.weight.value, output);
    text += k.tiled == KernelDimension::kK ? "tiling: K_TILING " : "tiling: N_TILING ";
    if (k.gradient.value > 0) {
      text += fmt::format("communication_type: ALL_REDUCE_PERIODIC communication_size: {} ",
                          k.gradient.value);
    }
    text += "} }\n";
  }
  for (const DataflowTensor& tensor : graph.tensors) {
    for (const DataflowUse& use : tensor.uses) {
      text += fmt::format("connections {{ startIdx: {} endIdx: {} }}\n", tensor.producer + 1,
                          use.kernel + 1);
    }
  }
  return text + "}\n" + rest;
}

TEST(DfmodelSetupFile, GptLayerIsTheGeneratorsOwn) {
  const DataflowWorkload gpt = *load_dataflow("gpt3-175b");
  const DfmodelSetup setup =
      parsed(setup_text(gpt.graph,
                        "miscellany { llm { hidden_dim: 12288 seq_len: 2048 num_layer: 96"
                        " global_batch_size: 2304 micro_batch_size: 1 } word: 2 }"));
  DataflowWorkload read = setup.workload;
  EXPECT_EQ(read.graph.kernels.size(), 18u);
  EXPECT_EQ(read.graph.uses(), 21u);
  EXPECT_EQ(read.layers, 96);
  EXPECT_EQ(read.boundary, gpt.boundary);
  EXPECT_EQ(read.graph.work(), gpt.graph.work());
  EXPECT_EQ(read.graph.weights(), gpt.graph.weights());
  for (std::size_t i = 0; i < 18; ++i) {
    EXPECT_EQ(read.graph.kernels[i].batch, gpt.graph.kernels[i].batch) << i;
    EXPECT_EQ(read.graph.kernels[i].tiled, gpt.graph.kernels[i].tiled) << i;
    EXPECT_EQ(read.graph.tensors[i].bytes, gpt.graph.tensors[i].bytes) << i;
  }
}

TEST(DfmodelSetupFile, TrainingLayerHasItsGradients) {
  const DataflowGraph graph = load_dataflow("gpt3-1t")->graph;
  const DfmodelSetup setup = parsed(setup_text(graph, ""));
  const DataflowGraph& read = setup.workload.graph;
  EXPECT_TRUE(setup.workload.training);
  EXPECT_EQ(read.kernels.size(), 41u);
  EXPECT_EQ(read.uses(), 53u);
  for (std::size_t i = 0; i < 41; ++i) {
    EXPECT_FLOAT_EQ(static_cast<float>(read.kernels[i].gradient.value),
                    static_cast<float>(graph.kernels[i].gradient.value));
    EXPECT_EQ(read.kernels[i].batch, graph.kernels[i].batch) << graph.kernels[i].name;
  }
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    if (graph.tensors[i].name != "gelu") continue;
    for (const DataflowUse& use : read.tensors[i].uses) {
      const bool gradient = read.kernels[use.kernel].gradient.value > 0;
      EXPECT_EQ(use.operand, gradient ? Operand::kRightT : Operand::kRight);
    }
  }
}

TEST(DfmodelSetupFile, TransfersAsEachWorkloadMeansThem) {
  const std::string kernels =
      "dataflow_graph { kernels { id: 1 type: SYSTOLIC gemm_input1_weight { M: 8 N: 8 K: 8"
      " communication_type: ALL_TO_ALL communication_size: 10"
      " communication_type_2: BROADCAST communication_size_2: 20 } } }"
      " system { num_chip: 4 } ";
  const auto first = [&kernels](const std::string& run) {
    return parsed(kernels + "miscellany { " + run + " }").workload.graph.kernels[0];
  };
  EXPECT_EQ(first("dlrm { }").transfers[0].bytes.value, 40) << "each pair's message";
  EXPECT_EQ(first("fft { }").transfers[0].bytes.value, 10) << "all of them";
  EXPECT_EQ(first("fft { }").kind, DataflowKind::kFft);
  EXPECT_EQ(first("hpl { }").kind, DataflowKind::kPanel);
  EXPECT_EQ(first("hpl { }").transfers[1].kind, DataflowTransferKind::kBroadcast);
  EXPECT_EQ(first("hpl { }").transfers[1].bytes.value, 20);
}

TEST(DfmodelSetupFile, Overlap) {
  const auto overlaps = [](const std::string& run) {
    return parsed("dataflow_graph { kernels { id: 1 } } execution { " + run + " }").perfect_overlap;
  };
  EXPECT_TRUE(overlaps("perfect_overlap: true"));
  EXPECT_TRUE(overlaps("overlap: PERFECT_OVERLAP"));
  EXPECT_FALSE(overlaps("overlap: NO_OVERLAP"));
  EXPECT_FALSE(overlaps(""));
}

TEST(DfmodelSetupFile, MistakesNameTheirLine) {
  EXPECT_THAT(setup_refusal("dataflow_graph {\n kernels {\n  id: one\n } }"),
              HasSubstr("setup.txt:3: 'id: one' is no whole number"));
  EXPECT_THAT(setup_refusal(
                  "dataflow_graph {\n kernels { id: 1 }\n connections { startIdx: 1 endIdx: 2 } }"),
              HasSubstr("setup.txt:3: a connection names kernel 2"));
  EXPECT_THAT(setup_refusal("dataflow_graph { kernels { id: 1 } kernels { id: 1 } }"),
              HasSubstr("two kernels have the id 1"));
  EXPECT_THAT(setup_refusal("system { num_chip: 8 }"), HasSubstr("no dataflow_graph"));
  EXPECT_THAT(setup_refusal("dataflow_graph: 3"), HasSubstr("must be a message"));
  EXPECT_THAT(setup_refusal("dataflow_graph { kernels { id { } } }"), HasSubstr("must be a value"));
  EXPECT_THAT(setup_refusal("dataflow_graph { kernels { id: 1 }\n"),
              HasSubstr("setup.txt:2: '}' is missing"));
  EXPECT_THAT(setup_refusal("a: \"no end\nb: 1"), HasSubstr("does not end"));
  EXPECT_THAT(setup_refusal("dataflow_graph"), HasSubstr("needs a value"));
  EXPECT_THAT(setup_refusal("= 3"), HasSubstr("expected a field, found '='"));
  EXPECT_THAT(setup_refusal(std::string("a: 1\0", 5)), HasSubstr("0x00"));
  EXPECT_THAT(setup_refusal("system { num_chip: -1 } dataflow_graph { kernels { id: 1 } }"),
              HasSubstr("is no count"));
  EXPECT_THAT(
      setup_refusal("system { memory { dram_bw: fast } } dataflow_graph { kernels { id: 1 } }"),
      HasSubstr("is no number"));
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += "a {";
  EXPECT_THAT(setup_refusal(deep), HasSubstr("nested too deeply"));
}

TEST(DfmodelSetupFile, ListsAreRepeatedFields) {
  const DfmodelSetup setup = parsed(
      "dataflow_graph { kernels: [ { id: 1 name: 'a' }, { id: 2 name: \"b\" 'c' } ]"
      " connections { startIdx: 1 endIdx: 2 } }");
  ASSERT_EQ(setup.workload.graph.kernels.size(), 2u);
  EXPECT_EQ(setup.workload.graph.kernels[1].name, "bc");
}

TEST(DfmodelSetupFile, GraphsAreCheckedAsAllAre) {
  EXPECT_THAT(setup_refusal(
                  "dataflow_graph { kernels { id: 1 name: 'a' } kernels { id: 2 name: 'b' }"
                  " connections { startIdx: 1 endIdx: 2 } connections { startIdx: 2 endIdx: 1 } }"),
              HasSubstr("setup.txt: has a cycle"));
}

}  // namespace
}  // namespace flopcast::workload
