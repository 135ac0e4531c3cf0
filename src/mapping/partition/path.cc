#include "mapping/partition/path.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "mapping/partition/cost.h"

namespace flopcast::mapping {
namespace {

class PathSearch {
 public:
  PathSearch(const ChipProgram& program, const IdealLattice& lattice, unsigned partitions,
             const PartitionRules& rules)
      : program_(program),
        lattice_(lattice),
        rules_(rules),
        stages_(partitions == 0 ? 1 : partitions),
        counted_(partitions != 0),
        best_(lattice.size() * (stages_ + 1), kInfinity),
        from_(best_.size(), kNobody),
        seen_(lattice.size(), kNobody) {
    sums_.reserve(lattice.size());
    for (const KernelSet& ideal : lattice.ideals) sums_.push_back(ideal_sums(program, ideal));
  }

  std::optional<PartitionPath> run() {
    for (std::size_t p = stages_; counted_ && p < rules_.of.size(); ++p) {
      if (!rules_.of[p].must.empty()) return std::nullopt;  // pinned beyond the last partition
    }
    look_for_incumbent();
    best_[0] = 0;
    for (std::uint32_t ideal = 0; ideal < lattice_.size(); ++ideal) {
      if (counted_) leave_empty(ideal);
      if (promising(ideal)) extend(ideal);
    }
    std::optional<PartitionPath> path = trace();
    if (incumbent_ && (!path || incumbent_->time_s <= path->time_s)) path = std::move(incumbent_);
    if (path) path->transitions = transitions_;
    return path;
  }

 private:
  /// Some sequence of partitions, before all are looked at: the better of those along two chains. A
  /// lattice not much larger than its chains is quicker to search than to bound.
  void look_for_incumbent() {
    if (!rules_.empty() || lattice_.size() <= 4 * program_.size()) return;
    for (const bool depth_first : {false, true}) {
      std::optional<PartitionPath> path =
          best_partitions(program_, chain_lattice(program_.producers, depth_first),
                          counted_ ? static_cast<unsigned>(stages_) : 0);
      if (!path) continue;
      transitions_ += path->transitions;
      if (!incumbent_ || path->time_s < incumbent_->time_s) incumbent_ = std::move(path);
    }
    if (!incumbent_) return;
    to_beat_ = incumbent_->time_s;
    bound_rests();
  }

  /// No sequence gets from an ideal to the end in less: what is open there and still to be read is
  /// loaded at least once, an output that is still to come is stored, and no resource works faster
  /// in several partitions than in one.
  void bound_rests() {
    const IdealSums& all = sums_.back();
    rest_.reserve(lattice_.size());
    for (std::size_t ideal = 0; ideal < lattice_.size(); ++ideal) {
      const IdealSums& done = sums_[ideal];
      double dram_bytes = all.traffic_bytes - done.traffic_bytes;
      for (const IdealSums::Open& tensor : done.open) {
        if (!tensor.uses.within(lattice_.ideals[ideal])) dram_bytes += tensor.bytes;
      }
      for (const ProgramTensor& tensor : program_.tensors) {
        const bool outside = tensor.producer == ProgramTensor::kOutside;
        if (tensor.output && !outside &&
            !lattice_.ideals[ideal].has(static_cast<std::size_t>(tensor.producer))) {
          dram_bytes += tensor.bytes;
        }
      }
      rest_.push_back(combine(program_.overlap, all.compute_s - done.compute_s,
                              dram_bytes / program_.memory_bandwidth,
                              all.network_s - done.network_s));
    }
  }

  /// Whether a sequence through an ideal, reached in this time, may beat the best that is known, and
  /// by more than sums of the same numbers in another order differ.
  bool may_win(double time_s, std::uint32_t ideal) const {
    constexpr double kRounding = 1e-12;
    return rest_.empty() || time_s + rest_[ideal] < to_beat_ * (1 - kRounding);
  }
  bool promising(std::uint32_t ideal) {
    const double* times = row(ideal);
    const double least = *std::min_element(times, times + stages_ + 1);
    return least < kInfinity && may_win(least, ideal);
  }

