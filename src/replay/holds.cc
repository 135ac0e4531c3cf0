#include <algorithm>
#include <optional>

#include "flopcast/replay/recording.h"

namespace flopcast::replaying {
namespace {

/// The end of a piece or GPU task.
struct PlaceEnd {
  Time end;
  Hold::Place place;
};

/// The ends of what roots of one rank may follow.
class Ends {
 public:
  explicit Ends(const RankModel& rank) : rank_(rank) {
    const auto has_pieces = [](const HostThread& thread) { return !thread.pieces.empty(); };
    // The host gives the work: of a rank whose host was recorded, a GPU task follows the host.
    if (std::any_of(rank.threads.begin(), rank.threads.end(), has_pieces)) return;
    for (std::uint32_t t = 0; t < rank.gpu.size(); ++t)
      gpu_.push_back({rank.gpu[t].end, {kNoIndex, t}});
    std::stable_sort(gpu_.begin(), gpu_.end(),
                     [](const PlaceEnd& a, const PlaceEnd& b) { return a.end < b.end; });
  }

  /// The last until `most`; of several at once the last of the last thread.
  std::optional<PlaceEnd> last(Time most) const {
    const auto by_end = [](Time at, const auto& e) { return at < e.end; };
    const auto after = std::upper_bound(gpu_.begin(), gpu_.end(), most, by_end);
    if (after != gpu_.begin()) return *std::prev(after);
    std::optional<PlaceEnd> last;
    for (std::uint32_t t = 0; t < rank_.threads.size(); ++t) {
      const std::vector<Piece>& pieces = rank_.threads[t].pieces;  // in order of their ends
      const auto next = std::upper_bound(pieces.begin(), pieces.end(), most, by_end);
      if (next == pieces.begin() || (last && std::prev(next)->end < last->end)) continue;
      const auto p = static_cast<std::uint32_t>(std::prev(next) - pieces.begin());
      last = {pieces[p].end, {t, p}};
    }
    return last;
  }

 private:
  const RankModel& rank_;
  std::vector<PlaceEnd> gpu_;  // of a rank without host rows, sorted
};

/// What nothing in the trace holds.
std::vector<Hold::Place> roots_of(const Recording& recording, std::uint32_t r,
                                  const std::vector<Binding>& bindings) {
  const RankModel& rank = recording.ranks[r];
  std::vector<bool> released(rank.threads.size(), false);
  for (const ThreadEdge& e : recording.thread_edges[r]) {
    if (e.hand_over && e.to_piece == 0) released[e.to_thread] = true;
  }
  std::vector<Hold::Place> roots;
  for (std::uint32_t t = 0; t < rank.threads.size(); ++t) {
    if (!released[t] && !rank.threads[t].pieces.empty()) roots.push_back({t, 0});
  }
  for (std::uint32_t t = 0; t < bindings.size(); ++t) {
    if (!bindings[t].any) roots.push_back({kNoIndex, t});
  }
  return roots;
}

/// @param margin a source ended at least so much before.
std::vector<Hold> holds_of(const Recording& recording, std::uint32_t r,
                           const std::vector<Binding>& bindings, Time margin) {
  const RankModel& rank = recording.ranks[r];
  const std::vector<Hold::Place> roots = roots_of(recording, r, bindings);
  std::vector<Hold> holds;
  if (roots.empty()) return holds;
  const Ends ends(rank);
  for (const Hold::Place& root : roots) {
    const Time start = root.on_gpu() ? rank.gpu[root.index].start
                                     : rank.threads[root.thread].pieces[root.index].start;
    const std::optional<PlaceEnd> source = ends.last(start - margin);
    if (source) holds.push_back({root, source->place, start - source->end});
  }
  return holds;
}

}  // namespace

void find_holds(Recording& recording, const std::vector<std::vector<Binding>>& bindings,
                const std::function<bool()>& runs) {
  // Clocks that are a little off, and syncs whose source ends a little after them, may turn what
  // ended just before into something that waits for what it holds. Further back there is no such.
  for (const Time margin : {Time{}, Time::from_us(250), Time::from_us(10000)}) {
    recording.holds.clear();
    bool any = false;
    for (std::uint32_t r = 0; r < recording.ranks.size(); ++r) {
      recording.holds.push_back(holds_of(recording, r, bindings[r], margin));
      any = any || !recording.holds.back().empty();
    }
    if (runs() || !any) return;
  }
  recording.holds.clear();
  runs();
}

}  // namespace flopcast::replaying
