// One row of a Kineto event array, from text to columns.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "flopcast/trace.h"
#include "trace/json_cursor.h"

namespace flopcast {

/// A file as read: rows in file order, texts in a table of its own. In `trace`, times of events, flows
/// and window_end are nanoseconds of the file's clock until finish_trace() turns them into Time.
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
    std::int64_t ns;
    std::uint64_t order;
  };

  Trace trace;
  StringTable strings;
  std::vector<std::int32_t> row_rank;  ///< args.rank of each event; empty if no row has one
  std::vector<NameRow> names;
  std::vector<Begin> begins;
  std::vector<End> ends;
  std::int64_t step_ns = 1000;  ///< greatest common divisor of what stands behind the whole us
  bool any_phase = false;       ///< some row had a ph: this is a trace
};
inline constexpr std::int32_t kNoRank = -1;

/// Arguments that are read; all others are passed over.
enum class Arg : std::uint8_t {
  kExternalId, kCorrelation, kCorrelationRaw, kStream, kDevice, kBytes, kGrid, kBlock, kBlocksPerSm, kGraphNode,
  kCollective, kDtype, kGroupName, kGroupDesc, kGroupRanks, kGroupSize, kInElements, kOutElements,
  kSeq, kIsAsync, kWaitOnStream, kRecordCorrelation, kEventId, kSequenceNumber, kForwardThread,
  kRecordFunction, kInputDims, kInputTypes, kConcreteInputs, kRank, kName,
  kCount, kNone = kCount
};

/// The fields of one row as slices of the window.
struct RawRow {
  JsonSlice phase, category, name, pid, tid, ts, duration, id;
  std::array<JsonSlice, static_cast<std::size_t>(Arg::kCount)> args;
  std::uint64_t args_present = 0;
  bool bad_args = false;  ///< `args` is neither an object nor null
  bool passed_over = false;

  bool has(Arg key) const { return args_present >> static_cast<unsigned>(key) & 1; }
  const JsonSlice& operator[](Arg key) const { return args[static_cast<std::size_t>(key)]; }
  char phase_letter() const { return phase.size == 1 ? *phase.data : '\0'; }
};

Category category_of(std::string_view name);

/// Rows of which no more is read than what tells that nobody needs them.
enum class PassOver : std::uint8_t {
  kNothing,
  kUnused,           ///< flows but fwdbwd, counters, asynchronous spans
  kUnusedAndPython,  ///< and python_function rows
};
/// Reads the row object at the cursor.
Scan read_row(Cursor& cursor, PassOver pass_over, RawRow& row);

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

}  // namespace flopcast
