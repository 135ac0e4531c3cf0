// Floor 2: dataflow graphs: kernels, and the tensors that flow between them.
//
// A kernel computes out[outer, m, n], summed over k where k > 0: 2 outer m n k FLOP; element-wise
// kernels (k = 0) do `operations` per element. A tensor is written once, by its producer, and read
// by any number of kernels: one tensor, however many read it.
//
//   transformer_forward({.hidden = 12288, .heads = 96, .head_dim = 128, .sequence = 2048,
//                        .ffn = 49152})
//     18 kernels, 21 uses of tensors: the forward pass of one layer of GPT-3 175B
//
// A workload says how often the graph runs: `layers` times in series for every microbatch, over
// `global_batch` samples a step. Sizes in a graph are those of ONE sample and of the whole model:
// `at_microbatch` makes it those of several samples; nothing is divided among chips yet.
// Sources: Ko et al., "DFModel", section IV; graphs as in its generators.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/base.h"
#include "flopcast/workload.h"

namespace flopcast {

/// What a kernel computes.
enum class DataflowKind : std::uint8_t {
  kGemm,  ///< one operand is a weight, or both are tensors
  kElementwise,
  kSoftmax,
  kNorm,
  kEmbedding,  ///< table lookups: `traffic`, no FLOP worth counting
  kAllToAll,   ///< moves data between chips, computes nothing
  kPanel,      ///< LU factorisation of a panel and update of what is left
  kFft,        ///< butterfly stages as a GEMM
};
std::string_view name(DataflowKind kind);  ///< "gemm", "elementwise", ...

/// A dimension of a kernel's index space.
enum class KernelDimension : std::uint8_t { kNone, kOuter, kM, kN, kK };
std::string_view name(KernelDimension dimension);  ///< "none", "outer", "m", "n", "k"

/// How a kernel reads a tensor of features x tokens.
enum class Operand : std::uint8_t {
  kPointwise,  ///< [m, n], element by element
  kRight,      ///< [k, n]: activations times a weight
  kLeft,       ///< [m, k]: needed whole before the first tile of n is done (keys, values)
  kLeftT,      ///< the [m, k] operand of a weight gradient: m features, k tokens
  kRightT,     ///< the [n, k] operand of a weight gradient: n features, k tokens
};
std::string_view name(Operand operand);  ///< "pointwise", "right", "left", ...

/// What a kernel sends among chips by itself, whatever its sharding.
enum class DataflowTransferKind : std::uint8_t { kAllToAll, kBroadcast, kPointToPoint };
std::string_view name(DataflowTransferKind kind);  ///< "all_to_all", "broadcast", "point_to_point"
/// One of them.
struct DataflowTransfer {
  DataflowTransferKind kind = DataflowTransferKind::kAllToAll;  ///< which
  Bytes bytes = {};  ///< all chips of one replica together, per sample
  bool operator==(const DataflowTransfer&) const = default;
};

/// A node of a dataflow graph: one operation on tensors. out[m, n] is summed over k, `outer` times.
struct DataflowKernel {
  std::string name;                                ///< unique: "q", "ffn_up", "ffn_up_bwd"
  DataflowKind kind = DataflowKind::kElementwise;  ///< what it computes
  bool backward = false;                           ///< of the backward pass
  /// sizes of its index space, of one sample until at_microbatch
  std::int64_t outer = 1, m = 1, n = 1;
  std::int64_t k = 0;     ///< 0: nothing is summed
  double operations = 1;  ///< FLOP per element where k == 0
  Bytes weight = {};      ///< parameters it reads, all of them
  Bytes traffic = {};     ///< DRAM traffic besides tensors and weights (KV cache, table rows)
  Bytes gradient =
      {};  ///< a weight gradient it completes, summed over data-parallel replicas once a step
  std::vector<DataflowTransfer> transfers = {};  ///< what it sends besides
  KernelDimension tiled =
      KernelDimension::kNone;                   ///< holds the tokens: tiles of the sequence cut it
  KernelDimension batch = KernelDimension::kN;  ///< grows with the samples of a microbatch
  bool traffic_per_sample =
      true;  ///< `traffic` and `transfers` grow with samples; false: `traffic`
             ///< is its weights, read once for all samples (decoding)

