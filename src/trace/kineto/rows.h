// Rows of a Kineto event array, from fields to columns.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "flopcast/trace.h"
#include "trace/json/cursor.h"
#include "trace/kineto/recent_tracks.h"
#include "trace/kineto/row_shapes.h"
#include "trace/raw/raw_trace.h"

namespace flopcast::trace {

class KinetoRows {
 public:
  KinetoRows(RawTrace& out, const ReadOptions& options)
      : out_(out),
        options_(options),
        shapes_(options.keep_python ? PassOver::kUnused : PassOver::kUnusedAndPython) {}

  /// Reads the element of the event array at the cursor; nothing is kept unless it is whole.
  Scan read(Cursor& cursor);
  /// Whether the last row was of a Python function, and passed over for that.
  bool passed_python() const {
    return shapes_.row().passed_over && shapes_.row().phase_letter() == 'X';
  }
  /// Begins anew with texts, tracks and rows, which somebody took: counts and what tells the order go on.
  void begin_anew();

 private:
  void commit(const RawRow& row);
  void commit_event(const RawRow& row, bool open);
  void commit_end(const RawRow& row);
  void commit_flow(const RawRow& row);
  void commit_name(const RawRow& row);
  void commit_instant(const RawRow& row);
  bool times_of(const RawRow& row, bool open, std::int64_t& ns, std::int64_t& duration_ns);
  bool start_of(const RawRow& row, std::int64_t& ns);
  void add_rank(const RawRow& row);

  std::uint32_t detail_of(const RawRow& row, Category category);
  std::uint32_t collective_of(const RawRow& row, Category category);
  void sequence_from_inputs(const RawRow& row, CollectiveDetail& detail) const;
  void place_on_device(const RawRow& row, Category category, std::int32_t& stream,
                       std::int32_t& device);

  /// `otherwise` where there is none, as in most rows.
  FLOPCAST_INLINE std::int64_t integer(const RawRow& row, Arg key, std::int64_t otherwise) {
    return row.has(key) ? present_integer(row, key, otherwise) : otherwise;
  }
  std::int64_t present_integer(const RawRow& row, Arg key, std::int64_t otherwise);
  FLOPCAST_INLINE std::int32_t integer32(const RawRow& row, Arg key, std::int32_t otherwise) {
    return row.has(key) ? present_integer32(row, key, otherwise) : otherwise;
  }
  std::int32_t present_integer32(const RawRow& row, Arg key, std::int32_t otherwise);
  std::uint64_t product(const RawRow& row, Arg key);
  std::uint32_t text(const RawRow& row, Arg key);
  std::uint32_t intern(const JsonSlice& value);
  std::uint32_t track_of(const RawRow& row);
  void count(const char* kind, const RawRow& row);

  RawTrace& out_;
  const ReadOptions& options_;
  RowShapes shapes_;
  std::uint64_t order_ = 0;  // rows so far, to keep B and E in file order

  // Texts with escapes, and those that are no clean UTF-8: raw text → id of the plain text.
  StringTable cleaned_;
  std::vector<std::uint32_t> cleaned_ids_{0};
  std::unordered_map<std::uint64_t, std::uint32_t> tracks_;
  RecentTracks recent_tracks_;
};

}  // namespace flopcast::trace
