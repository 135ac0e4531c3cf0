// Explorations: what every point maps, in which order, and what is said of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "flopcast/mapping/explore.h"
#include "mapping/explore/words.h"

namespace flopcast::mapping {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Eight SN10 and the forward pass of GPT-3 175B, shape given: milliseconds a point.
ExploreRequest small_request(std::vector<std::string> sweeps) {
  ExploreRequest request;
  request.workload = "gpt3-175b";
  request.on = "8 x sn10";
  request.system.topology = "torus:4x2";
  request.model = paper_model();
  request.search.degree = {4, 1, 2};
  request.search.microbatch = 1;
  request.sweeps = std::move(sweeps);
  return request;
}

std::vector<ExplorePoint> points_of(const ExploreRequest& request) {
  std::vector<ExplorePoint> points;
  const auto all = explore(request, Catalog::builtin(), [&](const ExplorePoint& point) {
    points.push_back(point);
    return true;
  });
  EXPECT_TRUE(all) << all.error().text();
  return points;
}

/// The problem at the only point of these sweeps.
MappingRequest asked(const ExploreRequest& request, const std::vector<std::string>& sweeps) {
  const auto axes = explore_axes(sweeps, Catalog::builtin());
  EXPECT_TRUE(axes) << axes.error().text();
  auto made = explore_request(request, *axes, 0, Catalog::builtin());
  EXPECT_TRUE(made) << made.error().text();
  return made ? *made : MappingRequest{};
}

TEST(ExploreRequest, EveryNameReachesWhatItNames) {
  const ExploreRequest base = small_request({});
  EXPECT_EQ(asked(base, {"sram=150MB"}).system.sram.value, 150e6);
  EXPECT_EQ(asked(base, {"tiles=2x"}).system.chip.tiles.count, 1280U);
  EXPECT_EQ(asked(base, {"memory=hbm"}).system.memory_bandwidth.value, 3072e9);
  EXPECT_EQ(asked(base, {"link=nvlink"}).system.dimensions[0].bandwidth.value, 450e9);
  EXPECT_EQ(asked(base, {"link=nvlink+nvlink"}).system.dimensions[1].bandwidth.value, 450e9);
  EXPECT_EQ(asked(base, {"topology=ring:4+switch:2"}).system.dimensions[1].kind,
            DimensionKind::kSwitch);
  EXPECT_EQ(asked(base, {"chip=sn30"}).system.chip.name, "sn30");
  EXPECT_EQ(asked(base, {"chips=32", "topology=torus:8x4"}).system.chips(), 32U);
  EXPECT_EQ(asked(base, {"workload=gpt3-1t"}).workload.layers, 128);
  EXPECT_EQ(asked(base, {"sequence=1024"}).workload.tokens, 1024);
  EXPECT_EQ(asked(base, {"global-batch=64"}).workload.global_batch, 64);
  EXPECT_EQ(asked(base, {"pp=2"}).search.degree[1], 2U);
  EXPECT_EQ(asked(base, {"microbatch=4"}).search.microbatch, 4);
  EXPECT_EQ(asked(base, {"tile=256"}).search.tile, 256);
  EXPECT_EQ(asked(base, {"partitions=3"}).search.partitions, 3U);
  EXPECT_EQ(asked(base, {"overlap=none"}).model.overlap, MappingOverlap::kNone);
  EXPECT_EQ(asked(base, {"utilisation=0.5"}).model.utilisation, 0.5);
  EXPECT_EQ(asked(base, {"mode=full"}).model.name, "full");
  EXPECT_TRUE(asked(base, {"kernel-by-kernel=yes"}).system.kernel_by_kernel);
}

TEST(ExploreRequest, AnotherModeKeepsOverlapAndUtilisation) {
  const MappingRequest made =
      asked(small_request({}), {"utilisation=0.5", "overlap=none", "mode=full"});
  EXPECT_EQ(made.model.utilisation, 0.5);
  EXPECT_EQ(made.model.overlap, MappingOverlap::kNone);
  EXPECT_TRUE(made.model.weight_traffic);
}

TEST(ExploreRequest, ChipsOfNodesAreNodes) {
  ExploreRequest nodes = small_request({});
  nodes.on = "4 x dgx-h100";
  nodes.system.topology.clear();
  EXPECT_EQ(asked(nodes, {"chips=64"}).system.chips(), 64U);
  for (const char* text : {"4 × dgx-h100", "4 nodes of dgx-h100", "32 gpus of dgx-h100"}) {
    nodes.on = text;
    EXPECT_EQ(asked(nodes, {"chips=64"}).system.chips(), 64U) << text;
  }
  nodes.on = "4 x dgx-h100";
  EXPECT_EQ(asked(nodes, {"chip=h200"}).system.chip.name, "h200-sxm");
  const auto axes = explore_axes({"chips=12"}, Catalog::builtin());
  const auto made = explore_request(nodes, *axes, 0, Catalog::builtin());
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().text(), HasSubstr("12 chips do not fill units of 8"));
}

