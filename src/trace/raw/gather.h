// Chosen rows of a trace as a trace of their own.
#pragma once

#include <cstdint>
#include <vector>

#include "flopcast/trace.h"

namespace flopcast::trace {

using Rows = std::vector<std::uint32_t>;

/// @param last_use then `from` is let go of
template <typename T>
void gather(std::vector<T>& from, const Rows& rows, bool last_use, std::vector<T>& to) {
  to.reserve(rows.size());
  for (const std::uint32_t row : rows) to.push_back(from[row]);
  if (last_use) std::vector<T>().swap(from);
}

/// Nanoseconds as Time since `zero_ns`.
void gather_times(std::vector<std::int64_t>& from_ns, const Rows& rows, std::int64_t zero_ns,
                  bool last_use, std::vector<Time>& to);
/// The columns of rows that readers of formats fill: all but times.
void gather_columns(Events& from, const Rows& rows, bool last_use, Events& to);
/// Side tables in order of the rows that use them, so that they too do not depend on file order.
void gather_details(const Trace& from, Trace& to);
/// Tracks in order of first use.
void gather_tracks(const std::vector<Track>& from, Trace& to);

}  // namespace flopcast::trace
