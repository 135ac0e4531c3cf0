#include <algorithm>
#include <map>
#include <queue>
#include <tuple>

#include "flopcast/replay/host_edges.h"

namespace flopcast::replaying {
namespace {

/// A place in the host threads.
struct PiecePlace {
  std::uint32_t thread = 0, piece = 0;
};

/// A thread that has nothing to do for a significant time after one of its pieces.
struct IdleSpell {
  Time since;       // the end of the piece
  Time until;       // the next piece's start
  Time seen_until;  // from when on the next piece has ended as well, as far as clocks tell
  PiecePlace after;
};

std::vector<IdleSpell> idle_spells(const RankModel& rank, Time slack) {
  std::vector<IdleSpell> spells;
  for (std::uint32_t t = 0; t < rank.threads.size(); ++t) {
    const auto& pieces = rank.threads[t].pieces;
    for (std::uint32_t p = 0; p < pieces.size(); ++p) {
      const bool last = p + 1 == pieces.size();
      if (last) {
        spells.push_back({pieces[p].end, Time::max(), Time::max(), {t, p}});
      } else if (pieces[p + 1].start - pieces[p].end >= kSignificantGap) {
        spells.push_back({pieces[p].end, pieces[p + 1].start, pieces[p + 1].end - slack, {t, p}});
      }
    }
  }
  std::sort(spells.begin(), spells.end(),
            [](const IdleSpell& a, const IdleSpell& b) { return a.since < b.since; });
  return spells;
}

/// Idle threads at moments that come in order of time.
class IdleThreads {
 public:
  IdleThreads(const RankModel& rank, Time slack)
      : slack_(slack), spells_(idle_spells(rank, slack)) {}

  /// The thread other than `except` that has been idle for the shortest time; of equals the first.
  const IdleSpell* latest(Time now, std::uint32_t except) {
    while (next_ < spells_.size() && spells_[next_].since <= now + slack_)
      idle_.push(&spells_[next_++]);
    std::vector<const IdleSpell*> own;
    const IdleSpell* found = nullptr;
    while (!idle_.empty() && found == nullptr) {
      const IdleSpell* top = idle_.top();
      if (top->until <= now || top->seen_until <= now) {
        idle_.pop();
      } else if (top->after.thread == except) {
        own.push_back(top);
        idle_.pop();
      } else {
        found = top;
      }
    }
    for (const IdleSpell* spell : own) idle_.push(spell);
    return found;
  }

 private:
  struct Earlier {
    bool operator()(const IdleSpell* a, const IdleSpell* b) const {
      return a->since != b->since ? a->since < b->since : a->after.thread > b->after.thread;
    }
  };
  Time slack_;
  std::vector<IdleSpell> spells_;  // by since
  std::size_t next_ = 0;           // all before have been met
  std::priority_queue<const IdleSpell*, std::vector<const IdleSpell*>, Earlier> idle_;
};

/// Pieces that begin after a significant gap, in order of time.
std::vector<PiecePlace> resuming_pieces(const RankModel& rank) {
  std::vector<PiecePlace> places;
  for (std::uint32_t t = 0; t < rank.threads.size(); ++t) {
    const auto& pieces = rank.threads[t].pieces;
    for (std::uint32_t p = 0; p < pieces.size(); ++p) {
      if (p == 0 || pieces[p].start - pieces[p - 1].end > kSignificantGap) places.push_back({t, p});
    }
  }
  std::stable_sort(places.begin(), places.end(), [&](const PiecePlace& a, const PiecePlace& b) {
    return rank.threads[a.thread].pieces[a.piece].start <
           rank.threads[b.thread].pieces[b.piece].start;
  });
  return places;
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
  IdleThreads idle(rank, slack);
  for (const PiecePlace& to : resuming_pieces(rank)) {
    const auto& pieces = rank.threads[to.thread].pieces;
    const IdleSpell* from = idle.latest(pieces[to.piece].start, to.thread);
    if (from == nullptr) continue;
    // It had ended before this thread went idle.
    if (to.piece > 0 && from->since <= pieces[to.piece - 1].end) continue;
    edges.push_back({from->after.thread, from->after.piece, to.thread, to.piece, true});
  }
  std::sort(edges.begin(), edges.end(), [](const ThreadEdge& a, const ThreadEdge& b) {
    return std::tie(a.to_thread, a.to_piece) < std::tie(b.to_thread, b.to_piece);
  });
  add_flow_edges(rank, slack, edges);
  return edges;
}

}  // namespace flopcast::replaying
