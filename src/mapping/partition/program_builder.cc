#include "mapping/partition/program_builder.h"

#include <algorithm>
#include <cmath>

namespace flopcast::mapping {
namespace {

/// fp32 sums of gradients in units of the weights' word.
double gradient_words(const DataflowWorkload& workload) { return 4 / workload.word; }

class Builder {
 public:
  explicit Builder(const ProgramCase& of)
      : of_(of),
        graph_(of.workload->graph),
        tensor_group_(*of.system, *of.shape, Parallelism::kTensor, of.model->latency),
        data_group_(*of.system, *of.shape, Parallelism::kData, of.model->latency),
        tiles_(std::ceil(static_cast<double>(of.workload->tokens) / static_cast<double>(of.tile))),
        levels_(kernel_levels(graph_)) {}

  PassProgram build(std::vector<std::uint32_t> kernels, bool backward) {
    PassProgram pass;
    pass.kernels = std::move(kernels);
    pass.backward = backward;
    ChipProgram& program = pass.program;
    const MappingSystem& system = *of_.system;
    program.memory_bandwidth = system.memory_bandwidth.value;
    program.sram_bytes = system.sram.value;
    // The published model of chips that run one kernel at a time has no limit of SRAM.
    if (system.kernel_by_kernel) program.sram_bytes = std::numeric_limits<double>::infinity();
    program.overlap = of_.model->overlap;
    program.reload_inputs = of_.model->weight_traffic;
    program.reload_all = of_.model->pieces_traffic;
    program.tiles = system.chip.tiles.count;
    program.hertz = system.chip.tiles.hertz;
    position_.assign(graph_.kernels.size(), -1);
    for (std::size_t i = 0; i < pass.kernels.size(); ++i) {
      position_[pass.kernels[i]] = static_cast<std::int32_t>(i);
      add_kernel(program, pass.kernels[i]);
    }
    for (std::uint32_t i = 0; i < graph_.tensors.size(); ++i) {
      of_.model->shared_tensors ? add_tensor(program, i) : add_uses(program, i);
    }
    if (of_.model->boundary_traffic && of_.workload->boundary.value > 0) {
      add_inputs(pass);
      add_outputs(pass);
    }
    link_producers(program);
    return pass;
  }

 private:
  bool counts_cycles() const { return of_.model->utilisation == 0; }

  void add_kernel(ChipProgram& program, std::uint32_t index) {
    const DataflowKernel& kernel = graph_.kernels[index];
    const ShardedKernel& sharded = of_.sharded->kernels[index];
    const unsigned tp = of_.shape->tp();
    const KernelShare share = kernel_share(kernel, sharded.sharding, tp);
    ProgramKernel own;
    own.flop = share.work.value;
    own.network_s = sharded.network_s + transfer_s(kernel);
    own.wire_bytes = sharded.wire_bytes;
    own.weight_bytes = kernel.weight.value * share.weight;
    own.traffic_bytes = kernel.traffic.value / tp;
    // In decoding graphs a kernel's traffic is its weights', in either mode.
    const bool counted = !kernel.traffic_per_sample && kernel.traffic.value > 0;
    if (of_.model->weight_traffic && !counted) {
      own.traffic_bytes += own.weight_bytes;
    }
    const double gradient = kernel.gradient.value / tp;
    if (of_.model->gradient_traffic) {
      own.traffic_bytes += 2 * gradient * gradient_words(*of_.workload);
    }
    if (of_.model->hide_gradients) {
      own.network_s += of_.model->gradient_factor * data_group_.pass_s(gradient) /
                       static_cast<double>(of_.microbatches);
    }
    if (counts_cycles()) {
      program.curves.push_back(curve_of(kernel, share));
      own.compute_s = program.curves.back().work / program.tiles / program.hertz;
    } else {
      own.compute_s = own.flop / (of_.model->utilisation * of_.system->peak.value);
    }
    program.kernels.push_back(own);
  }

  double transfer_s(const DataflowKernel& kernel) const {
    double time_s = 0;
    for (const DataflowTransfer& transfer : kernel.transfers) {
      const double bytes = transfer.bytes.value / of_.shape->tp();
      if (transfer.kind == DataflowTransferKind::kAllToAll) {
        time_s += system_all_to_all_s(*of_.system, bytes, !of_.model->sharding_by_time);
      } else {
        time_s += tensor_group_.send_s(bytes);
      }
    }
    return time_s;
  }

  TileCurve curve_of(const DataflowKernel& kernel, const KernelShare& share) const {
    TileWork work{share.outer, share.m, share.n, share.k, tiles_};
    const auto cut = [&](std::int64_t size) {
      return std::max<std::int64_t>(
          1, static_cast<std::int64_t>(std::ceil(static_cast<double>(size) / tiles_)));
    };
    switch (kernel.tiled) {
      case KernelDimension::kOuter:
        work.outer = cut(work.outer);
        break;
      case KernelDimension::kM:
        work.m = cut(work.m);
        break;
      case KernelDimension::kN:
        work.n = cut(work.n);
        break;
      case KernelDimension::kK:
        work.k = cut(work.k);
        break;
      case KernelDimension::kNone:
        work.repeats = 1;
        break;
    }
    const TileArray& tiles = of_.system->chip.tiles;
    return tile_curve(work, tiles.count, tiles.width, tiles.height);
  }

