// Floor 5: the best mapping of a dataflow graph onto a system of chips, with a proof.
//
//   Result<MappingSystem> system = mapping_system("8 x sn10", {.topology = "torus:4x2"}, catalog);
//   Result<DataflowWorkload> workload = load_dataflow("gpt3-175b");
//   Result<Mapping> best = map_workload({*workload, *system});
//   best->step            time of one step; best->bound <= best->step, no mapping is faster
//
// Between chips: tensor-, pipeline- and data-parallel degrees on the dimensions of the network, the
// sharding of every kernel and so the layout of every tensor. Inside a chip: the kernels of a layer
// are cut into partitions that run one after the other, each resident in SRAM; what crosses a cut
// goes through DRAM. A chain of order ideals 0 = I0 <= I1 <= ... <= IC = V of the graph is such a
// sequence of partitions, and the cost of a partition depends on its two ideals alone, so the best
// is a shortest path. docs/theory/mapping.md has the model, the proof and where exactness ends.
// Source: Ko et al., "DFModel", sections III-IV, and its published code, both as MappingModel says.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/base.h"
#include "flopcast/hardware.h"
#include "flopcast/workload/dataflow.h"

namespace flopcast {

/// How the chips of one dimension are joined.
enum class DimensionKind : std::uint8_t { kRing, kFullyConnected, kSwitch };
std::string_view name(DimensionKind kind);  ///< "ring", "full", "switch"

/// One dimension of the network, innermost first.
struct NetworkDimension {
  DimensionKind kind = DimensionKind::kRing;  ///< see DimensionKind
  unsigned size = 1;                          ///< chips along it
  /// Ring: of the ring, one direction; fully connected: of one link; switch: of a chip's port.
  BytesPerSecond bandwidth;
  Seconds latency;  ///< one message over one hop
};

/// Price and power per unit of bandwidth, as published with DFModel: dollars and watts per GB/s.
struct UnitPrices {
  /// dollars: of DRAM, of a link, of a switch
  double memory_usd = 1, link_usd = 2, switch_usd = 24;
  double memory_w = 0.16248, switch_w = 0.052;  ///< watts: of DRAM, of a switch
  std::vector<double> link_w;                   ///< per dimension; the last repeats; empty: 0.052
};

/// Chips of one kind, their memory, and the network they are on.
struct MappingSystem {
  std::string name;     ///< as the user wrote it
  Chip chip;            ///< what every chip is
  FlopsPerSecond peak;  ///< of a chip at the workload's precision
  bool kernel_by_kernel =
      false;   ///< runs one kernel at a time (GPUs, TPUs): partitions are kernels
  Bytes sram;  ///< what a partition may hold
  BytesPerSecond memory_bandwidth;           ///< of a chip's DRAM
  Bytes memory_capacity;                     ///< 0: no limit
  std::vector<NetworkDimension> dimensions;  ///< innermost first
  UnitPrices prices;                         ///< what it would cost and draw
  std::vector<Fact> facts;                   ///< what was taken from where

