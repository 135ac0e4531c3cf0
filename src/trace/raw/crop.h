// A part of a trace: what lies in an interval, and what belongs to it.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_set>

#include "flopcast/trace.h"

namespace flopcast::trace {

/// What is kept of one rank. Times on the rank's own clock.
struct Keep {
  Time from = Time::min(), to = Time::max();
  std::int64_t origin_ns = 0;
  std::unordered_set<std::int64_t> correlations;  // launches and GPU rows that go together

  bool overlaps(Time start, Time end) const { return start < to && end > from; }
  /// A row without duration belongs to the interval that begins with it.
  bool holds(Time start, Time end) const {
    return overlaps(start, end) || (start == end && start >= from && start < to);
  }
};
/// A launch in the interval keeps its GPU rows, and a GPU row in the interval keeps its launch.
void collect_correlations(const Trace& trace, Keep& keep);

/// A step of a trace: "ProfilerStep#12" or "12".
Result<Step> find_step(const TraceSet& set, const Trace& trace, const std::string& wanted);
/// @param known the steps there are, separated by commas.
Diagnostic no_such_step(const std::string& path, const std::string& wanted,
                        const std::string& known);

/// The rows to keep as a trace whose time begins with the first of them.
Trace crop(const Trace& trace, const Keep& keep);

}  // namespace flopcast::trace
