#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "flopcast/published/subramanian.h"

namespace flopcast {
namespace {

std::string text_of(const PaperSearch& search) {
  std::string text = fmt::format("{} {}\n", search.candidates, search.feasible);
  for (const PaperCandidate& one : search.best) {
    text +=
        fmt::format("{} {} {} {} {} {:a}\n", one.plan.size.tp1, one.plan.size.tp2, one.plan.size.pp,
                    one.plan.microbatch, one.plan.panels, one.estimate.time.value);
  }
  return text;
}

// The whole study: 9,183,444 plans, 54 series of which 342 sizes have no plan that fits.
TEST(PaperStudy, CountsWhatThePaperSearched) {
  const std::vector<PaperCell> cells = paper_study_cells();
  ASSERT_EQ(cells.size(), 702);
  const auto results = paper_study(cells);
  ASSERT_TRUE(results.ok());
  std::uint64_t candidates = 0;
  std::uint64_t feasible = 0;
  for (const PaperSearch& search : *results) {
    candidates += search.candidates;
    feasible += search.feasible;
  }
  EXPECT_EQ(candidates, 9183444);
  EXPECT_EQ(feasible, 2443160);
  EXPECT_EQ(std::ranges::count_if(*results, [](const auto& s) { return s.best.empty(); }), 342);
}

TEST(PaperStudyThreads, SameBytesForAnyNumberOfThem) {
  std::vector<PaperCell> cells = paper_study_cells(PaperDefects::repaired());
  std::erase_if(cells, [](const PaperCell& cell) { return cell.gpus > 256; });
  const auto one = paper_study(cells, 1);
  const auto four = paper_study(cells, 4);
  ASSERT_TRUE(one.ok() && four.ok());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    EXPECT_EQ(text_of((*one)[i]), text_of((*four)[i])) << cells[i].c.system.name;
  }
}

struct Effect {
  int changed = 0, found = 0;
  double slowest = 0;  ///< largest gain of time, relative
};

/// What turning switches does to the best plans of the study.
Effect effect_of(const PaperDefects& defects) {
  const auto before = paper_study(paper_study_cells());
  const auto after = paper_study(paper_study_cells(defects));
  Effect effect;
  for (std::size_t i = 0; i < before->size(); ++i) {
    const auto& a = (*before)[i].best;
    const auto& b = (*after)[i].best;
    if (a.empty() || b.empty()) {
      effect.found += b.empty() ? 0 : 1;
      continue;
    }
    effect.changed += a[0].plan == b[0].plan ? 0 : 1;
    effect.slowest = std::max(effect.slowest, b[0].estimate.time / a[0].estimate.time - 1);
  }
  return effect;
}

// The table of docs/theory/subramanian.md.
TEST(PaperStudy, DefectsMoveAsManyOptimaAsDocumented) {
  PaperDefects paid;
  paid.p2p_between_domains_free = false;
  const Effect transfers = effect_of(paid);
  EXPECT_EQ(transfers.changed, 57);
  EXPECT_EQ(transfers.found, 0);
  EXPECT_NEAR(transfers.slowest, 0.0286, 5e-5);
  PaperDefects wide;
  wide.summa_norm_as_wide_as_sequence = false;
  const Effect norms = effect_of(wide);
  EXPECT_EQ(norms.changed, 89);
  EXPECT_EQ(norms.found, 3);
  EXPECT_NEAR(norms.slowest, 0.8156, 5e-5);
}

// Defect "serial-study": GPT3-1T first fits 512 A100, so 128 and 256 B200 would never be searched.
TEST(PaperStudy, ASerialRunSkipsSizesThatTheFirstSystemCouldNotUse) {
  std::vector<PaperCell> cells = paper_study_cells();
  std::erase_if(cells, [](const PaperCell& cell) {
    return cell.c.strategy != PaperStrategy::k1d || cell.c.model.name != "gpt3_1T" ||
           cell.c.system.domain != 4;
  });
  const auto first_searched = [&](const std::string& system) {
    const auto results = paper_study(cells);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (cells[i].c.system.name == system && (*results)[i].candidates > 0) return cells[i].gpus;
    }
    return std::int64_t{0};
  };
  EXPECT_EQ(first_searched("B200-NVS4"), 4);
  for (PaperCell& cell : cells) cell.c.defects.serial_study_drops_sizes = true;
  EXPECT_EQ(first_searched("A100-NVS4"), 4);
  EXPECT_EQ(first_searched("B200-NVS4"), 512);
}

}  // namespace
}  // namespace flopcast
