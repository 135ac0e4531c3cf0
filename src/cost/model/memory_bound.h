// Times of kernels that only move bytes: t = (launch^p + (bytes / (e W))^p)^(1/p), with a residual by
// rows and columns (a block per row is as fast as its row is long).
#pragma once

#include <span>

#include "cost/model/fits.h"

namespace flopcast::cost {

/// Elements read and written per element of rows x columns.
struct Traffic {
  double read = 1, written = 1;
};
/// @param backward gradients instead: reads the inputs and the gradients of the outputs.
Traffic traffic_of(MemoryOp op, bool backward);
double bytes_of(const MemoryBound& kernel);

/// What an operator costs where nobody measured it: constants, labelled kAssumed.
MemoryFit assumed_memory_fit(MemoryOp op);
/// The measured operator whose implementation an unmeasured one resembles most.
MemoryOp similar(MemoryOp op);

/// Where the residual grid looks a kernel up: rows and columns, or, for operators that know no rows
/// (an addition), as many rows of 4096 as there are elements.
Grid<2>::Point memory_point(const MemoryBound& kernel);

/// Before the roofline is applied.
double memory_seconds(const MemoryFit& fit, double bandwidth, const MemoryBound& kernel);

struct MemoryRow {
  MemoryBound kernel;
  double seconds = 0;
};
MemoryFit fit_memory(MemoryOp op, const Rates& rates, std::span<const MemoryRow> rows);

}  // namespace flopcast::cost
