#include <algorithm>

#include "replay/host_edges.h"

namespace flopcast {
namespace {

/// The last piece of a thread that ended by `now`, if the thread then had nothing to do until after
/// `now` for a significant time; kNone otherwise.
std::uint32_t idle_since(const HostThread& thread, Time now, Time slack) {
  const auto& pieces = thread.pieces;
  auto next = std::upper_bound(pieces.begin(), pieces.end(), now + slack,
                               [](Time t, const Piece& p) { return t < p.end; });
  if (next == pieces.begin()) return kNone;
  const auto last = std::prev(next);
  if (next != pieces.end() && (next->start <= now || next->start - last->end < kSignificantGap))
    return kNone;
  return static_cast<std::uint32_t>(last - pieces.begin());
}

}  // namespace

std::vector<ThreadEdge> find_thread_edges(const TraceSet& set, const RankModel& rank) {
  (void)set;
  std::vector<ThreadEdge> edges;
  const Time slack = order_slack(*rank.trace);
  for (std::uint32_t to = 0; to < rank.threads.size(); ++to) {
    const auto& pieces = rank.threads[to].pieces;
    for (std::uint32_t p = 0; p < pieces.size(); ++p) {
      const bool gap = p == 0 || pieces[p].start - pieces[p - 1].end > kSignificantGap;
      if (!gap) continue;
      std::uint32_t best = kNone;
      std::uint32_t best_piece = 0;
      for (std::uint32_t from = 0; from < rank.threads.size(); ++from) {
        if (from == to) continue;
        const std::uint32_t last = idle_since(rank.threads[from], pieces[p].start, slack);
        if (last == kNone) continue;
        const Time end = rank.threads[from].pieces[last].end;
        if (p > 0 && end <= pieces[p - 1].end) continue;  // had ended before this thread went idle
        if (best == kNone || end > rank.threads[best].pieces[best_piece].end) {
          best = from;
          best_piece = last;
        }
      }
      if (best != kNone) edges.push_back({best, best_piece, to, p});
    }
  }
  return edges;
}

}  // namespace flopcast
