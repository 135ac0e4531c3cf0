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
  std::string model;
  std::vector<std::string> clusters;  ///< several where a command compares them
  std::string software, memory = "100%";
  std::vector<std::string> fits;
  double fit_odds = TrainingOptions().fit_odds;
  std::vector<double> prices;  ///< of a chip and hour, USD: one for all clusters, or one for each

  /// The first cluster; "": none is named.
  std::string cluster() const { return clusters.empty() ? std::string() : clusters.front(); }
};
void add_training(CLI::App& command, TrainingFlags& flags);
/// Puts --fit into the lines of all clusters. Errors: as of take_fits.
std::optional<Diagnostic> take_fits(TrainingFlags& flags);
/// With the price of the first cluster. Errors: --memory that is no share of 1 to 100 %, odds that are none, a negative price.
Result<TrainingOptions> training_options(const TrainingFlags& flags);
/// The price on the cluster of this place; 0: none is told. Errors: neither one price nor as many as clusters, one below zero.
Result<double> price_on(const TrainingFlags& flags, std::size_t cluster);
/// Loads model and cluster. Errors: several clusters; no --on (paper mode has none, so the parser does not ask); as of
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