TEST(Explore, PointsComeInOrderWithTheirValues) {
  const auto points = points_of(small_request({"sram=200MB,400MB", "memory-bandwidth=1x,2x,4x"}));
  ASSERT_EQ(points.size(), 6U);
  for (std::size_t i = 0; i < points.size(); ++i) {
    EXPECT_EQ(points[i].index, i);
    ASSERT_TRUE(points[i].mapping) << points[i].refusal.text();
    EXPECT_FALSE(points[i].bottleneck.empty());
    EXPECT_EQ(points[i].chips, 8U);
  }
  EXPECT_THAT(points[4].values, ElementsAre("400MB", "2x"));
}

TEST(Explore, MoreOfAnythingIsNeverSlower) {
  for (const char* sweep : {"sram=150MB..600MB", "memory-bandwidth=50GB/s..400GB/s",
                            "link-bandwidth=10GB/s..80GB/s", "tiles=160..1280"}) {
    const auto points = points_of(small_request({sweep}));
    for (std::size_t i = 1; i < points.size(); ++i) {
      if (!points[i - 1].mapping) continue;
      ASSERT_TRUE(points[i].mapping) << sweep << ' ' << points[i].refusal.text();
      EXPECT_LE(points[i].mapping->step.value, points[i - 1].mapping->step.value * (1 + 1e-12))
          << sweep << ' ' << points[i].values[0];
    }
  }
}

TEST(ExploreThreads, DoNotChangeWhatIsFound) {
  ExploreRequest request =
      small_request({"sram=150MB..400MB:50MB", "memory-bandwidth=50GB/s..400GB/s"});
  request.explain = true;
  request.threads = 1;
  const auto alone = points_of(request);
  request.threads = 4;
  const auto together = points_of(request);
  ASSERT_EQ(alone.size(), together.size());
  for (std::size_t i = 0; i < alone.size(); ++i) {
    EXPECT_EQ(alone[i].bottleneck, together[i].bottleneck);
    EXPECT_EQ(alone[i].achieved(), together[i].achieved());
  }
}

TEST(Explore, GoesOnWhereAnEarlierRunStopped) {
  ExploreRequest request = small_request({"memory-bandwidth=50GB/s..800GB/s"});
  const auto whole = points_of(request);
  ASSERT_EQ(whole.size(), 5U);
  std::size_t taken = 0;
  const auto all =
      explore(request, Catalog::builtin(), [&taken](const ExplorePoint&) { return ++taken < 2; });
  EXPECT_EQ(taken, 2U);
  EXPECT_EQ(*all, 5U);
  request.first = taken;
  const auto rest = points_of(request);
  ASSERT_EQ(rest.size(), 3U);
  EXPECT_EQ(rest[0].index, 2U);
  EXPECT_EQ(rest[0].mapping->step, whole[2].mapping->step);
  request.first = 9;
  EXPECT_TRUE(points_of(request).empty());
}

