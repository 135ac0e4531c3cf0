#include "flopcast/mapping/setup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace flopcast::mapping {
namespace {

using testing::HasSubstr;

/// A chain of three kernels on 4 x 2 chips, bound as the published runs bind them.
DfmodelSetup made_setup() {
  DfmodelSetup setup;
  DataflowGraph& graph = setup.workload.graph;
  for (const char* name : {"a", "b", "c"}) {
    DataflowKernel kernel;
    kernel.name = name;
    graph.kernels.push_back(kernel);
  }
  graph.kernels[2].backward = true;
  setup.workload.training = true;
  setup.dimensions = {{"r", 4, 50, "TP"}, {"sw", 2, 25, "PP"}};
  setup.chips = 8;
  setup.cores = 640;
  setup.width = 32;
  setup.height = 6;
  setup.gigahertz = 1.25;
  setup.sram_bytes = 320e6;
  setup.dram_gigabytes_per_second = 100;
  setup.accelerator_price = 7000;
  setup.link_price = 2;
  setup.link_power[0] = 0.052;
  setup.link_power[1] = 0.0104;
  setup.partitions = 4;
  setup.pins = {1, -1, 3};
  setup.utilisation = 0.9;
  setup.tile = 256;
  return setup;
}

TEST(MappingSetup, NumbersAreTheSetups) {
  const Result<MappingRequest> request = mapping_of_setup(made_setup());
  ASSERT_TRUE(request) << request.error().text();
  const MappingSystem& system = request->system;
  EXPECT_EQ(system.chips(), 8u);
  EXPECT_DOUBLE_EQ(system.peak.value, 307.2e12);  // 2 x 32 x 6 x 640 x 1.25 GHz
  EXPECT_EQ(system.dimensions[0].kind, DimensionKind::kRing);
  EXPECT_EQ(system.dimensions[1].kind, DimensionKind::kSwitch);
  EXPECT_EQ(system.dimensions[1].bandwidth, BytesPerSecond{25e9});
  EXPECT_EQ(system.memory_bandwidth, BytesPerSecond{100e9});
  EXPECT_EQ(system.memory_capacity, Bytes{0});
  EXPECT_EQ(system.chip.price_usd, 7000);
  EXPECT_EQ(system.prices.link_w, (std::vector<double>{0.052, 0.0104}));
  EXPECT_FALSE(system.kernel_by_kernel);
  EXPECT_EQ(request->model.utilisation, 0.9);
  EXPECT_EQ(request->search.tile, 256);
  EXPECT_EQ(request->search.partitions, 2u);  // of a pass
}

TEST(MappingSetup, DimensionsKeepTheirParallelism) {
  const Result<MappingRequest> bound = mapping_of_setup(made_setup());
  ASSERT_TRUE(bound);
  using Splits = std::vector<std::array<unsigned, kParallelisms>>;
  EXPECT_EQ(bound->search.factors, (Splits{{4, 1, 1}, {1, 2, 1}}));
  DfmodelSetup open = made_setup();
  open.dimensions[1].parallelism.clear();
  const Result<MappingRequest> free = mapping_of_setup(open);
  ASSERT_TRUE(free);
  EXPECT_TRUE(free->search.factors.empty());
}

TEST(MappingSetup, PinsAreCountedInTheirPass) {
  const Result<MappingRequest> request = mapping_of_setup(made_setup());
  ASSERT_TRUE(request);
  ASSERT_EQ(request->search.pins.size(), 2u);
  EXPECT_EQ(request->search.pins[0].kernel, "a");
  EXPECT_EQ(request->search.pins[0].partition, 1u);
  EXPECT_EQ(request->search.pins[1].kernel, "c");
  EXPECT_EQ(request->search.pins[1].partition, 1u);  // 3 of both passes
  DfmodelSetup wrong = made_setup();
  wrong.pins[2] = 0;
  EXPECT_THAT(mapping_of_setup(wrong).error().text(), HasSubstr("kernel c is pinned"));
}

TEST(MappingSetup, AsManyPartitionsAsKernelsMeansOneEach) {
  for (const std::int64_t partitions : {0, 3}) {
    DfmodelSetup setup = made_setup();
    setup.partitions = partitions;
    const Result<MappingRequest> request = mapping_of_setup(setup);
    ASSERT_TRUE(request);
    EXPECT_TRUE(request->system.kernel_by_kernel);
    EXPECT_TRUE(request->search.pins.empty());
  }
}

TEST(MappingSetup, NamesWhatIsMissing) {
  DfmodelSetup setup = made_setup();
  setup.chips = 9;
  EXPECT_THAT(mapping_of_setup(setup).error().text(), HasSubstr("dimensions of 8 chips"));
  setup = made_setup();
  setup.dimensions[1].size = 0;
  EXPECT_THAT(mapping_of_setup(setup).error().text(), HasSubstr("dimension 1 has no size"));
  setup = made_setup();
  setup.dimensions[0].kind = "hypercube";
  EXPECT_THAT(mapping_of_setup(setup).error().text(), HasSubstr("hypercube"));
  setup = made_setup();
  setup.dimensions[0].parallelism = "EP";
  EXPECT_THAT(mapping_of_setup(setup).error().text(), HasSubstr("'EP'"));
  setup = made_setup();
  setup.gigahertz = 0;
  EXPECT_THAT(mapping_of_setup(setup).error().text(), HasSubstr("no peak rate"));
}

}  // namespace
}  // namespace flopcast::mapping
