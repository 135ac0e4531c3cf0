#include "mapping/partition/sink_path.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "mapping/partition/cost.h"

namespace flopcast::mapping {
namespace {

/// A kernel nobody reads. No other sink reads its tensors; kernels of the trunk may.
struct Sink {
  std::size_t kernel = 0;
  std::size_t sink_class = 0;
  KernelSet producers;
  KernelSet rivals;                   ///< of the trunk, that read what it reads
  std::vector<std::uint32_t> inputs;  ///< tensors, by size
};

bool same_curve(const ChipProgram& program, std::size_t a, std::size_t b) {
  if (program.curves.empty()) return true;
  const auto& left = program.curves[a].points;
  const auto& right = program.curves[b].points;
  return std::equal(
      left.begin(), left.end(), right.begin(), right.end(),
      [](const auto& x, const auto& y) { return x.tiles == y.tiles && x.cycles == y.cycles; });
}

bool alike(const ChipProgram& program, const Sink& a, const Sink& b) {
  const ProgramKernel& left = program.kernels[a.kernel];
  const ProgramKernel& right = program.kernels[b.kernel];
  const auto same_input = [&](std::uint32_t x, std::uint32_t y) {
    return program.tensors[x].bytes == program.tensors[y].bytes &&
           program.tensors[x].stream_bytes == program.tensors[y].stream_bytes &&
           program.tensors[x].output == program.tensors[y].output;
  };
  return left.compute_s == right.compute_s && left.network_s == right.network_s &&
         left.weight_bytes == right.weight_bytes && left.traffic_bytes == right.traffic_bytes &&
         same_curve(program, a.kernel, b.kernel) &&
         std::equal(a.inputs.begin(), a.inputs.end(), b.inputs.begin(), b.inputs.end(), same_input);
}

/// What a partition between two ideals does with a sink's input, the trunk's readers being what they
/// are: they may load, hold or store it anyway.
struct InputFate {
  bool on_chip = false;      ///< its producer is in the partition
  bool loaded = false;       ///< else: the trunk loads it; or, on chip, holds it
  bool kept_before = false;  ///< in DRAM before the partition for the sink's sake alone
  bool kept_after = false;   ///< and after it
  bool operator==(const InputFate&) const = default;
};

/// Sinks of one class that one partition meets in the same way.
struct Group {
  std::size_t sink_class = 0;
  bool left_over = false;  ///< ready before the partition
  std::size_t pool_before = 0, pool_after = 0;
  std::vector<InputFate> inputs;
  std::vector<std::size_t> sinks;  ///< those that hold the least SRAM first: best to take first
};

/// Ready sinks at an ideal that nothing tells apart but whether they have run: of one class, and no
/// kernel of the trunk still to read their inputs. A sink with such rivals is a pool of its own.
struct Pool {
  std::size_t sink_class = 0;
  bool settled = true;
  std::vector<std::size_t> sinks;
};

class SinkSearch {
 public:
  SinkSearch(const ChipProgram& program, unsigned partitions, const SinkLimits& limits)
      : program_(program), limits_(limits), counted_(partitions != 0) {
    columns_ = counted_ ? partitions + 1 : 1;
    split();
    classify();
  }

  std::optional<PartitionPath> run(bool& too_large) {
    too_large = !make_states();
    if (too_large) return std::nullopt;
    best_.assign(state_count_ * columns_, kInfinity);
    from_.assign(best_.size(), 0);
    best_[0] = 0;
    for (std::uint32_t ideal = 0; ideal < lattice_.size(); ++ideal) {
      // Counts only grow within an ideal, and states are numbered by counts.
      for (std::size_t state = first_state_[ideal]; state < first_state_[ideal + 1]; ++state) {
        const auto row = best_.begin() + static_cast<std::ptrdiff_t>(state * columns_);
        if (std::all_of(row, row + static_cast<std::ptrdiff_t>(columns_),
                        [](double time) { return time == kInfinity; })) {
          continue;
        }
        each_step(ideal, state, [&](const Step& step) { relax(state, step); });
      }
    }
    return trace();
  }

 private:
  struct Step {
    std::size_t state = 0;  ///< after
    std::uint32_t ideal = 0;
    double time_s = 0;
    const std::vector<Group>* groups = nullptr;
    const std::vector<std::size_t>* taken = nullptr;  ///< per group
  };

