#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "flopcast/trace.h"

namespace flopcast {
namespace {

// Rows that show the program at work, as opposed to spans and marks of the profiler itself.
bool is_activity(Category category) {
  return category != Category::kOther && category != Category::kOverhead &&
         category != Category::kGpuUserAnnotation;
}

Step whole_window(const Events& events) {
  Step step{"whole window", kNoDetail, Time::max(), Time::min()};
  for (int pass = 0; pass < 2 && step.start > step.end; ++pass) {
    for (std::size_t row = 0; row < events.size(); ++row) {
      if (pass == 0 && !is_activity(events.category[row])) continue;
      step.start = std::min(step.start, events.start[row]);
      step.end = std::max(step.end, events.end(row));
    }
  }
  return step;
}

}  // namespace

std::vector<Step> find_steps(const TraceSet& set, const Trace& trace) {
  const Events& events = trace.events;
  std::vector<Step> steps;
  std::unordered_map<std::uint32_t, Time> ends;  // by name: of the last with that name
  for (std::size_t row = 0; row < events.size(); ++row) {
    // Its mirror on the GPU (gpu_user_annotation) is no step.
    if (events.category[row] != Category::kUserAnnotation) continue;
    const std::string_view name = set.strings[events.name[row]];
    if (!name.starts_with("ProfilerStep#")) continue;
    // The same step again, as seen by another thread.
    const auto [known, fresh] = ends.try_emplace(events.name[row], events.end(row));
    if (!fresh && events.start[row] < known->second) continue;
    known->second = std::max(known->second, events.end(row));
    steps.push_back(
        {std::string(name), static_cast<std::uint32_t>(row), events.start[row], events.end(row)});
  }
  if (steps.empty() && events.size() > 0) steps.push_back(whole_window(events));
  return steps;
}

}  // namespace flopcast