TEST(Explore, WhatIsWrongAtOnePointIsItsRefusal) {
  const auto points = points_of(small_request({"topology=torus:4x2,torus:4x4"}));
  ASSERT_EQ(points.size(), 2U);
  EXPECT_TRUE(points[0].mapping);
  EXPECT_FALSE(points[1].mapping);
  EXPECT_THAT(points[1].refusal.what, HasSubstr("has 16 chips, 8 are asked for"));
  EXPECT_THAT(points[1].bottleneck, HasSubstr("Cannot be mapped"));
}

// Slow memory: more of it is what helps.
TEST(Explore, ExplainsWhatWouldHelp) {
  ExploreRequest request = small_request({"memory-bandwidth=5GB/s,10TB/s"});
  request.explain = true;
  const auto points = points_of(request);
  ASSERT_EQ(points.size(), 2U);
  for (const ExplorePoint& point : points) ASSERT_EQ(point.gains.size(), 4U);
  EXPECT_EQ(points[0].gains[0].resource, "memory-bandwidth");
  EXPECT_GT(points[0].gains[0].speedup, 1.1);
  EXPECT_THAT(points[0].bottleneck, HasSubstr("Twice the memory bandwidth would make the step"));
  EXPECT_EQ(points[1].gains[0].resource, "peak");
  EXPECT_THAT(points[1].bottleneck, HasSubstr("by computing"));
}

TEST(Explore, SaysWhatWouldMakeItFit) {
  ExploreRequest request = small_request({"memory-capacity=70GB"});
  request.model = full_model();
  request.explain = true;
  const auto points = points_of(request);
  ASSERT_EQ(points.size(), 1U);
  ASSERT_FALSE(points[0].mapping);
  EXPECT_EQ(points[0].refusal.code, ErrorCode::kTooLarge);
  EXPECT_THAT(points[0].bottleneck, HasSubstr("Twice the memory capacity would make it fit."));
}

TEST(ExploreWords, ShareOutALayer) {
  Mapping mapping;
  mapping.step = {100};
  mapping.bubble = 1.25;
  mapping.gradients = {3};
  mapping.partitions.resize(3);
  mapping.partitions[0].time = {6};
  mapping.partitions[1].time = {3};
  mapping.partitions[1].limit = MappingLimit::kNetwork;
  mapping.partitions[2].time = {1};
  mapping.partitions[2].limit = MappingLimit::kMemory;
  EXPECT_THAT(limit_shares(mapping), ElementsAre(0.6, 0.1, 0.3));
  const std::vector<ExploreGain> gains = {{"link-bandwidth", 1.2}, {"sram", 1.1}, {"peak", 1}};
  EXPECT_EQ(mapping::bottleneck_text(mapping, gains),
            "60 % of a layer's time is limited by computing, 30 % by the network, 10 % by memory. "
            "Filling and draining the pipeline takes 20.0 %. Gradients and optimiser take 3.0 % of "
            "the step. Twice the link bandwidth would make the step 1.20 times as fast, twice the "
            "SRAM 1.10 times.");
  EXPECT_THAT(mapping::bottleneck_text(mapping, {{"sram", 1}}),
              HasSubstr("Twice of no single resource makes it faster."));
  EXPECT_EQ(mapping::bottleneck_text({}, {}), "Nothing takes time.");
}

TEST(ExploreWords, RefusalsNameWhatWouldMakeThemFit) {
  const Diagnostic full{ErrorCode::kTooLarge, "", "3 GB are missing", ""};
  constexpr double kFits = std::numeric_limits<double>::infinity();
  EXPECT_EQ(mapping::refusal_text(full, {}), "Does not fit: 3 GB are missing.");
  EXPECT_EQ(mapping::refusal_text(full, {{"memory-capacity", kFits}, {"sram", kFits}}),
            "Does not fit: 3 GB are missing. Twice the memory capacity or the SRAM would make it "
            "fit.");
  EXPECT_EQ(mapping::refusal_text(full, {{"sram", 0}}),
            "Does not fit: 3 GB are missing. Twice of no single resource makes it fit.");
}

}  // namespace
}  // namespace flopcast::mapping
