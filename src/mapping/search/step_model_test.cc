#include "mapping/search/step_model.h"

#include <gtest/gtest.h>

#include <cmath>

#include "mapping/search/testing.h"

namespace flopcast::mapping {
namespace {

/// The small layer on PP chips of the ring and DP of the switch, one sample a microbatch.
class Case {
 public:
  Case(MappingModel model, unsigned tp, unsigned pp, unsigned dp) : model_(std::move(model)) {
    system_.dimensions[0].size = tp * pp;
    system_.dimensions[1].size = dp;
    shape_.degree = {tp, pp, dp};
    shape_.factors = {{tp, pp, 1}, {1, 1, dp}};
    const GroupNetwork group(system_, shape_, Parallelism::kTensor, model_.latency);
    Result<ShardedGraph> sharded = shard_graph(workload_, group, model_, {});
    EXPECT_TRUE(sharded);
    sharded_ = std::move(*sharded);
  }

  ProgramCase of() const {
    return {
        &workload_, &system_, &model_, &shape_, &sharded_, 1, workload_.global_batch / shape_.dp(),
        1,          false};
  }
  double step_s(const LayerTime& layer) const {
    const ProgramCase own = of();
    return StepModel(own).step_s(layer);
  }
  Mapping filled(const LayerTime& layer) const {
    const ProgramCase own = of();
    Mapping mapping;
    StepModel(own).fill(layer, 0, mapping);
    return mapping;
  }