  double* row(std::size_t ideal) { return &best_[ideal * (stages_ + 1)]; }

  /// Numbered partitions may be empty: of use only where rules speak of numbers.
  void leave_empty(std::uint32_t ideal) {
    if (rules_.empty()) return;
    for (std::size_t p = 0; p < stages_; ++p) {
      if (row(ideal)[p] < row(ideal)[p + 1] && rules_.allow(p, KernelSet{})) {
        row(ideal)[p + 1] = row(ideal)[p];
        from_[ideal * (stages_ + 1) + p + 1] = ideal;
      }
    }
  }

  /// Every ideal above this one, each once: a walk over the covers.
  void extend(std::uint32_t ideal) {
    queue_.assign(1, ideal);
    seen_[ideal] = ideal;
    for (std::size_t at = 0; at < queue_.size(); ++at) {
      for (const IdealLattice::Cover& cover : lattice_.covers_of(queue_[at])) {
        if (seen_[cover.ideal] == ideal) continue;
        seen_[cover.ideal] = ideal;
        if (consider(ideal, cover.ideal)) queue_.push_back(cover.ideal);
      }
    }
  }

  /// False where nothing larger can fit either.
  bool consider(std::uint32_t before, std::uint32_t after) {
    ++transitions_;
    const KernelSet& in = lattice_.ideals[before];
    const KernelSet& out = lattice_.ideals[after];
    // Weights only grow with the partition; one kernel alone may take them in pieces.
    const bool fits = sums_[after].weight_bytes - sums_[before].weight_bytes <= program_.sram_bytes;
    const KernelSet kernels = out - in;
    const bool alone = kernels.size() == 1;
    if ((!fits && !alone) || hopeless(before, after, least_dram(before, after))) {
      return fits || alone;
    }
    const PartitionSums sums = partition_sums(sums_[before], sums_[after], in, out);
    if (!program_.curves.empty() && hopeless(before, after, sums.dram_bytes)) return true;
    const PartitionCost cost = partition_cost(program_, sums, kernels);
    if (cost.time_s < kInfinity) relax(before, after, cost.time_s, kernels);
    return true;
  }

  /// What is open at one end of a partition and not at the other was stored or loaded in it.
  double least_dram(std::uint32_t before, std::uint32_t after) const {
    return sums_[after].traffic_bytes - sums_[before].traffic_bytes +
           std::abs(sums_[after].open_bytes - sums_[before].open_bytes);
  }

  /// With this traffic alone too slow already: tensors need not be looked at, nor tiles be split.
  bool hopeless(std::uint32_t before, std::uint32_t after, double dram_bytes) {
    if (counted_) return false;
    const double least =
        row(before)[0] + combine(program_.overlap, sums_[after].compute_s - sums_[before].compute_s,
                                 dram_bytes / program_.memory_bandwidth,
                                 sums_[after].network_s - sums_[before].network_s);
    return least >= row(after)[0] || !may_win(least, after);
  }

  void relax(std::uint32_t before, std::uint32_t after, double time_s, const KernelSet& kernels) {
    const double* from = row(before);
    double* to = row(after);
    const std::size_t step = counted_ ? 1 : 0;
    for (std::size_t p = 0; p + step <= stages_; ++p) {
      if (p > 0 && !counted_) break;
      if (from[p] + time_s >= to[p + step]) continue;
      if (counted_ && !rules_.empty() && !rules_.allow(p, kernels)) continue;
      to[p + step] = from[p] + time_s;
      from_[after * (stages_ + 1) + p + step] = before;
      if (after + 1 == lattice_.size() && rules_.empty()) {
        to_beat_ = std::min(to_beat_, to[p + step]);
      }
    }
  }

