// A trace as its file has it: what readers of formats fill, and what becomes a Trace.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "flopcast/trace.h"

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
  /// Place of each event in the file, against others; empty if that is the order they stand in here.
  std::vector<std::uint64_t> order;
  std::vector<NameRow> names;
  std::vector<Begin> begins;
  std::vector<End> ends;
  std::int64_t base_ns = 0;     ///< what the file adds to its timestamps
  std::int64_t step_ns = 1000;  ///< greatest common divisor of what stands behind the whole us
  bool any_phase = false;       ///< some row had a ph: this is a trace

  std::size_t events() const { return start_ns.size(); }
};
inline constexpr std::int32_t kNoRank = -1;

}  // namespace flopcast::trace
