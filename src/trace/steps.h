// What makes a row a step, for whoever holds rows and for whoever sees them pass.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "flopcast/trace.h"

namespace flopcast::trace {

inline constexpr const char* kWholeWindow =
    "whole window";  ///< the step of a trace that marks none

/// Rows that show the program at work, as opposed to spans and marks of the profiler itself.
constexpr bool is_activity(Category category) {
  return category != Category::kOther && category != Category::kOverhead &&
         category != Category::kGpuUserAnnotation;
}

/// Whether a row marks a step. Its mirror on the GPU (gpu_user_annotation) does not.
inline bool marks_step(Category category, std::string_view name) {
  return category == Category::kUserAnnotation && name.starts_with("ProfilerStep#");
}

/// Tells marks, in time order, from the same steps as seen by another thread.
template <typename Instant>
class StepFilter {
 public:
  bool is_new(std::string_view name, Instant start, Instant end) {
    const auto [known, fresh] = ends_.try_emplace(std::string(name), end);
    if (!fresh && start < known->second) return false;
    known->second = std::max(known->second, end);
    return true;
  }

 private:
  std::unordered_map<std::string, Instant> ends_;  // by name: of the last with that name
};

}  // namespace flopcast::trace