  bool systolic() const { return k > 0; }  ///< a matrix product
  Flops work() const;  ///< FLOP of one pass: 2 outer m n k, or outer m n `operations`
  bool operator==(const DataflowKernel&) const = default;
};

/// A kernel that reads a tensor.
struct DataflowUse {
  std::uint32_t kernel = 0;               ///< index
  Operand operand = Operand::kPointwise;  ///< how it reads it
  bool operator==(const DataflowUse&) const = default;
};

/// An edge of a dataflow graph: what one kernel makes and others read.
struct DataflowTensor {
  std::string name;               ///< unique
  std::uint32_t producer = 0;     ///< index of a kernel
  Bytes bytes;                    ///< all of it, of one sample until at_microbatch
  std::vector<DataflowUse> uses;  ///< distinct kernels; empty: nobody in the graph reads it
  bool per_sample = true;         ///< false: a weight gradient
  bool operator==(const DataflowTensor&) const = default;
};

/// Kernels and the tensors between them, of one layer or of a whole workload.
struct DataflowGraph {
  std::string name;                     ///< "gpt3-175b"
  std::vector<DataflowKernel> kernels;  ///< nodes
  std::vector<DataflowTensor> tensors;  ///< edges

  Flops work() const;        ///< sum over the kernels
  std::size_t uses() const;  ///< edges: a use each
  Bytes weights() const;     ///< of the forward kernels: backward ones read the same once more
  /// Index of a kernel by name.
  Result<std::uint32_t> find(std::string_view kernel) const;
  bool operator==(const DataflowGraph&) const = default;
};

/// Refuses (kBadInput) a cycle, naming its kernels; a kernel that no tensor reaches or leaves though
/// there are others ("dangling"); tensors without a producer, uses that are not there, names used
/// twice, dimensions below 1, negative sizes. A graph that passes has an order in which producers
/// come first.
Result<bool> check_dataflow(const DataflowGraph& graph);
/// Longest path from a source, in kernels: 0 for sources (Kahn's levels). @pre no cycle
std::vector<std::uint32_t> kernel_levels(const DataflowGraph& graph);
/// The same graph for `samples` samples at once. @pre samples >= 1
DataflowGraph at_microbatch(const DataflowGraph& graph, std::int64_t samples);

/// A graph, and how often a step runs it.
struct DataflowWorkload {
  DataflowGraph graph;            ///< what one layer, or all of it, computes
  bool training = false;          ///< has a backward pass whose weights are then updated
  std::int64_t layers = 1;        ///< copies of the graph in series: what a pipeline is cut from
  std::int64_t global_batch = 1;  ///< samples a step
  std::int64_t tokens = 1;  ///< length of what tiles cut: tokens of a sample, pieces of an array;
                            ///< 1: no tiles
  Bytes resident;           ///< DRAM held besides, all chips together: embedding tables
  Bytes boundary;           ///< from one layer to the next, per sample; 0: there is none
  double word = 2;          ///< bytes of an element
  std::vector<std::string> assumed;  ///< in words, what a file left open and what was taken for it
  bool operator==(const DataflowWorkload&) const = default;
};

/// Shape of a transformer layer for the generators below.
struct TransformerShape {
  std::int64_t hidden = 0, heads = 0, head_dim = 0;  ///< widths; query heads; width of one head
  std::int64_t kv_heads = 0;                         ///< 0: heads
  std::int64_t sequence = 0;  ///< tokens that pass the layer: of a sample, 1 in decoding
  std::int64_t context =
      0;                 ///< tokens attended to; 0: `sequence`; decoding: the cache's length + 1
  std::int64_t ffn = 0;  ///< width of the feed-forward
  bool gated = false;    ///< three matrices (gate, up, down)
  bool dropout = true;   ///< kernels of their own, as in the published graphs
  double word = 2;       ///< bytes of an element
};
/// Forward pass: 18 kernels, 21 uses without gate (names: residual_in norm_1 q k v scores softmax
/// dropout_1 context out_proj dropout_2 residual_1 norm_2 ffn_up gelu ffn_down dropout_3
/// residual_2; with a gate also `ffn_gate`; without dropout none of its three).
DataflowGraph transformer_forward(const TransformerShape& shape);
/// Forward and backward: 41 kernels, 53 uses. Backward kernels end in _bwd (scores_bwd1 ...),
/// weight gradients in _grad.
DataflowGraph transformer_training(const TransformerShape& shape);
/// One token per sample against a KV cache: 20 kernels, 23 uses (k_cache and v_cache read
/// `context` - 1 tokens of their cache, kv_heads wide, and compute nothing). Weights are read from
/// DRAM: `traffic`, once for all samples.
DataflowGraph transformer_decode(const TransformerShape& shape);
/// `layers` copies in series, names suffixed "@0", "@1", ...; of a training graph the backward
/// copies run in reverse order. The forward tensor that nobody reads feeds the next layer's first
/// kernel; backward kernels that nobody reads and that end no weight gradient feed the backward
/// entry of the layer before. @pre layers >= 1
DataflowGraph unroll(const DataflowGraph& layer, std::int64_t layers);

/// What of a transformer is run.
enum class DataflowPass : std::uint8_t { kForward, kTraining, kPrefill, kDecode };
std::string_view name(DataflowPass pass);  ///< "forward", "training", "prefill", "decode"
/// `layers` and `global_batch` are left at 1. @param sequence tokens of a sample; in decoding those in
/// the cache, one more is attended to.
DataflowWorkload transformer_workload(TransformerShape shape, DataflowPass pass,
                                      std::int64_t sequence);
/// A dense model of workload.h as a workload, embedding and head left out (they are not layers).
/// Attention is over all tokens, without windows and masks. Errors: experts, latent attention, blocks
/// side by side, layers of several shapes, which these graphs do not describe; counts below 1.
Result<DataflowWorkload> transformer_workload(const Model& model, DataflowPass pass,
                                              std::int64_t sequence, std::int64_t global_batch);

/// Deep-learning recommendation model, one replica: `bottom` + `top` equal layers of mlp x mlp.
/// Layer `bottom`, counted from 1, waits for the pooled embeddings: traffic and an all-to-all of
/// tables x pooled_rows x embedding x word bytes a sample, and the same backwards.
struct DlrmShape {
  /// width; layers below and above the embeddings
  std::int64_t mlp = 6750, bottom = 5, top = 15;
  /// tables; width of a row; rows pooled, and rows of each table
  std::int64_t tables = 600, embedding = 93, pooled_rows = 15, rows = 14211469;
  double word = 2;  ///< bytes of an element
};
DataflowGraph dlrm_forward(const DlrmShape& shape);   ///< bottom + top kernels, a chain: mlp_1 ...
DataflowGraph dlrm_training(const DlrmShape& shape);  ///< 60 kernels, 76 uses at the defaults
/// High-performance Linpack: iteration i updates the (n - i b)^2 trailing matrix with a panel of b
/// columns, which is broadcast along rows of chips and exchanged along columns. As published it is a
/// GEMM out[n - i b, b] summed over n - i b, and only panels pass from kernel to kernel: the trailing
/// matrix stays where it is and its traffic is not counted.
struct HplShape {
  std::int64_t n = 5'000'000, block = 2048;  ///< rows of the matrix; columns of a panel
  std::int64_t iterations = 0;               ///< 0: until nothing is left
  double word = 2;                           ///< bytes of an element
  std::int64_t most_kernels = 64;  ///< iterations are gathered into so many runs of like work
};
/// A chain of panels and updates.
DataflowGraph hpl(const HplShape& shape);
/// FFT as GEMM stages of radix r, the second and third of which wait for an all-to-all of the array.
/// 1-D of n^2 points: two stages over n x n (n = 2^20 for a tera-point FFT,
/// k = 4 log2(n) / log2(r) r). 3-D: three over n^3.
struct FftShape {
  std::int64_t side = 1 << 20;  ///< points along one side
  int dimensions = 1;           ///< 1 or 3
  std::int64_t radix = 32;      ///< of one stage
  double word = 2;              ///< bytes of an element
};
/// A chain of stages.
DataflowGraph fft(const FftShape& shape);

/// A graph from TOML (docs/reference/dataflow.md). Errors name line, kernel, what was expected.
Result<DataflowWorkload> parse_dataflow(std::string_view toml, const std::string& where);
/// The TOML that parses back to the same workload.
std::string dataflow_toml(const DataflowWorkload& workload);

/// A workload by name, or from a file: .toml as parse_dataflow reads it, .txt a setup of DFModel.
///   the published graphs: "gpt3-175b" (forward), "gpt3-1t" (training), "gpt-100t" (forward),
///     "llama3-8b-dfmodel" (prefill, full attention heads and two-matrix feed-forward); another pass
///     with ":forward", ":training", ":prefill", ":decode"
///   "dlrm", "dlrm:forward" (samples: 128,000,000 batches of 512, as published), "hpl" (64 iterations
///     of 2^20), "hpl:5m", "fft" (2^40 points), "fft3d" (8192^3)
///   any dense model of workload.h: "llama-3-8b:decode"; training unless a pass is named
/// Errors: an unknown name (kUsage, with near ones), a sequence for what has no tokens, an `unroll`
/// that does not divide the layers, and those of the file or model.
struct DataflowOptions {
  std::int64_t sequence = 0;      ///< tokens, of the cache in decoding; 0: the workload's own
  std::int64_t global_batch = 0;  ///< 0: the workload's own
  std::int64_t unroll = 1;        ///< layers in the graph
};
/// Errors: above, and those of the file.
Result<DataflowWorkload> load_dataflow(const std::string& name_or_path,
                                       const DataflowOptions& options = {});
/// Names that load_dataflow knows by heart.
std::vector<std::string> builtin_dataflows();

/// A setup.txt of the published DFModel: protobuf text format of `DSE`. What it says of the system
/// and of the run is given besides the graph; fields it does not know are counted and named, by
/// path: "system.accelerator.pmu". Reals are floats of 32 bits, as its schema has them. A "sample" of
/// its graph is what the file's kernels process at once: for a recommendation model a batch of 512.
struct DfmodelSetup {
  DataflowWorkload workload;       ///< the graph
  std::vector<std::int64_t> pins;  ///< per kernel: the partition it is pinned to, -1: free
  /// One dimension of its network.
  struct Dimension {
    std::string kind;                 ///< "r", "fc", "sw"
    std::int64_t size = 0;            ///< chips along it
    double gigabytes_per_second = 0;  ///< of a link
    std::string parallelism;          ///< "TP", "PP", "DP", "": free
  };
  std::vector<Dimension> dimensions;  ///< in the order of the file
  /// of the system; cores of a chip; cells of a core's array
  std::int64_t chips = 0, cores = 0, width = 0, height = 0;
  double sram_bytes = 0, gigahertz = 0, link_latency_ns = 0;  ///< of a chip; of a hop
  double dram_gigabytes_per_second = 0, dram_bytes = 0;       ///< 0: unlimited
  /// dollars, as the file has them
  double accelerator_price = 0, link_price = 0, switch_price = 0, dram_price = 0;
  /// watts, as the file has them; of links by dimension
  double accelerator_power = 0, link_power[3] = {}, switch_power = 0, dram_power = 0;
  /// one kernel at a time; compute, memory and network at once
  bool kernel_by_kernel = false, perfect_overlap = true;
  std::int64_t partitions = 0, tile = 0, microbatch = 1;  ///< at most so many; tokens; samples
  double utilisation = 0;                                 ///< 0: the cycle model
  Anomalies unknown;                                      ///< fields without meaning here
};
/// Errors (kBadInput): with line and what was expected. `where` names the text.
Result<DfmodelSetup> parse_dfmodel_setup(std::string_view text, const std::string& where);

}  // namespace flopcast
