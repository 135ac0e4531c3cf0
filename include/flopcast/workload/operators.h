// Floor 2: what one chip computes and sends for one microbatch of a transformer.
//
// Shapes are named by suffix, here, in the code and in docs/theory/transformers.md:
//
//   b  sequences in a microbatch       n  tensor-parallel chips (tp)
//   s  tokens of a sequence            c  context-parallel chips (cp)
//   t  tokens on this chip: b s / c    u  tokens where the sequence is sharded: t / n
//   h  hidden                          a, g  heads, kv heads;  d  head dimension
//   f  intermediate                    v  vocabulary
//   e  experts;  k  experts a token    r  rows an expert-parallel chip computes: u k (etp)
//
// An operator has three passes: forward, backward_input (gradients of its input) and
// backward_weight (gradients of its weights), which pipelines may separate. A pass is a list of
// steps in order: kernels, and transfers that may overlap the kernels of the same operator where the
// plan says so. Every count is in docs/theory/transformers.md with the test that checks it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "flopcast/cost.h"
#include "flopcast/network/collectives.h"
#include "flopcast/workload.h"

namespace flopcast {

/// What linear layers multiply in. Attention, norms and communication stay in the 16- or 32-bit type.
enum class Precision : std::uint8_t {
  kFp32,
  kTf32,
  kFp16,
  kBf16,
  kFp8,       ///< one scale per tensor
  kFp8Block,  ///< 1x128 and 128x128 scales (DeepSeek-V3)
  kMxfp8,     ///< one scale per 32 values
  kNvfp4,     ///< one scale per 16 values
  kMxfp4,     ///< one scale per 32 values
  kInt8,      ///< one scale per row, as TPUs train quantised
};
inline constexpr std::size_t kPrecisions = 10;                    ///< how many Precision there are
std::string_view name(Precision precision);                       ///< "mxfp8"
std::optional<Precision> parse_precision(std::string_view text);  ///< also "fp8-cs", "bf16-pure"
DataType activation_type(Precision precision);  ///< of what lies between operators
DataType multiplied_type(Precision precision);  ///< what a chip must multiply in for it
GemmType gemm_type(Precision precision);        ///< what its linear layers are priced as
double saved_bytes(Precision precision);  ///< per value of a linear layer's input kept for backward

/// What is dropped after forward and computed again in backward (Megatron's names).
enum class Recompute : std::uint8_t { kNone, kSelective, kFull };
/// Parts that selective recompute drops (--recompute-modules).
enum RecomputeModule : std::uint8_t {
  kRecomputeCoreAttention = 1,  ///< scores, softmax, dropout, context
  kRecomputeNorm = 2,           ///< outputs of the norms before attention and feed-forward
  kRecomputeActivation = 4,     ///< output of the activation function (moe_act)
  kRecomputeMlp = 8,            ///< the feed-forward or experts, whole
  kRecomputeLatentUp = 16,      ///< up-projections of latent attention (mla_up_proj)
  /// Every second product of a layer: keys, output projection, up of a gated feed-forward (no name
  /// in Megatron). Queries, values, gate and down are kept.
  kRecomputeSecondProduct = 32,
};
/// torchtitan's selective_ac_option "op": outputs of attention and of every second product are kept.
inline constexpr std::uint8_t kRecomputeOp =
    kRecomputeNorm | kRecomputeActivation | kRecomputeSecondProduct;

/// How tensor parallelism cuts a layer.
enum class TensorKind : std::uint8_t {
  kOneD,   ///< Megatron
  kTwoD,   ///< tokens over a second dimension tp2, keys and values gathered (Subramanian et al.)
  kSumma,  ///< weights and activations on a tp x tp2 grid, multiplied in panels
};
/// How attention gets the keys and values of other chips.
enum class ContextKind : std::uint8_t { kAllGather, kRing, kUlysses };

/// Who sends tokens to their experts and back.
enum class DispatcherKind : std::uint8_t {
  kUsual,     ///< the software's
  kAllToAll,  ///< a row for each expert of a token, sorted by kernels apart
  kDeepEp,    ///< a row once to each node that needs it (deepseek-ai/DeepEP)
  kHybridEp,  ///< the same over links that span nodes (DeepEP's hybrid-ep branch)
};
inline constexpr std::size_t kDispatchers = 4;  ///< how many DispatcherKind there are

/// How a layer is cut and run. A plan's part that operators depend on.
struct Execution {
  std::int64_t microbatch = 1;               ///< b
  std::int64_t sequence = 2048;              ///< s
  unsigned tp = 1, tp2 = 1, cp = 1, ep = 1;  ///< degrees of parallelism
  unsigned etp = 1;                          ///< tensor-parallel chips of one expert
  bool sequence_parallel = false;  ///< norms and residuals are cut along the sequence over tp
  TensorKind tensor = TensorKind::kOneD;          ///< how tp and tp2 cut
  unsigned panels = 1;                            ///< of SUMMA
  ContextKind context = ContextKind::kAllGather;  ///< how cp does
  Precision precision = Precision::kBf16;         ///< of linear layers
  bool flash_attention = true;                    ///< false: scores are written to memory
  Recompute recompute = Recompute::kNone;         ///< what is computed again in backward
  /// with kSelective: RecomputeModule, added up
  std::uint8_t recompute_modules = kRecomputeCoreAttention;
  /// Low-rank adapters; > 0: all other weights are frozen (Hu et al., arXiv:2106.09685).
  std::int64_t lora_rank = 0;
  bool lora_mlp = false;  ///< adapters in feed-forwards as well as in attention
  /// Modules that predict one more token each while training, behind the last layer (DeepSeek-V3, arXiv:2412.19437,
  /// section 2.2): a layer of the last kind and what is around it; they share embedding and output matrix.
  unsigned mtp_layers = 0;
  /// Linear layers keep their inputs as they get them: gathered over tp, in the type of activations (PyTorch's DTensor and
  /// torchao); else the chip's part of the sequence, in the precision's type (Megatron, Transformer Engine).
  bool whole_inputs = false;
  /// Selective recompute keeps what it is told to, needed or not (eager PyTorch's caches it; a compiler sees that
  /// backward never asks for the last product of a layer).
  bool idle_outputs = false;
  /// Gated activations of experts are operators of PyTorch, each of which reads, writes and keeps its output; else one kernel.
  bool apart_activations = false;
  DispatcherKind dispatcher = DispatcherKind::kUsual;  ///< of experts' rows
  bool cuda_graph = false;                             ///< a pass of a layer is launched at once

