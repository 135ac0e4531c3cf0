// Sequences of tensors against what operators keep, and steps played against what must hold.
#include "analytic/allocator/step_replay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

namespace flopcast::analytic {
namespace {

struct Case {
  std::string model;
  Execution run;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const char* model : {"llama-3-8b", "gpt-3-13b", "mixtral-8x7b", "deepseek-v3", "gemma-2-9b",
                            "palm-540b", "nemotron-h-8b"}) {
    if (!load_model(model)) continue;
    for (const Recompute recompute : {Recompute::kNone, Recompute::kSelective, Recompute::kFull}) {
      for (const unsigned tp : {1U, 4U}) {
        Execution run;
        run.sequence = 4096, run.tp = tp, run.sequence_parallel = tp > 1;
        run.recompute = recompute, run.recompute_modules = kRecomputeOp;
        all.push_back({model, run});
      }
    }
  }
  return all;
}

/// Bytes held when a pass is over, table by table; each tensor is made once and dropped once.
struct Balance {
  std::map<std::uint16_t, std::int64_t> held;
  std::int64_t sum = 0, most = 0;

  void run(const std::vector<TensorCall>& calls) {
    for (const TensorCall& call : calls) {
      if (call.bytes > 0) {
        EXPECT_FALSE(held.contains(call.tensor));
        held[call.tensor] = call.bytes;
        sum += call.bytes;
      } else if (held.contains(call.tensor)) {
        sum -= held[call.tensor];
        held.erase(call.tensor);
      }
      most = std::max(most, sum);
    }
  }
};

// After forward a layer holds what its operators keep and its output; after backward its input's gradient and those of its weights.
TEST(ListTensors, KeepWhatOperatorsKeep) {
  ASSERT_GE(cases().size(), 30U);
  for (const Case& c : cases()) {
    const Model model = *load_model(c.model);
    const OperatorGraph graph = make_operators(model, c.run);
    const auto stream = static_cast<std::int64_t>(graph.boundary.value);
    for (const OperatorList& layer : graph.layers) {
      const ListTensors tensors = tensors_of(layer, c.run, 6);
      Balance balance;
      balance.held = {{ListTensors::kInput, stream}};
      balance.sum = stream;
      balance.run(tensors.forward);
      ASSERT_TRUE(balance.held.contains(tensors.output)) << c.model;
      const std::int64_t output = balance.held[tensors.output];
      // Masks and statistics are rounded up to 512 B.
      EXPECT_NEAR(static_cast<double>(balance.sum - output), layer.saved.value, 4096) << c.model;
      EXPECT_EQ(output, stream) << c.model;
      balance.held.erase(tensors.output);
      balance.held[ListTensors::kGradient] = stream;
      balance.run(tensors.backward);
      std::int64_t weights = 0;
      for (const std::uint16_t gradient : tensors.weight_gradients)
        weights += balance.held[gradient];
      EXPECT_EQ(balance.sum, weights + balance.held[tensors.input_gradient]) << c.model;
      EXPECT_EQ(tensors.trained, layer.trainable()) << c.model;
      EXPECT_EQ(tensors.weight_bytes, 2 * layer.weights()) << c.model;
    }
  }
}

// By hand: Llama 3 8B without recompute, in units of t h: stream 1 + normed 1 + (q, k, v) 1.5 + context 1 ... all that
// KeepWhatOperatorsKeep says, in this order, while nothing is there twice but the output of the product that runs.
TEST(ListTensors, OfALlamaLayerByHand) {
  const Model model = *load_model("llama-3-8b");
  Execution run;
  run.sequence = 8192;
  const ListTensors tensors = tensors_of(make_operators(model, run).layers[0], run, 6);
  std::vector<double> made;  // MiB
  for (const TensorCall& call : tensors.forward) {
    if (call.bytes > 0) made.push_back(static_cast<double>(call.bytes) / (1 << 20));
  }
  // norm; q, k and v; rotated q and k; context; v and statistics kept; projection; sum; norm; gate and up; product; down; sum.
  const std::vector<double> expected = {64, 96, 80, 64, 17, 64, 64, 64, 448, 224, 64, 64};
  EXPECT_EQ(made, expected);
}

// The loss, a logit: 16-bit logits and gradient; with a wide copy in place; by eager operators (CachingAllocator.HoldsAnEagerLoss).
TEST(ListTensors, OfTheLoss) {
  const Model model = *load_model("llama-3-8b");
  Execution run;
  run.sequence = 8192;
  const OperatorList head = make_operators(model, run).head;
  const double logits = 8192.0 * 128256, stream = 2.0 * 8192 * 4096;
  for (const double each : {4.0, 6.0, 12.0}) {
    const ListTensors tensors = tensors_of(head, run, each);
    Balance balance;
    balance.run(tensors.forward);
    balance.run(tensors.backward);
    const double weights = 2.0 * (128256 * 4096 + 4096);
    EXPECT_GE(static_cast<double>(balance.most), each * logits) << each;
    EXPECT_LE(static_cast<double>(balance.most), each * logits + weights + 4 * stream) << each;
  }
}

struct Played {
  OperatorGraph graph;
  ListTensors embedding, layer, head;
  ChipTape tape(std::size_t layers) const {
    ChipTape chip;
    chip.embedding = &embedding, chip.head = &head;
    chip.layers.assign(layers, &layer);
    chip.boundary = static_cast<std::int64_t>(graph.boundary.value);
    return chip;
  }
};

Played played(const std::string& name, const Execution& run, double logit_bytes) {
  const Model model = *load_model(name);
  Played all{make_operators(model, run), {}, {}, {}};
  all.embedding = tensors_of(all.graph.embedding, run, logit_bytes);
  all.layer = tensors_of(all.graph.layers[0], run, logit_bytes);
  all.head = tensors_of(all.graph.head, run, logit_bytes);
  return all;
}

// More layers keep more, but what is beside that, and what lies in holes, two tell: of a model that a chip holds whole, and of
// a stage of a pipeline.
TEST(StepReplay, TwoLayersAreLikeMany) {
  for (const Recompute recompute : {Recompute::kNone, Recompute::kSelective, Recompute::kFull}) {
    for (const bool sharded : {false, true}) {
      for (const bool expandable : {false, true}) {
        for (const unsigned in_flight : {1U, 2U}) {
          Execution run;
          run.sequence = 8192, run.recompute = recompute, run.recompute_modules = kRecomputeOp;
          const Played all = played("llama-3-8b", run, 12);
          StepPlay play;
          play.sharded = sharded, play.expandable = expandable, play.in_flight = in_flight;
          const auto beside = [&](std::size_t layers) {
            const StepPeak peak = replay_step(all.tape(layers), play);
            return static_cast<double>(peak.reserved) -
                   static_cast<double>(layers) * in_flight * all.graph.layers[0].saved.value;
          };
          const std::size_t many = in_flight == 1 ? 32 : 8;
          const double within = in_flight == 1 ? 0.03 : 0.16;
          const double reserved = static_cast<double>(replay_step(all.tape(many), play).reserved);
          EXPECT_NEAR(beside(2), beside(many), within * reserved)
              << static_cast<int>(recompute) << sharded << expandable << in_flight;
        }
      }
    }
  }
}

TEST(StepReplay, CountsNoMoreThanItAllocates) {
  for (const char* model : {"llama-3-8b", "mixtral-8x7b", "gpt-3-13b"}) {
    for (const bool sharded : {false, true}) {
      for (const unsigned in_flight : {1U, 2U}) {
        Execution run;
        run.sequence = 4096;
        const Played all = played(model, run, 12);
        StepPlay play;
        play.sharded = sharded, play.in_flight = in_flight;
        const std::int64_t counted = count_step(all.tape(2), play);
        const std::int64_t allocated = replay_step(all.tape(2), play).allocated;
        EXPECT_LE(counted, allocated) << model << sharded << in_flight;
        // Blocks are larger than asked for by no more than 1 MiB each.
        EXPECT_GE(static_cast<double>(counted), 0.9 * static_cast<double>(allocated))
            << model << sharded << in_flight;
      }
    }
  }
}

// Full sharding adds the gathered weights, its buffers and whole gradients, whatever the order.
TEST(StepReplay, ShardingHoldsWholeWeights) {
  Execution run;
  run.sequence = 512;  // little beside weights
  const Played all = played("llama-3-8b", run, 6);
  StepPlay play;
  const double plain = static_cast<double>(replay_step(all.tape(8), play).allocated);
  play.sharded = true;
  const double sharded = static_cast<double>(replay_step(all.tape(8), play).allocated);
  const double ends = static_cast<double>(all.embedding.weight_bytes + all.head.weight_bytes);
  const auto layer = static_cast<double>(all.layer.weight_bytes);
  // At the end: both ends, their gradients, and those in fp32 on their way.
  EXPECT_GE(sharded, plain);
  EXPECT_NEAR(sharded, (1 + 1 + 2) * ends + 3 * layer, 4 * layer);
  // Layers alone: the one that runs and the one after it, buffers, gradients; without reshard all of them.
  ChipTape layers = all.tape(32);
  layers.embedding = layers.head = nullptr;
  EXPECT_LT(static_cast<double>(replay_step(layers, play).allocated),
            14 * layer);  // activations: two
  play.reshard = false;
  EXPECT_GT(static_cast<double>(replay_step(layers, play).allocated), 32 * layer);
}

TEST(StepReplay, IsDeterministicAndReservesWhatItAllocates) {
  Execution run;
  run.sequence = 4096;
  const Played all = played("mixtral-8x7b", run, 6);
  for (const bool expandable : {false, true}) {
    StepPlay play;
    play.in_flight = 2, play.expandable = expandable;
    const StepPeak first = replay_step(all.tape(3), play), again = replay_step(all.tape(3), play);
    EXPECT_EQ(first.reserved, again.reserved);
    EXPECT_EQ(first.allocated, again.allocated);
    EXPECT_GE(first.reserved, first.allocated);
  }
}

}  // namespace
}  // namespace flopcast::analytic
