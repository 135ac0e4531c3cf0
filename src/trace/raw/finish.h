// From rows in file order to a Trace: one clock, sorted columns, one table of strings.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/raw/raw_trace.h"

namespace flopcast::trace {

/// Pairs B with E rows, drops what cannot be placed in time, sorts, and turns nanoseconds into Time
/// since the first row. Rows that carry several ranks (files merged by other tools) become one
/// Trace each. Equal rows in another file order give equal columns, but for rows equal in start,
/// duration and ids.
std::vector<Trace> finish_traces(RawTrace& raw);

/// Moves the strings a trace uses into the table of its set.
void adopt_strings(Trace& trace, const StringTable& from, StringTable& to);

}  // namespace flopcast::trace