  /// The trunk's own program: kernels renumbered, tensors of sinks left out.
  void split() {
    const KernelSet sinks = all_sinks_ = sinks_of(program_);
    std::vector<std::int32_t> position(program_.size(), -1);
    for (std::size_t i = 0; i < program_.size(); ++i) {
      if (sinks.has(i)) {
        sinks_.push_back({i, 0, program_.producers[i], {}, {}});
      } else {
        position[i] = static_cast<std::int32_t>(trunk_.kernels.size());
        trunk_kernels_.push_back(i);
        trunk_.kernels.push_back(program_.kernels[i]);
      }
    }
    for (std::uint32_t i = 0; i < program_.tensors.size(); ++i) {
      ProgramTensor tensor = program_.tensors[i];
      const KernelSet rivals = tensor.uses - sinks;
      for (Sink& sink : sinks_) {
        if (!tensor.uses.has(sink.kernel)) continue;
        sink.inputs.push_back(i);
        sink.rivals = sink.rivals | rivals;
      }
      if (rivals.empty() && !tensor.output) continue;
      tensor.uses = {};
      rivals.each(
          [&](std::size_t use) { tensor.uses.add(static_cast<std::size_t>(position[use])); });
      if (tensor.producer >= 0) {
        tensor.producer = position[static_cast<std::size_t>(tensor.producer)];
      }
      trunk_.tensors.push_back(tensor);
    }
    link_producers(trunk_);
  }

  void classify() {
    for (Sink& sink : sinks_) {
      std::stable_sort(sink.inputs.begin(), sink.inputs.end(), [&](auto a, auto b) {
        return program_.tensors[a].bytes < program_.tensors[b].bytes;
      });
      const auto twin =
          std::find_if(representatives_.begin(), representatives_.end(),
                       [&](std::size_t s) { return alike(program_, sinks_[s], sink); });
      sink.sink_class = static_cast<std::size_t>(twin - representatives_.begin());
      if (twin == representatives_.end()) {
        representatives_.push_back(static_cast<std::size_t>(&sink - sinks_.data()));
      }
    }
  }

  KernelSet in_program(const KernelSet& trunk) const {
    KernelSet set;
    trunk.each([&](std::size_t kernel) { set.add(trunk_kernels_[kernel]); });
    return set;
  }

  bool make_states() {
    auto lattice = ideal_lattice(trunk_.producers, limits_.most_ideals);
    if (!lattice) return false;
    lattice_ = std::move(*lattice);
    for (const KernelSet& ideal : lattice_.ideals) {
      wholes_.push_back(in_program(ideal));
      sums_.push_back(ideal_sums(trunk_, ideal));
      pools_.push_back(pools_at(wholes_.back()));
      first_state_.push_back(state_count_);
      double states = 1;
      for (const Pool& pool : pools_.back()) states *= static_cast<double>(pool.sinks.size() + 1);
      if (static_cast<double>(state_count_) + states > static_cast<double>(limits_.most_states)) {
        return false;
      }
      state_count_ += static_cast<std::size_t>(states);
    }
    first_state_.push_back(state_count_);
    seen_.assign(lattice_.size(), std::numeric_limits<std::uint32_t>::max());
    return true;
  }

  std::vector<Pool> pools_at(const KernelSet& ideal) const {
    std::vector<Pool> pools;
    for (std::size_t s = 0; s < sinks_.size(); ++s) {
      if (!sinks_[s].producers.within(ideal)) continue;
      const bool settled = sinks_[s].rivals.within(ideal);
      const auto known = std::find_if(pools.begin(), pools.end(), [&](const Pool& pool) {
        return settled && pool.settled && pool.sink_class == sinks_[s].sink_class;
      });
      if (known != pools.end()) {
        known->sinks.push_back(s);
      } else {
        pools.push_back({sinks_[s].sink_class, settled, {s}});
      }
    }
    return pools;
  }
  std::size_t pool_of(std::uint32_t ideal, std::size_t sink) const {
    const std::vector<Pool>& pools = pools_[ideal];
    std::size_t at = 0;
    while (std::find(pools[at].sinks.begin(), pools[at].sinks.end(), sink) ==
           pools[at].sinks.end()) {
      ++at;
    }
    return at;
  }

