// The rows of one file, summed up as they pass.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "trace/raw/raw_trace.h"
#include "trace/row_summary.h"

namespace flopcast::trace {

class FileSummary {
 public:
  /// Takes rows that follow those before in the file.
  void add(const RawTrace& piece);
  /// Whether some rows mean something only beside all others: then there is no summary of pieces.
  bool needs_whole() const { return needs_whole_; }
  /// The traces of the file, as finish_traces() would make them. @param file what it says besides rows
  std::vector<TraceSummary> finish(const RawTrace& file) const;
  std::size_t most_rows() const { return most_rows_; }

 private:
  void note_rank(std::int32_t by_row, std::int32_t by_pid);
  /// Whether the row has a place in time. @param start from the file's first row on
  bool is_placed(const RawTrace& piece, std::size_t row, std::int64_t& start);
  TraceSummary summary_of_rank(const RowSummary& rows, const RawTrace& file) const;

  std::map<std::int32_t, RowSummary> by_rank_;  // kNoRank: what says none
  std::set<std::int32_t> ranks_;                // that rows say
  bool ranks_agree_ = true;                     // with their pids
  bool needs_whole_ = false;
  RowSummary::Extent starts_;  // from zero_ns_ on
  std::int64_t zero_ns_ = 0;   // start of the first row
  std::uint64_t rows_ = 0;
  std::uint64_t dropped_[kCategoryCount] = {};
  std::size_t most_rows_ = 0;
};

}  // namespace flopcast::trace
