#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <string>

#include "flopcast/published/subramanian.h"
#include "published/subramanian/testing.h"

namespace flopcast {

using published::case_of;

namespace {

using enum PaperStrategy;
using testing::HasSubstr;

PaperEstimate estimate(const PaperCase& c, const PaperPlan& plan) {
  const Result<PaperEstimate> result = paper_estimate(c, plan);
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().text());
  return result.ok() ? *result : PaperEstimate{};
}

struct PlanRow {
  const char* model;
  const char* system;
  PaperStrategy strategy;
  std::int64_t global_batch;
  PaperPlan plan;
  double published, repaired, gigabytes;
};

// Values of the published code at commit 54278b0, run unmodified.
TEST(PaperIteration, TakesThePublishedTime) {
  const PlanRow rows[] = {
      // the plan of the paper's own check against a machine, 512 A100
      {"gpt3",
       "A100-NVS4",
       k1d,
       1024,
       {{4, 1, 16, 8}, {4, 1, 1, 1}, 1, 1},
       22.468880208853946,
       22.468880208853946,
       46.377160704000005},
      // figure 1
      {"gpt3_1T",
       "B200-NVS8",
       k1d,
       4096,
       {{1, 1, 64, 256}, {1, 1, 2, 4}, 1, 1},
       8.141006604608513,
       8.257856224744568,
       130.80471904},
      // figure 2
      {"gpt3_1T",
       "B200-NVS8",
       k1d,
       4096,
       {{8, 1, 16, 128}, {8, 1, 1, 1}, 1, 1},
       3.4285403902285414,
       3.4285403902285414,
       89.26351552},
      // figure 3
      {"gpt3_1T",
       "B200-NVS8",
       kSumma,
       4096,
       {{8, 4, 1, 512}, {2, 4, 1, 1}, 8, 8},
       6.541017705168197,
       6.541257414978461,
       187.55360691200002},
      {"gpt3_1T",
       "B200-NVS8",
       kSumma,
       4096,
       {{2, 4, 128, 16}, {2, 4, 1, 1}, 1, 8},
       17.341770284619958,
       17.474119847849494,
       35.158220032},
      // figure A2
      {"vit_era5",
       "B200-NVS8",
       k2d,
       4096,
       {{8, 2, 16, 64}, {8, 1, 1, 1}, 1, 1},
       15.42604547971,
       15.42604547971,
       165.269754864},
  };
  for (const PlanRow& row : rows) {
    PaperCase c = case_of(row.model, row.system, row.strategy, row.global_batch);
    const auto near = [](double found, double expected) {
      EXPECT_NEAR(found, expected, 1e-12 * expected);
    };
    const PaperEstimate published = estimate(c, row.plan);
    near(published.time.value, row.published);
    near(published.memory.value / 1e9, row.gigabytes);
    c.defects = PaperDefects::repaired();
    near(estimate(c, row.plan).time.value, row.repaired);
  }
}

// What the published optimum of 2,048 GPUs really costs, once its transfers are paid for.
TEST(PaperIteration, TransfersBetweenDomainsAreWorthTwoAndAHalfPercent) {
  PaperCase c = case_of("gpt3_1T", "B200-NVS8", k1d);
  const PaperPlan plan{{4, 1, 128, 4}, {4, 1, 2, 1}, 1, 1};
  EXPECT_NEAR(estimate(c, plan).time.value, 16.188691544401728, 1e-11);
  c.defects.p2p_between_domains_free = false;
  EXPECT_NEAR(estimate(c, plan).time.value, 16.622046850858418, 1e-11);
}

// The worked number of flopcast/published/subramanian.h.
TEST(PaperIteration, WorkedNumberOfTheHeader) {
  const PaperCase c = case_of("gpt3_1T", "B200-NVS8", k1d);
  const PaperEstimate e = estimate(c, {{8, 1, 128, 16}, {8, 1, 1, 1}, 1, 1});
  EXPECT_NEAR(e.time.value, 3.2665, 5e-5);
  EXPECT_EQ(e.microbatches, 256);
  EXPECT_TRUE(e.fits);
  EXPECT_NEAR(paper_training_days(c, e.time), 1e12 / 2048 / (4096 / e.time.value) / 86400, 1e-9);
}

TEST(PaperIteration, TheNotebooksOptimizerIsNotCutOverTp2) {
  PaperCase c = case_of("vit_era5", "B200-NVS8", k2d);
  const PaperPlan plan{{4, 4, 2, 128}, {4, 2, 1, 1}, 1, 1};
  const PaperEstimate whole = estimate(c, plan);
  c.defects.optimizer_not_cut_over_tp2 = true;
  EXPECT_DOUBLE_EQ(estimate(c, plan).optimizer.value, 4 * whole.optimizer.value);
}

PaperPlan any_plan(PaperStrategy strategy) {
  const auto degree = [] { return std::int64_t{1} << *rc::gen::inRange(0, 5); };
  PaperPlan plan;
  plan.size = {degree(), strategy == k1d ? 1 : degree(), degree(), degree()};
  std::int64_t room = 8;
  for (std::int64_t PaperPlan::Groups::*axis : {&PaperPlan::Groups::tp1, &PaperPlan::Groups::tp2,
                                                &PaperPlan::Groups::pp, &PaperPlan::Groups::dp}) {
    std::int64_t k = 1;
    while (2 * k <= room && plan.size.*axis % (2 * k) == 0 && *rc::gen::arbitrary<bool>()) k *= 2;
    plan.domain.*axis = k;
    room /= k;
  }
  plan.microbatch = std::int64_t{1} << *rc::gen::inRange(0, 4);
  plan.panels = strategy == kSumma ? 32 : 1;
  return plan;
}

RC_GTEST_PROP(PaperIteration, PartsSumToTheWhole, ()) {
  const auto strategy = *rc::gen::element(k1d, k2d, kSumma);
  PaperCase c = case_of(*rc::gen::element("gpt3_1T", "vit_era5"), "H200-NVS8", strategy);
  if (*rc::gen::arbitrary<bool>()) c.defects = PaperDefects::repaired();
  const PaperPlan plan = any_plan(strategy);
  const auto e = paper_estimate(c, plan);
  RC_ASSERT(e.ok());
  const Seconds sum = e->compute + e->exposed_memory + e->tensor_communication +
                      e->pipeline_communication + e->data_communication + e->bubble;
  RC_ASSERT(std::abs(sum.value / e->time.value - 1) < 1e-12);
  const Bytes bytes = e->weights + e->gradients + e->optimizer + e->activations;
  RC_ASSERT(std::abs(bytes.value / e->memory.value - 1) < 1e-12);
  const auto operators = paper_operators(c, plan);
  Seconds layer{0};
  for (const PaperOperator& op : *operators) layer += op.forward.time + op.backward.time;
  const std::int64_t layers = c.model.depth / plan.size.pp;
  const auto rounds = static_cast<double>(e->microbatches * layers);
  const Seconds in_layers = e->compute + e->exposed_memory + e->tensor_communication;
  RC_ASSERT(std::abs(layer.value * rounds / in_layers.value - 1) < 1e-12);
}

// Repairs only ever add work, except that the layer norm of the ViT gets narrower.
RC_GTEST_PROP(PaperIteration, RepairsNeverSpeedAGptUp, ()) {
  const auto strategy = *rc::gen::element(k1d, k2d, kSumma);
  PaperCase c = case_of("gpt3_1T", "B200-NVS8", strategy);
  const PaperPlan plan = any_plan(strategy);
  const double published = paper_estimate(c, plan)->time.value;
  c.defects = PaperDefects::repaired();
  RC_ASSERT(paper_estimate(c, plan)->time.value >= published * (1 - 1e-12));
}

TEST(PaperIteration, RefusesNonsenseWithTheReason) {
  const PaperCase c = case_of("gpt3", "A100-NVS4", k1d, 1024);
  const auto why = [&](const PaperCase& asked, const PaperPlan& plan) {
    const Result<PaperEstimate> result = paper_estimate(asked, plan);
    return result.ok() ? std::string("accepted") : result.error().text();
  };
  EXPECT_EQ(why(c, {{4, 1, 16, 8}, {4, 1, 1, 1}, 1, 1}), "accepted");
  EXPECT_THAT(why(c, {{5, 1, 1, 1}, {}, 1, 1}), HasSubstr("the number of heads"));
  EXPECT_THAT(why(c, {{1, 1, 7, 1}, {}, 1, 1}), HasSubstr("the depth"));
  EXPECT_THAT(why(c, {{1, 1, 1, 2048}, {}, 1, 1}), HasSubstr("the global batch"));
  EXPECT_THAT(why(c, {{1, 1, 1, 512}, {}, 4, 1}),
              HasSubstr("a replica's share of the global batch, 2"));
  EXPECT_THAT(why(c, {{1, 2, 1, 1}, {}, 1, 1}), HasSubstr("tp2 must be 1"));
  EXPECT_THAT(why(c, {{8, 1, 1, 1}, {8, 1, 1, 1}, 1, 1}), HasSubstr("domains of 4"));
  EXPECT_THAT(why(c, {{8, 1, 1, 1}, {3, 1, 1, 1}, 1, 1}), HasSubstr("tp1 in a domain"));
  EXPECT_THAT(why(c, {{0, 1, 1, 1}, {}, 1, 1}), HasSubstr("below 1"));
  PaperCase broken = c;
  broken.system.hbm_bandwidth = {0};
  EXPECT_THAT(why(broken, {}), HasSubstr("a rate is not above 0"));
  broken = c;
  broken.model.heads = 0;
  EXPECT_THAT(why(broken, {}), HasSubstr("below 1"));
  broken = c;
  broken.model.embed = broken.model.sequence = std::int64_t{1} << 40;
  EXPECT_THAT(why(broken, {}), HasSubstr("elements"));
  EXPECT_FALSE(paper_operators(broken, {}).ok());
}

}  // namespace
}  // namespace flopcast
