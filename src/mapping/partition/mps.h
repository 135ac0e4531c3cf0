// Floor 5: the partition problem of a chip as a mixed-integer linear program, for solvers that know
// nothing of ideals: the independent check of the shortest path.
//
//   y[i,p] = 1 where kernel i runs in partition p or before it (binary, rising in p, y[i,C-1] = 1);
//   A[i,p] = y[i,p] - y[i,p-1];  y[v,p] <= y[u,p] where v reads u
//   store[t,p] >= A[u,p] - y[v,p]   load[t,p] >= A[v,p] - A[u,p]   held[t,p] >= A[u,p] + A[v,p] - 1
//   live[t,p] >= y[u,p-1] - y[v,p-1]
//   T[p] >= compute, memory, network of p (or their sums, by the overlap); minimise sum T[p]
//
// All but y are continuous: costs push them down onto their bounds. No big constants. Times in ns,
// sizes in MB, so that solvers' absolute tolerances mean little.
#pragma once

#include <string>
#include <vector>

#include "mapping/partition/program_builder.h"

namespace flopcast::mapping {

/// Free-format MPS of all passes, each with `partitions` partitions. Errors (kUsage): the cycle model;
/// a kernel whose weights must pass SRAM in pieces.
Result<std::string> partition_mps(const std::vector<PassProgram>& passes, const std::string& name,
                                  unsigned partitions);

}  // namespace flopcast::mapping
