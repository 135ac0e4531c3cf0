// Price and power of the published systems of 1,024 chips.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "flopcast/published/studies.h"
#include "support/shared_traces.h"

namespace flopcast {
namespace {

MappingSystem made(std::string_view name,
                   PublishedNetwork network = PublishedNetwork::kLanguageModel) {
  Result<MappingSystem> system = published_system(name, Catalog::builtin(), network);
  if (system) return std::move(*system);
  ADD_FAILURE() << system.error().text();
  return {};
}

void expect_near(double ours, double published, std::string_view name) {
  EXPECT_NEAR(ours / published, 1, 1e-9) << name;
}

TEST(PublishedSystems, AreEightyOf1024Chips) {
  for (const auto network : {PublishedNetwork::kLanguageModel, PublishedNetwork::kSquare}) {
    const auto systems = published_systems(Catalog::builtin(), network);
    ASSERT_TRUE(systems) << systems.error().text();
    std::set<std::string> names;
    for (const MappingSystem& system : *systems) {
      EXPECT_EQ(system.chips(), 1024U) << system.name;
      EXPECT_EQ(system.kernel_by_kernel,
                system.name.starts_with("h100") || system.name.starts_with("tpu"));
      names.insert(system.name);
    }
    EXPECT_EQ(names.size(), 80U);
  }
}

// One system of each topology, from DFModel's logs and setups.
TEST(PublishedSystems, CostAndPowerOfOneOfEachTopology) {
  struct Point {
    std::string_view name;
    double price, power;
  };
  const Point points[] = {
      {"h100/2d_torus_ddr_pcie", 34630400.0, 823945.856},
      {"tpu/dragonfly_hbm_pcie", 29731140.506624, 455142.565376},
      {"wse-2/3d_torus_hbm_nvlink", 3106891384.832, 20981046.38464},
      {"sn30/dgx_1_hbm_nvlink", 23917312.23552, 643743.2069119998},
      {"h100/dgx_2_ddr_nvlink", 46246400.0, 847333.376},
  };
  for (const Point& point : points) {
    const MappingSystem system = made(point.name);
    expect_near(system_price(system), point.price, point.name);
    expect_near(system_power(system), point.power, point.name);
  }
}

// The square networks of the DLRM and FFT runs: NVLink on every dimension.
TEST(PublishedSystems, CostAndPowerOfSquareNetworks) {
  const MappingSystem torus = made("sn30/2d_torus_ddr_pcie", PublishedNetwork::kSquare);
  EXPECT_NEAR(system_price(torus) / 17584384.0, 1, 1e-7);  // logged in single precision
  EXPECT_NEAR(system_power(torus) / 510950.6113471985, 1, 1e-7);
  const MappingSystem dragonfly = made("h100/dragonfly_hbm_nvlink", PublishedNetwork::kSquare);
  EXPECT_NEAR(system_price(dragonfly) / 77459328.0, 1, 1e-7);
  EXPECT_NEAR(system_power(dragonfly) / 1122081.8230989575, 1, 1e-7);
}

TEST(PublishedSystems, CostAndPowerOfAllPointsOfTheOracle) {
  std::ifstream in(test::data_path("dataflow_mapping.json"));
  const auto oracle = nlohmann::json::parse(in);
  std::size_t compared = 0;
  for (const auto& [name, point] : oracle["llm_dse80_recomputed"]["points"].items()) {
    const MappingSystem system = made(name);
    expect_near(system_price(system), point["cost"].get<double>(), name);
    expect_near(system_power(system), point["power"].get<double>(), name);
    ++compared;
  }
  EXPECT_EQ(compared, 41U);
}

TEST(PublishedSystems, DimensionsAreTensorPipelineAndDataParallel) {
  const auto factors = published_factors(made("h100/3d_torus_ddr_pcie"));
  using Factors = std::array<unsigned, kParallelisms>;
  EXPECT_EQ(factors, (std::vector<Factors>{{8, 1, 1}, {1, 64, 1}, {1, 1, 2}}));
}

TEST(PublishedSystems, UnknownNamesListTheNearest) {
  const auto system = published_system("h100/2d_torus_dr_pcie", Catalog::builtin(),
                                       PublishedNetwork::kLanguageModel);
  ASSERT_FALSE(system);
  EXPECT_NE(system.error().hint.find("'h100/2d_torus_ddr_pcie'"), std::string::npos);
}

}  // namespace
}  // namespace flopcast
