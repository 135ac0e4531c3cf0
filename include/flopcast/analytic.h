// Floor 5: full mode of the analytical door: how long one training step of a plan takes on a
// cluster, what it keeps in memory, and what both rest on.
//
//   stage time    sum over its layers of kernels (cost/) + transfers that nothing hides (network/)
//   pipeline      the schedule itself, action by action (flopcast/parallel/schedule.h), with these times
//   step          pipeline + data-parallel tail + optimiser + fixed costs of the software
//
// docs/theory/training.md has every term with its source. Constants of software and chips that no
// table of kernels or collectives holds are in catalog/training/constants.toml, fitted by
// tools/fit_training.py.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/base.h"
#include "flopcast/cost.h"
#include "flopcast/hardware.h"
#include "flopcast/network/collectives.h"
#include "flopcast/parallel.h"
#include "flopcast/workload.h"

namespace flopcast {

/// Where the time of one step goes, on the chip that is busy longest. Sums to the step.
enum class TimePart : std::uint8_t {
  kMatrix,       ///< GEMMs
  kAttention,    ///< attention kernels
  kMemoryBound,  ///< norms, activations, element-wise, quantisation, loss
  kRecompute,    ///< forward kernels that run again before backward
  kTensor,       ///< exposed transfers of tensor parallelism
  kContext,      ///< ... of context parallelism
  kExpert,       ///< ... of expert parallelism
  kWeights,      ///< ... of data parallelism: gathering weights (ZeRO, FSDP)
  kGradients,    ///< ... of data parallelism: reducing gradients
  kBubble,       ///< waiting for other pipeline stages, sends between them included
  kOptimizer,    ///< optimiser step
  kHost,         ///< launches the chip waits for, fixed costs of a microbatch and a step
  kContention,   ///< what kernels lose to transfers that run beside them, and to stragglers
};
inline constexpr std::size_t kTimeParts = 13;  ///< how many TimePart there are
std::string_view name(TimePart part);          ///< "matrix"

/// What one chip keeps at its fullest moment.
struct StageMemory {
  Bytes weights, gradients, optimizer;  ///< of the stage's parameters, as StateBytes
  Bytes activations;                    ///< kept for backward, over all microbatches in flight
  Bytes working;           ///< of the layer that runs: recomputed tensors, logits, gathered weights
  Bytes buffers;           ///< communication buffers, context of the device
  Bytes allocator;         ///< rounding and holes of a caching allocator
  unsigned in_flight = 1;  ///< microbatches whose activations are kept (in chunks of the stage)
  /// The sum of all of these.
  Bytes total() const {
    return weights + gradients + optimizer + activations + working + buffers + allocator;
  }
};

/// Calls visit(name, bytes) for each class of memory.
template <typename MemoryType, typename Visit>
void visit_memory(MemoryType& memory, Visit&& visit) {
  visit("weights", memory.weights);
  visit("gradients", memory.gradients);
  visit("optimizer", memory.optimizer);
  visit("activations", memory.activations);
  visit("working", memory.working);
  visit("buffers", memory.buffers);
  visit("allocator", memory.allocator);
}

/// One pipeline stage (all its virtual stages).
struct StageEstimate {
  unsigned layers = 0;        ///< of the model, embedding and head not counted
  Seconds forward, backward;  ///< of one microbatch, over the stage's virtual stages
  Seconds busy, start, end;   ///< in the pipeline
  StageMemory memory;         ///< of the fullest of its chips
};

/// How long one step of a plan takes, why, and what it keeps.
struct TrainingEstimate {
  Seconds step;                             ///< time of one step
  Seconds low, high;                        ///< 10-90 % band
  std::array<Seconds, kTimeParts> parts{};  ///< of the step, by TimePart; sums to it
  std::vector<StageEstimate> stages;        ///< of the pipeline, first to last
  unsigned fullest = 0;                     ///< the stage that needs most memory
  Bytes capacity;                 ///< of one chip that the plan may use (memory_share of it)
  Bytes memory_low, memory_high;  ///< 10-90 % band of what the fullest stage needs
  double fit_odds = 0;  ///< how likely that is within `capacity`, 0 to 1 (analytic/odds.h)
  bool fits = false;    ///< whether it is with the odds asked for
  /// in words, of the fullest stage: what of its memory is holes, what is gathered, how much and why
  std::vector<std::string> memory_notes;

