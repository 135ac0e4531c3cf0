// Floor 7: what `flopcast estimate` asks of a plan: how long a step takes, and what would fit.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/analytic.h"
#include "flopcast/analytic/graph.h"
#include "flopcast/analytic/nearest.h"
#include "flopcast/analytic/whole_run.h"
#include "flopcast/question/rounder.h"

namespace flopcast {

/// The same step, run as an execution graph.
struct GraphAnswer {
  Seconds step;                                ///< until the last task ends
  std::size_t tasks = 0;                       ///< how many there are
  std::array<Seconds, kStepTasks> critical{};  ///< as of StepRun
  std::vector<Seconds> busy;                   ///< compute of each stage's chip
};
/// What is told of a run.
GraphAnswer graph_answer(const StepRun& run);

/// What one answer of `flopcast estimate` is made of.
struct EstimateReport {
  /// names; of the profile of catalog/training/constants.toml
  std::string model, cluster, chip, software;
  std::vector<FitNote> own_fits;  ///< of the cluster, that the answer rests on
  Parameters parameters;          ///< of the model
  Bytes capacity;  ///< of a chip's memory; estimate.capacity is the share of it that a plan may use
  double asked_odds = 0.9;           ///< with which the plan has to fit (TrainingOptions::fit_odds)
  Plan plan;                         ///< `sequence` is never 0 here
  TrainingEstimate estimate;         ///< what came out
  std::vector<std::string> assumed;  ///< what the plan's source and the estimate had to assume
  /// of the launch configuration: as of PlanFile
  std::vector<std::string> used, ignored, unmodelled, unknown;
  std::vector<FittingPlan> fitting;  ///< where the plan does not fit: fastest first
  std::optional<GraphAnswer> graph;  ///< where asked for
  std::optional<RunQuestion> asked;  ///< of the whole run
  std::optional<WholeRun> run;       ///< where asked for
  std::string hint;                  ///< rounder_words of the same plan; often empty
};

/// Estimates the plan and, where it does not fit, looks for plans that do. Errors (kUsage): every
/// reason why the model cannot run so, in one text; TrainingModel::estimate's.
/// @param assumed what the source of the plan left open (NamedPlan)
Result<EstimateReport> make_estimate_report(const TrainingModel& model, const Plan& plan,
                                            std::vector<std::string> assumed = {});

/// Sets what the report's steps come to, at the model's price or the catalogue's. Errors: whole_run's.
std::optional<Diagnostic> add_whole_run(const TrainingModel& model, const RunQuestion& asked,
                                        EstimateReport& report);

/// Which stage and class of memory is too big, and the nearest plan that fits. Code kTooLarge, the
/// exit code of what does not fit. None where the plan fits.
std::optional<Diagnostic> memory_problem(const EstimateReport& report);

/// One class of what a chip keeps.
struct MemoryClass {
  std::string_view name;     ///< as visit_memory has it: "activations"
  std::string_view meaning;  ///< for people
  Bytes bytes;               ///< of one chip
};
/// All classes of what one chip keeps, in their order.
std::vector<MemoryClass> memory_classes(const StageMemory& memory);

}  // namespace flopcast
