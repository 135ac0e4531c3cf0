// Points of sweeps, and the machines they ask for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "flopcast/question/plan.h"

namespace flopcast {
namespace {

using testing::HasSubstr;

std::vector<std::string> values(std::string_view sweep) {
  const auto changes = parse_plan_sweep(sweep);
  if (!changes) return {changes.error().text()};
  std::vector<std::string> out;
  for (const PlanChange& change : *changes) out.push_back(change.name + ' ' + change.value);
  return out;
}

PlanMachine machine(const std::string& cluster, std::vector<PlanChange> changes,
                    unsigned chips = 0) {
  PlanQuestion question;
  question.cluster = cluster;
  question.changes = std::move(changes);
  question.chips = chips;
  const auto made = plan_machine(question, Catalog::builtin());
  if (!made) {
    ADD_FAILURE() << made.error().text();
    return {};
  }
  return *made;
}

TEST(PlanSweep, ReadsListsAndDoublings) {
  EXPECT_THAT(values("n=64..300"), testing::ElementsAre("n 64", "n 128", "n 256"));
  EXPECT_THAT(values("chips=3,8..16,3"), testing::ElementsAre("n 3", "n 8", "n 16"));
  EXPECT_THAT(values("nvs=8,64"), testing::ElementsAre("node-size 8", "node-size 64"));
  EXPECT_THAT(values("chip=h100,b200"), testing::ElementsAre("chip h100", "chip b200"));
  EXPECT_THAT(
      values("hbm-bandwidth=1x,0.5x,8TB/s"),
      testing::ElementsAre("hbm-bandwidth 1x", "hbm-bandwidth 0.5x", "hbm-bandwidth 8TB/s"));
}

TEST(PlanSweep, RefusesWhatItCannotRead) {
  for (const char* text : {"", "n", "n=", "n=0", "n=64..8", "n=a..b", "n=8,", "speed=3x", "=3",
                           "hbm-bandwidth=-1x", "hbm-bandwidth=0x", "hbm-bandwidth=3us",
                           "node-latency=2GB", "n=99999999999", "node-size=1.5"}) {
    const auto changes = parse_plan_sweep(text);
    ASSERT_FALSE(changes) << text;
    EXPECT_EQ(changes.error().code, ErrorCode::kUsage) << text;
  }
}

TEST(PlanSweep, PointsAreAllCombinationsLastOneFastest) {
  const auto points = sweep_points({}, {"n=8,16", "chip=h100,h200"});
  ASSERT_TRUE(points);
  ASSERT_EQ(points->size(), 4U);
  EXPECT_EQ((*points)[1].changes, (std::vector<PlanChange>{{"n", "8"}, {"chip", "h200"}}));
  EXPECT_EQ((*points)[2].changes, (std::vector<PlanChange>{{"n", "16"}, {"chip", "h100"}}));
  EXPECT_FALSE(sweep_points({}, {"n=8,16", "chips=32"}));
}

TEST(PlanMachine, TakesAsManyNodesAsChipsNeed) {
  EXPECT_EQ(machine("64 x dgx-h100", {}).chips, 512U);
  EXPECT_EQ(machine("64 x dgx-h100", {{"n", "128"}}).cluster.nodes(), 16U);
  EXPECT_EQ(machine("64 x dgx-h100, rail NDR", {{"n", "4096"}}).cluster.nodes(), 512U);
  const PlanMachine odd = machine("4 x dgx-h100", {}, 12);
  EXPECT_EQ(odd.cluster.nodes(), 2U);
  EXPECT_EQ(odd.chips, 12U);
  EXPECT_EQ(machine("dgx-h100", {{"n", "32"}}).cluster.nodes(), 4U);
  EXPECT_EQ(machine("64 x h100", {{"n", "128"}}).cluster.chips(), 128U);
  // A whole machine is used in part.
  const PlanMachine eos = machine("eos", {{"n", "64"}});
  EXPECT_GT(eos.cluster.chips(), 64U);
  EXPECT_EQ(eos.chips, 64U);
}

TEST(PlanMachine, GrowsHoweverTheCountIsWritten) {
  for (const char* text :
       {"2 x dgx-h100", "2 × dgx-h100", "2 * dgx-h100", "2x dgx-h100", "2 nodes of dgx-h100",
        "16 gpus of dgx-h100", "16 chips of dgx-h100", "2 dgx-h100", "16xh100"}) {
    const PlanMachine made = machine(text, {{"n", "32"}});
    EXPECT_EQ(made.chips, 32U) << text;
    EXPECT_EQ(made.cluster.nodes(), 4U) << text;
  }
}

TEST(PlanMachine, SaysWhenThereAreNotEnough) {
  PlanQuestion question;
  question.cluster = "eos";
  question.chips = 1U << 20U;
  const auto made = plan_machine(question, Catalog::builtin());
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().text(), HasSubstr("1048576 are asked for"));
}

TEST(PlanMachine, NodesOfAnotherSizeHoldTheSameChips) {
  const PlanMachine large = machine("8 x dgx-h100", {{"node-size", "32"}});
  EXPECT_EQ(large.cluster.chips_per_node(), 32U);
  EXPECT_EQ(large.cluster.chips(), 64U);
  const PlanMachine both = machine("8 x dgx-h100", {{"n", "256"}, {"node-size", "4"}});
  EXPECT_EQ(both.cluster.chips_per_node(), 4U);
  EXPECT_EQ(both.chips, 256U);
}

TEST(PlanMachine, ChangesNumbersByFactorAndByValue) {
  const Chip h100 = *Catalog::builtin().chip("h100");
  const PlanMachine twice = machine("2 x dgx-h100", {{"hbm-bandwidth", "2x"}});
  EXPECT_EQ(twice.cluster.chip.hbm_bandwidth, h100.hbm_bandwidth * 2);
  EXPECT_EQ(machine("h100", {{"hbm-capacity", "141GB"}}).cluster.chip.hbm_capacity.value, 141e9);
  const PlanMachine rate = machine("h100", {{"matrix-rate", "1979TFLOP/s"}});
  EXPECT_NEAR(rate.cluster.chip.matrix_rate(DataType::kBf16).value, 1979e12, 1);
  EXPECT_NEAR(rate.cluster.chip.matrix_rate(DataType::kFp8) / h100.matrix_rate(DataType::kFp8),
              1979e12 / h100.matrix_rate(DataType::kBf16).value, 1e-12);
  const Cluster plain = machine("2 x dgx-h100", {}).cluster;
  const Cluster fabric = machine("2 x dgx-h100", {{"fabric-bandwidth", "0.5x"}}).cluster;
  EXPECT_EQ(fabric.levels[1].port_bandwidth, plain.levels[1].port_bandwidth * 0.5);
  EXPECT_EQ(fabric.levels[0].port_bandwidth, plain.levels[0].port_bandwidth);
  const Cluster node = machine("2 x dgx-h100", {{"node-latency", "9us"}}).cluster;
  EXPECT_EQ(node.levels[0].latency.value, 9e-6);
  EXPECT_EQ(node.levels[1].latency, plain.levels[1].latency);
}

// A machine with a number changed by 1 is the machine, and keeps what it was changed from.
TEST(PlanMachine, ChangedNumbersAreKeptBesideTheMachineTheyWereChangedFrom) {
  const PlanMachine chip = machine("2 x dgx-h100", {{"hbm-bandwidth", "2x"}});
  EXPECT_EQ(chip.cluster.chip.name, "h100-sxm");
  EXPECT_EQ(chip.training.kernels.relative, "");
  EXPECT_EQ(chip.training.collectives, CollectiveSource::kBest);
  ASSERT_NE(chip.cluster.nominal, nullptr);
  EXPECT_EQ(chip.cluster.nominal->chip.hbm_bandwidth * 2, chip.cluster.chip.hbm_bandwidth);
  const PlanMachine both =
      machine("2 x dgx-h100", {{"node-bandwidth", "2x"}, {"fabric-latency", "1x"}});
  EXPECT_EQ(both.cluster.nominal->levels[0].port_bandwidth * 2,
            both.cluster.levels[0].port_bandwidth);
  EXPECT_EQ(machine("2 x dgx-h100", {}).cluster.nominal, nullptr);
  PlanQuestion question;
  question.cluster = "dgx-h100";
  question.changes = {{"hbm-bandwidth", "1e9x"}};
  EXPECT_FALSE(plan_machine(question, Catalog::builtin()));
}

TEST(PlanMachine, AsksForALevelThatIsThere) {
  PlanQuestion question;
  question.cluster = "dgx-h100";
  question.changes = {{"fabric-latency", "2x"}};
  EXPECT_FALSE(plan_machine(question, Catalog::builtin()));
}

TEST(PlanSweep, FasterHardwareIsNeverSlower) {
  PlanQuestion question;
  question.model = "gpt-3-1.3b";
  question.cluster = "2 x dgx-h100";
  question.global_batch = 64;
  question.best = 1;
  for (const char* sweep : {"hbm-bandwidth=1x,2x", "matrix-rate=1x,2x", "node-bandwidth=1x,2x",
                            "fabric-bandwidth=1x,2x", "hbm-capacity=1x,2x"}) {
    const auto points = sweep_points(question, {sweep});
    ASSERT_TRUE(points);
    const auto slow = answer((*points)[0]), fast = answer((*points)[1]);
    ASSERT_TRUE(slow && fast) << sweep;
    ASSERT_TRUE(slow->fits() && fast->fits()) << sweep;
    EXPECT_LE(fast->search.pareto[0].time, slow->search.pareto[0].time) << sweep;
  }
}

}  // namespace
}  // namespace flopcast
