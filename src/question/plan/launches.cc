#include "question/plan/launches.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/format.h"
#include "flopcast/hardware/capability.h"
#include "flopcast/parallel/fields.h"
#include "question/plan/ranking.h"

namespace flopcast::question {
namespace {

constexpr PlanFormat kLaunchers[] = {PlanFormat::kMegatron, PlanFormat::kTorchtitan,
                                     PlanFormat::kDeepspeed};

/// What the launcher sets itself of what a search does not vary: "overlap_weights false".
std::string own_ways(const Plan& plan, const Plan& base) {
  Plan asked = base;
  asked.tp = plan.tp, asked.cp = plan.cp, asked.pp = plan.pp, asked.dp = plan.dp;
  asked.ep = plan.ep, asked.etp = plan.etp, asked.vpp = plan.vpp;
  asked.micro_batch = plan.micro_batch, asked.global_batch = plan.global_batch;
  asked.sequence = plan.sequence, asked.schedule = plan.schedule, asked.context = plan.context;
  asked.zero = plan.zero, asked.shard = plan.shard, asked.recompute = plan.recompute;
  asked.sequence_parallel = plan.sequence_parallel, asked.precision = plan.precision;
  return plan_change_words(asked, plan);
}

/// Finds the best plan of one launcher.
class LaunchFinder {
 public:
  LaunchFinder(const TrainingModel& training, const PlanSearchOptions& options,
               const PlanReport& report, PlanLaunch& launch)
      : training_(training), options_(options), report_(report), launch_(launch) {}

  std::optional<Diagnostic> find() {
    launch_.software = report_.software;
    // A profile that somebody named holds for all.
    const bool named = !training_.options().software.empty();
    if (!named) launch_.software = launcher_softwares(launch_.launcher).front();
    if (launch_.software == report_.software) return on(training_);
    TrainingOptions own = training_.options();
    own.software = launch_.software;
    const Result<TrainingModel> model =
        TrainingModel::make(training_.model(), training_.cluster(), Catalog::builtin(), own);
    if (!model) return model.error();
    return on(*model);
  }

 private:
  std::optional<Diagnostic> on(const TrainingModel& training) {
    context_ = launch_context(launch_.launcher, &training.model(), launch_.software,
                              compute_capability(training.cluster().chip).value_or(0));
    if (auto problem = search(training)) return problem;
    if (!launch_.best) return std::nullopt;
    if (const std::string ways = own_ways(launch_.best->plan, report_.base); !ways.empty()) {
      launch_.assumed.push_back(
          fmt::format("{} does so by itself: {}", launcher_words(launch_.launcher), ways));
    }
    launch_.launch = write_launch(launch_.best->plan, launch_.launcher, context_,
                                  training.cluster().chips_per_node());
    return std::nullopt;
  }

  /// Whether the launcher runs the plan just so, where it lies.
  bool runs(const PlanFound& found) const {
    Plan settled = found.plan;
    settle_plan(settled, launch_.launcher, context_, report_.named);
    return settled == found.plan && launchable(settled, launch_.launcher, context_) &&
           found.placement == default_placement(found.plan, training_.tiers());
  }

  /// Whether the best plan of all is the launcher's as well: of its plans none is faster than the fastest of all,
  /// so that the same plans tie with that, and the first of all is the first of those that it runs.
  bool runs_the_best(const TrainingModel& training) const {
    return &training == &training_ && report_.shards == 1 && !report_.best.empty() &&
           runs(report_.search.best.front()) && runs(report_.best.front().found);
  }

  void take(const PlanCandidate& best) {
    launch_.best = best.found;
    launch_.low = best.low;
    launch_.high = best.high;
  }

  std::optional<Diagnostic> search(const TrainingModel& training) {
    if (runs_the_best(training)) {
      take(report_.best.front());
      return std::nullopt;
    }
    PlanSearchOptions options = options_;
    options.launchable = launch_.launcher;
    options.placements = false;
    options.shard = 0, options.shards = 1;
    Result<PlanSearch> found = search_plans(training, options);
    if (!found) return found.error();
    if (found->best.empty()) {
      launch_.plans = found->plans;
      launch_.refused = std::move(found->refused);
      return std::nullopt;
    }
    const Result<std::vector<PlanCandidate>> list = ranked(training, *found, std::nullopt);
    if (!list) return list.error();
    take(list->front());
    return std::nullopt;
  }

  const TrainingModel& training_;
  const PlanSearchOptions& options_;
  const PlanReport& report_;
  PlanLaunch& launch_;
  LaunchContext context_;
};

}  // namespace

std::string software_words(PlanFormat launcher, const std::string& software) {
  const std::span<const std::string> known = launcher_softwares(launcher);
  if (software.empty()) {
    return fmt::format("{}: priced as {}", launcher_words(launcher), known.front());
  }
  const bool its_own = std::ranges::find(known, software) != known.end();
  return fmt::format("{}: priced as {}{}", launcher_words(launcher), software,
                     its_own ? "" : ", which it does not behave as");
}

std::string launcher_placement(PlanFormat launcher) {
  return fmt::format("{} numbers chips with tp innermost, then cp, dp, pp",
                     launcher_words(launcher));
}

std::optional<Diagnostic> find_launches(const TrainingModel& training,
                                        const PlanSearchOptions& options, PlanReport& report) {
  // Which of a launcher's plans tie with its fastest, parts of its plans do not tell: the first shard looks at all.
  if (!report.asked_launches || report.shard > 0) return std::nullopt;
  for (const PlanFormat launcher : kLaunchers) {
    if (report.launchable && report.launchable != launcher) continue;
    PlanLaunch launch;
    launch.launcher = launcher;
    launch.assumed = {software_words(launcher, training.options().software),
                      launcher_placement(launcher)};
    if (auto problem = LaunchFinder(training, options, report, launch).find()) return problem;
    report.launches.push_back(std::move(launch));
  }
  return std::nullopt;
}

}  // namespace flopcast::question

namespace flopcast {

std::string why_none(const PlanLaunch& launch) {
  if (launch.plans > 0) return fmt::format("none of its {} plans fits", grouped(launch.plans));
  if (launch.refused.empty()) return "no plan is possible";
  const std::string& reason = launch.refused.front().first;
  const std::string own = fmt::format("launchable: {} ", name(launch.launcher));
  return reason.starts_with(own) ? reason.substr(own.size()) : reason;
}

}  // namespace flopcast
