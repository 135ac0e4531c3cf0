// Random programs of a chip, and what sequences of partitions cost by definition, for tests. All
// numbers are small integers over powers of two, so that sums are exact in any order.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <vector>

#include "mapping/partition/cost.h"
#include "mapping/partition/path.h"

namespace flopcast::mapping::test {

using Random = std::mt19937_64;

inline std::size_t below(Random& random, std::size_t n) { return random() % n; }
inline bool once_in(Random& random, std::size_t n) { return below(random, n) == 0; }
inline double size_below(Random& random, std::size_t n) {
  return static_cast<double>(below(random, n));
}

struct ProgramKind {
  std::size_t kernels = 6;
  std::size_t density = 30;        ///< per cent of pairs of kernels that a tensor joins
  bool shared = true;              ///< tensors may have several readers, and be outputs besides
  bool cycles = false;             ///< tiles are split
  std::size_t kernel_classes = 0;  ///< kernels that differ; 0: all do
};

inline ProgramTensor random_tensor(Random& random, std::int32_t producer) {
  ProgramTensor tensor;
  tensor.producer = producer;
  tensor.bytes = size_below(random, 64);
  tensor.held_bytes = size_below(random, 32);
  tensor.stream_bytes = size_below(random, 32);
  return tensor;
}

inline void add_random_tensors(Random& random, const ProgramKind& kind, ChipProgram& program) {
  for (std::size_t from = 0; from < kind.kernels; ++from) {
    ProgramTensor tensor = random_tensor(random, static_cast<std::int32_t>(from));
    for (std::size_t to = from + 1; to < kind.kernels; ++to) {
      if (below(random, 100) >= kind.density) continue;
      if (!kind.shared) tensor = random_tensor(random, static_cast<std::int32_t>(from));
      tensor.uses.add(to);
      if (!kind.shared) program.tensors.push_back(tensor);
    }
    if (!kind.shared) continue;
    tensor.output = once_in(random, tensor.uses.empty() ? 2 : 8);
    if (tensor.output || !tensor.uses.empty()) program.tensors.push_back(tensor);
  }
  for (std::size_t inputs = below(random, 3); inputs > 0; --inputs) {
    ProgramTensor tensor = random_tensor(random, ProgramTensor::kOutside);
    tensor.held_bytes = 0;
    tensor.uses.add(below(random, kind.kernels));
    if (kind.shared) tensor.uses.add(below(random, kind.kernels));
    program.tensors.push_back(tensor);
  }
}

inline void add_random_curve(Random& random, ChipProgram& program, ProgramKernel& kernel) {
  TileWork work;
  work.outer = 1 + static_cast<std::int64_t>(below(random, 3));
  work.m = 1 + static_cast<std::int64_t>(below(random, 40));
  work.n = 1 + static_cast<std::int64_t>(below(random, 20));
  work.k = static_cast<std::int64_t>(below(random, 5));
  program.curves.push_back(tile_curve(work, program.tiles, 4, 2));
  kernel.compute_s = program.curves.back().work / program.tiles / program.hertz;
}

inline void add_random_kernels(Random& random, const ProgramKind& kind, ChipProgram& program) {
  for (std::size_t i = 0; i < kind.kernels; ++i) {
    if (kind.kernel_classes > 0 && i >= kind.kernel_classes) {
      const std::size_t twin = below(random, kind.kernel_classes);
      program.kernels.push_back(program.kernels[twin]);
      if (kind.cycles) program.curves.push_back(program.curves[twin]);
      continue;
    }
    ProgramKernel kernel;
    kernel.compute_s = size_below(random, 64);
    kernel.network_s = size_below(random, 32);
    kernel.weight_bytes = once_in(random, 3) ? 0 : size_below(random, 64);
    kernel.traffic_bytes = once_in(random, 2) ? 0 : size_below(random, 64);
    kernel.wire_bytes = size_below(random, 16);
    kernel.flop = size_below(random, 16);
    if (kind.cycles) add_random_curve(random, program, kernel);
    program.kernels.push_back(kernel);
  }
}

inline ChipProgram random_program(Random& random, const ProgramKind& kind) {
  ChipProgram program;
  if (kind.cycles) {
    program.tiles = 16;
    program.hertz = 4;
  }
  add_random_kernels(random, kind, program);
  add_random_tensors(random, kind, program);
  program.memory_bandwidth = std::ldexp(1.0, static_cast<int>(below(random, 4)));
  program.overlap = static_cast<MappingOverlap>(below(random, 3));
  program.reload_inputs = once_in(random, 2);
  program.reload_all = once_in(random, 4);
  const std::size_t most = 60 * kind.kernels + 40;
  if (!once_in(random, 3)) program.sram_bytes = 40 + size_below(random, most);
  if (!once_in(random, 3)) program.live_bytes = 40 + size_below(random, most);
  link_producers(program);
  return program;
}

/// Partition of every kernel; those that are still to come are in kLater.
using Assignment = std::vector<unsigned>;
inline constexpr unsigned kLater = 1000;

/// What partition p takes, tensor by tensor.
inline PartitionSums sums_by_definition(const ChipProgram& program, const Assignment& of,
                                        unsigned p) {
  PartitionSums sums;
  for (std::size_t i = 0; i < program.size(); ++i) {
    if (of[i] != p) continue;
    sums.compute_s += program.kernels[i].compute_s;
    sums.network_s += program.kernels[i].network_s;
    sums.weight_bytes += program.kernels[i].weight_bytes;
    sums.dram_bytes += program.kernels[i].traffic_bytes;
    sums.wire_bytes += program.kernels[i].wire_bytes;
    sums.flop += program.kernels[i].flop;
  }
  for (const ProgramTensor& tensor : program.tensors) {
    bool here = false, later = tensor.output;
    tensor.uses.each([&](std::size_t use) {
      here = here || of[use] == p;
      later = later || of[use] > p;
    });
    const bool outside = tensor.producer == ProgramTensor::kOutside;
    const unsigned written = outside ? 0 : of[static_cast<std::size_t>(tensor.producer)];
    if (!outside && written > p) continue;
    if (!outside && written == p) {
      if (here) sums.buffer_bytes += tensor.held_bytes;
      if (!later) continue;
      sums.store_bytes += tensor.bytes;
      sums.store_buffer_bytes += tensor.stream_bytes;
      sums.live_bytes += tensor.bytes;
      continue;
    }
    if (here || later) sums.live_bytes += tensor.bytes;
    if (!here) continue;
    sums.load_bytes += tensor.bytes;
    sums.buffer_bytes += tensor.stream_bytes;
  }
  sums.dram_bytes += sums.load_bytes + sums.store_bytes;
  sums.buffer_bytes += sums.store_buffer_bytes;
  return sums;
}

/// Seconds of partition p; infinite where it does not fit.
inline double time_by_definition(const ChipProgram& program, const Assignment& of, unsigned p) {
  const PartitionSums sums = sums_by_definition(program, of, p);
  std::vector<const TileCurve*> curves;
  const auto kernels = std::count(of.begin(), of.end(), p);
  double dram_bytes = sums.dram_bytes;
  if (sums.live_bytes > program.live_bytes) return INFINITY;
  if (sums.sram_bytes() > program.sram_bytes) {
    const double cut = sums.weight_bytes + (program.reload_all ? sums.store_buffer_bytes : 0);
    const double room = program.sram_bytes - (sums.sram_bytes() - cut);
    if (kernels != 1 || sums.weight_bytes == 0 || room <= 0) return INFINITY;
    int pieces = 1;
    while (cut > room * pieces) ++pieces;
    const double again = program.reload_all      ? sums.load_bytes + sums.store_bytes
                         : program.reload_inputs ? sums.load_bytes
                                                 : 0;
    dram_bytes += (pieces - 1) * again;
  }
  double compute_s = sums.compute_s;
  if (!program.curves.empty()) {
    for (std::size_t i = 0; i < of.size(); ++i) {
      if (of[i] == p) curves.push_back(&program.curves[i]);
    }
    compute_s = split_cycles(curves, program.tiles) / program.hertz;
  }
  const double memory_s = dram_bytes / program.memory_bandwidth;
  if (program.overlap == MappingOverlap::kPerfect) {
    return std::max({compute_s, memory_s, sums.network_s});
  }
  return (program.overlap == MappingOverlap::kComputeMemory ? std::max(compute_s, memory_s)
                                                            : compute_s + memory_s) +
         sums.network_s;
}

/// Time of partitions one after the other; nothing where they leave a kernel out, have one twice or
/// before a producer, or where one does not fit.
inline std::optional<double> time_by_definition(const ChipProgram& program,
                                                const std::vector<KernelSet>& partitions) {
  Assignment of(program.size(), kLater);
  for (unsigned p = 0; p < partitions.size(); ++p) {
    bool twice = false;
    partitions[p].each([&](std::size_t kernel) {
      twice = twice || kernel >= of.size() || of[kernel] != kLater;
      if (!twice) of[kernel] = p;
    });
    if (twice) return std::nullopt;
  }
  bool in_order = std::find(of.begin(), of.end(), kLater) == of.end();
  for (const ProgramTensor& tensor : program.tensors) {
    if (tensor.producer == ProgramTensor::kOutside) continue;
    tensor.uses.each([&](std::size_t use) {
      in_order = in_order && of[static_cast<std::size_t>(tensor.producer)] <= of[use];
    });
  }
  if (!in_order) return std::nullopt;
  double time_s = 0;
  for (unsigned p = 0; p < partitions.size(); ++p) {
    if (!partitions[p].empty()) time_s += time_by_definition(program, of, p);
  }
  return std::isfinite(time_s) ? std::optional(time_s) : std::nullopt;
}

/// A kernel that must, or must not, be in a partition.
struct Pin {
  std::size_t kernel = 0;
  unsigned partition = 0;
  bool forbidden = false;
};

/// The best of all sequences of partitions, each looked at.
class Enumeration {
 public:
  /// @param partitions at most so many, 0: any; with pins exactly so many, some of them empty
  Enumeration(const ChipProgram& program, unsigned partitions, std::vector<Pin> pins = {})
      : program_(program),
        partitions_(partitions),
        pins_(std::move(pins)),
        of_(program.size(), kLater),
        producers_(program.size(), 0) {
    for (std::size_t i = 0; i < program.size(); ++i) {
      program.producers[i].each([&](std::size_t u) { producers_[i] |= 1U << u; });
    }
  }