  unsigned chips() const;  ///< product of the dimensions
};

/// What `mapping_system` takes besides the text; zeros and empty texts leave the catalogue's.
struct SystemOptions {
  std::string
      topology;        ///< "torus:4x2", "ring:8", "dragonfly:8x128", "dgx-1:8x128", "dgx-2:8x128",
                       ///< "switch:8", "full:8", or kinds by hand: "ring:8,switch:16"
  std::string memory;  ///< a memory technology: "ddr", "hbm", "3d"; or a bandwidth: "300GB/s"
  std::string link;    ///< an interconnect: "pcie", "nvlink"; or bandwidths, one per dimension
  std::vector<std::string> changes;      ///< "sram=640MB", "memory-bandwidth=2x", "tiles=2080", ...
  DataType precision = DataType::kBf16;  ///< of the workload: which peak counts
};
/// A system from "N x CHIP" or any cluster of the catalogue. Errors (kUsage): unknown names (the
/// nearest are listed), a topology whose product is not N, a chip without SRAM or peak.
Result<MappingSystem> mapping_system(std::string_view text, const SystemOptions& options,
                                     const Catalog& catalog);
/// Names that SystemOptions::changes sets, for help and sweeps.
std::vector<std::string> system_settings();
/// Sets one of them from text: a quantity, or a factor "2x". Errors: kUsage.
Result<bool> set_system(MappingSystem& system, std::string_view setting, std::string_view value);

/// Dollars for all chips, memories, links and switches.
double system_price(const MappingSystem& system);
/// Watts of the same.
double system_power(const MappingSystem& system);

/// What a partition does at the same time.
enum class MappingOverlap : std::uint8_t {
  kPerfect,        ///< max(compute, memory, network)
  kComputeMemory,  ///< max(compute, memory) + network
  kNone,           ///< the sum
};
std::string_view name(MappingOverlap overlap);  ///< "perfect", "compute-memory", "none"

/// What the model counts. `paper_model` is DFModel as published, `full_model` ours.
struct MappingModel {
  std::string name;          ///< "paper", "full"
  double utilisation = 0.9;  ///< of the peak; 0: cycles of the chip's tiles (SCALE-Sim equations)
  MappingOverlap overlap = MappingOverlap::kPerfect;  ///< what runs at the same time
  double all_reduce_factor = 2;  ///< passes of a tensor-parallel all-reduce (published: 1 or 2)
  double gradient_factor = 2;    ///< passes of the data-parallel all-reduce
  bool shared_tensors = true;    ///< a tensor is stored once and loaded once a partition
  bool boundary_traffic = true;  ///< a layer's input and output pass DRAM
  bool weight_traffic = true;    ///< a partition's weights are loaded when it starts
  bool pieces_traffic = false;   ///< a lone kernel whose weights pass SRAM in pieces has its output
                                 ///< buffers cut likewise and moves all its tensors once a piece
                                 ///< (DFModel's later code); false: its inputs only, or nothing
                                 ///< without `weight_traffic`
  bool gradient_traffic = true;  ///< accumulating a weight gradient reads and writes it
  bool latency = true;           ///< collectives pay the hops' latency
  bool training_state = true;    ///< capacity: gradients, optimiser state, activations in flight
  bool whole_left_operands = true;  ///< keys and values are buffered whole, not by tile
  bool reduce_scatter = true;       ///< sharding may split what it sums: no need to replicate
  bool sharding_by_time = true;     ///< false: by bytes, as published
  bool send_per_microbatch = true;  ///< false: stages' sends are charged once a step
  bool published_bubble = false;    ///< 1 + (PP-1) / (microbatches max(layers per stage - 1, 1))
  bool hide_gradients =
      false;  ///< gradients are summed bit by bit in every microbatch's partitions,
              ///< as published; false: once a step, under the last backward pass
  bool optimizer_step = true;  ///< the optimiser's DRAM traffic ends a step
  double optimizer_bytes =
      18;  ///< per parameter: bf16 weight 2, fp32 gradient, weight, two moments
};
MappingModel paper_model();  ///< DFModel as published
MappingModel full_model();   ///< what we hold to be right: the defaults

/// What a dimension of the network is used for.
enum class Parallelism : std::uint8_t { kTensor, kPipeline, kData };
inline constexpr std::size_t kParallelisms = 3;  ///< how many Parallelism there are
std::string_view name(Parallelism parallelism);  ///< "tp", "pp", "dp"

/// Degrees, and how each dimension of the network is shared out among them.
struct MappingShape {
  std::array<unsigned, kParallelisms> degree{1, 1, 1};  ///< by Parallelism
  /// factors[d][p]: chips of dimension d that parallelism p spans. Product over p: its size.
  std::vector<std::array<unsigned, kParallelisms>> factors;
  unsigned tp() const { return degree[0]; }  ///< tensor-parallel degree
  unsigned pp() const { return degree[1]; }  ///< pipeline stages
  unsigned dp() const { return degree[2]; }  ///< replicas
};
/// "TP 4 x PP 2 x DP 1".
std::string shape_words(const MappingShape& shape);

/// A kernel that must be, or must not be, in a partition of its pass (counted from 0).
struct MappingPin {
  std::string kernel;      ///< of the workload's graph
  unsigned partition = 0;  ///< counted from 0
  bool forbidden = false;  ///< it must not be there
};

/// How a kernel is divided among the chips of a tensor-parallel group.
enum class Sharding : std::uint8_t { kNone, kOuter, kM, kN, kK, kKSplitM, kKSplitN };
std::string_view name(Sharding sharding);  ///< "none", "outer", "m", "n", "k", "k->m", "k->n"

/// How a kernel must be divided. The published training runs of DFModel have residual_2 = m, its
/// forward runs leave it whole: a tie that their solver broke both ways.
struct ShardingPin {
  std::string kernel;                   ///< of the workload's graph
  Sharding sharding = Sharding::kNone;  ///< how
};

/// What is searched over, and how hard.
struct MappingSearch {
  std::array<unsigned, kParallelisms> degree{};              ///< 0: free
  std::vector<std::array<unsigned, kParallelisms>> factors;  ///< fixes the whole shape if given
  bool split_dimensions = false;  ///< a dimension may be shared by several parallelisms
  std::int64_t microbatch = 0;    ///< samples; 0: every divisor of the replica's batch
  std::int64_t tile = 0;          ///< tokens; 0: every divisor of the workload's tokens
  bool every_tile = false;  ///< and every other length that takes fewer tiles than the next one
  unsigned partitions = 0;  ///< at most so many per pass; 0: any number
  bool mix_passes = false;  ///< forward and backward kernels may share a partition
  std::vector<MappingPin> pins;        ///< held to
  std::vector<ShardingPin> shardings;  ///< held to
  std::size_t most_ideals = 30'000;    ///< beyond: sinks by kind, or a bound with a gap
  double gap = 0;                      ///< there: good enough at this relative gap
  unsigned threads = 0;                ///< 0: all cores
  /// Asked before each candidate, by several threads at once. Once it is false it stays so, and the
  /// search ends with kNoAnswer.
  std::function<bool()> go_on;
};

/// A mapping problem, whole.
struct MappingRequest {
  DataflowWorkload workload;          ///< what is run
  MappingSystem system;               ///< what it runs on
  MappingModel model = full_model();  ///< what is counted
  MappingSearch search;               ///< what is tried
};

/// How a tensor of features x tokens lies on them.
enum class Layout : std::uint8_t { kReplicated, kFeatures, kTokens };
std::string_view name(Layout layout);  ///< "replicated", "features", "tokens"

/// Which resource a partition waits for.
enum class MappingLimit : std::uint8_t { kCompute, kMemory, kNetwork };
std::string_view name(MappingLimit limit);  ///< "compute", "memory", "network"

/// Kernels that are on the chip together. Times are of one microbatch through one layer.
struct MappedPartition {
  std::vector<std::uint32_t> kernels;  ///< of the workload's graph
  bool backward = false;               ///< of the backward pass
  std::uint32_t stage = 0;  ///< of the pipeline, where it is the graph that is cut; else 0
  /// what each resource takes; all of it, as far as they overlap
  Seconds compute, memory, network, time;
  MappingLimit limit = MappingLimit::kCompute;  ///< the greatest of the three
  Flops work;                                   ///< of one chip
  Bytes sram;                                   ///< used
  Bytes dram, wire;                             ///< bytes to and from DRAM; bytes a chip sends
  Bytes live;                                   ///< tensors in DRAM while it runs
  std::vector<unsigned> tiles;                  ///< of each kernel, where cycles are counted
};

/// DRAM of one chip, by what fills it.
struct MappingMemory {
  /// of its stage; `live`: tensors that pass between its partitions
  Bytes weights, gradients, optimizer, activations, live;
  /// the sum
  Bytes total() const { return weights + gradients + optimizer + activations + live; }
};

/// Where a chip stands under its three roofs. Intensities in FLOP per byte.
struct MappingRoofline {
  FlopsPerSecond peak, achieved;                       ///< of one chip
  BytesPerSecond memory_bandwidth, network_bandwidth;  ///< the latter of the tensor-parallel group
  /// FLOP per byte of DRAM, and per byte sent
  double memory_intensity = 0, network_intensity = 0;
};

/// How much was searched.
struct MappingCounts {
  std::uint64_t shapes = 0;      ///< (TP, PP, DP) on dimensions
  std::uint64_t candidates = 0;  ///< shapes x microbatches x tiles
  std::uint64_t bounded = 0;     ///< of them left out because their bound was no better
  std::uint64_t unfit = 0;       ///< of them that fit no memory
  std::uint64_t ideals = 0, transitions = 0;  ///< of all shortest paths computed
};

/// The best mapping of a workload onto a system.
struct Mapping {
  MappingShape shape;  ///< degrees, and where they lie
  /// samples; how many a step; tokens; layers of a pipeline stage
  std::int64_t microbatch = 1, microbatches = 1, tile = 1, layers_per_stage = 1;
  std::vector<Sharding> sharding;           ///< per kernel
  std::vector<Layout> layout;               ///< per tensor, as its producer leaves it
  std::vector<MappedPartition> partitions;  ///< in the order in which they run
  Seconds layer;      ///< one microbatch through one layer: sum of the partitions; through the
                      ///< slowest stage where the graph itself is cut into stages
  Seconds stage;      ///< through a stage of the pipeline, sends included
  Seconds send;       ///< all a step spends on stages' sends outside `stage`
  double bubble = 1;  ///< step time over that of a pipeline always full
  Seconds gradients, optimizer;  ///< at the end of a step, not hidden
  Seconds step;                  ///< time of one step
  Seconds bound;             ///< no mapping of this problem is faster; equal to `step` where exact
  bool exact = true;         ///< whether it is proven to be the fastest
  MappingMemory memory;      ///< of the fullest chip
  MappingRoofline roofline;  ///< of one chip
  double utilisation = 0;    ///< model FLOP over peak x chips x step
  double price_usd = 0, power_w = 0;  ///< 0: not known
  double samples_per_second = 0;      ///< of the whole system
  Basis basis = Basis::kRoofline;     ///< the weakest number it rests on
  MappingCounts counts;               ///< how it was found

  /// how far above `bound` it may be, as a share of the step
  double gap() const { return step.value > 0 ? (step - bound) / step : 0; }
};

/// The fastest mapping. Errors: kBadInput: check_dataflow's; kUsage: no such kernel, degrees that do
/// not divide; kTooLarge: fits no memory: what is short, by how much, and what the closest candidate
/// was. Deterministic for any number of threads.
Result<Mapping> map_workload(const MappingRequest& request);

/// The intra-chip problem of one mapping as a mixed-integer linear program in free MPS format: the
/// binary programme of docs/theory/mapping.md, for any solver. Its optimum is Mapping::layer in
/// nanoseconds, where no more partitions help.
/// @param partitions at most so many per pass. Errors: as map_workload; the cycle model (not linear)
Result<std::string> mapping_mps(const MappingRequest& request, const Mapping& mapping,
                                unsigned partitions);

}  // namespace flopcast
