// Which rank each trace of a run is, and whether they are all there.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "flopcast/trace.h"

namespace flopcast::trace {

/// Of a file that does not say its rank: what its name says, if that is one.
void take_rank_from_name(TraceFacts& trace);
/// Traces without rank last.
bool by_rank(const TraceFacts& a, const TraceFacts& b);
/// Two files that claim one rank are both kept: later ones get the smallest number nobody has.
void make_ranks_unique(const std::vector<TraceFacts*>& traces, Anomalies& anomalies);
/// Counts ranks that are missing and what files say differently.
void check_world(const std::vector<TraceFacts*>& traces, Anomalies& anomalies);

/// The traces of all files by rank, each with the file that it is of.
template <typename File>
auto traces_by_rank(std::vector<File>& files) {
  using TraceOf = typename decltype(File::traces)::value_type;
  struct Part {
    TraceOf trace;
    File* file;
  };
  std::vector<Part> parts;
  for (File& file : files) {
    for (TraceOf& trace : file.traces) {
      if (!trace.rank) take_rank_from_name(trace);
      parts.push_back({std::move(trace), &file});
    }
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Part& a, const Part& b) { return by_rank(a.trace, b.trace); });
  return parts;
}

/// What the traces of a TraceSet or a RunSummary say besides rows.
template <typename Set>
std::vector<TraceFacts*> facts_of(Set& set) {
  std::vector<TraceFacts*> all;
  for (TraceFacts& trace : set.traces) all.push_back(&trace);
  return all;
}

}  // namespace flopcast::trace
