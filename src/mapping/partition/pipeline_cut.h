// Floor 5: a graph cut into pipeline stages and each stage into partitions, both at once.
//
//   g(I, J)  the shortest path from ideal I to J: the best partitions of a stage that holds J \ I
//   f(0, 0) = 0;  f(p, J) = min over I within J of max(f(p - 1, I), stage(I, J))
//
// stage(I, J) joins g(I, J) with the time to send what is open at J to the next stage's chips. The
// slowest stage sets the pace, so f(PP, V) is the pipeline's. Exact at both levels; two passes, one
// after the other as DFModel does it, are not. Ideals R and transitions T: O(R T + PP R^2).
// Worked number: a chain of four kernels of 1 s each in two stages: 2 s.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "mapping/partition/chip_program.h"
#include "mapping/partition/ideal_lattice.h"

namespace flopcast::mapping {

struct PipelineCut {
  double slowest_s = 0;
  double weight_bytes = 0;  ///< of the stage that holds most
  std::vector<KernelSet> partitions;
  std::vector<std::uint32_t> stage_of;  ///< per partition
  std::uint64_t transitions = 0;
};

struct PipelineLimits {
  unsigned stages = 1;
  double send_bandwidth = 0;  ///< of a chip to its successor in the next stage, B/s
  double send_latency_s = 0;
  double capacity_bytes = 0;      ///< of DRAM, for weights and live tensors; 0: no limit
  bool kernel_by_kernel = false;  ///< partitions are single kernels
};

/// The pipeline with the fastest slowest stage. No stage is empty unless there are more stages than
/// kernels. Nothing if none fits.
std::optional<PipelineCut> best_pipeline(const ChipProgram& program, const IdealLattice& lattice,
                                         const PipelineLimits& limits);

}  // namespace flopcast::mapping
