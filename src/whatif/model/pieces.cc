#include <algorithm>
#include <map>
#include <set>

#include "whatif/model/segments.h"

namespace flopcast::whatif {
namespace {

using replaying::Call;
using replaying::HostThread;
using replaying::kNoIndex;
using replaying::RankModel;

/// Gives every segment its pieces of its thread.
class PieceCutter {
 public:
  PieceCutter(const RankModel& rank, const std::vector<replaying::ThreadEdge>& thread_edges,
              ModelStage& stage)
      : rank_(rank), stage_(stage) {
    released_.resize(rank.threads.size());
    for (const replaying::ThreadEdge& edge : thread_edges) {
      if (edge.hand_over) released_[edge.to_thread].insert(edge.to_piece);
    }
    for (const ModelBucket& bucket : stage.buckets) {
      buckets_[bucket.segment].push_back(bucket.task);
    }
  }

  void run() {
    std::vector<std::vector<std::uint32_t>> of_thread(rank_.threads.size());
    for (std::uint32_t s = 0; s < stage_.segments.size(); ++s) {
      if (stage_.segments[s].thread != kNoIndex) of_thread[stage_.segments[s].thread].push_back(s);
    }
    for (std::uint32_t t = 0; t < of_thread.size(); ++t) cut(t, of_thread[t]);
  }

 private:
  const Call& call_of(std::uint32_t task) const { return rank_.calls[rank_.gpu[task].call]; }

  /// How many rows are open across the begin of each piece.
  std::vector<std::uint32_t> depths(std::uint32_t t) const {
    const HostThread& thread = rank_.threads[t];
    const Events& ev = rank_.trace->events;
    std::vector<std::uint32_t> depth(thread.pieces.size(), 0);
    std::vector<Time> open;  // ends of rows
    std::uint32_t row = 0;
    Time last = Time::min();
    for (std::size_t p = 0; p < thread.pieces.size(); ++p) {
      const Time now = thread.pieces[p].start;
      for (; row < ev.size() && ev.start[row] + rank_.host_offset < now; ++row) {
        if (ev.track[row] != thread.track) continue;
        if (ev.category[row] != Category::kCpuOp && !is_host_call(ev.category[row])) continue;
        open.push_back(ev.end(row) + rank_.host_offset);
      }
      std::erase_if(open, [now](Time end) { return end <= now; });
      depth[p] = now > last ? static_cast<std::uint32_t>(open.size()) : 0;
      last = thread.pieces[p].end;
    }
    return depth;
  }

  /// One past the last piece in which a segment launches, buckets included.
  std::uint32_t after_launches(std::uint32_t s, std::uint32_t t) const {
    std::uint32_t after = call_of(stage_.segments[s].tasks.back()).last_piece + 1;
    const auto buckets = buckets_.find(s);
    if (buckets == buckets_.end()) return after;
    for (const std::uint32_t task : buckets->second) {
      if (rank_.gpu[task].call == kNoIndex || call_of(task).thread != t) continue;
      after = std::max(after, call_of(task).last_piece + 1);
    }
    return after;
  }

  /// The first piece in which a segment launches, buckets included.
  std::uint32_t before_launches(std::uint32_t s, std::uint32_t t) const {
    std::uint32_t before = call_of(stage_.segments[s].tasks.front()).first_piece;
    const auto buckets = buckets_.find(s);
    if (buckets == buckets_.end()) return before;
    for (const std::uint32_t task : buckets->second) {
      if (rank_.gpu[task].call == kNoIndex || call_of(task).thread != t) continue;
      before = std::min(before, call_of(task).first_piece);
    }
    return before;
  }

  /// Where another thread hands over; else where the fewest rows are open, the first such place.
  std::uint32_t place_between(std::uint32_t t, const std::vector<std::uint32_t>& depth,
                              std::uint32_t from, std::uint32_t until) const {
    const auto released = released_[t].lower_bound(from);
    if (released != released_[t].end() && *released <= until) return *released;
    std::uint32_t best = from;
    for (std::uint32_t p = best + 1; p <= until; ++p) {
      if (depth[p] < depth[best]) best = p;
    }
    return best;
  }

  /// Between the last launch of a segment and the first of the next.
  void cut(std::uint32_t t, const std::vector<std::uint32_t>& segments) {
    if (segments.empty()) return;
    const std::vector<std::uint32_t> depth = depths(t);
    std::uint32_t begin = 0;
    for (std::size_t i = 0; i < segments.size(); ++i) {
      ModelSegment& segment = stage_.segments[segments[i]];
      segment.first_piece = begin;
      segment.last_piece = static_cast<std::uint32_t>(depth.size());
      if (i + 1 < segments.size()) {
        const std::uint32_t until = before_launches(segments[i + 1], t);
        const std::uint32_t after = std::min(after_launches(segments[i], t), until);
        segment.last_piece = std::max(begin, place_between(t, depth, after, until));
      }
      begin = segment.last_piece;
    }
  }

  const RankModel& rank_;
  ModelStage& stage_;
  std::vector<std::set<std::uint32_t>> released_;  ///< pieces that another thread releases
  std::map<std::uint32_t, std::vector<std::uint32_t>> buckets_;  ///< tasks, by segment
};

}  // namespace

void cut_pieces(const RankModel& rank, const std::vector<replaying::ThreadEdge>& thread_edges,
                ModelStage& stage) {
  PieceCutter(rank, thread_edges, stage).run();
}

}  // namespace flopcast::whatif
