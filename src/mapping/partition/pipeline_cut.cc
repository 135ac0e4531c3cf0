#include "mapping/partition/pipeline_cut.h"

#include <algorithm>
#include <limits>

#include "mapping/partition/cost.h"

namespace flopcast::mapping {
namespace {

class PipelineSearch {
 public:
  PipelineSearch(const ChipProgram& program, const IdealLattice& lattice,
                 const PipelineLimits& limits)
      : program_(program), lattice_(lattice), limits_(limits) {
    for (const KernelSet& ideal : lattice.ideals) sums_.push_back(ideal_sums(program, ideal));
    for (std::uint32_t ideal = 0; ideal < lattice.size(); ++ideal) add_transitions(ideal);
    step_begin_.push_back(steps_.size());
  }

  std::optional<PipelineCut> run() {
    const std::size_t n = lattice_.size();
    std::vector<double> best(n, kInfinity);
    best[0] = 0;
    std::vector<std::vector<std::uint32_t>> from;
    for (unsigned stage = 0; stage < limits_.stages; ++stage) {
      std::vector<double> next = best;  // a stage may be empty: more stages never hurt
      from.emplace_back(n, kNobody);
      for (std::uint32_t before = 0; before < n; ++before) {
        if (best[before] < kInfinity) extend(before, best[before], next, from.back());
      }
      best = std::move(next);
    }
    if (best[n - 1] == kInfinity) return std::nullopt;
    return trace(best[n - 1], from);
  }

 private:
  struct Step {
    std::uint32_t to = 0;
    double time_s = 0;
  };

  void add_transitions(std::uint32_t ideal) {
    step_begin_.push_back(steps_.size());
    std::vector<bool> seen(lattice_.size(), false);
    std::vector<std::uint32_t> queue{ideal};
    for (std::size_t at = 0; at < queue.size(); ++at) {
      for (const IdealLattice::Cover& cover : lattice_.covers_of(queue[at])) {
        if (seen[cover.ideal]) continue;
        seen[cover.ideal] = true;
        const KernelSet& out = lattice_.ideals[cover.ideal];
        const KernelSet& in = lattice_.ideals[ideal];
        const PartitionSums sums = partition_sums(sums_[ideal], sums_[cover.ideal], in, out);
        const PartitionCost cost = partition_cost(program_, sums, out - in);
        if (cost.time_s < kInfinity) steps_.push_back({cover.ideal, cost.time_s});
        const bool grows = !limits_.kernel_by_kernel && sums.weight_bytes <= program_.sram_bytes;
        if (grows || (at == 0 && !limits_.kernel_by_kernel)) queue.push_back(cover.ideal);
      }
    }
  }

  /// Shortest paths from one ideal to all above it; `last` is the ideal before each.
  void paths_from(std::uint32_t source, std::vector<double>& time_s,
                  std::vector<std::uint32_t>& last) const {
    time_s.assign(lattice_.size(), kInfinity);
    last.assign(lattice_.size(), kNobody);
    time_s[source] = 0;
    for (std::uint32_t at = source; at < lattice_.size(); ++at) {
      if (time_s[at] == kInfinity) continue;
      for (std::size_t i = step_begin_[at]; i < step_begin_[at + 1]; ++i) {
        const Step& step = steps_[i];
        if (time_s[at] + step.time_s >= time_s[step.to]) continue;
        time_s[step.to] = time_s[at] + step.time_s;
        last[step.to] = at;
      }
    }
  }

  void extend(std::uint32_t before, double slowest_s, std::vector<double>& next,
              std::vector<std::uint32_t>& from) {
    paths_from(before, time_s_, last_);
    for (std::uint32_t after = before + 1; after < lattice_.size(); ++after) {
      if (time_s_[after] == kInfinity || !holds(before, after)) continue;
      const double stage_s = std::max(slowest_s, stage(time_s_[after], after));
      if (stage_s >= next[after]) continue;
      next[after] = stage_s;
      from[after] = before;
    }
  }

  bool holds(std::uint32_t before, std::uint32_t after) const {
    if (limits_.capacity_bytes <= 0) return true;
    const double weights = sums_[after].weight_bytes - sums_[before].weight_bytes;
    return weights + std::max(sums_[before].open_bytes, sums_[after].open_bytes) <=
           limits_.capacity_bytes;
  }
  double stage(double partitions_s, std::uint32_t after) const {
    if (after + 1 == lattice_.size() || limits_.stages == 1) return partitions_s;
    const double send_s = limits_.send_latency_s + sums_[after].open_bytes / limits_.send_bandwidth;
    return program_.overlap == MappingOverlap::kPerfect ? std::max(partitions_s, send_s)
                                                        : partitions_s + send_s;
  }

  PipelineCut trace(double slowest_s, const std::vector<std::vector<std::uint32_t>>& from) {
    PipelineCut cut;
    cut.slowest_s = slowest_s;
    cut.transitions = steps_.size();
    std::vector<std::uint32_t> ends{static_cast<std::uint32_t>(lattice_.size() - 1)};
    for (std::size_t stage = from.size(); stage-- > 0;) {
      const std::uint32_t before = from[stage][ends.back()];
      if (before != kNobody) ends.push_back(before);  // else the stage is empty
    }
    std::reverse(ends.begin(), ends.end());
    for (std::size_t stage = 0; stage + 1 < ends.size(); ++stage) {
      paths_from(ends[stage], time_s_, last_);
      std::vector<KernelSet> own;
      for (std::uint32_t at = ends[stage + 1]; at != ends[stage]; at = last_[at]) {
        own.push_back(lattice_.ideals[at] - lattice_.ideals[last_[at]]);
      }
      cut.partitions.insert(cut.partitions.end(), own.rbegin(), own.rend());
      cut.stage_of.resize(cut.partitions.size(), static_cast<std::uint32_t>(stage));
      cut.weight_bytes = std::max(
          cut.weight_bytes, sums_[ends[stage + 1]].weight_bytes - sums_[ends[stage]].weight_bytes);
    }
    return cut;
  }

  const ChipProgram& program_;
  const IdealLattice& lattice_;
  const PipelineLimits& limits_;
  std::vector<IdealSums> sums_;
  std::vector<std::size_t> step_begin_;
  std::vector<Step> steps_;
  std::vector<double> time_s_;
  std::vector<std::uint32_t> last_;
};

}  // namespace

std::optional<PipelineCut> best_pipeline(const ChipProgram& program, const IdealLattice& lattice,
                                         const PipelineLimits& limits) {
  return PipelineSearch(program, lattice, limits).run();
}

}  // namespace flopcast::mapping
