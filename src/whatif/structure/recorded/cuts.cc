#include "whatif/structure/recorded/cuts.h"

#include "whatif/change/parent_rows.h"

#include <algorithm>
#include <set>

namespace flopcast::whatif::structure {
namespace {

using replaying::Call;
using replaying::kNoIndex;
using replaying::RankModel;
using replaying::ThreadEdge;

/// Cuts one rank.
class RankCutter {
 public:
  RankCutter(const replaying::Recording& recording, const ModelStage& stage)
      : rank_(recording.ranks[stage.rank]), stage_(stage), parent_(parent_rows(*rank_.trace)) {
    released_.resize(rank_.threads.size());
    for (const ThreadEdge& e : recording.thread_edges[stage.rank]) {
      if (e.hand_over) released_[e.to_thread].insert(e.to_piece);
    }
  }

  std::vector<Cut> run() {
    find_ranges();
    std::vector<Cut> cuts;
    for (std::uint32_t s = 0; s < stage_.segments.size(); ++s) {
      if (stage_.segments[s].step < stage_.steps) add_segment(s, cuts);
    }
    return cuts;
  }

 private:
  struct Range {
    std::uint32_t first = 0, last = 0;
  };

  /// Pieces of every segment. Between the last launch of one and the first of the next, the operator
  /// around that last launch is run to its end; a piece which another thread releases belongs to what
  /// comes after it.
  void find_ranges() {
    std::vector<std::vector<std::uint32_t>> by_thread(rank_.threads.size());
    for (std::uint32_t s = 0; s < stage_.segments.size(); ++s) {
      const ModelSegment& segment = stage_.segments[s];
      ranges_.push_back({segment.first_piece, segment.last_piece});
      if (segment.thread != kNoIndex) by_thread[segment.thread].push_back(s);
    }
    for (std::uint32_t t = 0; t < by_thread.size(); ++t) {
      for (std::size_t i = 1; i < by_thread[t].size(); ++i) {
        const std::uint32_t before = by_thread[t][i - 1];
        const std::uint32_t after = by_thread[t][i];
        if (ranges_[before].last != ranges_[after].first) continue;
        const std::uint32_t from = last_launch(before) + 1;
        const std::uint32_t to = first_launch(after);
        if (from > to) continue;
        std::uint32_t cut = end_of_operator(t, from, to);
        const auto q = released_[t].lower_bound(from);
        if (q != released_[t].end() && *q <= to) cut = *q;
        ranges_[before].last = ranges_[after].first = cut;
      }
    }
  }

  /// The first piece from `from` on that lies outside of the widest operator around the piece before
  /// it that does not hold the piece `to` as well.
  std::uint32_t end_of_operator(std::uint32_t thread, std::uint32_t from, std::uint32_t to) const {
    const auto& pieces = rank_.threads[thread].pieces;
    if (from == 0 || to >= pieces.size()) return from;
    const Events& events = rank_.trace->events;
    Time end = Time::min();
    for (std::uint32_t row = pieces[from - 1].row; row != kNoIndex; row = parent_[row]) {
      const Time row_end = events.end(row) + rank_.host_offset;
      if (row_end > pieces[to].start) break;
      end = row_end;
    }
    while (from < to && pieces[from].end <= end) ++from;
    return from;
  }

  std::uint32_t last_launch(std::uint32_t s) const {
    std::uint32_t piece = stage_.segments[s].first_piece;
    for_each_launch(s, [&](const Call& call) { piece = std::max(piece, call.last_piece); });
    return piece;
  }
  std::uint32_t first_launch(std::uint32_t s) const {
    std::uint32_t piece = stage_.segments[s].last_piece;
    for_each_launch(s, [&](const Call& call) { piece = std::min(piece, call.first_piece); });
    return piece;
  }
  /// Calls on the segment's own thread that launch its tasks.
  template <typename Use>
  void for_each_launch(std::uint32_t s, Use&& use) const {
    for (const std::uint32_t t : tasks_of(s)) {
      const std::uint32_t c = rank_.gpu[t].call;
      if (c != kNoIndex && rank_.calls[c].thread == stage_.segments[s].thread) use(rank_.calls[c]);
    }
  }
  std::vector<std::uint32_t> tasks_of(std::uint32_t s) const {
    std::vector<std::uint32_t> tasks = stage_.segments[s].tasks;
    for (const ModelBucket& bucket : stage_.buckets) {
      if (bucket.segment == s) tasks.push_back(bucket.task);
    }
    return tasks;
  }

