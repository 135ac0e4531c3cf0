// Rows of a Kineto event array, from fields to columns.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "flopcast/trace.h"
#include "trace/json/cursor.h"
#include "trace/kineto/row_fields.h"

namespace flopcast::trace {

/// A file as read: rows in file order, texts in a table of its own, times in nanoseconds of the file's
/// clock. What `trace` has of them stays empty until finish_traces() makes them Time.
struct RawTrace {
  struct NameRow {
    std::uint32_t pid, tid, name;
    bool of_process;
  };
  struct Begin {  ///< a ph B row: an event whose duration is still open
    std::uint32_t row;
    std::uint64_t order;
  };
  struct End {  ///< a ph E row
    std::uint32_t track;
    std::int64_t time_ns;
    std::uint64_t order;
  };
  struct Flow {  ///< a FlowPoint
    std::int64_t id;
    std::uint32_t track;
    std::int64_t time_ns;
    bool is_source;
  };

  Trace trace;
  StringTable strings;
  std::vector<std::int64_t> start_ns, duration_ns;  ///< of each event
  std::vector<Flow> flows;
  std::optional<std::int64_t> window_end_ns;
  std::vector<std::int32_t> row_rank;  ///< args.rank of each event; empty if no row has one
  std::vector<NameRow> names;
  std::vector<Begin> begins;
  std::vector<End> ends;
  std::int64_t step_ns = 1000;  ///< greatest common divisor of what stands behind the whole us
  bool any_phase = false;       ///< some row had a ph: this is a trace

  std::size_t events() const { return start_ns.size(); }
};
inline constexpr std::int32_t kNoRank = -1;

class KinetoRows {
 public:
  KinetoRows(RawTrace& out, const ReadOptions& options)
      : out_(out),
        options_(options),
        pass_over_(options.keep_python ? PassOver::kUnused : PassOver::kUnusedAndPython) {}

  /// Reads the element of the event array at the cursor; nothing is kept unless it is whole.
  Scan read(Cursor& cursor);

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

  std::int64_t integer(const RawRow& row, Arg key, std::int64_t otherwise);
  std::int32_t integer32(const RawRow& row, Arg key, std::int32_t otherwise);
  std::uint64_t product(const RawRow& row, Arg key);
  std::uint32_t text(const RawRow& row, Arg key);
  std::uint32_t intern(const JsonSlice& value);
  std::uint32_t track_of(const RawRow& row);
  void count(const char* kind, const RawRow& row);

  RawTrace& out_;
  const ReadOptions& options_;
  PassOver pass_over_;
  std::uint64_t order_ = 0;  // rows so far, to keep B and E in file order
  RawRow row_;

  // Strings with escapes: raw text → id of the plain text.
  StringTable escaped_;
  std::vector<std::uint32_t> escaped_ids_{0};
  // Ids of texts that are no clean UTF-8 → id of the cleaned text. Nearly always empty.
  std::unordered_map<std::uint32_t, std::uint32_t> unclean_;
  std::unordered_map<std::uint64_t, std::uint32_t> tracks_;
  std::string last_pid_, last_tid_;
  std::optional<std::uint32_t> last_track_;
};

}  // namespace flopcast::trace