  double tokens_per_second = 0;  ///< all chips
  double mfu = 0;       ///< model FLOPs (causal) over the dense peak of the plan's precision
  double hfu = 0;       ///< recomputed FLOPs counted as well
  double energy_j = 0;  ///< of one step, all chips at their power limit; 0: power unknown
  double cost_usd = 0;  ///< of one step; 0: no price given

  std::array<double, 5> rests_on{};  ///< share of kernel and transfer time by Basis
  std::vector<std::string> assumed;  ///< in words, what nobody told and nothing measured
  Placement placement;               ///< where the plan's groups lie on the network

  /// of the fullest stage
  const StageMemory& memory() const { return stages[fullest].memory; }
  /// time of one part
  Seconds part(TimePart which) const { return parts[static_cast<std::size_t>(which)]; }
};

/// A constant of catalog/training/constants.toml: fitted inside its physical limits.
struct TrainingConstant {
  std::string_view name;     ///< as in the file
  double value, low, high;   ///< as used; the limits it was fitted in
  std::string_view meaning;  ///< one line with its unit
};

/// What forecasts of a TrainingModel rest on besides model and cluster.
struct TrainingOptions {
  /// How the training's software behaves: a profile of catalog/training/constants.toml. "" is the first.
  std::string software;
  /// constants of training beside those of the cluster's own fits
  std::vector<std::shared_ptr<const FitFile>> fits;
  double usd_per_chip_hour = 0;  ///< 0: no cost
  double memory_share = 1;       ///< of the chip's capacity that a plan may use
  double fit_odds = 0.9;  ///< with which a plan has to fit into that to be told as one that fits
  KernelModelOptions kernels;                              ///< how kernels are priced
  CollectiveSource collectives = CollectiveSource::kBest;  ///< how transfers are priced
};

/// Forecasts of one model on one cluster. Immutable and thread-safe; PlanScorer is its fast twin for
/// searches, one per thread.
class TrainingModel {
 public:
  /// Errors: a software that is not known, fits of constants that cannot be used; those of Machine::make.
  static Result<TrainingModel> make(Model model, Cluster cluster, const Catalog& catalog,
                                    const TrainingOptions& options = {});
  /// Errors: plan_problems' first where the plan is impossible. A plan that does not fit into memory
  /// is estimated all the same. Without `placement`: the default one.
  Result<TrainingEstimate> estimate(const Plan& plan, const Placement* placement = nullptr) const;

  const Model& model() const;                       ///< as given
  const Cluster& cluster() const;                   ///< as given
  std::vector<TrainingConstant> constants() const;  ///< that forecasts were made with
  std::string software() const;                     ///< name of the profile in use
  const TrainingOptions& options() const;           ///< as they were given to `make`
  /// Chips per group of each network tier: what placements() takes.
  std::vector<unsigned> tiers() const;

  TrainingModel(TrainingModel&&) noexcept;
  TrainingModel& operator=(TrainingModel&&) noexcept;
  ~TrainingModel();

  struct State;                                   ///< the library's own
  const State& state() const { return *state_; }  ///< the library's own

 private:
  explicit TrainingModel(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};
/// Time and memory of one plan, remembering layers, transfers and schedules between calls. The same
/// numbers as TrainingModel::estimate, bit for bit, in whatever order plans are asked. Plans must be
/// possible (plan_possible). Not thread-safe; the model must outlive it.
class PlanScorer {
 public:
  /// Remembers nothing yet.
  explicit PlanScorer(const TrainingModel& model);
  /// Bytes of the fullest stage. Independent of the placement.
  Bytes memory(const Plan& plan);
  /// Never more than `time`, and quicker to have: no schedule is run.
  Seconds time_at_least(const Plan& plan, const Placement& placement);
  /// The same for every placement: kernels, and nothing that is sent.
  Seconds time_at_least(const Plan& plan);
  /// Of one step.
  Seconds time(const Plan& plan, const Placement& placement);

  PlanScorer(PlanScorer&&) noexcept;
  PlanScorer& operator=(PlanScorer&&) noexcept;
  ~PlanScorer();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace flopcast