  /// How many of each pool have run.
  std::vector<std::size_t> counts_of(std::uint32_t ideal, std::size_t state) const {
    const std::vector<Pool>& pools = pools_[ideal];
    std::size_t rest = state - first_state_[ideal];
    std::vector<std::size_t> counts(pools.size());
    for (std::size_t p = pools.size(); p-- > 0;) {
      counts[p] = rest % (pools[p].sinks.size() + 1);
      rest /= pools[p].sinks.size() + 1;
    }
    return counts;
  }
  std::size_t state_of(std::uint32_t ideal, const std::vector<std::size_t>& counts) const {
    std::size_t at = 0;
    for (std::size_t p = 0; p < counts.size(); ++p) {
      at = at * (pools_[ideal][p].sinks.size() + 1) + counts[p];
    }
    return first_state_[ideal] + at;
  }
  /// The same counts in the pools of a later ideal.
  std::vector<std::size_t> carried(std::uint32_t before, std::uint32_t after,
                                   const std::vector<std::size_t>& counts) const {
    std::vector<std::size_t> then(pools_[after].size(), 0);
    for (std::size_t p = 0; p < counts.size(); ++p) {
      then[pool_of(after, pools_[before][p].sinks[0])] += counts[p];
    }
    return then;
  }

  /// Every partition that may follow a state.
  template <typename Visit>
  void each_step(std::uint32_t ideal, std::size_t state, Visit&& visit) {
    const std::vector<std::size_t> counts = counts_of(ideal, state);
    std::vector<std::uint32_t> queue{ideal};
    seen_.assign(seen_.size(), std::numeric_limits<std::uint32_t>::max());
    seen_[ideal] = ideal;
    for (std::size_t at = 0; at < queue.size(); ++at) {
      const std::uint32_t after = queue[at];
      steps_to(ideal, after, counts, visit);
      for (const IdealLattice::Cover& cover : lattice_.covers_of(after)) {
        if (seen_[cover.ideal] == ideal) continue;
        seen_[cover.ideal] = ideal;
        const double weights = sums_[cover.ideal].weight_bytes - sums_[ideal].weight_bytes;
        if (weights <= program_.sram_bytes || at == 0) queue.push_back(cover.ideal);
      }
    }
  }

  template <typename Visit>
  void steps_to(std::uint32_t before, std::uint32_t after, const std::vector<std::size_t>& counts,
                Visit&& visit) {
    const std::vector<Group> groups = groups_between(before, after);
    const PartitionSums base = sums_without_sinks(before, after, counts);
    std::vector<std::size_t> most, taken(groups.size(), 0);
    for (const Group& group : groups) {
      most.push_back(group.sinks.size() - (group.left_over ? counts[group.pool_before] : 0));
    }
    const std::vector<std::size_t> kept = carried(before, after, counts);
    do {
      const std::size_t sinks = std::accumulate(taken.begin(), taken.end(), std::size_t{0});
      if (before == after && sinks == 0) continue;
      const double time_s = cost(before, after, base, groups, taken);
      if (time_s == kInfinity) continue;
      std::vector<std::size_t> then = kept;
      for (std::size_t g = 0; g < groups.size(); ++g) then[groups[g].pool_after] += taken[g];
      visit(Step{state_of(after, then), after, time_s, &groups, &taken});
    } while (next(taken, most));
  }

  /// Counts up; false after the last.
  static bool next(std::vector<std::size_t>& taken, const std::vector<std::size_t>& most) {
    for (std::size_t g = taken.size(); g-- > 0;) {
      if (taken[g] < most[g]) {
        ++taken[g];
        return true;
      }
      taken[g] = 0;
    }
    return false;
  }

