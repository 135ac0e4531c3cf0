// A layer of ten kernels that trains, and eight chips, small enough for searches by hand.
#pragma once

#include "flopcast/mapping.h"

namespace flopcast::mapping::test {

inline constexpr std::int64_t kSmallHidden = 256, kSmallFfn = 1024, kSmallTokens = 64;

inline std::uint32_t add_small_gemm(DataflowGraph& graph, const char* name, std::int64_t m,
                                    std::int64_t k, bool backward) {
  DataflowKernel kernel;
  kernel.name = name;
  kernel.kind = DataflowKind::kGemm;
  kernel.backward = backward;
  kernel.m = m;
  kernel.n = kSmallTokens;
  kernel.k = k;
  kernel.weight = {2.0 * static_cast<double>(m * k)};
  kernel.tiled = KernelDimension::kN;
  graph.kernels.push_back(kernel);
  return static_cast<std::uint32_t>(graph.kernels.size() - 1);
}

inline std::uint32_t add_small_gradient(DataflowGraph& graph, const char* name, std::int64_t m,
                                        std::int64_t n) {
  DataflowKernel kernel;
  kernel.name = name;
  kernel.kind = DataflowKind::kGemm;
  kernel.backward = true;
  kernel.m = m;
  kernel.n = n;
  kernel.k = kSmallTokens;
  kernel.gradient = {2.0 * static_cast<double>(m * n)};
  kernel.tiled = kernel.batch = KernelDimension::kK;
  graph.kernels.push_back(kernel);
  return static_cast<std::uint32_t>(graph.kernels.size() - 1);
}

inline std::uint32_t add_small_pointwise(DataflowGraph& graph, const char* name, std::int64_t m,
                                         bool backward) {
  DataflowKernel kernel;
  kernel.name = name;
  kernel.backward = backward;
  kernel.m = m;
  kernel.n = kSmallTokens;
  kernel.operations = 8;
  kernel.tiled = KernelDimension::kN;
  graph.kernels.push_back(kernel);
  return static_cast<std::uint32_t>(graph.kernels.size() - 1);
}

inline void add_small_tensor(DataflowGraph& graph, std::uint32_t producer,
                             std::vector<DataflowUse> uses) {
  const DataflowKernel& kernel = graph.kernels[producer];
  graph.tensors.push_back({"of_" + kernel.name,
                           producer,
                           {2.0 * static_cast<double>(kernel.m * kernel.n)},
                           std::move(uses),
                           true});
}

/// in -> up -> gelu -> down, and back. Four layers, 16 samples.
inline DataflowWorkload small_training() {
  DataflowWorkload workload;
  DataflowGraph& graph = workload.graph;
  graph.name = "small";
  const auto in = add_small_pointwise(graph, "in", kSmallHidden, false);
  const auto up = add_small_gemm(graph, "up", kSmallFfn, kSmallHidden, false);
  const auto gelu = add_small_pointwise(graph, "gelu", kSmallFfn, false);
  const auto down = add_small_gemm(graph, "down", kSmallHidden, kSmallFfn, false);
  const auto loss = add_small_pointwise(graph, "loss_bwd", kSmallHidden, true);
  const auto down_bwd = add_small_gemm(graph, "down_bwd", kSmallFfn, kSmallHidden, true);
  const auto gelu_bwd = add_small_pointwise(graph, "gelu_bwd", kSmallFfn, true);
  const auto up_bwd = add_small_gemm(graph, "up_bwd", kSmallHidden, kSmallFfn, true);
  const auto down_grad = add_small_gradient(graph, "down_grad", kSmallHidden, kSmallFfn);
  const auto up_grad = add_small_gradient(graph, "up_grad", kSmallFfn, kSmallHidden);
  constexpr auto kPoint = Operand::kPointwise;
  constexpr auto kRight = Operand::kRight;
  add_small_tensor(graph, in, {{up, kRight}, {up_grad, Operand::kRightT}});
  add_small_tensor(graph, up, {{gelu, kPoint}, {gelu_bwd, kPoint}});
  add_small_tensor(graph, gelu, {{down, kRight}, {down_grad, Operand::kRightT}});
  add_small_tensor(graph, down, {{loss, kPoint}});
  add_small_tensor(graph, loss, {{down_bwd, kRight}, {down_grad, Operand::kLeftT}});
  add_small_tensor(graph, down_bwd, {{gelu_bwd, kPoint}});
  add_small_tensor(graph, gelu_bwd, {{up_bwd, kRight}, {up_grad, Operand::kLeftT}});
  workload.training = true;
  workload.layers = 4;
  workload.global_batch = 16;
  workload.tokens = kSmallTokens;
  workload.boundary = {2.0 * kSmallHidden * kSmallTokens};
  return workload;
}

/// Rings of 4 and 2, 1 TFLOP/s and 2 MB of SRAM a chip, no limit of memory.
inline MappingSystem small_system() {
  MappingSystem system;
  system.name = "8 x small";
  system.chip.name = "small";
  system.chip.tiles = {32, 8, 4, 0.5e9};
  system.peak = {1e12};
  system.sram = {2e6};
  system.memory_bandwidth = {100e9};
  system.dimensions = {{DimensionKind::kRing, 4, {20e9}, {1e-6}},
                       {DimensionKind::kSwitch, 2, {5e9}, {2e-6}}};
  return system;
}

}  // namespace flopcast::mapping::test