  bool operator==(const Execution&) const = default;
};

/// Chips that communicate. dp counts replicas of the dense part, without cp.
enum class Group : std::uint8_t {
  kTensor,        ///< tp
  kTensor2,       ///< tp2
  kContext,       ///< cp
  kExpert,        ///< ep
  kExpertTensor,  ///< etp
  kPipeline,      ///< pp
  kData,          ///< dp cp: replicas of dense weights
  kExpertData,    ///< replicas of expert weights
  kShard,         ///< of hybrid shard: chips that keep one copy of the state together
  kReplica,       ///< of hybrid shard: chips that keep the same part of it
};
inline constexpr std::size_t kGroups = 10;  ///< how many Group there are
std::string_view name(Group group);         ///< "tensor"
/// Chips of a group that cuts operators; 1 for those that replicate them.
unsigned members(const Execution& execution, Group group);

/// A collective of `group`; `size` as in CollectiveQuery.
struct Transfer {
  CollectiveOp op = CollectiveOp::kAllReduce;  ///< what is done
  Group group = Group::kTensor;                ///< by whom
  Bytes size;                                  ///< bytes of one
  DataType type = DataType::kBf16;             ///< of the elements
  /// experts a row goes to: a dispatcher that sends a row once to each place that needs it sends less; 1: does not apply
  std::int64_t copies = 1;
  /// of Experts: experts of a row are in `top_groups` of `groups` groups of the transfer's members
  std::int64_t groups = 1, top_groups = 1;
};
/// One entry of a pass.
struct OperatorStep {
  std::variant<Kernel, Transfer> what;  ///< a kernel or a transfer
  unsigned count = 1;                   ///< times in a row
  bool overlappable = true;  ///< a transfer that other kernels of this operator's pass may hide
};

/// One operator of a layer, as one chip runs it.
struct Operator {
  std::string_view name;  ///< "qkv_proj"
  /// steps in order: outputs, gradients of inputs, of weights
  std::vector<OperatorStep> forward, backward_input, backward_weight;
  std::int64_t weights = 0;    ///< values on this chip, frozen ones included
  std::int64_t trainable = 0;  ///< of these, with gradients
  bool scans = false;          ///< a recurrence over tokens: products without weights
  bool expert =
      false;    ///< of the experts or between their products: replicated over Group::kExpertData
  Bytes saved;  ///< kept from forward to backward, under the recompute chosen
  Bytes
      live;  ///< kept while its list runs backward, after recomputing, until its own backward is done
  Bytes gradients;          ///< of its outputs and inputs, while it runs backward
  bool recomputed = false;  ///< forward runs again before backward
};

/// Operators in the order in which forward runs them.
struct OperatorList {
  std::vector<Operator> operators;  ///< first to last
  Bytes
      saved;  ///< per microbatch, under the recompute chosen; layer input of full recompute included
  Bytes live;  ///< what is kept when this list begins to run backward, after recomputing: >= saved
  Bytes peak;  ///< the most while it does, with gradients of activations: >= live
  std::int64_t weights() const;    ///< of all operators
  std::int64_t trainable() const;  ///< of all operators
};

/// Everything one chip does for one microbatch.
struct OperatorGraph {
  OperatorList embedding;            ///< tables, and what follows them
  std::vector<OperatorList> layers;  ///< one per Model::kinds
  OperatorList head;                 ///< final norm, output matrix, loss; modules of further tokens
  Bytes boundary;                    ///< what a pipeline stage hands to the next
};
/// Sizes that do not divide are rounded up; `plan_problems` (parallel.h) refuses such plans.
OperatorGraph make_operators(const Model& model, const Execution& execution);

/// Sums over steps.
struct Work {
  Flops matrix;   ///< of GEMMs and attention
  Bytes traffic;  ///< memory traffic of all kernels
  Bytes sent;     ///< sum of the transfers' sizes
};
/// Repeated steps count as often.
Work total_work(const std::vector<OperatorStep>& steps);

/// Model FLOPs of one sequence, forward and backward, without recompute: what MFU counts.
struct TrainingFlops {
  Flops linear;            ///< 6 x weights x tokens
  Flops attention;         ///< with causal masks and windows; products of recurrences
  Flops attention_square;  ///< all pairs of tokens (Megatron's convention)
};
/// Of a model, at this length of sequences.
TrainingFlops training_flops(const Model& model, std::int64_t sequence);

}  // namespace flopcast
