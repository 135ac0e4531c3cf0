// Floor 2: how a model is spread over chips: a plan, why it may be impossible, what it keeps and
// sends for its weights, and where its groups lie on the network.
//
//   Plan plan;
//   plan.tp = 8, plan.pp = 4, plan.dp = 4, plan.global_batch = 1024;
//   for (const Diagnostic& problem : plan_problems(plan, model, 128)) ...
//
// Names and limits are Megatron-LM's. Pipeline schedules are in flopcast/parallel/schedule.h, readers and
// writers of launch configurations in flopcast/parallel/files.h.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/base.h"
#include "flopcast/parallel/schedule.h"
#include "flopcast/workload.h"
#include "flopcast/workload/operators.h"

namespace flopcast {

/// What each data-parallel chip keeps only a share of (ZeRO, arXiv:1910.02054; 3 is FSDP).
enum class Zero : std::uint8_t { kNone, kOptimizer, kGradients, kWeights };

/// What updates the weights, and so what is kept for each of them.
enum class OptimizerKind : std::uint8_t { kAdam, kSgd, kMuon };
std::string_view name(OptimizerKind kind);  ///< "adam"

/// In which type gradients are reduced over replicas.
enum class GradientType : std::uint8_t { kSummed, kFp32, kBf16, kFp16 };  ///< kSummed: as added up

/// What may run at the same time as compute.
struct Overlap {
  bool gradients = true;  ///< --overlap-grad-reduce
  bool weights = true;    ///< --overlap-param-gather, FSDP prefetch
  bool tensor = false;    ///< --tp-comm-overlap, async tensor parallel
  bool pipeline = true;   ///< --overlap-p2p-communication
  bool context = true;    ///< ring exchange behind attention
  bool experts = false;   ///< --overlap-moe-expert-parallel-comm
  bool operator==(const Overlap&) const = default;
};

/// How a model is spread over chips, and how it is trained there.
struct Plan {
  /// degrees; dp counts replicas: with cp, gradients are reduced over dp * cp chips
  unsigned tp = 1, tp2 = 1, cp = 1, pp = 1, dp = 1;
  unsigned ep = 1;                                ///< within dp * cp * tp
  unsigned etp = 0;                               ///< 0: as tp
  unsigned vpp = 1;                               ///< virtual stages per chip
  TensorKind tensor = TensorKind::kOneD;          ///< how tp and tp2 cut
  ContextKind context = ContextKind::kAllGather;  ///< how keys and values of other chips come
  unsigned panels = 1;                            ///< of SUMMA
  bool sequence_parallel = false;  ///< norms and residuals are cut along the sequence over tp

  /// sequences: of one pass; of a step, all replicas together
  std::int64_t micro_batch = 1, global_batch = 1;
  std::int64_t sequence = 0;  ///< tokens; 0: the model's longest

  ScheduleKind schedule = ScheduleKind::kOneFOneB;  ///< of the pipeline
  /// Layers of virtual stage i (of pp * vpp), in the order of the layers; empty: layers_per_stage's.
  std::vector<unsigned> stage_layers;
  /// --account-for-embedding-in-pipeline-split, --account-for-loss-in-pipeline-split
  bool count_embedding = false, count_loss = false;

  Zero zero = Zero::kOptimizer;  ///< what is kept once for all replicas
  unsigned shard =
      0;  ///< chips that share weights, gradients, optimiser; 0: all of dp * cp. Else the
          ///< rest are replicas of them (hybrid shard)
  bool reshard = true;  ///< Zero::kWeights: weights are dropped after forward, gathered again
  OptimizerKind optimizer = OptimizerKind::kAdam;  ///< what updates the weights
  Precision precision = Precision::kBf16;          ///< of linear layers
  bool fp32_gradients = true;  ///< accumulated in fp32 (Megatron); false: in the weights' type
  GradientType gradient_type = GradientType::kSummed;  ///< that replicas send
  bool fp32_master = true;  ///< optimiser keeps weights in fp32; false: pure 16-bit training
  /// of fp32 weights, only the 16 bits that bf16 weights lack are kept beside them
  /// (--use-precision-aware-optimizer)
  bool split_master = false;
  unsigned moment_bytes = 0;  ///< of all moments of a weight; 0: 4 each, 2 in pure 16-bit training
  unsigned offload = 0;       ///< percent of the optimiser that the host keeps and updates
  bool fp8_gather = true;     ///< Precision::kFp8: weights are gathered in 8 bits, not in 16

