#include "live/engine/account/steps.h"

#include <gtest/gtest.h>

#include "live/engine/account/account.h"

namespace flopcast::live {
namespace {

Time at_us(std::int64_t n) { return Time::from_us(n); }

TEST(LiveSteps, ALoopInALoopIsOneStep) {
  // Three layers of (1 2 3), a loss, three layers back, an optimiser; a beginning and an end besides.
  std::vector<std::uint32_t> sequence = {40, 41, 42};
  const std::size_t begin = sequence.size();
  const std::vector<std::uint32_t> step = {1, 2, 3, 1, 2, 3, 1, 2, 3, 9, 5, 4, 5, 4, 5, 4, 8, 8};
  for (int i = 0; i < 5; ++i) sequence.insert(sequence.end(), step.begin(), step.end());
  sequence.push_back(50);
  const Repetition found = find_repetition(sequence);
  EXPECT_EQ(found.period, step.size());
  EXPECT_EQ(found.begin, begin);
  EXPECT_EQ(found.end, begin + 5 * step.size());
}

TEST(LiveSteps, WhatNeverRepeatsHasNone) {
  EXPECT_EQ(find_repetition({}).period, 0u);
  EXPECT_EQ(find_repetition({1}).period, 0u);
  EXPECT_EQ(find_repetition({1, 2, 3, 4, 5, 6, 7, 8, 9}).period, 0u);
}

TEST(LiveSteps, WhatRepeatsInALittleOfTheWorkIsNoStep) {
  StepFinder finder;  // two steps that differ, each with three layers
  for (const std::uint32_t what :
       {1, 2, 1, 2, 1, 2, 30, 31, 32, 33, 1, 2, 1, 2, 1, 2, 30, 41, 42, 43, 44})
    finder.work(what, what, at_us(1), at_us(2), 0);
  EXPECT_TRUE(finder.by_repetition().empty());
}

/// A script on one GPU: its host is one call after the other, far ahead of a stream that works 10 us for each.
class StepScript {
 public:
  /// The forward pass, and what the program's thread does else.
  void does(const std::vector<std::uint32_t>& kernels) { launch(kernels, 0); }
  /// In autograd's thread.
  void backward(const std::vector<std::uint32_t>& kernels) { launch(kernels, 1); }
  void optimizer(const std::vector<std::uint32_t>& kernels) {
    mark("Optimizer.step#SGD.step", true);
    does(kernels);
    mark("Optimizer.step#SGD.step", false);
  }
  void mark(const char* name, bool begins) {
    ToldTask one = host(TaskKind::kHostCall, 0);
    one.note.act = Act::kMark;
    one.note.detail = begins ? 1 : 0;
    add(one, kThread, name);
  }
  /// Lengths of the steps that are found, in kernels.
  std::vector<std::int64_t> steps() const {
    std::vector<std::int64_t> kernels;
    for (const LiveStep& step : rank().steps)
      kernels.push_back((step.end - step.start).ps / at_us(10).ps);
    return kernels;
  }
  LiveRank rank() const { return account_.ranks().front(); }

 private:
  static constexpr Processor kThread{Processor::Kind::kThread, 0, 0, 0, 0};
  static constexpr Processor kStream{Processor::Kind::kStream, 0, 7, 0, 0};

  ToldTask host(TaskKind kind, std::uint32_t thread) {
    ToldTask one;
    one.task.task = task_++;
    one.task.kind = kind;
    one.task.processor = thread;
    one.task.start = one.task.end = Time{static_cast<std::int64_t>(task_)};
    return one;
  }
  void launch(const std::vector<std::uint32_t>& kernels, std::uint32_t thread) {
    for (const std::uint32_t kernel : kernels) {
      const ToldTask call = host(TaskKind::kLaunch, thread);
      add(call, kThread, "launch");
      ToldTask one;
      one.task.task = task_++;
      one.task.kind = TaskKind::kCompute;
      one.task.name = kernel;
      one.task.start = std::exchange(end_, end_ + at_us(10));
      one.task.end = end_;
      one.note.launcher = call.task.task;
      add(one, kStream, "memory " + std::to_string(kernel) + " x" + std::to_string(kernel % 100));
    }
  }
  void add(const ToldTask& one, const Processor& on, const std::string& name) {
    account_.add(one, on, name);
  }

