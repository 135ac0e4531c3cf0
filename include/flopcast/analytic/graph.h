// Floor 5: one training step as an execution graph (graph.h), run by the engine: the second opinion
// on the closed form of analytic.h, and a timeline of the step.
//
//   chip c of the pipeline (one stands for all that share its stages)
//     compute            gather | F0 F1 B0 F2 B1 ... in the schedule's order | optimizer | fixed
//     send activations   each forward's output to the chip of the next stage
//     send gradients     each input gradient to the chip of the stage before
//     data parallel      weights before the first pass, gradients after the last
//
// Where graph and closed form differ:
//   - sends of one direction go one after another here; the closed form lets them overlap. Equal
//     where no send is longer than the passes of the chip that sends.
//   - every chip waits for its own weights here; in the closed form later chips gather theirs while
//     they wait for work anyway. Equal where that is so.
//   - the closed form runs a few rounds of a long schedule and continues their period; here every
//     microbatch is run.
//
// Worked example, repeated in analytic/graph/expand_test.cc: 1F1B on 2 chips, 2 microbatches, forward 1 s,
// backward 2 s, send 0.5 s.
//
//   chip 0   F0 0-1   F1 1-2   B0 5-7 (4.5 + send)   B1 8-10 (7.5 + send)
//   chip 1   F0 1.5-2.5   B0 2.5-4.5   F1 4.5-5.5   B1 5.5-7.5
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "flopcast/analytic.h"
#include "flopcast/engine.h"
#include "flopcast/network/collectives.h"
#include "flopcast/parallel/schedule.h"
#include "flopcast/trace.h"

namespace flopcast {

/// What a chip does once a step, around its schedule.
struct ChipWork {
  Seconds gather;     ///< weights, before its first pass
  Seconds reduce;     ///< gradients, after its last
  Seconds optimizer;  ///< after that
};

/// What the passes of a virtual stage are made of; what they take besides is the host's.
struct StageFacts {
  unsigned chip = 0, chunk = 0;          ///< where it is
  unsigned layers = 0;                   ///< of the model
  StageTime embedding, layers_of, head;  ///< of a microbatch; `send` is not used
};
/// A transfer of weights or gradients once a step, with what passes hide of it.
struct TransferFacts {
  CollectiveOp op = CollectiveOp::kReduceScatter;  ///< what is done
  Bytes size;                                      ///< as of CollectiveQuery
  unsigned ranks = 1;                              ///< of the group
  Seconds time;                                    ///< all of it
};
/// Of passes, what transfers once a step may hide behind; of what they hide, what the kernels beside it take longer.
struct Hiding {
  double weights = 0, gradients = 0, contention = 0;
};
/// As fitted to measured runs (catalog/training/constants.toml), for steps that do not tell their software.
Hiding usual_hiding();
/// What a chip does once a step, in parts.
struct ChipFacts {
  Seconds embedding, layers, head;              ///< of the optimizer
  std::vector<TransferFacts> gathers, reduces;  ///< of weights, before; of gradients, after
};
/// What a step's tasks do not tell of the run they stand for. Nothing runs by it: a trace says it
/// in annotations, so that a what-if can start from there.
struct StepFacts {
  unsigned tp = 1, cp = 1, ep = 1,
           dp = 1;                 ///< degrees; a chip of the pipeline stands for tp x cp x dp
  unsigned nodes = 1;              ///< of the whole run
  double stragglers = 0;           ///< what waiting adds to every duration, a ratio
  std::vector<StageFacts> stages;  ///< one per virtual stage
  std::vector<ChipFacts> chips;    ///< one per chip of the pipeline
};

/// Everything a step is made of.
struct StepWork {
  Schedule schedule;               ///< order of the passes on every chip
  std::vector<StageTime> stages;   ///< one per virtual stage
  std::vector<ChipWork> chips;     ///< one per chip of the pipeline
  Seconds fixed;                   ///< costs of the software, after the last optimiser
  double stretch = 1;              ///< of every duration: stragglers
  std::optional<StepFacts> facts;  ///< where they are known; without the stretch
};
/// What TrainingModel::estimate makes its closed form of. Errors: plan_problems' first;
/// kTooLarge: more than 20 million passes.
Result<StepWork> step_work(const TrainingModel& model, const Plan& plan,
                           const Placement* placement = nullptr);

/// What a task of the graph is.
enum class StepTask : std::uint8_t {
  kForward,
  kBackward,  ///< also input and weight gradients apart
  kBoth,      ///< a forward and a backward at the same time (DualPipe)
  kSend,
  kGather,
  kReduce,
  kOptimizer,
  kFixed,
};
inline constexpr std::size_t kStepTasks = 8;  ///< how many StepTask there are
std::string_view name(StepTask task);         ///< "forward"

/// A step that was run as an execution graph.
struct StepRun {
  Graph graph;                  ///< its tasks, laid out for the engine
  StringTable names;            ///< of the tasks
  std::vector<StepTask> tasks;  ///< kind of each task of the graph
  Run run;                      ///< start and end of every task
  unsigned chips = 0;           ///< of the pipeline
  Seconds step;                 ///< until the last task ends
  std::vector<Seconds> busy;    ///< compute of each chip, optimizer and fixed costs included
  /// The chain of tasks, each held back by the one before it, that ends the step; sums to it.
  std::array<Seconds, kStepTasks> critical{};
  std::optional<StepFacts> facts;  ///< as of StepWork, with the stretch
};
/// Errors: schedule_problem's; kUsage where stages or chips are not as many as the schedule's;
/// kTooLarge: the step would last more than 50 days.
Result<StepRun> run_step(const StepWork& work);

/// The step as a trace, for write_perfetto and write_kineto: a rank per chip of the pipeline, a
/// stream per line of the picture above, and one ProfilerStep. Facts become annotations: "plan: tp 8,
/// ..." beside the step; "embedding", "20 layers", ... inside the first passes of each stage and the
/// optimizers; "reduce: reduce_scatter of ... bytes over 32" from where a transfer begins to its end.
TraceSet step_trace(const StepRun& run);

}  // namespace flopcast
