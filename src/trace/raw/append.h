// Pieces of a trace one behind the other.
#pragma once

#include "trace/raw/raw_trace.h"

namespace flopcast::trace {

/// Sizes of the side tables that rows point to by their category.
struct TableSizes {
  std::size_t kernels = 0, copies = 0, syncs = 0, ops = 0;

  static TableSizes of(const Trace& trace) {
    return {trace.kernels.size(), trace.copies.size(), trace.syncs.size(), trace.ops.size()};
  }
  /// Of the table of a category; null where it has none.
  std::size_t* of(Category category);
  bool operator==(const TableSizes&) const = default;
};

/// How many rows are held of the kind of which most are: events, flows, texts, ...
std::size_t rows_held(const RawTrace& raw);
/// Makes room for the columns of so many rows.
void reserve_rows(RawTrace& raw, std::size_t rows);
/// Adds the rows of a piece, which has its own texts and tracks, behind those of `raw`.
void append_rows(const RawTrace& piece, RawTrace& raw);
/// Forgets rows and what comes with them; counts and what is said of the whole file stay.
void clear_rows(RawTrace& raw);

}  // namespace flopcast::trace
