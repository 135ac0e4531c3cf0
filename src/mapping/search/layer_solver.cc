#include "mapping/search/layer_solver.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "flopcast/base/quantity.h"
#include "mapping/partition/cost.h"
#include "mapping/partition/pipeline_cut.h"

namespace flopcast::mapping {
namespace {

/// Sums and cost of partition after partition.
template <typename Visit>
void walk(const ChipProgram& program, const PartitionPath& path, Visit&& visit) {
  KernelSet before;
  IdealSums sums_before = ideal_sums(program, before);
  for (const KernelSet& kernels : path.partitions) {
    const KernelSet after = before | kernels;
    const IdealSums sums_after = ideal_sums(program, after);
    const PartitionSums sums = partition_sums(sums_before, sums_after, before, after);
    visit(kernels, sums, partition_cost(program, sums, kernels));
    before = after;
    sums_before = sums_after;
  }
}

double most_live(const ChipProgram& program, const PartitionPath& path) {
  double most = 0;
  walk(program, path, [&](const KernelSet&, const PartitionSums& sums, const PartitionCost&) {
    most = std::max(most, sums.live_bytes);
  });
  return most;
}

MappingLimit limit_of(const PartitionCost& cost) {
  if (cost.compute_s >= cost.memory_s && cost.compute_s >= cost.network_s) {
    return MappingLimit::kCompute;
  }
  return cost.memory_s >= cost.network_s ? MappingLimit::kMemory : MappingLimit::kNetwork;
}

void put_tiles(const ChipProgram& program, const KernelSet& kernels, MappedPartition& partition) {
  if (program.curves.empty()) return;
  std::vector<const TileCurve*> curves;
  kernels.each([&](std::size_t kernel) { curves.push_back(&program.curves[kernel]); });
  partition.tiles = split_tiles(curves, program.tiles).tiles;
}

/// Producers of the kernels of one pass, by position in it.
std::vector<KernelSet> producers_within(const DataflowGraph& graph,
                                        const std::vector<std::int32_t>& position,
                                        std::size_t size) {
  std::vector<KernelSet> producers(size);
  for (const DataflowTensor& tensor : graph.tensors) {
    const std::int32_t from = position[tensor.producer];
    if (from < 0) continue;
    for (const DataflowUse& use : tensor.uses) {
      const std::int32_t to = position[use.kernel];
      if (to >= 0) producers[static_cast<std::size_t>(to)].add(static_cast<std::size_t>(from));
    }
  }
  return producers;
}

void add_pin(PartitionRules& rules, const MappingPin& pin, std::size_t kernel) {
  if (rules.of.size() <= pin.partition) rules.of.resize(pin.partition + 1);
  PartitionRules::Rule& rule = rules.of[pin.partition];
  (pin.forbidden ? rule.must_not : rule.must).add(kernel);
  if (!pin.forbidden) rules.pinned.add(kernel);
}

}  // namespace

Result<GraphPasses> GraphPasses::make(const DataflowGraph& graph, const MappingSearch& search) {
  if (graph.kernels.size() > kMostKernels) {
    return Diagnostic{ErrorCode::kUsage, graph.name,
                      fmt::format("{} kernels; at most {} can be mapped at once",
                                  graph.kernels.size(), kMostKernels),
                      "unroll fewer layers, or gather kernels"};
  }
  GraphPasses all;
  std::vector<std::vector<std::int32_t>> positions;
  for (int pass = 0; pass < 2; ++pass) {
    std::vector<std::int32_t> position(graph.kernels.size(), -1);
    std::int32_t count = 0;
    for (std::size_t i = 0; i < graph.kernels.size(); ++i) {
      const int own = graph.kernels[i].backward && !search.mix_passes ? 1 : 0;
      if (own == pass) position[i] = count++;
    }
    if (count == 0) continue;
    const auto producers = producers_within(graph, position, static_cast<std::size_t>(count));
    auto lattice = ideal_lattice(producers, search.most_ideals);
    all.passes_.push_back(
        {lattice ? std::make_shared<IdealLattice>(std::move(*lattice)) : nullptr, {}});
    positions.push_back(std::move(position));
  }
  for (const MappingPin& pin : search.pins) {
    const Result<std::uint32_t> kernel = graph.find(pin.kernel);
    if (!kernel) return kernel.error();
    for (std::size_t pass = 0; pass < positions.size(); ++pass) {
      const std::int32_t own = positions[pass][*kernel];
      if (own >= 0) add_pin(all.passes_[pass].rules, pin, static_cast<std::size_t>(own));
    }
  }
  return all;
}

std::uint64_t GraphPasses::ideals() const {
  std::uint64_t count = 0;
  for (const Pass& pass : passes_) count += pass.lattice ? pass.lattice->size() : 0;
  return count;
}

bool GraphPasses::enumerated() const {
  return std::ranges::all_of(passes_, [](const Pass& pass) { return pass.lattice != nullptr; });
}

std::optional<LayerPlan> solve_layer(const std::vector<PassProgram>& programs,
                                     const GraphPasses& passes, const MappingSystem& system,
                                     const MappingSearch& search, double live_room) {
  LayerPlan plan;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    ChipProgram program = programs[i].program;
    program.live_bytes = live_room;
    const PartitionRules& rules = passes.rules(i);
    const unsigned most = search.partitions != 0 || rules.empty()
                              ? search.partitions
                              : static_cast<unsigned>(program.size());
    std::optional<PartitionPath> path;
    double bound_s = 0;
    if (system.kernel_by_kernel) {
      path = one_by_one(program);
    } else if (most == 1 && rules.empty()) {
      path = all_at_once(program);
    } else if (const IdealLattice* lattice = passes.lattice(i)) {
      path = best_partitions(program, *lattice, most, rules);
    } else {
      BoundedPath bounded = bounded_partitions(program, most, search.gap);
      path = std::move(bounded.path);
      bound_s = bounded.bound_s;
      plan.exact = plan.exact && path && bound_s >= path->time_s;
    }
    if (!path) return std::nullopt;
    if (bound_s == 0) bound_s = path->time_s;
    (programs[i].backward ? plan.time.backward_s : plan.time.forward_s) += path->time_s;
    (programs[i].backward ? plan.bound.backward_s : plan.bound.forward_s) += bound_s;
    plan.live_bytes = std::max(plan.live_bytes, most_live(program, *path));
    plan.transitions += path->transitions;
    plan.paths.push_back(std::move(*path));
  }
  return plan;
}