  Recompute recompute = Recompute::kNone;  ///< what is computed again in backward
  /// with kSelective: RecomputeModule, added up
  std::uint8_t recompute_modules = kRecomputeCoreAttention;
  unsigned recompute_layers = 0;  ///< of each stage, with kFull: 0 all
  bool flash_attention = true;    ///< false: scores are written to memory
  std::int64_t lora_rank = 0;     ///< of low-rank adapters; > 0: all else is frozen
  bool lora_mlp = false;          ///< adapters in feed-forwards as well as in attention
  unsigned mtp_layers = 0;        ///< behind the last layer, to predict further tokens
  Overlap overlap;                ///< what communication runs beside compute
  DispatcherKind dispatcher = DispatcherKind::kUsual;  ///< who sends tokens to experts
  bool cuda_graph = false;  ///< passes of layers are replayed from CUDA graphs

  bool operator==(const Plan&) const = default;

  unsigned chips() const { return tp * tp2 * cp * pp * dp; }  ///< all of the plan
  unsigned expert_tp() const { return etp == 0 ? tp : etp; }  ///< of one expert
  /// Replicas of expert weights; 0 where ep * etp does not divide tp * cp * dp.
  unsigned expert_dp() const;
  /// of a step, on each replica
  std::int64_t microbatches() const { return global_batch / (micro_batch * dp); }
  /// FSDP under a pipeline whose weights stay gathered: they are gathered once a step, and whole
  /// gradients are added up in fp32 until the last microbatch.
  bool gathers_once() const { return zero == Zero::kWeights && !reshard && pp > 1; }
  /// Backward passes of a stage whose gradients are added up whole before they are reduced: with gradients sharded
  /// over replicas, the microbatches that come through a virtual stage after each other.
  std::int64_t passes_a_reduction() const {
    return zero == Zero::kGradients && vpp > 1 ? std::min<std::int64_t>(pp, microbatches()) : 1;
  }
};

/// Tokens of a sequence: the plan's, else the model's longest, else 2048.
std::int64_t sequence_of(const Plan& plan, const Model& model);
/// The part of a plan that operators depend on.
Execution execution_of(const Plan& plan, const Model& model);

/// Every reason why the plan cannot run this model on `chips` chips (0: any number): `where` is
/// Megatron's name of the setting, `hint` names values that work. Empty: it can.
std::vector<Diagnostic> plan_problems(const Plan& plan, const Model& model, unsigned chips = 0);
/// plan_problems is empty, without the words: for searches.
bool plan_possible(const Plan& plan, const Model& model, unsigned chips = 0);

/// Layers of each virtual stage. Even where pp * vpp divides; else embedding and loss count as a
/// layer each, and the first stages take what is left over (126 layers on 8 x 1: 16 each, 15 in the
/// first and last).
std::vector<unsigned> layers_per_stage(const Plan& plan, std::int64_t layers);

/// The same plan with what deals its layers unevenly said: embedding and loss counted as layers, or else
/// the layers of every stage. Megatron itself deals evenly alone.
Plan with_stages(const Plan& plan, std::int64_t layers);

/// Bytes of a gradient on its way to be reduced, and their type.
struct ReducedGradient {
  double bytes = 4;                 ///< of one
  DataType type = DataType::kFp32;  ///< of the elements that are sent
};
ReducedGradient reduced_gradient(const Plan& plan);  ///< of any weight

/// Bytes one chip keeps for its weights.
struct StateBytes {
  /// as of training with the plan's optimiser, ZeRO and precision
  Bytes weights, gradients, optimizer;
  Bytes total() const { return weights + gradients + optimizer; }  ///< their sum
};
/// Values on one chip before sharding over data-parallel groups (OperatorList::weights), and how many of
/// them are trained.
struct ChipWeights {
  /// all; replicated over Group::kData and over kExpertData
  std::int64_t dense = 0, expert = 0;
  std::int64_t dense_trainable = 0, expert_trainable = 0;  ///< of these, with gradients
};
ChipWeights chip_weights(const OperatorList& operators);  ///< of all operators of the list
/// What they need on one chip, after sharding.
StateBytes state_bytes(const Plan& plan, const ChipWeights& weights);
/// Memory traffic of one optimiser step on one chip: its share of the optimiser's state read and
/// written, gradients read (once more for their norm), weights written.
struct OptimizerTraffic {
  Bytes read, written;  ///< bytes
  double hosted = 0;    ///< weights that the host updates instead (Plan::offload)
  Bytes to_host;        ///< gradients of these, and weights back
};
/// On one chip, of its share after sharding.
OptimizerTraffic optimizer_traffic(const Plan& plan, const ChipWeights& weights);

/// Memory traffic of adding one microbatch's gradients up by a pass of their own, on one chip: what the
/// products wrote and the sum read, the sum written. (Products that add up in place need none.)
OptimizerTraffic accumulation_traffic(const Plan& plan, const ChipWeights& weights);

/// What one layer's weights (or any bucket) send over data-parallel groups in one step.
struct WeightTransfers {
  /// Each microbatch where Zero::kWeights (unless Plan::gathers_once), else once.
  std::vector<Transfer> before_forward;
  std::vector<Transfer> before_backward;  ///< each microbatch, where weights were dropped
  std::vector<Transfer>
      after_backward;  ///< once, after the last microbatch (kGradients, kWeights: as above)
};
/// Of the weights of one layer, or of all.
WeightTransfers weight_transfers(const Plan& plan, const ChipWeights& weights);

/// How many dimensions a Placement has.
inline constexpr std::size_t kPlanDimensions = 5;
/// Which chips form the groups: how many members of each parallel dimension lie inside one group of
/// each network tier. Dimensions in the order tp, tp2, cp, dp, pp.
struct Placement {
  std::vector<unsigned> tiers;  ///< chips that a group of each tier has room for
  /// inside[i][d]: members of dimension d within one group of tier i; the last entry holds all. One
  /// entry only: chips are numbered through, across groups (12 chips on nodes of 8).
  std::vector<std::array<unsigned, kPlanDimensions>> inside;

  /// Chip (0 ..) of the member with these coordinates.
  std::uint32_t chip(const std::array<unsigned, kPlanDimensions>& coordinates) const;
  /// Chips of the group that holds the chip with all coordinates 0. Expert groups are formed inside
  /// a pipeline stage: etp innermost, then ep, in the order of the stage's chips.
  std::vector<std::uint32_t> group(const Plan& plan, Group group) const;
  /// Members of the group that share one group of this tier (0: a node) with the chip 0.
  unsigned in_tier(const Plan& plan, Group group, std::size_t tier) const;
  /// share a node with the chip 0
  unsigned in_node(const Plan& plan, Group group) const { return in_tier(plan, group, 0); }
  bool operator==(const Placement&) const = default;
};
/// Megatron's: tp innermost, then tp2, cp, dp, pp. `tiers` are chips per group of each network tier,
/// ascending ({8, 128}: nodes of 8, 128 in all).
Placement default_placement(const Plan& plan, std::span<const unsigned> tiers);
/// Every way to fill the tiers: all factorisations of each tier's size into the dimensions. A tier
/// that cannot be filled takes as many as fit. Empty: there are more chips than room.
std::vector<Placement> placements(const Plan& plan, std::span<const unsigned> tiers);

}  // namespace flopcast
