#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <string>

#include "flopcast/published/subramanian.h"

namespace flopcast {
namespace {

using testing::HasSubstr;

std::vector<PaperSearch> search_all(const std::vector<PaperCell>& cells) {
  const auto results = paper_study(cells);
  EXPECT_TRUE(results.ok());
  return results.ok() ? *results : std::vector<PaperSearch>();
}

std::vector<double> times_of(std::string_view figure) {
  std::vector<double> times;
  for (const PaperSearch& search : search_all(*paper_figure_cells(figure))) {
    EXPECT_EQ(search.best.size(), 1) << figure;
    times.push_back(search.best.at(0).estimate.time.value);
  }
  return times;
}

// Bars as the published code has them, best of all placements.
TEST(PaperFigures, SweepsHaveThePublishedBars) {
  const std::vector<double> tensor = times_of("1");
  ASSERT_EQ(tensor.size(), 6);
  EXPECT_NEAR(tensor[0], 8.1410, 5e-5);
  EXPECT_NEAR(tensor[2], 3.7366, 5e-5);
  EXPECT_NEAR(tensor[5], 4.9411, 5e-5);
  const std::vector<double> pipeline = times_of("2a");
  ASSERT_EQ(pipeline.size(), 8);
  EXPECT_NEAR(pipeline[0], 4.6881, 5e-5);
  EXPECT_NEAR(pipeline[7], 3.2665, 5e-5);
  EXPECT_NEAR(times_of("2b")[1], 2.8766, 5e-5);
  const std::vector<double> summa = times_of("3a");
  ASSERT_EQ(summa.size(), 9);
  EXPECT_NEAR(summa[0], 5.8506, 5e-5);
  EXPECT_NEAR(summa[2], 6.5410, 5e-5);
  EXPECT_NEAR(summa[5], 3.1922, 5e-5);
  EXPECT_NEAR(times_of("3b")[2], 2.9019, 5e-5);
  const std::vector<double> context = times_of("A2b");
  EXPECT_NEAR(context[0], 14.7667, 5e-5);
  EXPECT_NEAR(context[7], 15.2242, 5e-5);
}

// Figure 4a's last point: 8 x 64 x 32 GPUs.
TEST(PaperFigures, OptimaAreThoseOfTheStudy) {
  const auto cells = *paper_figure_cells("4a");
  const PaperCandidate best = search_all(cells).back().best.at(0);
  EXPECT_EQ(cells.back().gpus, 16384);
  EXPECT_NEAR(best.estimate.time.value, 3.233344402918901, 1e-12);
  EXPECT_EQ(best.plan.size, (PaperPlan::Groups{8, 1, 64, 32}));
}

TEST(PaperFigures, HardwareSweepsSpanTheGenerations) {
  const auto cells = *paper_figure_cells("A6");
  EXPECT_EQ(cells.size(), 220 * 13 * 2);
  const auto has = [&](const char* memory, const char* compute) {
    const PaperSystem m = *paper_system(memory);
    const PaperSystem p = *paper_system(compute);
    return std::ranges::any_of(cells, [&](const PaperCell& cell) {
      const PaperSystem& s = cell.c.system;
      return s.hbm_capacity == m.hbm_capacity && s.hbm_bandwidth == m.hbm_bandwidth &&
             s.matrix == p.matrix && s.vector == p.vector;
    });
  };
  EXPECT_TRUE(has("A100", "B200-next"));
  EXPECT_TRUE(has("B200", "H200"));
  std::set<double> bandwidths;
  const auto variants = *paper_figure_cells("A5");
  for (const PaperCell& cell : variants) {
    bandwidths.insert(cell.c.system.hbm_bandwidth.value);
  }
  EXPECT_EQ(bandwidths.size(), 28);
  EXPECT_EQ(*bandwidths.begin(), 500e9);
  EXPECT_EQ(*bandwidths.rbegin(), 16000e9);
}

TEST(PaperFigures, UnknownOnesAreRefusedWithThoseThereAre) {
  const std::string hint = paper_figure_cells("9").error().hint;
  EXPECT_THAT(hint, HasSubstr("1, 2a, 2b, 3a"));
  std::istringstream names(hint.substr(hint.find(' ') + 1));
  for (std::string name; std::getline(names >> std::ws, name, ',');) {
    EXPECT_TRUE(paper_figure_cells(name).ok()) << name;
  }
}

}  // namespace
}  // namespace flopcast
