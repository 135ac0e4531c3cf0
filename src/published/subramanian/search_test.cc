#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>

#include "flopcast/published/subramanian.h"
#include "published/subramanian/space.h"
#include "published/subramanian/testing.h"

namespace flopcast {

using published::case_of;

namespace {

using enum PaperStrategy;

struct Best {
  const char* model;
  const char* system;
  PaperStrategy strategy;
  std::int64_t gpus;
  std::uint64_t candidates, feasible;
  double time;
  PaperPlan plan;
};

// The authors' stored results (outputs/*.npy at commit 54278b0).
TEST(PaperSearch, FindsThePublishedOptima) {
  const Best rows[] = {
      {"gpt3_1T",
       "B200-NVS8",
       k1d,
       128,
       1537,
       15,
       264.894535804806,
       {{8, 1, 16, 1}, {8, 1, 1, 1}, 1, 1}},
      {"gpt3_1T",
       "B200-NVS8",
       k1d,
       2048,
       2624,
       428,
       16.188691544401728,
       {{4, 1, 128, 4}, {4, 1, 2, 1}, 1, 1}},
      {"gpt3_1T",
       "B200-NVS64",
       k1d,
       2048,
       3689,
       633,
       15.989925291463695,
       {{4, 1, 16, 32}, {4, 1, 2, 8}, 1, 1}},
      {"gpt3_1T",
       "A100-NVS4",
       k2d,
       16384,
       13090,
       2552,
       21.230957553217582,
       {{2, 8, 64, 16}, {1, 4, 1, 1}, 1, 1}},
      {"vit_era5",
       "H200-NVS64",
       k2d,
       1024,
       22422,
       1345,
       404.2986089598246,
       {{4, 4, 8, 8}, {4, 4, 2, 2}, 1, 1}},
      {"gpt3_1T",
       "B200-NVS8",
       kSumma,
       16384,
       54662,
       52773,
       3.1922488032709015,
       {{8, 1, 128, 16}, {8, 1, 1, 1}, 1, 8}},
      {"vit_era5",
       "B200-NVS64",
       kSumma,
       16384,
       70867,
       30186,
       10.55438082782946,
       {{4, 4, 1, 1024}, {4, 4, 1, 4}, 1, 16}},
  };
  for (const Best& row : rows) {
    const auto search = paper_search(case_of(row.model, row.system, row.strategy), row.gpus);
    ASSERT_TRUE(search.ok());
    EXPECT_EQ(search->candidates, row.candidates) << row.system;
    EXPECT_EQ(search->feasible, row.feasible) << row.system;
    ASSERT_EQ(search->best.size(), 10);
    EXPECT_NEAR(search->best[0].estimate.time.value, row.time, 1e-12 * row.time);
    EXPECT_EQ(search->best[0].plan, row.plan) << row.system << " " << row.gpus;
    EXPECT_FALSE(search->leanest.has_value());
  }
}

// "The optimum moves from np = 128 to np = 32..64": what the free transfers hid.
TEST(PaperSearch, RepairsMoveTheOptimumOfAThousandGpus) {
  PaperCase c = case_of("gpt3_1T", "B200-NVS8", k1d);
  c.defects = PaperDefects::repaired();
  const auto search = paper_search(c, 2048);
  EXPECT_NEAR(search->best[0].estimate.time.value, 16.398478262125078, 1e-11);
  EXPECT_EQ(search->best[0].plan, (PaperPlan{{4, 1, 32, 16}, {4, 1, 1, 2}, 1, 1}));
}

// Without its defect SUMMA cuts GPT3-1T in one dimension, and no longer beats 1-D.
TEST(PaperSearch, RepairsTakeTheSecondDimensionFromSumma) {
  PaperCase c = case_of("gpt3_1T", "B200-NVS64", kSumma);
  EXPECT_EQ(paper_search(c, 16384)->best[0].plan.size.tp2, 4);
  c.defects = PaperDefects::repaired();
  const PaperCandidate wide = paper_search(c, 16384)->best[0];
  EXPECT_EQ(wide.plan.size, (PaperPlan::Groups{8, 1, 4, 512}));
  EXPECT_NEAR(wide.estimate.time.value, 2.9518, 5e-5);
  c.system = *paper_system("B200-NVS8");
  const double summa = paper_search(c, 16384)->best[0].estimate.time.value;
  EXPECT_NEAR(summa, 3.2911, 5e-5);
  c.strategy = k1d;
  EXPECT_LT(paper_search(c, 16384)->best[0].estimate.time.value, summa);
}

// The paper's check against a machine: its plan is the model's best (section V).
TEST(PaperSearch, Gpt3On512A100IsThePapersOwnPlan) {
  PaperCase c = case_of("gpt3", "A100-NVS4", k1d);
  c.global_batch = 1024;
  const auto search = paper_search(c, 512);
  EXPECT_EQ(search->candidates, 1118);
  EXPECT_EQ(search->feasible, 239);
  EXPECT_EQ(search->best[0].plan, (PaperPlan{{4, 1, 16, 8}, {4, 1, 1, 1}, 1, 1}));
}

/// Estimates every plan of the space one by one.
PaperSearch one_by_one(const PaperCase& c, std::int64_t gpus, const PaperSearchOptions& options) {
  const published::Space space(c, gpus, options);
  PaperSearch result;
  for (const published::Grid& grid : space.grids()) {
    for (const PaperPlan::Groups& size : space.sizes(grid)) {
      for (const std::int64_t microbatch : space.microbatches(grid)) {
        if ((c.global_batch / size.dp) % microbatch != 0) continue;
        for (const std::int64_t panels : space.panels(grid)) {
          for (const PaperPlan::Groups& domain : space.placements(size)) {
            const PaperPlan plan{size, domain, microbatch, panels};
            const Result<PaperEstimate> estimate = paper_estimate(c, plan);
            RC_ASSERT(estimate.ok());
            ++result.candidates;
            result.feasible += estimate->fits ? 1 : 0;
            if (estimate->fits || options.beyond_memory) result.best.push_back({plan, *estimate});
          }
        }
      }
    }
  }
  std::ranges::stable_sort(result.best, {},
                           [](const PaperCandidate& one) { return one.estimate.time.value; });
  if (result.best.size() > options.best) result.best.resize(options.best);
  return result;
}

RC_GTEST_PROP(PaperSearch, EqualsEstimatingEveryPlan, ()) {
  PaperCase c;
  c.strategy = *rc::gen::element(k1d, k2d, kSumma);
  c.model = {.name = "small",
             .sequence = *rc::gen::element<std::int64_t>(1024, 1200),
             .embed = *rc::gen::element<std::int64_t>(1536, 4096),
             .heads = *rc::gen::element<std::int64_t>(12, 16),
             .depth = *rc::gen::element<std::int64_t>(12, 16),
             .hidden = 4096,
             .training_samples = 0};
  c.system = *paper_system(*rc::gen::element("A100-NVS4", "H200-NVS8", "B200-NVS6"));
  c.system.hbm_capacity = {1e9 * *rc::gen::inRange(1, 40)};
  c.global_batch = *rc::gen::element<std::int64_t>(24, 64);
  if (*rc::gen::arbitrary<bool>()) c.defects = PaperDefects::repaired();
  PaperSearchOptions options;
  options.best = *rc::gen::element<std::size_t>(0, 1, 7, 1000);
  options.beyond_memory = *rc::gen::arbitrary<bool>();
  const auto gpus = *rc::gen::element<std::int64_t>(4, 12, 16, 32);

  const Result<PaperSearch> fast = paper_search(c, gpus, options);
  const PaperSearch slow = one_by_one(c, gpus, options);
  RC_ASSERT(fast.ok());
  RC_ASSERT(fast->candidates == slow.candidates);
  RC_ASSERT(fast->feasible == slow.feasible);
  RC_ASSERT(fast->best.size() == slow.best.size());
  for (std::size_t i = 0; i < slow.best.size(); ++i) {
    RC_ASSERT(fast->best[i].estimate.time.value == slow.best[i].estimate.time.value);
    RC_ASSERT(fast->best[i].plan == slow.best[i].plan);
  }
  RC_ASSERT(fast->leanest.has_value() == (slow.feasible == 0 && slow.candidates > 0));
}

// SUMMA on one GPU: the number of panels changes nothing, so the fewest come first.
TEST(PaperSearch, EqualPlansStandInTheOrderOfTheEnumeration) {
  PaperCase c = case_of("gpt3", "B200-NVS8", kSumma);
  c.model.depth = 4;
  c.global_batch = 2;
  PaperSearchOptions options;
  options.microbatch = 1;
  const auto search = paper_search(c, 1, options);
  ASSERT_EQ(search->best.size(), 5);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(search->best[i].estimate.time, search->best[0].estimate.time);
    EXPECT_EQ(search->best[i].plan.panels, 1 << i);
  }
}

TEST(PaperSearch, NamesTheLeanestPlanWhereNoneFits) {
  const auto search = paper_search(case_of("gpt3_1T", "A100-NVS4", k1d), 64);
  EXPECT_GT(search->candidates, 0);
  EXPECT_EQ(search->feasible, 0);
  EXPECT_TRUE(search->best.empty());
  ASSERT_TRUE(search->leanest.has_value());
  EXPECT_GT(search->leanest->estimate.memory.value, 80e9);
  PaperSearchOptions all;
  all.beyond_memory = true;
  all.best = 100000;
  const auto every = paper_search(case_of("gpt3_1T", "A100-NVS4", k1d), 64, all);
  EXPECT_EQ(every->best.size(), search->candidates);
  for (const PaperCandidate& one : every->best) {
    EXPECT_GE(one.estimate.memory, search->leanest->estimate.memory);
  }
}

TEST(PaperSearch, TakesAPanelCountThatThePublishedSearchDoesNotTry) {
  PaperSearchOptions options;
  options.fixed = {32, 1, 1, 512};
  options.microbatch = 8;
  options.panels = 8;
  const auto search = paper_search(case_of("gpt3_1T", "B200-NVS8", kSumma), 16384, options);
  ASSERT_FALSE(search->best.empty());
  EXPECT_NEAR(search->best[0].estimate.time.value, 5.8506, 5e-5);
}

TEST(PaperSearch, NegativeDegreesAreThoseOfNoPlan) {
  const PaperCase c = case_of("gpt3", "B200-NVS8", kSumma);
  for (std::int64_t PaperPlan::Groups::*axis : {&PaperPlan::Groups::tp1, &PaperPlan::Groups::dp}) {
    PaperSearchOptions options;
    options.fixed.*axis = -1;
    EXPECT_EQ(paper_search(c, 64, options)->candidates, 0);
  }
  PaperSearchOptions options;
  options.panels = -1;
  EXPECT_EQ(paper_search(c, 64, options)->candidates, 0);
}

TEST(PaperSearch, RefusesNonsense) {
  const PaperCase c = case_of("gpt3", "B200-NVS8", k1d);
  EXPECT_EQ(paper_search(c, 0).error().code, ErrorCode::kUsage);
  EXPECT_EQ(paper_search(c, std::int64_t{1} << 40).error().code, ErrorCode::kUsage);
  PaperCase broken = c;
  broken.global_batch = 0;
  EXPECT_EQ(paper_search(broken, 8).error().code, ErrorCode::kUsage);
  EXPECT_FALSE(paper_study(std::vector<PaperCell>{{c, 8}, {broken, 8}}).ok());
}

}  // namespace
}  // namespace flopcast