  DataflowWorkload workload_ = test::small_training();
  MappingSystem system_ = test::small_system();
  MappingModel model_;
  MappingShape shape_;
  ShardedGraph sharded_;
};

constexpr LayerTime kLayer{1e-3, 2e-3};
constexpr double kParameters = 2.0 * test::kSmallHidden * test::kSmallFfn;  // of a layer
constexpr double kBoundary = 2.0 * test::kSmallHidden * test::kSmallTokens;

TEST(StepModel, AsPublished) {
  const Case two(paper_model(), 1, 2, 1);  // 2 layers a stage, 16 microbatches
  const double bubble = 1 + 1.0 / 16;
  const double sends_s = 2 * kBoundary * 4 / 20e9;
  EXPECT_DOUBLE_EQ(two.step_s(kLayer), 3e-3 * bubble * 2 * 16 + sends_s);
  EXPECT_DOUBLE_EQ(two.filled(kLayer).send.value, sends_s);
  EXPECT_DOUBLE_EQ(two.filled(kLayer).bubble, bubble);
  // One layer a stage or two: the published bubble is the same.
  EXPECT_DOUBLE_EQ(Case(paper_model(), 1, 4, 1).filled(kLayer).bubble, 1 + 3.0 / 16);
  EXPECT_DOUBLE_EQ(Case(paper_model(), 1, 1, 2).step_s(kLayer), 3e-3 * 4 * 8);
}

TEST(StepModel, FillsAndDrainsThePipeline) {
  MappingModel model = full_model();
  model.optimizer_step = false;
  model.latency = false;
  const Case four(model, 1, 4, 1);
  const double send_s = 2 * kBoundary / 20e9;  // forward and back, hidden in the stage
  EXPECT_DOUBLE_EQ(four.step_s(kLayer), (16 + 3) * 3e-3 + 3 * send_s);
  const Mapping mapping = four.filled(kLayer);
  EXPECT_EQ(mapping.layers_per_stage, 1);
  EXPECT_DOUBLE_EQ(mapping.bubble, 19.0 / 16);
  EXPECT_DOUBLE_EQ(mapping.stage.value, 3e-3);
  EXPECT_DOUBLE_EQ(mapping.send.value, 3 * send_s);
  model.overlap = MappingOverlap::kNone;
  EXPECT_DOUBLE_EQ(Case(model, 1, 4, 1).step_s(kLayer), 19 * (3e-3 + send_s) + 3 * send_s);
}

TEST(StepModel, HidesGradientsUnderTheBackwardPass) {
  MappingModel model = full_model();
  model.optimizer_step = false;
  model.latency = false;
  const Case two(model, 1, 1, 2);
  // 4 layers, two passes of half the bytes at 5 GB/s; 4 backward passes of 0.1 ms hide some.
  const double gradients_s = 2 * (4 * 2 * kParameters / 2) / 5e9;
  const LayerTime fast{1e-4, 1e-4};
  ASSERT_GT(gradients_s, 4e-4);
  EXPECT_NEAR(two.filled(fast).gradients.value, gradients_s - 4e-4, 1e-12);
  EXPECT_NEAR(two.step_s(fast), 8 * 4 * 2e-4 + gradients_s - 4e-4, 1e-12);
  EXPECT_EQ(two.filled({1, 1}).gradients.value, 0);
  model.overlap = MappingOverlap::kNone;
  EXPECT_NEAR(Case(model, 1, 1, 2).filled(fast).gradients.value, gradients_s, 1e-12);
}

TEST(StepModel, EndsWithTheOptimisersTraffic) {
  const Mapping mapping = Case(full_model(), 1, 2, 1).filled(kLayer);
  EXPECT_NEAR(mapping.optimizer.value, 2 * 18 * kParameters * 2 / 100e9, 1e-12);
  const Mapping divided = Case(full_model(), 2, 2, 1).filled(kLayer);
  EXPECT_NEAR(divided.optimizer.value, mapping.optimizer.value / 2, 1e-12);
  Case inference(full_model(), 1, 2, 1);
  inference.workload_.training = false;
  EXPECT_EQ(inference.filled(kLayer).optimizer.value, 0);
}

TEST(StepModel, PartsAddUpToTheStep) {
  for (const unsigned tp : {1U, 2U}) {
    for (const unsigned pp : {1U, 2U, 4U}) {
      const Case of(full_model(), tp, pp, 2);
      const Mapping m = of.filled(kLayer);
      EXPECT_DOUBLE_EQ(m.step.value, static_cast<double>(m.microbatches + pp - 1) * m.stage.value +
                                         m.send.value + m.gradients.value + m.optimizer.value);
      EXPECT_EQ(m.step.value, of.step_s(kLayer));
      EXPECT_DOUBLE_EQ(m.samples_per_second, 16 / m.step.value);
    }
  }
}

TEST(StepModel, CountsWhatAChipHolds) {
  Case two(full_model(), 1, 2, 1);
  const ProgramCase of = two.of();
  const MappingMemory memory = StepModel(of).memory(100);
  EXPECT_DOUBLE_EQ(memory.weights.value, 2 * 2 * kParameters);
  EXPECT_DOUBLE_EQ(memory.gradients.value, 2 * 4 * kParameters);
  EXPECT_DOUBLE_EQ(memory.optimizer.value, 2 * 12 * kParameters);
  EXPECT_EQ(memory.live.value, 100);
  // Outputs of in, up, gelu and down, of two layers and two microbatches; one layer's are live.
  const double kept = 2.0 * test::kSmallTokens * 2 * (test::kSmallHidden + test::kSmallFfn);
  EXPECT_DOUBLE_EQ(memory.activations.value, kept * (2 * 2 - 1));
  EXPECT_TRUE(std::isinf(StepModel(of).live_room()));
  two.system_.memory_capacity = {1e9};
  EXPECT_DOUBLE_EQ(StepModel(of).live_room(), 1e9 - memory.total().value + 100);
}

TEST(StepModel, CountsForwardAndBackwardWeightsAsPublished) {
  const Case two(paper_model(), 1, 2, 1);
  const ProgramCase of = two.of();
  const MappingMemory memory = StepModel(of).memory(0);
  EXPECT_DOUBLE_EQ(memory.total().value, 2 * 2 * 2 * kParameters);
}

TEST(StepModel, GrowsWithTheLayersTime) {
  const Case of(full_model(), 1, 2, 2);
  double last = 0;
  for (double s = 1e-6; s < 1e-2; s *= 1.5) {
    const double step_s = of.step_s({s, s});
    EXPECT_GE(step_s, last);
    last = step_s;
  }
}

}  // namespace
}  // namespace flopcast::mapping
