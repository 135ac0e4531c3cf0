#include "mapping/partition/bounded_path.h"

#include <algorithm>
#include <limits>

#include "mapping/partition/cost.h"
#include "mapping/partition/sink_path.h"

namespace flopcast::mapping {
namespace {

/// Gives sinks that share a tensor with other sinks copies of their own: dear ones, or free ones.
ChipProgram with_own_inputs(const ChipProgram& program, bool dear) {
  const KernelSet sinks = sinks_of(program);
  ChipProgram own = program;
  own.tensors.clear();
  for (const ProgramTensor& tensor : program.tensors) {
    const KernelSet readers = tensor.uses & sinks;
    const KernelSet others = tensor.uses - sinks;
    if (readers.size() <= 1) {
      own.tensors.push_back(tensor);
      continue;
    }
    if (!others.empty() || tensor.output) {
      own.tensors.push_back(tensor);
      own.tensors.back().uses = others;
    }
    readers.each([&](std::size_t sink) {
      ProgramTensor copy = tensor;
      copy.uses = KernelSet::of(sink);
      copy.output = false;
      if (!dear) copy.bytes = copy.held_bytes = copy.stream_bytes = 0;
      own.tensors.push_back(copy);
    });
  }
  link_producers(own);
  return own;
}

/// Time of given partitions; infinite where one does not fit.
double time_of(const ChipProgram& program, const std::vector<KernelSet>& partitions) {
  double time_s = 0;
  KernelSet before;
  IdealSums sums_before = ideal_sums(program, before);
  for (const KernelSet& kernels : partitions) {
    const KernelSet after = before | kernels;
    const IdealSums sums_after = ideal_sums(program, after);
    time_s +=
        partition_cost(program, partition_sums(sums_before, sums_after, before, after), kernels)
            .time_s;
    before = after;
    sums_before = sums_after;
  }
  return time_s;
}

/// Takes the better of two paths, judged in the real program.
void improve(const ChipProgram& program, std::optional<PartitionPath> path, BoundedPath& best) {
  if (!path) return;
  path->time_s = time_of(program, path->partitions);
  if (path->time_s == kInfinity) return;
  if (!best.path || path->time_s < best.path->time_s) best.path = std::move(path);
}

}  // namespace

BoundedPath bounded_partitions(const ChipProgram& program, unsigned partitions, double gap) {
  BoundedPath best;
  best.bound_s = partitions_bound(program);
  bool too_large = false;
  const std::optional<PartitionPath> cheap =
      best_sink_partitions(with_own_inputs(program, false), partitions, {}, too_large);
  if (!too_large && !cheap) return best;  // not even that fits
  if (cheap) {
    best.bound_s = std::max(best.bound_s, cheap->time_s);
    improve(program, cheap, best);
    if (best.path && best.path->time_s <= best.bound_s * (1 + gap)) return best;
    improve(program,
            best_sink_partitions(with_own_inputs(program, true), partitions, {}, too_large), best);
  }
  for (const bool depth_first : {false, true}) {
    improve(program,
            best_partitions(program, chain_lattice(program.producers, depth_first), partitions),
            best);
  }
  if (best.path) best.bound_s = std::min(best.bound_s, best.path->time_s);
  return best;
}

}  // namespace flopcast::mapping