  Account account_;
  GrowingTask task_ = 0;
  Time end_ = at_us(1);
};

void step_of(StepScript& script, int batches = 1) {
  for (int i = 0; i < batches; ++i) {
    script.does({1, 2, 3, 4});
    script.backward({5, 6, 7, 8});
  }
  script.optimizer({9, 9});
}

TEST(LiveSteps, EndWithAnOptimizersWhateverTheHostIsAhead) {
  StepScript script;
  script.does({40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51});  // the model is made
  for (int i = 0; i < 4; ++i) step_of(script);
  EXPECT_EQ(script.rank().steps_by, LiveStepsBy::kOptimizer);
  EXPECT_EQ(script.steps(), (std::vector<std::int64_t>{10, 10, 10, 10}));
}

TEST(LiveSteps, GradientsThatAreGatheredAreOneStep) {
  StepScript script;
  for (int i = 0; i < 3; ++i) step_of(script, 4);
  EXPECT_EQ(script.steps(), (std::vector<std::int64_t>{34, 34, 34}));
}

TEST(LiveSteps, TheFirstMakesTheOptimizersState) {
  StepScript script;
  script.does({40, 41, 42});
  script.does({1, 2, 3, 4});
  script.backward({5, 6, 7, 8});
  script.optimizer({30, 31, 32, 33, 34, 9, 9});
  for (int i = 0; i < 2; ++i) step_of(script);
  EXPECT_EQ(script.steps(), (std::vector<std::int64_t>{15, 10, 10}));
}

TEST(LiveSteps, EvaluationIsNone) {
  StepScript script;
  for (int i = 0; i < 6; ++i) {
    step_of(script);
    if (i % 2 == 1) {
      for (int batch = 0; batch < 5; ++batch) script.does({1, 2, 3, 4, 20});
    }
  }
  EXPECT_EQ(script.steps(), (std::vector<std::int64_t>{10, 10, 10, 10, 10, 10}));
}

TEST(LiveSteps, AStepThatAScalerLeavesOutIsNone) {
  StepScript script;
  step_of(script);
  script.does({1, 2, 3, 4});
  script.backward({5, 6, 7, 8});  // infinite: no optimizer
  for (int i = 0; i < 3; ++i) step_of(script);
  EXPECT_EQ(script.steps(), (std::vector<std::int64_t>{10, 10, 10, 10}));
}

TEST(LiveSteps, TwoNetworksThatTrainEachOtherHaveOneStep) {
  StepScript script;
  for (int i = 0; i < 5; ++i) {
    script.does({1, 2, 11, 12});
    script.backward({5, 6});
    script.optimizer({9});
    script.does({1, 2, 11, 12, 13});
    script.backward({15, 16, 17});
    script.optimizer({19});
  }
  EXPECT_EQ(script.steps(), (std::vector<std::int64_t>{16, 16, 16, 16, 16}));
}

TEST(LiveSteps, OptimizersOneAfterTheOtherAreOfOneStep) {
  StepScript script;
  for (int i = 0; i < 3; ++i) {
    step_of(script);
    script.does({21});  // gradients are unscaled
    script.optimizer({9, 9});
  }
  EXPECT_EQ(script.steps(), (std::vector<std::int64_t>{13, 13, 13}));
}

TEST(LiveSteps, AnOptimizerWithinAnotherCountsOnce) {
  StepScript script;
  for (int i = 0; i < 3; ++i) {
    script.does({1, 2});
    script.backward({3});
    script.mark("Optimizer.step#Wrapper.step", true);
    script.optimizer({9});
    script.mark("Optimizer.step#Wrapper.step", false);
  }
  EXPECT_EQ(script.steps(), (std::vector<std::int64_t>{4, 4, 4}));
}

TEST(LiveSteps, AnOptimizersOnlyStepHasNoBeginning) {
  StepScript script;
  script.does({1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2});  // layers repeat
  script.backward({5});
  script.optimizer({9});
  EXPECT_TRUE(script.steps().empty());
  EXPECT_EQ(script.rank().steps_by, LiveStepsBy::kOptimizer);
}

TEST(LiveSteps, WithoutAnOptimizerTheScriptsMarksTell) {
  StepScript script;
  script.does({40, 41, 42});
  for (std::uint32_t i = 0; i < 3; ++i) {
    script.mark("ProfilerStep#1", true);
    script.mark("forward", true);
    script.does({1, 2, i, 4});
    script.mark("forward", false);
    script.mark("ProfilerStep#1", false);
  }
  script.does({40});
  EXPECT_EQ(script.rank().steps_by, LiveStepsBy::kMarks);
  EXPECT_EQ(script.steps(), (std::vector<std::int64_t>{4, 4, 4}));
}

TEST(LiveSteps, WithoutMarksWhatRepeatsTells) {
  StepScript script;
  script.does({40, 41});
  for (int i = 0; i < 4; ++i) script.does({1, 2, 3});
  EXPECT_EQ(script.rank().steps_by, LiveStepsBy::kRepetition);
  EXPECT_EQ(script.steps(), (std::vector<std::int64_t>{3, 3, 3, 3}));
}

TEST(LiveSteps, SizesMayGrowFromStepToStep) {
  StepScript script;
  for (std::uint32_t i = 1; i < 6; ++i) script.does({1 + 100 * i, 2 + 100 * i, 3, 4 + 100 * i});
  EXPECT_EQ(script.rank().steps_by, LiveStepsBy::kRepetition);
  EXPECT_EQ(script.steps(), (std::vector<std::int64_t>{4, 4, 4, 4, 4}));
}

}  // namespace
}  // namespace flopcast::live
