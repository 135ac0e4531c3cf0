// The work a kernel does at least: FLOP, and bytes with each operand moved once.
#pragma once

#include "cost/forms/rates.h"
#include "cost/model/memory_bound.h"

namespace flopcast::cost {

double flops_of(const Gemm& gemm);
double bytes_of(const Gemm& gemm);
double flops_of(const Attention& attention);
double bytes_of(const Attention& attention);
double flops_of(const GroupedGemm& gemm);
double bytes_of(const GroupedGemm& gemm);
inline double flops_of(const MemoryBound&) { return 0; }

template <typename K>
double roofline_of(const K& kernel, const Rates& rates) {
  const double compute = flops_of(kernel) / rates.flops,
               memory = bytes_of(kernel) / rates.bandwidth;
  return compute > memory ? compute : memory;
}

}  // namespace flopcast::cost
