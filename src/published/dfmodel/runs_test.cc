// The published runs, searched: times, cycles and counts that the paper and its code print.
#include "published/dfmodel/runs.h"

#include <gtest/gtest.h>

#include <numeric>

namespace flopcast::published {
namespace {

Mapping map(const MappingRequest& request) {
  Result<Mapping> mapping = map_workload(request);
  if (mapping) return std::move(*mapping);
  ADD_FAILURE() << mapping.error().text();
  return {};
}

Mapping published(const Result<MappingRequest>& request) {
  EXPECT_TRUE(request) << request.error().text();
  return request ? map(*request) : Mapping{};
}

TEST(PublishedRuns, FindsThePublishedTimesOfTableSix) {
  const Catalog& catalog = Catalog::builtin();
  const auto step_s = [&](TableRow row) { return published(table_run(row, catalog)).step.value; };
  EXPECT_NEAR(step_s(TableRow::kKernelByKernel), 4909.1476, 5e-5);
  EXPECT_NEAR(step_s(TableRow::kPinned), 1020.5245, 5e-5);
  const Mapping ring = published(table_run(TableRow::kBestRing, catalog));
  EXPECT_NEAR(ring.step.value, 884.47, 5e-3);
  EXPECT_EQ(ring.partitions.size(), 2U);
  EXPECT_TRUE(ring.exact);
  EXPECT_NEAR(step_s(TableRow::kBestTorus), 762.9473, 5e-5);
}

// Tiles of 256 tokens: the published solver's split of the first partition takes 147,456 cycles for
// each of them.
TEST(PublishedRuns, SplitsTheVendorsTilesBetterThanPublished) {
  Result<MappingRequest> request = table_run(TableRow::kVendor, Catalog::builtin());
  ASSERT_TRUE(request);
  request->model.utilisation = 0;
  request->search.tile = 256;
  const Mapping mapping = map(*request);
  ASSERT_EQ(mapping.partitions.size(), 4U);
  const MappedPartition& first = mapping.partitions[0];
  const TileArray& tiles = request->system.chip.tiles;
  EXPECT_NEAR(first.compute.value * tiles.hertz / 8, 135'168, 1e-6);
  EXPECT_EQ(first.tiles.size(), first.kernels.size());
  EXPECT_LE(std::accumulate(first.tiles.begin(), first.tiles.end(), 0U), tiles.count);
}

TEST(PublishedRuns, FindsThePublishedTrainingStep) {
  const auto system = published_system("sn30/2d_torus_ddr_pcie", Catalog::builtin(),
                                       PublishedNetwork::kLanguageModel);
  ASSERT_TRUE(system);
  const auto request = design_space_run(PublishedWorkload::kLanguageModel, *system);
  const Mapping mapping = published(request);
  EXPECT_NEAR(mapping.layer.value * 1e9, 24'525'757.63, 5e-3);
  EXPECT_EQ(mapping.microbatches, 3072);
  EXPECT_EQ(mapping.layers_per_stage, 1);
  EXPECT_NEAR(mapping.send.value * 1e9, 536'870'912, 1e-3);
  EXPECT_NEAR(mapping.step.value, 78.99477, 5e-6);
  EXPECT_NEAR(mapping.bubble, 1 + 127.0 / 3072, 1e-12);
  MappingRequest mixed = *request;
  mixed.search.mix_passes = true;
  mixed.search.partitions = 6;
  EXPECT_NEAR(map(mixed).layer.value * 1e9, 22'167'286.52, 5e-3);
}

TEST(PublishedRuns, LooksForPartitionsWhoseTensorsFitDram) {
  Result<MappingRequest> request = table_run(TableRow::kBestRing, Catalog::builtin());
  ASSERT_TRUE(request);
  const Mapping roomy = map(*request);
  ASSERT_GT(roomy.memory.live.value, 0);
  request->system.memory_capacity = roomy.memory.total();
  EXPECT_EQ(map(*request).step, roomy.step);
  request->system.memory_capacity = {roomy.memory.total().value - 1};
  const Mapping tight = map(*request);
  EXPECT_LE(tight.memory.total(), request->system.memory_capacity);
  EXPECT_GE(tight.step, roomy.step);
  EXPECT_EQ(tight.bound, tight.step);
}

// DLRM's backward pass has 3,145,726 ideals.
TEST(PublishedRuns, EnclosesWhatHasTooManyIdeals) {
  const auto system =
      published_system("sn30/2d_torus_ddr_pcie", Catalog::builtin(), PublishedNetwork::kSquare);
  ASSERT_TRUE(system);
  Result<MappingRequest> request = design_space_run(PublishedWorkload::kDlrm, *system);
  ASSERT_TRUE(request);
  EXPECT_NEAR(map(*request).layer.value * 1e9, 279'161'910, 0.5);  // kernel by kernel, as published
  request->system.kernel_by_kernel = false;
  request->model.gradient_factor = 2;
  const Mapping paper = map(*request);
  EXPECT_TRUE(paper.exact);
  EXPECT_EQ(paper.bound, paper.step);
  EXPECT_EQ(paper.gap(), 0);
  EXPECT_NEAR(paper.layer.value * 1e9, 277'390'501.10, 0.5);
  // Here sinks share tensors with others.
  request->model = full_model();
  const Mapping full = map(*request);
  EXPECT_LE(full.bound, full.step);
  EXPECT_LT(full.gap(), 0.05);
  EXPECT_EQ(full.exact, full.gap() == 0);
}

}  // namespace
}  // namespace flopcast::published