  std::vector<Group> groups_between(std::uint32_t before, std::uint32_t after) const {
    std::vector<Group> groups;
    for (std::size_t s = 0; s < sinks_.size(); ++s) {
      const Sink& sink = sinks_[s];
      if (!sink.producers.within(wholes_[after])) continue;
      Group own;
      own.sink_class = sink.sink_class;
      own.left_over = sink.producers.within(wholes_[before]);
      if (own.left_over) own.pool_before = pool_of(before, s);
      own.pool_after = pool_of(after, s);
      for (const std::uint32_t input : sink.inputs) {
        own.inputs.push_back(fate(input, wholes_[before], wholes_[after]));
      }
      const auto known = std::find_if(groups.begin(), groups.end(), [&](const Group& group) {
        return group.sink_class == own.sink_class && group.left_over == own.left_over &&
               group.pool_before == own.pool_before && group.pool_after == own.pool_after &&
               group.inputs == own.inputs;
      });
      if (known != groups.end()) {
        known->sinks.push_back(s);
      } else {
        own.sinks.push_back(s);
        groups.push_back(std::move(own));
      }
    }
    for (Group& group : groups) {
      std::stable_sort(group.sinks.begin(), group.sinks.end(), [&](std::size_t a, std::size_t b) {
        return held_by(sinks_[a], group) < held_by(sinks_[b], group);
      });
    }
    return groups;
  }
  InputFate fate(std::uint32_t input, const KernelSet& in, const KernelSet& out) const {
    const ProgramTensor& tensor = program_.tensors[input];
    const KernelSet rivals = tensor.uses - all_sinks_;
    InputFate own;
    own.on_chip = !written(input, in);
    own.loaded = rivals.meets(out - in);
    own.kept_before = !own.on_chip && !tensor.output && rivals.within(in);
    own.kept_after = !tensor.output && rivals.within(out);
    return own;
  }
  double held_by(const Sink& sink, const Group& group) const {
    double bytes = 0;
    for (std::size_t i = 0; i < sink.inputs.size(); ++i) {
      const InputFate& own = group.inputs[i];
      if (own.on_chip && !own.loaded) bytes += program_.tensors[sink.inputs[i]].held_bytes;
    }
    return bytes;
  }
  bool written(std::uint32_t tensor, const KernelSet& by) const {
    const std::int32_t producer = program_.tensors[tensor].producer;
    return producer == ProgramTensor::kOutside || by.has(static_cast<std::size_t>(producer));
  }

  /// The trunk's part, and what is kept in DRAM for sinks if none of them runs.
  PartitionSums sums_without_sinks(std::uint32_t before, std::uint32_t after,
                                   const std::vector<std::size_t>& counts) const {
    PartitionSums sums = partition_sums(sums_[before], sums_[after], lattice_.ideals[before],
                                        lattice_.ideals[after]);
    for (const Sink& sink : sinks_) {
      for (const std::uint32_t input : sink.inputs) {
        const ProgramTensor& tensor = program_.tensors[input];
        const InputFate own = fate(input, wholes_[before], wholes_[after]);
        if (own.kept_before) sums.live_bytes += tensor.bytes;
        if (own.on_chip && own.kept_after && written(input, wholes_[after])) {
          sums.dram_bytes += tensor.bytes;
          sums.store_bytes += tensor.bytes;
          sums.buffer_bytes += tensor.stream_bytes;
          sums.store_buffer_bytes += tensor.stream_bytes;
          sums.live_bytes += tensor.bytes;
        }
      }
    }
    for (std::size_t p = 0; p < counts.size(); ++p) {  // of those that ran, nothing is kept
      for (const std::uint32_t input : sinks_[pools_[before][p].sinks[0]].inputs) {
        if (!fate(input, wholes_[before], wholes_[after]).kept_before) continue;
        sums.live_bytes -= static_cast<double>(counts[p]) * program_.tensors[input].bytes;
      }
    }
    return sums;
  }

  double cost(std::uint32_t before, std::uint32_t after, PartitionSums sums,
              const std::vector<Group>& groups, const std::vector<std::size_t>& taken) const {
    KernelSet kernels = wholes_[after] - wholes_[before];
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const Group& group = groups[g];
      for (std::size_t i = 0; i < taken[g]; ++i) {
        const Sink& sink = sinks_[group.sinks[i]];
        kernels.add(sink.kernel);
        add(sums, sink, group);
      }
    }
    return partition_cost(program_, sums, kernels).time_s;
  }
  void add(PartitionSums& sums, const Sink& sink, const Group& group) const {
    const ProgramKernel& kernel = program_.kernels[sink.kernel];
    sums.compute_s += kernel.compute_s;
    sums.network_s += kernel.network_s;
    sums.weight_bytes += kernel.weight_bytes;
    sums.dram_bytes += kernel.traffic_bytes;
    for (std::size_t i = 0; i < sink.inputs.size(); ++i) {
      const ProgramTensor& tensor = program_.tensors[sink.inputs[i]];
      const InputFate& own = group.inputs[i];
      if (own.on_chip && own.kept_after) {  // no longer stored
        sums.dram_bytes -= tensor.bytes;
        sums.store_bytes -= tensor.bytes;
        sums.store_buffer_bytes -= tensor.stream_bytes;
        sums.buffer_bytes -= tensor.stream_bytes;
        sums.live_bytes -= tensor.bytes;
      }
      if (own.loaded) continue;
      if (own.on_chip) {
        sums.buffer_bytes += tensor.held_bytes;
      } else {
        sums.dram_bytes += tensor.bytes;
        sums.load_bytes += tensor.bytes;
        sums.buffer_bytes += tensor.stream_bytes;
      }
    }
  }

