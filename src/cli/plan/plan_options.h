// What `flopcast estimate` and `flopcast plan` ask alike: which model, on what, and flags of a plan.
// Every flag of a plan has Megatron's long name and its short form.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/terminal/cli11.h"
#include "flopcast/analytic.h"
#include "flopcast/parallel/files.h"
#include "flopcast/parallel/settings.h"

namespace flopcast::cli {

/// MODEL, --on, and what forecasts rest on and cost.
struct TrainingFlags {
  std::string model, cluster;
  std::string software, memory = "100%";
  std::vector<std::string> fits;
  double usd_per_chip_hour = 0;
};
void add_training(CLI::App& command, TrainingFlags& flags);
/// Puts --fit into the line of the cluster. Errors: as of take_fits.
std::optional<Diagnostic> take_fits(TrainingFlags& flags);
/// Errors: --memory that is no share of 1 to 100 %, a negative price.
Result<TrainingOptions> training_options(const TrainingFlags& flags);
/// Loads model and cluster. Errors: no --on (paper mode has none, so the parser does not ask); as of
/// model_of, Catalog::cluster and TrainingModel::make.
/// @param file tells the model where no flag names it, and notes where it trains another
Result<TrainingModel> open_training(const TrainingFlags& flags, std::optional<PlanFile>& file);

/// Flags of a plan, one for each of plan_settings().
struct PlanFlags {
  std::filesystem::path from;  ///< --plan-from
  std::string arguments;       ///< --plan-args
  bool strict = false;         ///< --strict
  PlanSettings given;
};
/// The launch configuration of --plan-from, as it is on this cluster; none where it was not given.
Result<std::optional<PlanFile>> launch_file(const PlanFlags& flags, const std::string& cluster);
/// --global-batch, --seq, --plan-from.
void add_batch(CLI::App& command, PlanFlags& flags);
/// Degrees of parallelism, micro batch, schedule, recompute, ZeRO: what a search varies.
void add_degrees(CLI::App& command, PlanFlags& flags);
/// Precision, optimiser, overlap and the like: what a search takes as given.
void add_choices(CLI::App& command, PlanFlags& flags);

/// make_plan and base_plan of the flags, on the plan of the file where there is one. Errors name the
/// flag.
Result<NamedPlan> plan_of(const PlanFlags& flags, const std::optional<PlanFile>& file,
                          unsigned chips);
Result<NamedPlan> base_plan(const PlanFlags& flags, const std::optional<PlanFile>& file);

/// Name of a format: "megatron", "torchtitan", "deepspeed". Error: lists them.
/// @param flag that names it, for the error
Result<PlanFormat> plan_format(std::string_view flag, const std::string& text);

}  // namespace flopcast::cli
