// Floor 5: what a partition costs, from the two ideals before and after it.
//
// With S = J \ I, and over tensors t with producer u and readers R:
//   store  t of u in S with a reader outside J     load  t of u in I with a reader in S
//   held   t of u in S with a reader in S          live  t of u in I with a reader outside I,
//                                                        and all that S stores
// Every sum is a difference of per-ideal sums, corrected by the tensors open at I (written, not yet
// read by all): few, whatever S holds. So a transition costs O(open tensors).
// Worked number: a chain a -> b -> c with tensors of 10 and 20 bytes; I = {a}, J = {a, b}: loads 10,
// stores 20, holds nothing, 30 live.
#pragma once

#include <vector>

#include "mapping/partition/chip_program.h"

namespace flopcast::mapping {

/// Sums over the kernels and tensors of a partition.
struct PartitionSums {
  double compute_s = 0, network_s = 0;
  double dram_bytes = 0, wire_bytes = 0, flop = 0;
  double weight_bytes = 0, buffer_bytes = 0, live_bytes = 0;
  double load_bytes = 0, store_bytes = 0;  ///< of dram_bytes: tensors read, written
  double store_buffer_bytes = 0;           ///< of buffer_bytes: of tensors written

  double sram_bytes() const { return weight_bytes + buffer_bytes; }
};

/// The same for all kernels of an ideal, and what is open after it.
struct IdealSums {
  struct Open {
    KernelSet uses;
    double bytes = 0, stream_bytes = 0;
    double first_held_bytes = 0;  ///< of SRAM if J has its first reader; 0: it has been read before
    bool output = false;
  };
  double compute_s = 0, network_s = 0, weight_bytes = 0, traffic_bytes = 0, wire_bytes = 0,
         flop = 0;
  double open_bytes = 0, open_stream_bytes = 0;  ///< of tensors in `open`
  double held_bytes = 0;  ///< of tensors with producer and a reader in the ideal
  std::vector<Open> open;
};
IdealSums ideal_sums(const ChipProgram& program, const KernelSet& ideal);
PartitionSums partition_sums(const IdealSums& before, const IdealSums& after, const KernelSet& in,
                             const KernelSet& out);

/// Seconds of a partition, infinite where it does not fit.
struct PartitionCost {
  double compute_s = 0, memory_s = 0, network_s = 0;
  double time_s = 0;
  double weight_pieces = 1;  ///< a lone kernel's weights may pass SRAM in pieces
};
PartitionCost partition_cost(const ChipProgram& program, const PartitionSums& sums,
                             const KernelSet& kernels);

double combine(MappingOverlap overlap, double compute_s, double memory_s, double network_s);

}  // namespace flopcast::mapping
