#include "mapping/partition/cost.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace flopcast::mapping {
namespace {

/// Open at the ideal: written or from outside, and not yet read by all. A tensor nobody reads and
/// nobody waits for never leaves the chip.
bool open_at(const ProgramTensor& tensor, const KernelSet& ideal) {
  const bool written = tensor.producer == ProgramTensor::kOutside ||
                       ideal.has(static_cast<std::size_t>(tensor.producer));
  return written && (tensor.output || !tensor.uses.within(ideal));
}

/// Compute time where cycles are counted.
double split_seconds(const ChipProgram& program, const KernelSet& kernels) {
  std::array<const TileCurve*, kMostKernels> curves;
  std::size_t count = 0;
  kernels.each([&](std::size_t kernel) { curves[count++] = &program.curves[kernel]; });
  return split_cycles({curves.data(), count}, program.tiles) / program.hertz;
}

}  // namespace

IdealSums ideal_sums(const ChipProgram& program, const KernelSet& ideal) {
  IdealSums sums;
  ideal.each([&](std::size_t i) {
    const ProgramKernel& kernel = program.kernels[i];
    sums.compute_s += kernel.compute_s;
    sums.network_s += kernel.network_s;
    sums.weight_bytes += kernel.weight_bytes;
    sums.traffic_bytes += kernel.traffic_bytes;
    sums.wire_bytes += kernel.wire_bytes;
    sums.flop += kernel.flop;
  });
  for (std::size_t i = 0; i < program.tensors.size(); ++i) {
    const ProgramTensor& tensor = program.tensors[i];
    const bool outside = tensor.producer == ProgramTensor::kOutside;
    const bool read = tensor.uses.meets(ideal);
    if (read && !outside) sums.held_bytes += tensor.held_bytes;
    if (!open_at(tensor, ideal)) continue;
    sums.open.push_back({tensor.uses, tensor.bytes, tensor.stream_bytes,
                         read || outside ? 0 : tensor.held_bytes, tensor.output});
    sums.open_bytes += tensor.bytes;
    sums.open_stream_bytes += tensor.stream_bytes;
  }
  return sums;
}

PartitionSums partition_sums(const IdealSums& before, const IdealSums& after, const KernelSet& in,
                             const KernelSet& out) {
  const KernelSet kernels = out - in;
  double store = after.open_bytes, store_stream = after.open_stream_bytes;
  double held = after.held_bytes - before.held_bytes;
  double load = 0, load_stream = 0;
  for (const IdealSums::Open& tensor : before.open) {
    if (tensor.output || !tensor.uses.within(out)) {  // open still: stored by somebody before
      store -= tensor.bytes;
      store_stream -= tensor.stream_bytes;
    }
    if (tensor.uses.meets(kernels)) {
      load += tensor.bytes;
      load_stream += tensor.stream_bytes;
      held -= tensor.first_held_bytes;
    }
  }
  PartitionSums sums;
  sums.compute_s = after.compute_s - before.compute_s;
  sums.network_s = after.network_s - before.network_s;
  sums.wire_bytes = after.wire_bytes - before.wire_bytes;
  sums.flop = after.flop - before.flop;
  sums.weight_bytes = after.weight_bytes - before.weight_bytes;
  sums.load_bytes = load;
  sums.store_bytes = store;
  sums.store_buffer_bytes = store_stream;
  sums.dram_bytes = after.traffic_bytes - before.traffic_bytes + load + store;
  sums.buffer_bytes = held + load_stream + store_stream;
  sums.live_bytes = before.open_bytes + store;
  return sums;
}

double combine(MappingOverlap overlap, double compute_s, double memory_s, double network_s) {
  switch (overlap) {
    case MappingOverlap::kPerfect:
      return std::max({compute_s, memory_s, network_s});
    case MappingOverlap::kComputeMemory:
      return std::max(compute_s, memory_s) + network_s;
    case MappingOverlap::kNone:
      break;
  }
  return compute_s + memory_s + network_s;
}

namespace {

/// Pieces in which a lone kernel's weights pass SRAM, and what that adds to DRAM traffic. Zero pieces:
/// it does not fit.
struct Pieces {
  double count = 1, dram_bytes = 0;
};
Pieces weight_pieces(const ChipProgram& program, const PartitionSums& sums) {
  double cut = sums.weight_bytes, whole = sums.buffer_bytes;
  if (program.reload_all) {
    cut += sums.store_buffer_bytes;
    whole -= sums.store_buffer_bytes;
  }
  const double room = program.sram_bytes - whole;
  if (room <= 0) return {0, 0};
  Pieces pieces{std::ceil(cut / room), 0};
  if (program.reload_all) {
    pieces.dram_bytes = (pieces.count - 1) * (sums.load_bytes + sums.store_bytes);
  } else if (program.reload_inputs) {
    pieces.dram_bytes = (pieces.count - 1) * sums.load_bytes;
  }
  return pieces;
}

}  // namespace

PartitionCost partition_cost(const ChipProgram& program, const PartitionSums& sums,
                             const KernelSet& kernels) {
  PartitionCost cost;
  cost.time_s = kInfinity;
  double dram_bytes = sums.dram_bytes;
  if (sums.live_bytes > program.live_bytes) return cost;
  if (sums.sram_bytes() > program.sram_bytes) {
    // Only a lone kernel can take its weights piece by piece.
    if (sums.weight_bytes <= 0 || kernels.size() != 1) return cost;
    const Pieces pieces = weight_pieces(program, sums);
    if (pieces.count == 0) return cost;
    cost.weight_pieces = pieces.count;
    dram_bytes += pieces.dram_bytes;
  }
  cost.memory_s = dram_bytes / program.memory_bandwidth;
  cost.network_s = sums.network_s;
  cost.compute_s = program.curves.empty() ? sums.compute_s : split_seconds(program, kernels);
  cost.time_s = combine(program.overlap, cost.compute_s, cost.memory_s, cost.network_s);
  return cost;
}

}  // namespace flopcast::mapping
