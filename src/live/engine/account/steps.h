// Steps of a training loop, found in what a GPU was given to do.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "flopcast/live.h"

namespace flopcast::live {

/// The part of a sequence that repeats, and how long its period is. The longest such part of all periods; of equal
/// ones the shortest period. Empty (period 0) where nothing comes twice in a row.
struct Repetition {
  std::size_t begin = 0, end = 0;  ///< the part, first to one past its last
  std::size_t period = 0;
};
Repetition find_repetition(const std::vector<std::uint32_t>& sequence);

/// Kernels and copies of one stream as they start.
class StepFinder {
 public:
  void work(std::uint32_t name, Time start, Time end);
  std::size_t size() const { return names_.size(); }
  /// What repeats, if that is most of the work; whole periods only.
  std::vector<LiveStep> steps() const;

 private:
  std::vector<std::uint32_t> names_;
  std::vector<Time> starts_;
  Time end_;  ///< of the last kernel
};

/// Ranges that a script and its framework name.
class StepMarks {
 public:
  /// Of a step: "ProfilerStep#3", "Optimizer.step#AdamW.step". Others are none.
  void mark(std::string_view name, bool begins, Time at);
  /// What the script itself calls a step.
  const std::vector<LiveStep>& steps() const { return marked_; }
  /// From one end of an optimizer to the next: host time, for where nothing better is known. The host runs ahead of the
  /// GPU, so that between the ends of few steps lies less than a step: none then.
  std::vector<LiveStep> by_optimizer() const;

 private:
  std::vector<LiveStep> marked_;
  std::vector<Time> optimizer_ends_;
};

}  // namespace flopcast::live