  std::optional<PartitionPath> trace() {
    const std::size_t last = lattice_.size() - 1;
    const double* end = row(last);
    std::size_t p = 0;
    if (rules_.empty()) {
      p = static_cast<std::size_t>(std::min_element(end, end + stages_ + 1) - end);
    } else {
      p = stages_;  // every rule has been heard
    }
    if (end[p] == kInfinity) return std::nullopt;
    PartitionPath path;
    path.time_s = end[p];
    for (std::size_t at = last; counted_ ? p > 0 : at > 0; p -= counted_ ? 1 : 0) {
      const std::uint32_t before = from_[at * (stages_ + 1) + p];
      path.partitions.push_back(lattice_.ideals[at] - lattice_.ideals[before]);
      at = before;
    }
    std::reverse(path.partitions.begin(), path.partitions.end());
    if (rules_.empty()) {
      std::erase_if(path.partitions, [](const KernelSet& set) { return set.empty(); });
    }
    return path;
  }

  const ChipProgram& program_;
  const IdealLattice& lattice_;
  const PartitionRules& rules_;
  const std::size_t stages_;
  const bool counted_;
  std::vector<IdealSums> sums_;
  std::vector<double> best_;         // [ideal][partitions used]
  std::vector<std::uint32_t> from_;  // the ideal before
  std::vector<std::uint32_t> seen_, queue_;
  std::uint64_t transitions_ = 0;
  std::optional<PartitionPath> incumbent_;
  double to_beat_ = kInfinity;  // time of the best whole sequence so far
  std::vector<double> rest_;    // per ideal, at least: to the end; empty without an incumbent
};

}  // namespace

bool PartitionRules::allow(std::size_t partition, const KernelSet& kernels) const {
  if (partition >= of.size()) return !kernels.meets(pinned);
  const Rule& rule = of[partition];
  return (kernels & pinned) == rule.must && !kernels.meets(rule.must_not);
}

std::optional<PartitionPath> best_partitions(const ChipProgram& program,
                                             const IdealLattice& lattice, unsigned partitions,
                                             const PartitionRules& rules) {
  return PathSearch(program, lattice, partitions, rules).run();
}

std::optional<PartitionPath> one_by_one(const ChipProgram& program) {
  PartitionPath path;
  KernelSet before;
  IdealSums sums_before = ideal_sums(program, before);
  while (path.partitions.size() < program.size()) {
    std::size_t next = 0;
    while (before.has(next) || !program.producers[next].within(before)) ++next;
    KernelSet after = before;
    after.add(next);
    const IdealSums sums_after = ideal_sums(program, after);
    const PartitionCost cost = partition_cost(
        program, partition_sums(sums_before, sums_after, before, after), after - before);
    if (cost.time_s == kInfinity) return std::nullopt;
    path.time_s += cost.time_s;
    path.partitions.push_back(after - before);
    ++path.transitions;
    before = after;
    sums_before = sums_after;
  }
  return path;
}

std::optional<PartitionPath> all_at_once(const ChipProgram& program) {
  KernelSet all;
  for (std::size_t kernel = 0; kernel < program.size(); ++kernel) all.add(kernel);
  const PartitionSums sums =
      partition_sums(ideal_sums(program, {}), ideal_sums(program, all), {}, all);
  const PartitionCost cost = partition_cost(program, sums, all);
  if (cost.time_s == kInfinity) return std::nullopt;
  return PartitionPath{cost.time_s, {all}, 1};
}

double partitions_bound(const ChipProgram& program) {
  double compute_s = 0, network_s = 0, dram_bytes = 0, work = 0;
  for (const ProgramKernel& kernel : program.kernels) {
    compute_s += kernel.compute_s;
    network_s += kernel.network_s;
    dram_bytes += kernel.traffic_bytes;
  }
  for (const ProgramTensor& tensor : program.tensors) {
    const bool input = tensor.producer == ProgramTensor::kOutside;
    if (input ? !tensor.uses.empty() : tensor.output) dram_bytes += tensor.bytes;
  }
  for (const TileCurve& curve : program.curves) work += curve.work;
  if (!program.curves.empty()) compute_s = work / program.tiles / program.hertz;
  return combine(program.overlap, compute_s, dram_bytes / program.memory_bandwidth, network_s);
}

}  // namespace flopcast::mapping
