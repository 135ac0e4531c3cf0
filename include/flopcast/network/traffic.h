// Floor 2: a file of flows, run on a cluster: `flopcast net run`.
//
// CSV with a header row. Columns: `bytes` and either `src`,`dst` (chips) or `op`,`ranks` (a
// collective as a macro-flow; ranks such as "0-7 16"); optional `id`, `start` and `delay` (with
// units, default 0), `after` (ids, blank-separated), `group` (fairness group), `limit` (rate cap).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "flopcast/network/collectives.h"

namespace flopcast {

/// One row of the file.
struct TrafficRow {
  std::string id;                    ///< the row's number from 1 where the file names none
  std::string place;                 ///< "flows.csv:17"
  std::uint32_t src = 0, dst = 0;    ///< chips, without `op`
  std::optional<CollectiveOp> op;    ///< none: one flow from src to dst
  std::vector<std::uint32_t> ranks;  ///< of a collective; empty: all
  std::int64_t bytes = 0;  ///< of the flow, or of the collective as CollectiveQuery counts
  Time start, delay;       ///< as the columns say
  std::vector<std::uint32_t> after;  ///< earlier rows, by index
  std::uint32_t group = 0;           ///< as of FlowSpec
  Rate limit{0};                     ///< rate cap; 0: none
};
/// The first wrong field is an error with its line: half a traffic pattern is another pattern.
Result<std::vector<TrafficRow>> read_traffic(const std::filesystem::path& path);
/// The same from text; `where` names it in errors.
Result<std::vector<TrafficRow>> parse_traffic(std::string text, const std::string& where);

/// "0-7 16" or "0-7,16" as numbers, in the order given.
Result<std::vector<std::uint32_t>> parse_ranks(std::string_view text);

/// What happened to the rows, and on the links.
struct TrafficResult {
  /// When a row ran.
  struct Row {
    Time start, end;  ///< first flow's start, last flow's completion
  };
  std::vector<Row> rows;  ///< as in the traffic
  Time end;               ///< of the last
  /// What passed one link.
  struct LinkUse {
    LinkId link = 0;          ///< which one
    Bytes carried;            ///< bytes
    double mean = 0;          ///< share of its capacity over the whole run
    std::vector<float> used;  ///< the same per interval
  };
  std::vector<LinkUse> links;  ///< those that carried anything, busiest first
  Time interval;               ///< length of those that link use is told in
};
/// Runs every row, and tells the use of links in so many intervals. Errors name the row: chips
/// that there are not; those of submit_collective and FlowSimulator::submit.
Result<TrafficResult> run_traffic(const Cluster& cluster, const Topology& topology,
                                  const std::vector<TrafficRow>& traffic, unsigned intervals = 200);

}  // namespace flopcast
