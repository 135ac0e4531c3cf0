// Floor 7: searches for plans: asked, answered, cut into shards and put together again.
//
//   PlanQuestion question{"llama-3-70b", "64 x dgx-h100"};
//   question.global_batch = 1024;
//   Result<PlanReport> report = answer(question)
//   plan_json(*report); plan_text(*report); ...   (tables and pages: flopcast/report/plan.h)
//
// A report holds nothing that depends on how it was made: neither seconds nor threads nor shards.
// JSON is exact: read_plan_reports(plan_json(r)) gives r, and so does merging its shards.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flopcast/analytic/search.h"
#include "flopcast/analytic/whole_run.h"
#include "flopcast/parallel/settings.h"
#include "flopcast/question/rounder.h"

namespace flopcast {

/// What one point of a sweep changes: {"n", "64"}, {"chip", "h200"}, {"hbm-bandwidth", "2x"}.
struct PlanChange {
  std::string name, value;  ///< the sweep's name; what is taken at this point
  bool operator==(const PlanChange&) const = default;
};

/// A search as somebody asks for it.
struct PlanQuestion {
  std::string model;    ///< for load_model
  std::string cluster;  ///< for Catalog::cluster
  unsigned chips = 0;   ///< 0: all of them; of "64 x NODE" as many nodes are taken as these need
  std::int64_t global_batch = 0;            ///< sequences a step
  std::int64_t sequence = 0;                ///< 0: the model's longest
  std::vector<PlanConstraint> constraints;  ///< that every plan meets
  std::vector<PlanChange> changes;          ///< of the machine
  Plan base;                                ///< what the search does not vary
  std::optional<PlanFormat> launchable;     ///< only plans that this launcher can run
  std::optional<Model> own_model;           ///< in place of `model`: that of a launch script
  std::vector<std::string> assumed;         ///< what the source of `base` left open, in words
  std::vector<std::string> named;           ///< settings of `base` that somebody named
  bool placements =
      true;  ///< all placements; false, or with `launchable`: the default one of each plan
  bool launches = true;            ///< the best of each launcher as well, but of a changed machine
  std::size_t best = 10;           ///< plans to return
  TrainingOptions training;        ///< software, constants, prices, share of the memory
  std::optional<RunQuestion> run;  ///< what is asked of the whole run, if anything
};

/// Settings of a plan as a search takes them: a degree is a constraint ("tp=8"; it may list several,
/// "tp=4,8"), the rest its base, batch and sequence. Errors: plan_constraint's, base_plan's.
/// @param from a launch configuration that the settings change, if any
Result<PlanQuestion> with_settings(PlanQuestion question, const PlanSettings& settings,
                                   const PlanFile* from = nullptr);

/// "n=64..1024" (doubling), "n=64..512:64" (steps), "chip=h100,h200", "hbm-bandwidth=1x..4x/7" (so
/// many, evenly spaced): one change per value, in the grammar of src/base/text/sweep.h.
/// Names: n node-size chip hbm-bandwidth hbm-capacity matrix-rate node-bandwidth node-latency
/// fabric-bandwidth fabric-latency. Errors (kUsage): no such name, a value that is no number of its
/// unit, more than 1000 values.
Result<std::vector<PlanChange>> parse_plan_sweep(std::string_view text);
/// The question at every point of all sweeps: the last one varies fastest. Errors (kUsage): a sweep
/// named twice, more than 10,000 points.
Result<std::vector<PlanQuestion>> sweep_points(const PlanQuestion& question,
                                               const std::vector<std::string>& sweeps);

/// The machine of a question, and how many of its chips are used.
struct PlanMachine {
  Cluster cluster;           ///< as it is after the changes
  unsigned chips = 0;        ///< of it that are used
  TrainingOptions training;  ///< the question's
};
/// Errors: Catalog::cluster's; more chips than there are; a change that the cluster has no level for.
Result<PlanMachine> plan_machine(const PlanQuestion& question, const Catalog& catalog);

/// One of the best plans, estimated.
struct PlanCandidate {
  PlanFound found;                          ///< the plan, its placement, time and memory
  Seconds low, high;                        ///< 10-90 % band
  std::array<Seconds, kTimeParts> parts{};  ///< of the step, by TimePart
  StageMemory memory;                       ///< of the fullest stage
  /// as of TrainingEstimate
  double tokens_per_second = 0, mfu = 0, hfu = 0, energy_j = 0, cost_usd = 0;
  std::array<double, 5> rests_on{};  ///< share of kernel and transfer time by Basis
  Bytes memory_low, memory_high;     ///< 10-90 % band of found.memory
  double fit_odds = 0;               ///< that it fits, as of TrainingEstimate
  /// Whether it is as fast as the fastest of all, as far as forecasts tell (PlanOdds::tie_time): of
  /// these comes first the one that people would take (src/question/plan/ranking.h).
  bool tie = false;
  std::optional<WholeRun> run;  ///< to its end, where that was asked
  /// What PlanReport tells of the first one. Of others in shards only: they may be first of the whole.
  std::vector<Sensitivity> sensitivities;
  std::vector<std::string> assumed;
};

/// The best plan of those that a launcher runs, at the placement that it gives them, and how it is started.
struct PlanLaunch {
  PlanFormat launcher = PlanFormat::kMegatron;  ///< who runs it
  std::string software;                         ///< profile that it is priced as
  std::optional<PlanFound> best;                ///< none: no plan that it runs is possible, or fits
  Seconds low, high;                            ///< 10-90 % band
  Launch launch;                                ///< of the best
  /// Where there is none: plans that it runs, and what refuses the others, as of PlanSearch.
  std::uint64_t plans = 0;
  std::vector<std::pair<std::string, std::uint64_t>> refused;  ///< as there
  std::vector<std::string> assumed;                            ///< of its software and its ways
};

/// Why a launcher has no plan, in words.
std::string why_none(const PlanLaunch& launch);

/// A question, the search that it led to, and what is told of it.
struct PlanReport {
  // What was asked, as it was understood.
  std::string model;                    ///< its name
  std::string on;                       ///< the cluster as it was named
  std::string cluster;                  ///< as it is: with so many chips, and changed
  std::string chip, software, version;  ///< names
  std::vector<FitNote> own_fits;        ///< of the cluster, that the answer rests on
  /// of the model, both; sequences a step; tokens of a sequence
  std::int64_t parameters = 0, layers = 0, global_batch = 0, sequence = 0;
  unsigned chips = 0;  ///< that are searched over
  /// as of TrainingOptions
  double memory_share = 1, fit_odds = 0.9, usd_per_chip_hour = 0;
  std::optional<RunQuestion> run;           ///< with the price that was taken
  std::optional<PlanFormat> launchable;     ///< whose plans only
  bool placements = true;                   ///< whether all were searched
  bool asked_launches = true;               ///< whether launchers' best were asked for
  std::vector<std::string> named;           ///< settings of `base` that somebody named
  std::size_t asked_best = 10;              ///< plans asked for
  std::vector<PlanConstraint> constraints;  ///< that every plan met
  std::vector<PlanChange> changes;          ///< of the machine
  Plan base;                                ///< what the search does not vary
  Bytes capacity;                           ///< of one chip

