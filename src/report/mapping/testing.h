// A mapping made by hand, for tests of how mappings are shown.
#pragma once

#include "flopcast/report/mapping.h"

namespace flopcast::test {

inline DataflowKernel made_kernel(const char* name, std::int64_t k) {
  DataflowKernel kernel;
  kernel.name = name;
  kernel.m = 1000;
  kernel.n = 500;
  kernel.k = k;
  if (k > 0) {
    kernel.kind = DataflowKind::kGemm;
    kernel.weight = {2.0 * 1000 * static_cast<double>(k)};
  }
  return kernel;
}

/// in -> up -> gelu -> down -> out, and in -> out past them.
inline DataflowWorkload made_workload() {
  DataflowWorkload workload;
  DataflowGraph& graph = workload.graph;
  graph.name = "a <made> graph";
  graph.kernels = {made_kernel("in", 0), made_kernel("up", 100), made_kernel("gelu", 0),
                   made_kernel("down <b>", 100), made_kernel("out", 0)};
  const Bytes size{1e6};
  graph.tensors = {{"t_in", 0, size, {{1, Operand::kRight}, {4, Operand::kPointwise}}, true},
                   {"t_up", 1, size, {{2, Operand::kPointwise}}, true},
                   {"t_gelu", 2, size, {{3, Operand::kRight}}, true},
                   {"t_down", 3, size, {{4, Operand::kPointwise}}, true}};
  workload.layers = 4;
  workload.global_batch = 32;
  workload.tokens = 500;
  return workload;
}

inline MappedPartition made_partition(std::vector<std::uint32_t> kernels, double compute,
                                      double memory, MappingLimit limit) {
  MappedPartition partition;
  partition.kernels = std::move(kernels);
  partition.compute = {compute};
  partition.memory = {memory};
  partition.network = {1e-6};
  partition.time = {std::max(compute, memory)};
  partition.limit = limit;
  partition.work = {compute * 100e12};
  partition.sram = {80e6};
  partition.dram = {memory * 100e9};
  partition.wire = {5e4};
  partition.live = {1e6};
  return partition;
}

inline MappingReport made_mapping() {
  MappingReport report;
  MappingRequest& request = report.request;
  request.workload = made_workload();
  request.model = paper_model();
  request.system.name = "2 x made";
  request.system.chip.name = "made";
  request.system.peak = {200e12};
  request.system.sram = {320e6};
  request.system.memory_bandwidth = {100e9};
  request.system.memory_capacity = {1e12};
  request.system.dimensions = {{DimensionKind::kRing, 2, {50e9}, {1e-6}}};
  request.system.facts = {{"sram", 320e6, "B", "a data sheet", Basis::kAssumed}};
  Mapping& m = report.mapping;
  m.shape.degree = {2, 1, 1};
  m.shape.factors = {{2, 1, 1}};
  m.microbatches = 32;
  m.tile = 500;
  m.layers_per_stage = 4;
  m.sharding.assign(5, Sharding::kM);
  m.layout.assign(4, Layout::kFeatures);
  m.partitions = {made_partition({0, 1, 2}, 3e-3, 1e-3, MappingLimit::kCompute),
                  made_partition({3, 4}, 5e-4, 1e-3, MappingLimit::kMemory)};
  m.layer = {4e-3};
  m.stage = {16e-3};
  m.optimizer = {8e-3};
  m.step = {0.52};
  m.bound = {0.52};
  m.memory.weights = {4e5};
  m.memory.live = {1e6};
  m.roofline = {{200e12}, {90e12}, {100e9}, {50e9}, 4000, 8000};
  m.utilisation = 0.45;
  m.price_usd = 20000;
  m.power_w = 1500;
  m.samples_per_second = 32 / 0.52;
  m.counts = {1, 10, 3, 2, 60, 400};
  return report;
}

}  // namespace flopcast::test
