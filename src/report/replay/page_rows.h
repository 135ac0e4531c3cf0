// The rows of one rank as the HTML page draws them: lanes of streams and threads, packed small.
//
// Packed, lane after lane, for each row:
//   start (ns after the start of the row before it, signed; the first: after the page's origin)
//   duration (ns) · name (index into the page's names) · class (RowClass)
//   by how much the replay moves its start, against how much it moved the row before it (ns,
//   signed) by how much the replay changes its duration (ns, signed) communication only: waiting
//   within it, recorded and replayed (ns)
// web/decode.js reads this.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text/json_writer.h"
#include "flopcast/report/replay.h"

namespace flopcast::report {

/// What a row is drawn as. The page has a colour for each.
enum class RowClass : std::uint8_t {
  kCompute,
  kCommunication,
  kCopy,
  kOperator,
  kLaunch,
  kSync,
  kHostCall,
  kAnnotation,
  kMerged,  ///< several short rows of a stream drawn as one
};

/// Texts of the page, each once, cut to a length that still tells kernels apart.
class PageNames {
 public:
  explicit PageNames(const StringTable& strings) : strings_(strings) {}
  std::uint64_t number(std::uint32_t string_id);
  std::uint64_t number(const std::string& text);
  const std::vector<std::string>& list() const { return list_; }

 private:
  const StringTable& strings_;
  std::unordered_map<std::uint32_t, std::uint64_t> numbers_;
  std::unordered_map<std::string, std::uint64_t> texts_;
  std::vector<std::string> list_;
};

struct PageLane {
  std::string name;
  bool is_stream = false;
  std::uint64_t rows = 0;
};

struct PageRank {
  std::vector<PageLane> lanes;
  std::string rows;  ///< packed, base64
  /// Rows of streams shorter than this are drawn as one, those of threads not at all; 0: all are
  /// there.
  Time merged_below;
  std::vector<std::uint32_t> place;  ///< row of the trace → row of the page, or kNoDetail
};

/// The rows of one rank in the two runs that a page compares.
struct PageRuns {
  std::array<const std::vector<Time>*, 2> start{}, end{};  ///< per row; not owned
  std::array<Time, 2> origin{};                            ///< where the page begins in each
  /// Of communication rows: waiting in each run.
  std::unordered_map<std::uint32_t, std::pair<Time, Time>> waits;
  /// Rows that are drawn, of those that can be; empty: all.
  std::function<bool(std::uint32_t)> is_kept;
};
/// The recording and its replay.
PageRuns page_runs(const Replay& replay, std::size_t trace, Time origin);

/// @param most rows to keep, about
PageRank page_rank(const TraceSet& set, std::size_t trace, const PageRuns& runs, std::size_t most,
                   PageNames& names);

void write_lanes(JsonWriter& w, const PageRank& page);

/// Where a piece of a critical path is drawn.
struct PagePlace {
  std::uint64_t rank = 0;         ///< index into the page's ranks
  std::uint32_t row = kNoDetail;  ///< of the page, counted through the lanes of the rank
};
/// "path": pieces one after the other: rank, row of the page + 1 (0: none), class, start after the
/// end of the piece before (ns, signed), duration (ns).
void write_path_pieces(JsonWriter& w, const TraceSet& set, const std::vector<PathPiece>& pieces,
                       const std::function<PagePlace(const PathPiece&)>& place_of, Time origin);

}  // namespace flopcast::report