  double buffer_bytes(const DataflowTensor& tensor, double share) const {
    const double bytes = tensor.bytes.value * share;
    return tensor.per_sample ? bytes / tiles_ : bytes;
  }
  double depth(const DataflowTensor& tensor, const DataflowUse& use) const {
    return static_cast<double>(levels_[use.kernel]) -
           static_cast<double>(levels_[tensor.producer]) + 1;
  }
  bool read_whole(const DataflowUse& use) const {
    return of_.model->whole_left_operands && use.operand == Operand::kLeft;
  }

  /// One tensor for all its readers.
  void add_tensor(ChipProgram& program, std::uint32_t index) {
    const DataflowTensor& tensor = graph_.tensors[index];
    const double share = of_.sharded->tensors[index].share;
    ProgramTensor own;
    own.producer = position_[tensor.producer];
    own.bytes = tensor.bytes.value * share;
    const double buffer = buffer_bytes(tensor, share);
    own.stream_bytes = 2 * buffer;
    for (const DataflowUse& use : tensor.uses) {
      const std::int32_t reader = position_[use.kernel];
      if (reader < 0) {
        own.output = own.producer >= 0;
        continue;
      }
      own.uses.add(static_cast<std::size_t>(reader));
      own.held_bytes = std::max(own.held_bytes, depth(tensor, use) * buffer);
      if (read_whole(use)) {
        own.held_bytes = std::max(own.held_bytes, own.bytes);
        own.stream_bytes = std::max(own.stream_bytes, own.bytes);
      }
    }
    if (tensor.uses.empty()) {
      own.output =
          own.producer >= 0 && of_.model->boundary_traffic && of_.workload->boundary.value > 0;
    }
    if (own.output || !own.uses.empty()) program.tensors.push_back(own);
  }

  /// A copy for each reader, as published.
  void add_uses(ChipProgram& program, std::uint32_t index) {
    const DataflowTensor& tensor = graph_.tensors[index];
    const double share = of_.sharded->tensors[index].share;
    for (const DataflowUse& use : tensor.uses) {
      ProgramTensor own;
      own.producer = position_[tensor.producer];
      own.bytes = tensor.bytes.value * share;
      const double buffer = buffer_bytes(tensor, share);
      own.stream_bytes = 2 * buffer;
      own.held_bytes = depth(tensor, use) * buffer;
      const std::int32_t reader = position_[use.kernel];
      if (reader < 0 && own.producer < 0) continue;
      if (reader < 0) {
        own.output = true;
      } else {
        own.uses.add(static_cast<std::size_t>(reader));
      }
      program.tensors.push_back(own);
    }
  }

  /// What the layer before left in DRAM, for kernels that read no tensor of the graph.
  void add_inputs(PassProgram& pass) {
    std::vector<bool> fed(graph_.kernels.size(), false);
    for (const DataflowTensor& tensor : graph_.tensors) {
      for (const DataflowUse& use : tensor.uses) fed[use.kernel] = true;
    }
    for (const std::uint32_t kernel : pass.kernels) {
      if (fed[kernel]) continue;
      ProgramTensor input;
      const bool whole = of_.sharded->kernels[kernel].sharding == Sharding::kNone;
      input.bytes = of_.workload->boundary.value / (whole ? 1 : of_.shape->tp());
      input.stream_bytes = 2 * input.bytes / tiles_;
      input.uses.add(static_cast<std::size_t>(position_[kernel]));
      pass.program.tensors.push_back(input);
    }
  }

  /// What kernels without a tensor of their own leave for the layer after (gradients of inputs).
  void add_outputs(PassProgram& pass) {
    std::vector<bool> writes(graph_.kernels.size(), false);
    for (const DataflowTensor& tensor : graph_.tensors) writes[tensor.producer] = true;
    for (const std::uint32_t index : pass.kernels) {
      const DataflowKernel& kernel = graph_.kernels[index];
      if (writes[index] || kernel.gradient.value > 0) continue;
      const Sharding sharding = of_.sharded->kernels[index].sharding;
      const bool whole = sharding == Sharding::kNone || sharding == Sharding::kK;
      ProgramTensor output;
      output.producer = position_[index];
      output.bytes = output_bytes(kernel, of_.workload->word) / (whole ? 1 : of_.shape->tp());
      output.stream_bytes = 2 * output.bytes / tiles_;
      output.output = true;
      pass.program.tensors.push_back(output);
    }
  }

  const ProgramCase& of_;
  const DataflowGraph& graph_;
  const GroupNetwork tensor_group_, data_group_;
  const double tiles_;  // of the sequence
  const std::vector<std::uint32_t> levels_;
  std::vector<std::int32_t> position_;  // graph kernel -> program kernel, -1: in another pass
};

}  // namespace

std::vector<PassProgram> build_programs(const ProgramCase& of) {
  std::vector<std::uint32_t> passes[2];
  const std::vector<DataflowKernel>& kernels = of.workload->graph.kernels;
  for (std::uint32_t i = 0; i < kernels.size(); ++i) {
    passes[!of.mix_passes && kernels[i].backward ? 1 : 0].push_back(i);
  }
  Builder builder(of);
  std::vector<PassProgram> programs;
  for (std::size_t p = 0; p < 2; ++p) {
    if (!passes[p].empty()) programs.push_back(builder.build(std::move(passes[p]), p == 1));
  }
  return programs;
}

}  // namespace flopcast::mapping
