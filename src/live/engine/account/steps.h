// Steps of a training loop, found in what a GPU was given to do.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "flopcast/engine/growing.h"
#include "flopcast/live.h"

namespace flopcast::live {

/// The part of a sequence that repeats, and how long its period is. The longest such part of all periods; of equal
/// ones the shortest period. Empty (period 0) where nothing comes twice in a row.
struct Repetition {
  std::size_t begin = 0, end = 0;  ///< the part, first to one past its last
  std::size_t period = 0;
};
Repetition find_repetition(const std::vector<std::uint32_t>& sequence);

/// Calls of the host between which an optimizer does a step. Calls of a process are numbered in their order.
struct OptimizerStep {
  GrowingTask begin = kNoGrowingTask, end = kNoGrowingTask;
};

/// Kernels and copies of one stream as they start.
class StepFinder {
 public:
  /// @param kind the same for names that differ in sizes alone
  void work(std::uint32_t name, std::uint32_t kind, Time start, Time end, GrowingTask launcher);
  std::size_t size() const { return names_.size(); }
  /// What repeats, if that is most of the work; whole periods only. Sizes may grow from one to the next (a token more to attend
  /// to), if nothing repeats with its sizes.
  std::vector<LiveStep> by_repetition() const;
  /// Steps that end with what an optimizer launched. Other work may lie before a step (evaluation, what makes the model): it is
  /// left out where the step's own work, as another step has it, is found behind it. So is the first step, unless its
  /// beginning is found so.
  std::vector<LiveStep> by_optimizer(const std::vector<OptimizerStep>& optimizers) const;
  /// From what was launched after each of these calls to what was launched before the next.
  std::vector<LiveStep> between(const std::vector<GrowingTask>& calls) const;

 private:
  struct Part;
  std::size_t first_after(GrowingTask call, std::size_t from) const;
  std::vector<Part> parts(const std::vector<OptimizerStep>& optimizers) const;
  void find_begins(std::vector<Part>& parts) const;
  bool ends_like(const Part& whole, const Part& end) const;

  std::vector<LiveStep> periods_of(const std::vector<std::uint32_t>& sequence) const;

  std::vector<std::uint32_t> names_, kinds_;
  std::vector<Time> starts_, ends_;
  std::vector<GrowingTask> launchers_;
};

/// Ranges that a script and its framework name.
class StepMarks {
 public:
  /// Of a step: "ProfilerStep#3", "Optimizer.step#AdamW.step". Others are none.
  /// @param call the task
  /// @param thread processor that it is on
  void mark(std::string_view name, bool begins, GrowingTask call, std::uint32_t thread);
  /// This thread puts work on a GPU.
  void launch(std::uint32_t thread);
  /// Optimizers that step one after the other, with no backward pass between them, are of one step.
  std::vector<OptimizerStep> optimizers() const;
  /// Where the script says that its first step begins, and where each ends.
  const std::vector<GrowingTask>& marked() const { return marked_; }

 private:
  struct Optimizer {
    OptimizerStep step;
    bool after_backward = false;  ///< another thread has launched something since the one before
  };
  std::vector<GrowingTask> marked_;
  std::vector<Optimizer> optimizers_;
  std::vector<std::uint32_t> launched_;  ///< threads that have, since the last optimizer
  unsigned depth_ = 0;                   ///< of optimizers within optimizers
};

}  // namespace flopcast::live