std::optional<LayerPlan> solve_pipeline(const ProgramCase& of, const PassProgram& pass,
                                        const IdealLattice& lattice) {
  const GroupNetwork pipe(*of.system, *of.shape, Parallelism::kPipeline, of.model->latency);
  PipelineLimits limits;
  limits.stages = of.shape->pp();
  limits.send_bandwidth = pipe.link_bandwidth();
  limits.send_latency_s = pipe.send_s(0);
  limits.capacity_bytes = of.system->memory_capacity.value;
  limits.kernel_by_kernel = of.system->kernel_by_kernel;
  std::optional<PipelineCut> cut = best_pipeline(pass.program, lattice, limits);
  if (!cut) return std::nullopt;
  LayerPlan plan;
  plan.time.forward_s = plan.bound.forward_s = cut->slowest_s;
  plan.transitions = cut->transitions;
  plan.stage_of = std::move(cut->stage_of);
  plan.stage_weight_bytes = cut->weight_bytes;
  plan.paths.push_back({cut->slowest_s, std::move(cut->partitions), cut->transitions});
  plan.live_bytes = most_live(pass.program, plan.paths[0]);
  return plan;
}

LayerTime layer_bound(const std::vector<PassProgram>& programs) {
  LayerTime bound;
  for (const PassProgram& pass : programs) {
    (pass.backward ? bound.backward_s : bound.forward_s) += partitions_bound(pass.program);
  }
  return bound;
}

std::string misfit(const std::vector<PassProgram>& programs, const DataflowGraph& graph) {
  std::string worst;
  double most = 0;
  for (const PassProgram& pass : programs) {
    const std::optional<PartitionPath> alone = [&] {
      ChipProgram roomy = pass.program;
      roomy.sram_bytes = roomy.live_bytes = kInfinity;
      return one_by_one(roomy);
    }();
    if (!alone) continue;
    walk(pass.program, *alone,
         [&](const KernelSet& kernels, const PartitionSums& sums, const auto&) {
           const double over = sums.buffer_bytes - pass.program.sram_bytes;
           if (over < 0 || over < most) return;
           most = over;
           kernels.each([&](std::size_t kernel) {
             worst = fmt::format(
                 "{}: its tensors' buffers alone take {} of SRAM, a chip has {}: {} short",
                 graph.kernels[pass.kernels[kernel]].name,
                 quantity_text(sums.buffer_bytes, UnitKind::kBytes),
                 quantity_text(pass.program.sram_bytes, UnitKind::kBytes),
                 quantity_text(over, UnitKind::kBytes));
           });
         });
  }
  return worst;
}

std::vector<MappedPartition> describe_partitions(const std::vector<PassProgram>& programs,
                                                 const LayerPlan& plan) {
  std::vector<MappedPartition> all;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    const PassProgram& pass = programs[i];
    walk(pass.program, plan.paths[i],
         [&](const KernelSet& kernels, const PartitionSums& sums, const PartitionCost& cost) {
           MappedPartition partition;
           kernels.each([&](std::size_t k) { partition.kernels.push_back(pass.kernels[k]); });
           partition.backward = pass.backward;
           partition.compute = {cost.compute_s};
           partition.memory = {cost.memory_s};
           partition.network = {cost.network_s};
           partition.time = {cost.time_s};
           partition.limit = limit_of(cost);
           partition.work = {sums.flop};
           partition.sram = {sums.weight_bytes / cost.weight_pieces + sums.buffer_bytes};
           partition.dram = {cost.memory_s * pass.program.memory_bandwidth};
           partition.wire = {sums.wire_bytes};
           partition.live = {sums.live_bytes};
           put_tiles(pass.program, kernels, partition);
           if (!plan.stage_of.empty()) partition.stage = plan.stage_of[all.size()];
           all.push_back(std::move(partition));
         });
  }
  return all;
}

}  // namespace flopcast::mapping
