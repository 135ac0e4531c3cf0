#include "trace/steps.h"

#include <algorithm>
#include <string_view>

namespace flopcast {

using namespace trace;  // the room's own names

namespace {

Step whole_window(const Events& events) {
  Step step{kWholeWindow, kNoDetail, Time::max(), Time::min()};
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

StepRange step_range(std::string_view text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::string first(text.substr(0, colon));
  return {first, colon == text.size() ? first : std::string(text.substr(colon + 1))};
}

std::vector<Step> find_steps(const TraceSet& set, const Trace& trace) {
  const Events& events = trace.events;
  std::vector<Step> steps;
  StepFilter<Time> filter;
  for (std::size_t row = 0; row < events.size(); ++row) {
    const std::string_view name = set.strings[events.name[row]];
    if (!marks_step(events.category[row], name)) continue;
    if (!filter.is_new(name, events.start[row], events.end(row))) continue;
    steps.push_back(
        {std::string(name), static_cast<std::uint32_t>(row), events.start[row], events.end(row)});
  }
  if (steps.empty() && events.size() > 0) steps.push_back(whole_window(events));
  return steps;
}

}  // namespace flopcast