  void add_segment(std::uint32_t s, std::vector<Cut>& cuts) {
    const ModelSegment& segment = stage_.segments[s];
    Cut plain{stage_.rank, s, kNoIndex, segment.step, segment.thread, {}, segment.tasks};
    std::vector<Cut> before;
    std::vector<Cut> after;
    std::vector<Range> taken;
    for (std::uint32_t b = 0; b < stage_.buckets.size(); ++b) {
      const ModelBucket& bucket = stage_.buckets[b];
      if (bucket.segment != s) continue;
      const Range range = bucket_range(s, bucket.task);
      Cut cut{stage_.rank, s, b, segment.step, segment.thread, {}, {bucket.task}};
      for (std::uint32_t p = range.first; p < range.last; ++p) cut.pieces.push_back(p);
      taken.push_back(range);
      const bool early = 2 * bucket.position < segment.tasks.size();
      (early ? before : after).push_back(std::move(cut));
    }
    if (segment.thread != kNoIndex) {
      for (std::uint32_t p = ranges_[s].first; p < ranges_[s].last; ++p) {
        const bool free = std::none_of(taken.begin(), taken.end(),
                                       [&](const Range& r) { return p >= r.first && p < r.last; });
        if (free) plain.pieces.push_back(p);
      }
    }
    for (Cut& cut : before) cuts.push_back(std::move(cut));
    cuts.push_back(std::move(plain));
    for (Cut& cut : after) cuts.push_back(std::move(cut));
  }

  /// The widest operator around a bucket's launch that launches nothing else of its segment.
  Range bucket_range(std::uint32_t s, std::uint32_t task) const {
    const std::uint32_t c = rank_.gpu[task].call;
    if (c == kNoIndex || rank_.calls[c].thread != stage_.segments[s].thread) return {};
    const Call& call = rank_.calls[c];
    Range best{call.first_piece, call.last_piece + 1};
    for (std::uint32_t row = parent_[call.row]; row != kNoIndex; row = parent_[row]) {
      const Range range = pieces_within(call.thread, row, best);
      if (range.first < ranges_[s].first || range.last > ranges_[s].last) break;
      if (launches_others(s, range)) break;
      best = range;
    }
    return best;
  }
  /// Pieces of a thread inside a row, around those known to be.
  Range pieces_within(std::uint32_t thread, std::uint32_t row, Range known) const {
    const auto& pieces = rank_.threads[thread].pieces;
    const Events& events = rank_.trace->events;
    const Time start = events.start[row] + rank_.host_offset;
    const Time end = start + events.duration[row];
    while (known.first > 0 && pieces[known.first - 1].start >= start) --known.first;
    while (known.last < pieces.size() && pieces[known.last].end <= end) ++known.last;
    return known;
  }
  bool launches_others(std::uint32_t s, Range range) const {
    const auto& tasks = stage_.segments[s].tasks;
    return std::any_of(tasks.begin(), tasks.end(), [&](std::uint32_t t) {
      const std::uint32_t c = rank_.gpu[t].call;
      return c != kNoIndex && rank_.calls[c].thread == stage_.segments[s].thread &&
             rank_.calls[c].first_piece >= range.first && rank_.calls[c].first_piece < range.last;
    });
  }

  const RankModel& rank_;
  const ModelStage& stage_;
  std::vector<std::uint32_t> parent_;
  std::vector<std::set<std::uint32_t>> released_;  // [thread]: pieces another thread releases
  std::vector<Range> ranges_;                      // [segment]
};

}  // namespace

std::vector<Cut> cut_rank(const replaying::Recording& recording, const ModelStage& stage) {
  return RankCutter(recording, stage).run();
}

}  // namespace flopcast::whatif::structure
