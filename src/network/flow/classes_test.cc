#include <gtest/gtest.h>

#include <random>

#include "flopcast/network/flows.h"
#include "network/flow/classes.h"
#include "network/rates/water_fill.h"

namespace flopcast::network {
namespace {

struct Paths {
  std::vector<Rate> capacities;
  std::vector<std::uint32_t> offsets{0};
  std::vector<LinkId> links;

  void add(std::initializer_list<LinkId> path) {
    links.insert(links.end(), path);
    close();
  }
  void close() { offsets.push_back(static_cast<std::uint32_t>(links.size())); }
};

FlowClasses solve(const Paths& paths) {
  return solve_classes(paths.capacities, paths.offsets, paths.links);
}

/// Rates of the full solve, flow by flow.
void expect_full_solve(const Paths& paths, const FlowClasses& classes) {
  flow::WaterFill fill;
  for (const Rate capacity : paths.capacities) fill.add_link(capacity.value);
  for (std::size_t f = 0; f + 1 < paths.offsets.size(); ++f) {
    fill.add_flow(flow::kWhole);
    for (std::uint32_t l = paths.offsets[f]; l < paths.offsets[f + 1]; ++l) {
      fill.add_use(paths.links[l], 1);
    }
  }
  fill.solve();
  for (std::uint32_t f = 0; f < fill.flows(); ++f) {
    ASSERT_EQ(classes.class_rate[classes.flow_class[f]].value, fill.level(f)) << "flow " << f;
  }
}

/// `hosts` in racks of `rack`, two spines chosen by destination; every pair but to itself.
Paths all_to_all(std::uint32_t hosts, std::uint32_t rack) {
  Paths paths;
  const std::uint32_t racks = hosts / rack;
  paths.capacities.assign(2 * hosts + 4 * racks, Rate{1'000'003});
  for (std::uint32_t i = 0; i < hosts; ++i) {
    for (std::uint32_t j = 0; j < hosts; ++j) {
      if (i == j) continue;
      paths.links.push_back(i);
      if (i / rack != j / rack) {
        paths.links.push_back(2 * hosts + 2 * (i / rack) + j % 2);
        paths.links.push_back(2 * hosts + 2 * racks + 2 * (j / rack) + j % 2);
      }
      paths.links.push_back(hosts + j);
      paths.close();
    }
  }
  return paths;
}

TEST(FlowClasses, AllToAllIsTwoVariables) {
  const Paths paths = all_to_all(32, 4);
  const FlowClasses classes = solve(paths);
  EXPECT_EQ(classes.class_rate.size(), 2U);  // within a rack, between racks
  EXPECT_EQ(classes.link_classes, 2U);       // of hosts, of racks
  expect_full_solve(paths, classes);
}

TEST(FlowClasses, OneMoreFlowSplitsOnlyWhatItTouches) {
  Paths paths = all_to_all(32, 4);
  paths.add({0, 32 + 1});
  const FlowClasses classes = solve(paths);
  EXPECT_GT(classes.class_rate.size(), 2U);
  EXPECT_LT(classes.class_rate.size(), 40U);
  expect_full_solve(paths, classes);
}

TEST(FlowClasses, CapacityTellsLinksApart) {
  Paths paths;
  paths.capacities = {{10}, {10}, {12}};
  paths.add({0});
  paths.add({1});
  paths.add({2});
  const FlowClasses classes = solve(paths);
  EXPECT_EQ(classes.flow_class, (std::vector<std::uint32_t>{0, 0, 1}));
  EXPECT_EQ(classes.class_rate, (std::vector<Rate>{{10}, {12}}));
}

TEST(FlowClasses, AFlowOnNoLinkHasNoLimit) {
  Paths paths;
  paths.capacities = {{10}};
  paths.add({});
  paths.add({0});
  const FlowClasses classes = solve(paths);
  EXPECT_EQ(classes.class_rate[classes.flow_class[0]].value, Time::max().ps);
  EXPECT_EQ(classes.class_rate[classes.flow_class[1]].value, 10);
}

TEST(FlowClasses, APartitionThatIsNotStableIsNotBelieved) {
  Paths paths;
  paths.capacities = {{10}, {10}};
  paths.add({0});
  paths.add({0});
  paths.add({1});
  const flow::Problem problem{paths.capacities, paths.offsets, paths.links};
  const FlowClasses classes = flow::solve_partition(problem, {{0, 0, 0}, {0, 0}, 1, 1});
  EXPECT_EQ(classes.class_rate.size(), 3U);
  expect_full_solve(paths, classes);
}

TEST(FlowClasses, NothingAtAll) {
  const FlowClasses classes = solve_classes({}, {}, {});
  EXPECT_TRUE(classes.flow_class.empty());
  EXPECT_EQ(classes.link_classes, 0U);
}

TEST(FlowClasses, RandomInstancesEqualTheFullSolve) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 3000; ++i) {
    Paths paths;
    const std::uint32_t links = 1 + static_cast<std::uint32_t>(random() % 8);
    for (std::uint32_t l = 0; l < links; ++l) {
      paths.capacities.push_back({static_cast<std::int64_t>(random() % 3 * 7 + random() % 2)});
    }
    for (std::uint32_t f = 0; f < 1 + random() % 20; ++f) {
      const std::size_t before = paths.links.size();
      for (std::uint32_t l = 0; l < links; ++l) {
        if (random() % 3 == 0) paths.links.push_back(l);
      }
      if (paths.links.size() == before)
        paths.links.push_back(static_cast<LinkId>(random() % links));
      paths.close();
    }
    expect_full_solve(paths, solve(paths));
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace flopcast::network