  /// False where there are more than `most` sequences, whole or begun.
  bool run(std::size_t most) {
    left_ = most;
    look(0, 0, 0);
    return left_ > 0;
  }
  double best_s() const { return best_s_; }  ///< infinite: none fits

 private:
  bool allowed(unsigned p) const {
    return std::all_of(pins_.begin(), pins_.end(), [&](const Pin& pin) {
      if (pin.forbidden) return pin.partition != p || of_[pin.kernel] != p;
      return (pin.partition == p) == (of_[pin.kernel] == p);
    });
  }

  void look(unsigned p, unsigned done, double time_s) {
    const unsigned all = (1U << program_.size()) - 1;
    if (left_ == 0 || --left_ == 0) return;
    if (done == all && (pins_.empty() || p == partitions_)) best_s_ = std::min(best_s_, time_s);
    if (partitions_ != 0 && p == partitions_) return;
    const unsigned rest = all & ~done;
    for (unsigned set = rest;; set = (set - 1) & rest) {
      if (set == 0 && pins_.empty()) break;
      if (closed(set, done)) take(p, set, done, time_s);
      if (set == 0) break;
    }
  }
  bool closed(unsigned set, unsigned done) const {
    for (std::size_t i = 0; i < producers_.size(); ++i) {
      if ((set >> i & 1) != 0 && (producers_[i] & ~(set | done)) != 0) return false;
    }
    return true;
  }
  void take(unsigned p, unsigned set, unsigned done, double time_s) {
    for (std::size_t i = 0; i < of_.size(); ++i) {
      if ((set >> i & 1) != 0) of_[i] = p;
    }
    const double own_s = set == 0 ? 0 : time_by_definition(program_, of_, p);
    if (std::isfinite(own_s) && allowed(p)) look(p + 1, done | set, time_s + own_s);
    for (std::size_t i = 0; i < of_.size(); ++i) {
      if ((set >> i & 1) != 0) of_[i] = kLater;
    }
  }

  const ChipProgram& program_;
  const unsigned partitions_;
  const std::vector<Pin> pins_;
  Assignment of_;
  std::vector<unsigned> producers_;
  std::size_t left_ = 0;
  double best_s_ = INFINITY;
};

}  // namespace flopcast::mapping::test
