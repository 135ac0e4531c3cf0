#include <algorithm>
#include <map>

#include "replay/host_edges.h"

namespace flopcast::replaying {
namespace {

/// The last piece of a thread that ended by `now`, if the thread then had nothing to do until after
/// `now` for a significant time; kNoIndex otherwise.
std::uint32_t idle_since(const HostThread& thread, Time now, Time slack) {
  const auto& pieces = thread.pieces;
  auto next = std::upper_bound(pieces.begin(), pieces.end(), now + slack,
                               [](Time t, const Piece& p) { return t < p.end; });
  if (next == pieces.begin()) return kNoIndex;
  const auto last = std::prev(next);
  if (next != pieces.end() && (next->start <= now || next->start - last->end < kSignificantGap))
    return kNoIndex;
  return static_cast<std::uint32_t>(last - pieces.begin());
}

/// The piece of a thread that holds a moment.
std::uint32_t piece_at(const HostThread& thread, Time t) {
  const auto after = std::upper_bound(thread.pieces.begin(), thread.pieces.end(), t,
                                      [](Time time, const Piece& p) { return time < p.start; });
  return after == thread.pieces.begin()
             ? kNoIndex
             : static_cast<std::uint32_t>(std::prev(after) - thread.pieces.begin());
}

/// The backward operator runs after the forward one that made its graph node.
void add_flow_edges(const RankModel& rank, Time slack, std::vector<ThreadEdge>& edges) {
  std::vector<std::uint32_t> thread_of(rank.trace->tracks.size(), kNoIndex);
  for (std::uint32_t t = 0; t < rank.threads.size(); ++t) thread_of[rank.threads[t].track] = t;
  std::map<std::int64_t, const FlowPoint*> sources;
  for (const FlowPoint& f : rank.trace->flows) {
    if (f.is_source) sources[f.id] = &f;
  }
  for (const FlowPoint& f : rank.trace->flows) {
    const auto source = sources.find(f.id);
    if (f.is_source || source == sources.end()) continue;
    const std::uint32_t from = thread_of[source->second->track];
    const std::uint32_t to = thread_of[f.track];
    if (from == kNoIndex || to == kNoIndex || from == to) continue;
    const std::uint32_t p = piece_at(rank.threads[from], source->second->time + rank.host_offset);
    const std::uint32_t q = piece_at(rank.threads[to], f.time + rank.host_offset);
    if (p == kNoIndex || q == kNoIndex) continue;
    const bool holds = rank.threads[from].pieces[p].end <= rank.threads[to].pieces[q].start + slack;
    if (holds) edges.push_back({from, p, to, q, false});
  }
}

}  // namespace

std::vector<ThreadEdge> find_thread_edges(const RankModel& rank) {
  std::vector<ThreadEdge> edges;
  const Time slack = order_slack(*rank.trace);
  for (std::uint32_t to = 0; to < rank.threads.size(); ++to) {
    const auto& pieces = rank.threads[to].pieces;
    for (std::uint32_t p = 0; p < pieces.size(); ++p) {
      const bool gap = p == 0 || pieces[p].start - pieces[p - 1].end > kSignificantGap;
      if (!gap) continue;
      std::uint32_t best = kNoIndex;
      std::uint32_t best_piece = 0;
      for (std::uint32_t from = 0; from < rank.threads.size(); ++from) {
        if (from == to) continue;
        const std::uint32_t last = idle_since(rank.threads[from], pieces[p].start, slack);
        if (last == kNoIndex) continue;
        const Time end = rank.threads[from].pieces[last].end;
        if (p > 0 && end <= pieces[p - 1].end) continue;  // had ended before this thread went idle
        if (best == kNoIndex || end > rank.threads[best].pieces[best_piece].end) {
          best = from;
          best_piece = last;
        }
      }
      if (best != kNoIndex) edges.push_back({best, best_piece, to, p, true});
    }
  }
  add_flow_edges(rank, slack, edges);
  return edges;
}

}  // namespace flopcast::replaying
