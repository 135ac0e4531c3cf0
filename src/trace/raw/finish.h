// From rows in file order to a Trace: one clock, sorted columns, one table of strings.
#pragma once

#include <cstdint>
#include <limits>
#include <set>
#include <string_view>
#include <vector>

#include "trace/raw/raw_trace.h"

namespace flopcast::trace {

/// Pairs B with E rows, drops what cannot be placed in time, sorts, and turns nanoseconds into Time
/// since the first row. Rows that carry several ranks (files merged by other tools) become one
/// Trace each. Equal rows in another file order give equal columns, but for rows equal in start,
/// duration and ids.
std::vector<Trace> finish_traces(RawTrace& raw);

/// Half of what Time can hold, so that a start and a duration always fit together: 53 days.
inline constexpr std::int64_t kMostSpanNs = std::numeric_limits<std::int64_t>::max() / 1000 / 2;
/// Whether a - b does not fit or is further than kMostSpanNs from zero.
bool far_apart(std::int64_t a, std::int64_t b);
/// Unix time of the first row. @param base_ns what the file adds to its times
void set_origin(std::int64_t first_ns, std::int64_t base_ns, TraceFacts& out);

/// The rank that the pids of merged files tell, rank * 100,000,000 + pid; kNoRank where it is text.
std::int32_t rank_of_pid(std::string_view pid);
/// Whether a file whose rows say these ranks becomes a trace each.
inline bool is_merged(const std::set<std::int32_t>& ranks, const TraceFacts& file) {
  return ranks.size() > 1 || (ranks.size() == 1 && !file.rank);
}
/// Gives every trace of a file what the file says of all; counts of the whole file go to its first.
template <typename Facts>
void share_facts(const TraceFacts& file, std::vector<Facts>& traces) {
  for (Facts& trace : traces) {
    trace.path = file.path;
    trace.world_size = file.world_size;
    trace.backend = file.backend;
    trace.devices = file.devices;
    trace.bytes_read = file.bytes_read;
  }
  traces[0].other_rows = file.other_rows;
  Anomalies all = file.anomalies;
  all.merge(traces[0].anomalies);
  traces[0].anomalies = std::move(all);
}

/// Moves the strings a trace uses into the table of its set.
void adopt_strings(Trace& trace, const StringTable& from, StringTable& to);

}  // namespace flopcast::trace
