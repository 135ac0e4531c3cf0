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

/// Kernels and copies of one stream as they start, and the marks that its script set.
class StepFinder {
 public:
  void work(std::uint32_t name, Time start, Time end);
  std::size_t size() const { return names_.size(); }
  /// A range of the script's that is called a step: "ProfilerStep#3", "Optimizer.step#AdamW.step".
  void mark(std::string_view name, bool begins, Time at);
  /// By marks of steps where there are any, else by what repeats if that is most of the work (whole periods only),
  /// else by the ends of an optimizer.
  std::vector<LiveStep> steps() const;

 private:
  std::vector<std::uint32_t> names_;
  std::vector<Time> starts_;
  Time end_;  ///< of the last kernel
  std::vector<LiveStep> marked_;
  std::vector<Time> optimizer_ends_;
};

}  // namespace flopcast::live
