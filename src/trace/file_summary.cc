#include "trace/file_summary.h"

#include <algorithm>

#include "trace/raw/finish.h"

namespace flopcast::trace {

// Merged files number pids by rank; where a row says another rank, its argument means something else.
void FileSummary::note_rank(std::int32_t by_row, std::int32_t by_pid) {
  if (by_row == kNoRank) return;
  ranks_agree_ &= by_row >= 0 && (by_pid == kNoRank || by_pid == by_row);
  ranks_.insert(by_row);
}

bool FileSummary::is_placed(const RawTrace& piece, std::size_t row, std::int64_t& start) {
  if (piece.duration_ns[row] > kMostSpanNs) {
    ++dropped_[static_cast<int>(piece.trace.events.category[row])];
    return false;
  }
  if (starts_.empty()) zero_ns_ = piece.start_ns[row];
  needs_whole_ |= far_apart(piece.start_ns[row], zero_ns_);
  if (needs_whole_) return false;
  start = piece.start_ns[row] - zero_ns_;
  starts_.add(start, start);
  needs_whole_ |= far_apart(starts_.first, starts_.last);
  return true;
}

void FileSummary::add(const RawTrace& piece) {
  const Events& events = piece.trace.events;
  most_rows_ = std::max(most_rows_, piece.events());
  needs_whole_ |= !piece.begins.empty();
  std::vector<std::int32_t> rank_of_track;
  for (const Track& track : piece.trace.tracks) {
    rank_of_track.push_back(rank_of_pid(piece.strings[track.pid]));
  }
  std::map<std::int32_t, RowCounter> counters;
  for (std::size_t row = 0; row < piece.events() && !needs_whole_; ++row, ++rows_) {
    const std::int32_t by_row = row < piece.row_rank.size() ? piece.row_rank[row] : kNoRank;
    const std::int32_t by_pid = rank_of_track[events.track[row]];
    note_rank(by_row, by_pid);
    std::int64_t start = 0;
    if (!is_placed(piece, row, start)) continue;
    RowCounter& counter =
        counters.try_emplace(by_row != kNoRank ? by_row : by_pid, piece.trace, piece.strings)
            .first->second;
    counter.add(row, start, piece.duration_ns[row], rows_);
  }
  for (auto& [rank, counter] : counters) by_rank_[rank].merge(counter.take());
}

TraceSummary FileSummary::summary_of_rank(const RowSummary& rows, const RawTrace& file) const {
  TraceSummary out;
  const std::int64_t first_ns =
      rows.all.empty() ? file.window_end_ns.value_or(0) : zero_ns_ + rows.all.first;
  set_origin(first_ns, file.base_ns, out);
  out.clock_step = Time::from_ns(file.step_ns);
  rows.tell(Time::from_ns(1), out);
  return out;
}

std::vector<TraceSummary> FileSummary::finish(const RawTrace& file) const {
  std::vector<TraceSummary> out;
  if (ranks_agree_ && is_merged(ranks_, file.trace)) {
    std::map<std::int32_t, RowSummary> parts;
    for (const std::int32_t rank : ranks_) parts[rank];
    for (const auto& [rank, rows] : by_rank_) {
      parts[rank == kNoRank ? *ranks_.begin() : rank].merge(rows);
    }
    for (const auto& [rank, rows] : parts) {
      out.push_back(summary_of_rank(rows, file));
      out.back().rank = rank;
      std::copy(std::begin(rows.counts), std::end(rows.counts), out.back().row_counts);
    }
  } else {
    RowSummary all;
    for (const auto& [rank, rows] : by_rank_) all.merge(rows);
    out.push_back(summary_of_rank(all, file));
    out.back().rank = file.trace.rank;
    for (int c = 0; c < kCategoryCount; ++c) {
      out.back().row_counts[c] = file.trace.row_counts[c] - dropped_[c];
    }
  }
  share_facts(file.trace, out);
  return out;
}

}  // namespace flopcast::trace