  unsigned shard = 0, shards = 1;  ///< which part of how many was searched
  PlanSearch search;               ///< what it found
  /// Estimates of the best in the order in which one would take them: ties with the fastest first. As
  /// many as were asked for; in a shard all that may be among the best of the whole.
  std::vector<PlanCandidate> best;
  std::vector<Sensitivity> sensitivities;  ///< of the first of the best
  std::vector<PlanLaunch>
      launches;  ///< of every launcher that was asked for, in their order; of shards the first has them
  std::vector<std::string> assumed;  ///< by the best's estimate
  std::optional<RounderStep>
      rounder;  ///< the fastest of sizes that divide better, if there are such

  bool fits() const { return !best.empty(); }               ///< whether any plan does
  Bytes usable() const { return capacity * memory_share; }  ///< of one chip
  /// rounder_words of the fastest plan; "": nothing fits.
  std::string hint() const;
};

/// How a search is run; no effect on what it finds.
struct PlanRun {
  unsigned threads = 0;            ///< 0: all cores
  unsigned shard = 0, shards = 1;  ///< search one part of `shards`
  /// as of PlanSearchOptions
  std::function<bool(std::uint64_t done, std::uint64_t all)> progress;
};
/// A report without an answer: the question as it is understood. Errors: load_model's,
/// plan_machine's, a constraint that cannot be read, no batch.
Result<PlanReport> asked(const PlanQuestion& question);
/// Errors: those of `asked`, TrainingModel::make's, search_plans'. That nothing fits is none: see
/// plan_refusal.
Result<PlanReport> answer(const PlanQuestion& question, const PlanRun& run = {});

/// Why nothing was found, which constraint fails, and the nearest plan that fits: the fastest with
/// one constraint less, with more of the memory, or on more chips.
/// Codes: kTooLarge; kUsage where not even one constraint less helps, since no plan is possible.
Diagnostic plan_refusal(const PlanQuestion& question, const PlanReport& report);

/// Shards of one search, in any order, as the whole search would have reported. Errors (kBadInput):
/// none; shards of different searches; one that is missing or there twice.
Result<PlanReport> merge_plans(std::span<const PlanReport> shards);
/// Shards of several searches (a sweep's), each merged, in the order of their first shards.
Result<std::vector<PlanReport>> merge_all_plans(std::span<const PlanReport> shards);
/// The same text for all that ask the same, whatever the shard.
std::string question_key(const PlanReport& report);

/// Answers to one question on several machines; places in their list.
struct PlanComparison {
  std::optional<std::size_t> fastest;  ///< none: nothing fits on any of them
  /// Each as fast as the fastest as far as anybody knows: both times are in the 10-90 % bands of both.
  std::vector<std::size_t> equal;
  std::optional<std::size_t> cheapest;  ///< of `equal`; none: one of them has no price
};
/// Of the best plan of each.
PlanComparison compare_plans(std::span<const PlanReport> reports);

/// One indented document.
std::string plan_json(const PlanReport& report);
/// The same on one line.
std::string plan_json_line(const PlanReport& report);
/// Reports from what plan_json and plan_json_line write: one document, or one on each line. Errors
/// (kBadInput) name the line.
Result<std::vector<PlanReport>> read_plan_reports(std::string_view text, const std::string& where);

}  // namespace flopcast
