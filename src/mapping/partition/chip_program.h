// Floor 5: a graph as one chip of a tensor-parallel group sees it: what each kernel takes and each
// tensor weighs there, for one microbatch of one layer. All that partitions are judged by.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "flopcast/mapping.h"
#include "mapping/partition/kernel_set.h"
#include "mapping/partition/tile_split.h"

namespace flopcast::mapping {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct ProgramKernel {
  double compute_s = 0;  ///< alone on the whole chip; under the cycle model a lower bound per share
  double network_s = 0;
  double weight_bytes = 0;   ///< in SRAM while its partition runs
  double traffic_bytes = 0;  ///< through DRAM besides tensors: weights, gradients, caches
  double wire_bytes = 0;     ///< sent
  double flop = 0;
};

struct ProgramTensor {
  static constexpr std::int32_t kOutside = -1;
  std::int32_t producer = kOutside;  ///< kOutside: an input, in DRAM from the start
  double bytes = 0;                  ///< to or from DRAM where it crosses a cut
  double held_bytes = 0;             ///< of SRAM where a reader is in its producer's partition
  double stream_bytes = 0;           ///< of SRAM at each end where it crosses
  KernelSet uses;
  bool output = false;  ///< read after the last partition as well
};

struct ChipProgram {
  std::vector<ProgramKernel> kernels;
  std::vector<ProgramTensor> tensors;
  std::vector<KernelSet> producers;  ///< per kernel: whose tensors it reads
  double memory_bandwidth = 0;
  double sram_bytes = std::numeric_limits<double>::infinity();
  double live_bytes = std::numeric_limits<double>::infinity();  ///< left for tensors in DRAM
  MappingOverlap overlap = MappingOverlap::kPerfect;
  bool reload_inputs = false;  ///< a weight in pieces makes its kernel's inputs pass DRAM per piece
  bool reload_all = false;     ///< ... all its tensors, its output buffers being in pieces too
  /// Cycle model: how each kernel's time falls with tiles; empty: compute_s add up.
  std::vector<TileCurve> curves;
  unsigned tiles = 0;  ///< of the chip
  double hertz = 1;    ///< of its clock

  std::size_t size() const { return kernels.size(); }
};

/// Fills `producers` from the tensors.
void link_producers(ChipProgram& program);

}  // namespace flopcast::mapping
