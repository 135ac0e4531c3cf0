#include "mapping/system/topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace flopcast::mapping {
namespace {

using testing::HasSubstr;

/// "torus" is its rings: "ring:4,ring:2".
std::string text_of(const std::vector<NetworkDimension>& dimensions) {
  std::string text;
  for (const NetworkDimension& dimension : dimensions) {
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", name(dimension.kind), dimension.size);
  }
  return text;
}

std::string read(std::string_view text) {
  const auto dimensions = parse_topology(text);
  return dimensions ? text_of(*dimensions) : dimensions.error().text();
}

TEST(Topology, NamesAndTheirDimensions) {
  EXPECT_EQ(read("ring:8"), "ring:8");
  EXPECT_EQ(read("torus:4x2"), "ring:4,ring:2");
  EXPECT_EQ(read("torus:8x64x2"), "ring:8,ring:64,ring:2");
  EXPECT_EQ(read("full:8"), "full:8");
  EXPECT_EQ(read("dragonfly:8x128"), "full:8,full:128");
  EXPECT_EQ(read("dgx-1:8x128"), "ring:8,switch:128");
  EXPECT_EQ(read("DGX_2:8x128"), "switch:8,switch:128");
  EXPECT_EQ(read("switch:8"), "switch:8");
  EXPECT_EQ(read("ring:8, switch:16"), "ring:8,switch:16");
}

TEST(Topology, RefusesWithAnExample) {
  for (const char* text :
       {"", "ring", "ring:", "ring:0", "ring:8x2", "dragonfly:8", "dgx-1:8x2x2", "ring:8,",
        "wheel:8", "torus:4096x4096x4096", "torus:2x2x2x2x2x2x2x2x2", ":8", "ring:-8", "ring:8y"}) {
    const auto dimensions = parse_topology(text);
    ASSERT_FALSE(dimensions) << text;
    EXPECT_EQ(dimensions.error().code, ErrorCode::kUsage) << text;
    EXPECT_FALSE(dimensions.error().hint.empty()) << text;
  }
  EXPECT_THAT(read("dragonfly:8"), HasSubstr("dragonfly takes 2 sizes, found 1"));
}

TEST(Topology, LevelsOfOneChildAreNoDimension) {
  Cluster cluster;
  cluster.levels.resize(2);
  cluster.levels[1].size = 4;
  cluster.levels[1].fabric = FabricKind::kFullyConnected;
  cluster.levels[1].ports = 3;
  cluster.levels[1].port_bandwidth = {30e9};
  cluster.levels[1].efficiency = 0.5;
  const auto dimensions = level_dimensions(cluster);
  ASSERT_EQ(dimensions.size(), 1U);
  EXPECT_EQ(dimensions[0].kind, DimensionKind::kFullyConnected);
  EXPECT_EQ(dimensions[0].bandwidth.value, 15e9);  // of one link
  cluster.levels.pop_back();
  EXPECT_EQ(text_of(level_dimensions(cluster)), "switch:1");
}

}  // namespace
}  // namespace flopcast::mapping
