#include <algorithm>

#include "flopcast/engine.h"
#include "flopcast/replay/assembly.h"

namespace flopcast::replaying {
namespace {

/// The end of a piece or GPU task.
struct PlaceEnd {
  Time end;
  Hold::Place place;
};

std::vector<PlaceEnd> ends_of(const RankModel& rank) {
  std::vector<PlaceEnd> ends;
  for (std::uint32_t t = 0; t < rank.threads.size(); ++t) {
    const auto& pieces = rank.threads[t].pieces;
    for (std::uint32_t p = 0; p < pieces.size(); ++p) ends.push_back({pieces[p].end, {t, p}});
  }
  // The host gives the work: of a rank whose host was recorded, a GPU task follows the host.
  if (ends.empty()) {
    for (std::uint32_t t = 0; t < rank.gpu.size(); ++t)
      ends.push_back({rank.gpu[t].end, {kNoIndex, t}});
  }
  std::stable_sort(ends.begin(), ends.end(),
                   [](const PlaceEnd& a, const PlaceEnd& b) { return a.end < b.end; });
  return ends;
}

/// What nothing in the trace holds.
std::vector<Hold::Place> roots_of(const Recording& recording, std::uint32_t r) {
  const RankModel& rank = recording.ranks[r];
  std::vector<bool> released(rank.threads.size(), false);
  for (const ThreadEdge& e : recording.thread_edges[r]) {
    if (e.hand_over && e.to_piece == 0) released[e.to_thread] = true;
  }
  std::vector<Hold::Place> roots;
  for (std::uint32_t t = 0; t < rank.threads.size(); ++t) {
    if (!released[t] && !rank.threads[t].pieces.empty()) roots.push_back({t, 0});
  }
  const std::vector<Binding> bindings = find_bindings(recording, r);
  for (std::uint32_t t = 0; t < bindings.size(); ++t) {
    if (!bindings[t].any) roots.push_back({kNoIndex, t});
  }
  return roots;
}

/// @param margin a source ended at least so much before.
std::vector<Hold> holds_of(const Recording& recording, std::uint32_t r, Time margin) {
  const RankModel& rank = recording.ranks[r];
  const std::vector<Hold::Place> roots = roots_of(recording, r);
  std::vector<Hold> holds;
  if (roots.empty()) return holds;
  const std::vector<PlaceEnd> ends = ends_of(rank);
  for (const Hold::Place& root : roots) {
    const Time start = root.on_gpu() ? rank.gpu[root.index].start
                                     : rank.threads[root.thread].pieces[root.index].start;
    const auto after = std::upper_bound(ends.begin(), ends.end(), start - margin,
                                        [](Time at, const PlaceEnd& e) { return at < e.end; });
    if (after == ends.begin()) continue;
    const PlaceEnd& source = *std::prev(after);
    holds.push_back({root, source.place, start - source.end});
  }
  return holds;
}

bool runs(const Recording& recording) {
  std::vector<std::vector<Binding>> bindings;
  for (std::uint32_t r = 0; r < recording.ranks.size(); ++r)
    bindings.push_back(find_bindings(recording, r));
  const Lags lags = measure_lags(recording, bindings, LagMode::kRecorded);
  const Assembly assembly =
      assemble(recording, recorded_durations(recording), lags, bindings, Baseline::kNone);
  return simulate(assembly.graph, assembly.release).ok();
}

}  // namespace

void find_holds(Recording& recording) {
  // Clocks that are a little off, and syncs whose source ends a little after them, may turn what
  // ended just before into something that waits for what it holds. Further back there is no such.
  for (const Time margin : {Time{}, Time::from_us(250), Time::from_us(10000)}) {
    recording.holds.clear();
    bool any = false;
    for (std::uint32_t r = 0; r < recording.ranks.size(); ++r) {
      recording.holds.push_back(holds_of(recording, r, margin));
      any = any || !recording.holds.back().empty();
    }
    if (!any || runs(recording)) return;
  }
  recording.holds.clear();
}

}  // namespace flopcast::replaying
