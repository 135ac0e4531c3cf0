// Searches: that they find the best of all candidates, and what they say where there is none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/numeric/divisors.h"
#include "flopcast/mapping.h"
#include "mapping/search/shapes.h"
#include "mapping/search/testing.h"

namespace flopcast::mapping {
namespace {

using testing::HasSubstr;

MappingRequest small_request(MappingModel model = full_model()) {
  return {test::small_training(), test::small_system(), std::move(model), {}};
}

Mapping map(const MappingRequest& request) {
  Result<Mapping> mapping = map_workload(request);
  if (mapping) return std::move(*mapping);
  ADD_FAILURE() << mapping.error().text();
  return {};
}

std::string refusal(const MappingRequest& request, ErrorCode code) {
  const Result<Mapping> mapping = map_workload(request);
  if (mapping) {
    ADD_FAILURE() << "found " << mapping->step.value << " s";
    return {};
  }
  EXPECT_EQ(mapping.error().code, code) << mapping.error().text();
  return mapping.error().text();
}

/// Every shape, microbatch and tile, each in a search of its own.
struct Exhausted {
  double best_s = INFINITY;
  std::uint64_t candidates = 0, found = 0;
};
Exhausted exhaust(const MappingRequest& request) {
  Exhausted all;
  const auto shapes = all_shapes(request.system, request.search);
  EXPECT_TRUE(shapes);
  const DataflowWorkload& workload = request.workload;
  const bool cycles = request.model.utilisation == 0;
  for (const MappingShape& shape : *shapes) {
    if (workload.global_batch % shape.dp() != 0 || workload.layers < shape.pp()) continue;
    for (const std::int64_t microbatch : divisors(workload.global_batch / shape.dp())) {
      for (const std::int64_t tile : divisors(cycles ? workload.tokens : 1)) {
        MappingRequest one = request;
        one.search.factors = shape.factors;
        one.search.microbatch = microbatch;
        one.search.tile = tile;
        ++all.candidates;
        const Result<Mapping> mapping = map_workload(one);
        if (!mapping) continue;
        ++all.found;
        EXPECT_EQ(mapping->counts.candidates, 1U);
        EXPECT_LE(mapping->bound, mapping->step);
        EXPECT_TRUE(mapping->exact);
        all.best_s = std::min(all.best_s, mapping->step.value);
      }
    }
  }
  return all;
}

void expect_best_of_all(const MappingRequest& request) {
  const Exhausted all = exhaust(request);
  const Mapping mapping = map(request);
  EXPECT_EQ(mapping.step.value, all.best_s);
  EXPECT_EQ(mapping.bound, mapping.step);
  EXPECT_EQ(mapping.counts.candidates, all.candidates);
  EXPECT_LE(mapping.counts.bounded, all.candidates);
  EXPECT_LE(mapping.counts.unfit, all.candidates - all.found);
}

TEST(MapWorkload, FindsTheBestOfAllCandidates) {
  MappingRequest request = small_request();
  expect_best_of_all(request);
  request.search.split_dimensions = true;
  expect_best_of_all(request);
  request.system.memory_capacity = {10e6};
  EXPECT_LT(exhaust(request).found, exhaust(request).candidates / 2);
  expect_best_of_all(request);
}

// The candidate with the lowest bound is not the best, nor is any of those looked at with it.
TEST(MapWorkload, FindsTheBestOfAllCandidatesWhereBoundsMislead) {
  MappingRequest request = small_request();
  request.search.split_dimensions = true;
  request.system.sram = {0.1e6};
  request.system.memory_bandwidth = {20e9};
  request.system.dimensions[0].bandwidth = {5e9};
  request.system.dimensions[1].bandwidth = {100e9};
  request.workload.training = false;
  expect_best_of_all(request);
}

TEST(MapWorkload, FindsTheBestOfAllCandidatesByCycles) {
  MappingRequest request = small_request();
  request.model.utilisation = 0;
  request.model.overlap = MappingOverlap::kComputeMemory;
  expect_best_of_all(request);
  request.model.overlap = MappingOverlap::kPerfect;
  request.search.split_dimensions = true;
  request.system.sram = {0.2e6};
  request.system.dimensions[1].bandwidth = {100e9};
  expect_best_of_all(request);
}

TEST(MapWorkload, FindsTheBestOfAllCandidatesAsPublished) {
  MappingRequest request = small_request(paper_model());
  request.search.split_dimensions = true;
  expect_best_of_all(request);
  request.workload.training = false;
  request.search.partitions = 2;
  expect_best_of_all(request);
}

TEST(MapWorkload, IsNeverBelowTheBoundInFullModel) {
  MappingRequest request = small_request();
  for (const double sram : {0.3e6, 1e6, 4e6}) {
    for (const MappingOverlap overlap :
         {MappingOverlap::kPerfect, MappingOverlap::kComputeMemory, MappingOverlap::kNone}) {
      request.system.sram = {sram};
      request.model.overlap = overlap;
      const Mapping mapping = map(request);
      EXPECT_LE(mapping.bound, mapping.step);
      EXPECT_GT(mapping.bound.value, 0);
    }
  }
}

TEST(MapWorkload, PartitionsAreTheLayer) {
  const MappingRequest request = small_request();
  const Mapping mapping = map(request);
  double sum_s = 0;
  std::vector<int> times(request.workload.graph.kernels.size(), 0);
  for (const MappedPartition& partition : mapping.partitions) {
    sum_s += partition.time.value;
    EXPECT_LE(partition.sram, request.system.sram);
    EXPECT_EQ(partition.time.value,
              std::max({partition.compute.value, partition.memory.value, partition.network.value}));
    for (const std::uint32_t kernel : partition.kernels) {
      ++times[kernel];
      EXPECT_EQ(request.workload.graph.kernels[kernel].backward, partition.backward);
    }
  }
  EXPECT_EQ(times, std::vector<int>(times.size(), 1));
  EXPECT_NEAR(sum_s, mapping.layer.value, 1e-15);
}

TEST(MapWorkload, MoreOfAnythingIsNeverSlower) {
  const MappingRequest request = small_request();
  const Seconds before = map(request).step;
  MappingRequest more = request;
  more.system.sram = request.system.sram * 2.0;
  EXPECT_LE(map(more).step, before);
  more = request;
  more.system.memory_bandwidth = request.system.memory_bandwidth * 2.0;
  EXPECT_LE(map(more).step, before);
  more = request;
  more.search.split_dimensions = true;
  EXPECT_LE(map(more).step, before);
  more = request;
  more.search.partitions = 1;
  EXPECT_GE(map(more).step, before);
}

TEST(MapWorkload, ObeysPinsAndForbids) {
  MappingRequest request = small_request();
  request.search.pins = {{"down", 1, false}, {"gelu", 0, true}};
  const Mapping mapping = map(request);
  ASSERT_GE(mapping.partitions.size(), 2U);
  const auto partition_of = [&](const char* kernel) {
    const std::uint32_t index = *request.workload.graph.find(kernel);
    for (std::size_t p = 0; p < mapping.partitions.size(); ++p) {
      const auto& kernels = mapping.partitions[p].kernels;
      if (std::find(kernels.begin(), kernels.end(), index) != kernels.end()) return p;
    }
    return mapping.partitions.size();
  };
  EXPECT_EQ(partition_of("down"), 1U);
  EXPECT_NE(partition_of("gelu"), 0U);
  EXPECT_GE(mapping.step, map(small_request()).step);
}

TEST(MapWorkload, SaysWhichKernelLacksSram) {
  MappingRequest request = small_request();
  request.model.utilisation = 0;
  request.system.sram = {1000};
  request.search.tile = 64;
  const std::string text = refusal(request, ErrorCode::kTooLarge);
  EXPECT_THAT(text, HasSubstr("small fits none of"));
  EXPECT_THAT(text,
              HasSubstr("in: its tensors' buffers alone take 131.1 kB of SRAM, a chip has 1 kB"));
  EXPECT_THAT(text, HasSubstr("130.1 kB short"));
}

TEST(MapWorkload, SaysHowMuchDramIsShort) {
  MappingRequest request = small_request();
  request.system.memory_capacity = {1e6};
  const std::string text = refusal(request, ErrorCode::kTooLarge);
  EXPECT_THAT(text, HasSubstr("a chip needs"));
  EXPECT_THAT(text, HasSubstr("of DRAM"));
  EXPECT_THAT(text, HasSubstr("short at TP"));
}

TEST(MapWorkload, SaysThatNoSoFewPartitionsFit) {
  MappingRequest request = small_request();
  request.search.factors = {{1, 1, 4}, {1, 1, 2}};
  request.search.partitions = 1;
  request.system.sram = {0.6e6};
  const std::string text = refusal(request, ErrorCode::kTooLarge);
  EXPECT_THAT(text, HasSubstr("no sequence of at most 1 partitions"));
  EXPECT_THAT(text, HasSubstr("SRAM"));
}

TEST(MapWorkload, RefusesCyclesAndNamesTheirKernels) {
  MappingRequest request = small_request();
  DataflowGraph& graph = request.workload.graph;
  graph.tensors.push_back(
      {"back", *graph.find("gelu"), {8}, {{*graph.find("up"), Operand::kPointwise}}, true});
  const std::string text = refusal(request, ErrorCode::kBadInput);
  EXPECT_THAT(text, HasSubstr("cycle"));
  EXPECT_THAT(text, HasSubstr("'up'"));
  EXPECT_THAT(text, HasSubstr("'gelu'"));
}

TEST(MapWorkload, RefusesPinsOfUnknownKernels) {
  MappingRequest request = small_request();
  request.search.pins = {{"upp", 0, false}};
  EXPECT_THAT(refusal(request, ErrorCode::kUsage), HasSubstr("upp"));
}

TEST(MapWorkload, RefusesDegreesThatSuitNothing) {
  MappingRequest request = small_request();
  request.search.microbatch = 3;
  EXPECT_THAT(refusal(request, ErrorCode::kUsage), HasSubstr("batch of 16"));
  request = small_request();
  request.search.factors = {{1, 4, 1}, {1, 2, 1}};
  EXPECT_THAT(refusal(request, ErrorCode::kUsage), HasSubstr("4 layers"));
  request = small_request();
  request.search.degree = {3, 0, 0};
  EXPECT_THAT(refusal(request, ErrorCode::kUsage), HasSubstr("TP 3"));
  request = small_request();
  request.search.factors = {{4, 1, 1}};
  EXPECT_THAT(refusal(request, ErrorCode::kUsage), HasSubstr("2"));
}

TEST(MapWorkload, EndsWhenToldTo) {
  for (const unsigned most : {0U, 1U, 40U}) {
    MappingRequest request = small_request();
    request.search.threads = 1;
    unsigned asked = 0;
    request.search.go_on = [&] { return ++asked <= most; };
    EXPECT_THAT(refusal(request, ErrorCode::kNoAnswer), HasSubstr("stopped"));
    EXPECT_LE(asked, most + 20);
  }
}

TEST(MapWorkload, RefusesCyclesOfUnknownTiles) {
  MappingRequest request = small_request();
  request.model.utilisation = 0;
  request.system.chip.tiles = {};
  EXPECT_THAT(refusal(request, ErrorCode::kUsage), HasSubstr("tiles"));
}

void expect_same(const Mapping& a, const Mapping& b) {
  EXPECT_EQ(a.step, b.step);
  EXPECT_EQ(a.bound, b.bound);
  EXPECT_EQ(a.layer, b.layer);
  EXPECT_EQ(a.shape.factors, b.shape.factors);
  EXPECT_EQ(a.microbatch, b.microbatch);
  EXPECT_EQ(a.tile, b.tile);
  EXPECT_EQ(a.sharding, b.sharding);
  EXPECT_EQ(a.layout, b.layout);
  EXPECT_EQ(a.memory.total(), b.memory.total());
  EXPECT_EQ(a.counts.bounded, b.counts.bounded);
  EXPECT_EQ(a.counts.unfit, b.counts.unfit);
  EXPECT_EQ(a.counts.transitions, b.counts.transitions);
  ASSERT_EQ(a.partitions.size(), b.partitions.size());
  for (std::size_t i = 0; i < a.partitions.size(); ++i) {
    EXPECT_EQ(a.partitions[i].kernels, b.partitions[i].kernels);
    EXPECT_EQ(a.partitions[i].time, b.partitions[i].time);
    EXPECT_EQ(a.partitions[i].sram, b.partitions[i].sram);
    EXPECT_EQ(a.partitions[i].dram, b.partitions[i].dram);
    EXPECT_EQ(a.partitions[i].tiles, b.partitions[i].tiles);
  }
}

TEST(MapWorkloadThreads, GiveTheSameMapping) {
  for (const double utilisation : {0.0, 0.9}) {
    MappingRequest request = small_request();
    request.model.utilisation = utilisation;
    request.search.split_dimensions = true;
    request.system.memory_capacity = {30e6};
    request.search.threads = 1;
    const Mapping one = map(request);
    request.search.threads = 4;
    expect_same(one, map(request));
  }
}

}  // namespace
}  // namespace flopcast::mapping