  void relax(std::size_t state, const Step& step) {
    ++transitions_;
    const std::size_t more = counted_ ? 1 : 0;
    for (std::size_t p = 0; p + more < columns_; ++p) {
      const double time_s = best_[state * columns_ + p] + step.time_s;
      double& to = best_[step.state * columns_ + p + more];
      if (time_s >= to) continue;
      to = time_s;
      from_[step.state * columns_ + p + more] = static_cast<std::uint32_t>(state);
    }
  }

  std::uint32_t ideal_of(std::size_t state) const {
    const auto after = std::upper_bound(first_state_.begin(), first_state_.end(), state);
    return static_cast<std::uint32_t>(after - first_state_.begin() - 1);
  }

  std::optional<PartitionPath> trace() {
    const std::size_t last = state_count_ - 1;
    const auto row = best_.begin() + static_cast<std::ptrdiff_t>(last * columns_);
    auto column = static_cast<std::size_t>(
        std::min_element(row, row + static_cast<std::ptrdiff_t>(columns_)) - row);
    if (best_[last * columns_ + column] == kInfinity) return std::nullopt;
    PartitionPath path;
    path.time_s = best_[last * columns_ + column];
    path.transitions = transitions_;
    std::vector<std::size_t> states{last};
    for (std::size_t at = last; at != 0;) {
      at = from_[at * columns_ + column];
      if (counted_) --column;
      states.push_back(at);
    }
    std::reverse(states.begin(), states.end());
    KernelSet done;
    for (std::size_t i = 0; i + 1 < states.size(); ++i) {
      path.partitions.push_back(real_partition(states[i], states[i + 1], done));
      done = done | path.partitions.back();
    }
    return path;
  }

  /// States know how many sinks ran, not which: takes the first that the cheapest such step can.
  KernelSet real_partition(std::size_t from, std::size_t to, const KernelSet& done) {
    const std::uint32_t before = ideal_of(from);
    double least = kInfinity;
    KernelSet best;
    each_step(before, from, [&](const Step& step) {
      if (step.state != to || step.time_s >= least) return;
      least = step.time_s;
      best = wholes_[step.ideal] - wholes_[before];
      for (std::size_t g = 0; g < step.groups->size(); ++g) {
        std::size_t left = (*step.taken)[g];
        for (const std::size_t s : (*step.groups)[g].sinks) {
          if (left == 0 || done.has(sinks_[s].kernel)) continue;
          best.add(sinks_[s].kernel);
          --left;
        }
      }
    });
    return best;
  }

  const ChipProgram& program_;
  const SinkLimits& limits_;
  const bool counted_;
  std::size_t columns_ = 1;
  ChipProgram trunk_;
  std::vector<std::size_t> trunk_kernels_;  // trunk kernel -> kernel
  KernelSet all_sinks_;
  std::vector<Sink> sinks_;
  std::vector<std::size_t> representatives_;  // per class
  IdealLattice lattice_;
  std::vector<KernelSet> wholes_;  // ideals in the program's numbers
  std::vector<IdealSums> sums_;
  std::vector<std::vector<Pool>> pools_;  // per ideal
  std::vector<std::size_t> first_state_;
  std::size_t state_count_ = 0;
  std::vector<double> best_;
  std::vector<std::uint32_t> from_, seen_;
  std::uint64_t transitions_ = 0;
};

}  // namespace

KernelSet sinks_of(const ChipProgram& program) {
  KernelSet all, read;
  for (std::size_t i = 0; i < program.size(); ++i) all.add(i);
  for (const ProgramTensor& tensor : program.tensors) {
    if (tensor.producer != ProgramTensor::kOutside && !(tensor.uses.empty() && !tensor.output)) {
      read.add(static_cast<std::size_t>(tensor.producer));
    }
  }
  return all - read;
}

std::optional<PartitionPath> best_sink_partitions(const ChipProgram& program, unsigned partitions,
                                                  const SinkLimits& limits, bool& too_large) {
  return SinkSearch(program, partitions, limits).run(too_large);
}

}  // namespace flopcast::mapping
