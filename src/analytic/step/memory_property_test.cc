// Memory grows with what is kept, and falls with what is shared out; where it does not, the estimate says why.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "flopcast/analytic.h"

namespace flopcast::analytic {
namespace {

struct Asked {
  std::string words;
  const TrainingModel* model = nullptr;
  Plan plan;
};

const TrainingModel& training(const std::string& model, const std::string& software) {
  static std::map<std::pair<std::string, std::string>, TrainingModel> made;
  const std::pair key(model, software);
  if (const auto known = made.find(key); known != made.end()) return known->second;
  TrainingOptions options;
  options.software = software;
  auto training = TrainingModel::make(
      *load_model(model), *Catalog::builtin().cluster("2 x dgx-h100"), Catalog::builtin(), options);
  return made.emplace(key, std::move(*training)).first->second;
}

/// Plans of sixteen chips: what is sharded, recomputed and cut, under each of two frameworks.
std::vector<Asked> plans() {
  std::vector<Asked> all;
  for (const char* model : {"llama-3-8b", "mixtral-8x7b"}) {
    for (const char* software : {"megatron", "fsdp"}) {
      for (const Zero zero : {Zero::kNone, Zero::kOptimizer, Zero::kGradients, Zero::kWeights}) {
        for (const Recompute recompute :
             {Recompute::kNone, Recompute::kSelective, Recompute::kFull}) {
          for (const unsigned pp : {1U, 2U}) {
            Plan plan;
            plan.zero = zero, plan.recompute = recompute;
            plan.pp = pp, plan.tp = 2, plan.dp = 8 / pp, plan.sequence_parallel = true;
            plan.ep = std::string(model) == "mixtral-8x7b" ? 4 : 1;
            plan.global_batch = 64, plan.sequence = 1024;
            all.push_back({fmt::format("{} {} zero {} recompute {} pp {}", model, software,
                                       static_cast<int>(zero), static_cast<int>(recompute), pp),
                           &training(model, software), plan});
          }
        }
      }
    }
  }
  return all;
}

TrainingEstimate estimate(const Asked& asked) {
  const auto made = asked.model->estimate(asked.plan);
  EXPECT_TRUE(made) << asked.words << ": " << made.error().text();
  return *made;
}

bool is_told(const TrainingEstimate& estimate, std::string_view words) {
  for (const std::string& note : estimate.memory_notes) {
    if (note.find(words) != std::string::npos) return true;
  }
  return false;
}

/// Without holes of the allocator it grows; with them it may fall, by no more than their fall, which is told.
void expect_growth(const TrainingEstimate& less, const TrainingEstimate& more,
                   const std::string& words) {
  const StageMemory &a = less.memory(), &b = more.memory();
  const Bytes kept = a.total() - a.allocator, kept_more = b.total() - b.allocator;
  EXPECT_GE(kept_more.value, kept.value * (1 - 1e-9)) << words;
  if (b.total() < a.total()) {
    EXPECT_TRUE(is_told(less, "reserved and empty")) << words << ": " << a.total() / b.total();
  }
}

TEST(MemoryProperty, GrowsWithTheSequence) {
  for (Asked asked : plans()) {
    TrainingEstimate before = estimate(asked);
    for (const std::int64_t sequence : {2048, 4096, 8192}) {
      asked.plan.sequence = sequence;
      TrainingEstimate after = estimate(asked);
      expect_growth(before, after, fmt::format("{} sequence {}", asked.words, sequence));
      before = std::move(after);
    }
  }
}

TEST(MemoryProperty, GrowsWithTheMicroBatch) {
  for (Asked asked : plans()) {
    TrainingEstimate before = estimate(asked);
    for (const std::int64_t micro_batch : {2, 4, 8}) {
      asked.plan.micro_batch = micro_batch;
      TrainingEstimate after = estimate(asked);
      expect_growth(before, after, fmt::format("{} micro-batch {}", asked.words, micro_batch));
      before = std::move(after);
    }
  }
}

TEST(MemoryProperty, GrowsWithTheLayers) {
  const Cluster cluster = *Catalog::builtin().cluster("2 x dgx-h100");
  for (const char* name : {"llama-3-8b", "mixtral-8x7b"}) {
    for (const Zero zero : {Zero::kOptimizer, Zero::kWeights}) {
      std::optional<TrainingEstimate> before;
      for (const std::size_t layers : {8, 16, 24, 32}) {
        Model model = *load_model(name);
        model.order.resize(layers);
        Plan plan;
        plan.tp = 2, plan.dp = 8, plan.zero = zero, plan.global_batch = 64, plan.sequence = 1024;
        const auto made = TrainingModel::make(model, cluster, Catalog::builtin());
        ASSERT_TRUE(made) << made.error().text();
        TrainingEstimate after = estimate({name, &*made, plan});
        if (before) {
          EXPECT_GT(after.memory().total(), before->memory().total()) << name << layers;
        }
        before = std::move(after);
      }
    }
  }
}

// Of what is kept all step, less with each stage. What ZeRO 3 gathers again may be more than it spares: then the estimate says
// how much, and what ZeRO 2 would keep.
TEST(MemoryProperty, FallsWithZeroOrSaysWhy) {
  std::size_t told = 0;
  for (Asked asked : plans()) {
    if (asked.plan.zero != Zero::kNone) continue;
    TrainingEstimate before = estimate(asked);
    for (const Zero zero : {Zero::kOptimizer, Zero::kGradients, Zero::kWeights}) {
      asked.plan.zero = zero;
      const std::string words = fmt::format("{} to zero {}", asked.words, static_cast<int>(zero));
      TrainingEstimate after = estimate(asked);
      const StageMemory &a = before.memory(), &b = after.memory();
      const auto state = [](const StageMemory& m) { return m.weights + m.gradients + m.optimizer; };
      EXPECT_LT(state(b).value, state(a).value) << words;
      if (b.total() > a.total()) {
        EXPECT_EQ(zero, Zero::kWeights) << words;
        EXPECT_TRUE(is_told(after, "gathers weights whole")) << words;
        EXPECT_TRUE(is_told(after, "less")) << words;
        ++told;
      }
      before = std::move(after);
    }
  }
  std::printf("%zu told\n", told);
}

TEST(MemoryProperty, NotesHaveSizes) {
  Asked asked{"fsdp", &training("llama-3-8b", "fsdp"), {}};
  asked.plan.dp = 16, asked.plan.zero = Zero::kWeights;
  asked.plan.global_batch = 64, asked.plan.sequence = 4096;
  const TrainingEstimate made = estimate(asked);
  ASSERT_EQ(made.memory_notes.size(), 2u);
  EXPECT_NE(made.memory_notes[0].find(" GB ("), std::string::npos) << made.memory_notes[0];
  EXPECT_NE(made.memory_notes[1].find("ZeRO 2 would keep"), std::string::npos)
      << made.memory_notes[1];
}

}  // namespace
}  // namespace flopcast::analytic
