// flopcast estimate --model-of subramanian: one plan in paper mode.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "cli/published/case.h"
#include "flopcast/report/published.h"

namespace flopcast::cli {
namespace {

PaperPlan::Groups at_least_one(PaperPlan::Groups groups) {
  for (std::int64_t* degree : {&groups.tp1, &groups.tp2, &groups.pp, &groups.dp}) {
    if (*degree == 0) *degree = 1;
  }
  return groups;
}

/// The plan asked for; what it leaves open (panels, GPUs in a domain) is the fastest of what the
/// published search tries.
Result<PaperCandidate> asked_plan(const PaperCase& c, const PaperEstimateCommand& command) {
  const PaperPlan::Groups& domain = command.paper.domain;
  const PaperPlan plan{.size = at_least_one(command.size),
                       .domain = at_least_one(domain),
                       .microbatch = command.microbatch == 0 ? 1 : command.microbatch,
                       .panels = command.panels == 0 ? 1 : command.panels};
  const Result<PaperEstimate> as_given = paper_estimate(c, plan);
  if (!as_given) return as_given.error();
  const PaperSearchOptions options{.best = 1,
                                   .fixed = plan.size,
                                   .fixed_domain = domain,
                                   .microbatch = plan.microbatch,
                                   .panels = command.panels,
                                   .beyond_memory = true};
  const Result<PaperSearch> search = paper_search(c, plan.gpus(), options);
  if (!search) return search.error();
  if (!search->best.empty()) return search->best[0];
  const bool all_given = domain.tp1 > 0 && domain.pp > 0 && domain.dp > 0 &&
                         (domain.tp2 > 0 || c.strategy == PaperStrategy::k1d);
  if (all_given) return PaperCandidate{plan, *as_given};
  return Diagnostic{
      ErrorCode::kUsage, paper_plan_words(plan),
      fmt::format("the published search places no such plan in domains of {}", c.system.domain),
      "give --domain-tp, --domain-tp2, --domain-pp and --domain-dp"};
}

/// The plan that fits and changes least: another microbatch, then one degree kept, then none. Of
/// several the fastest; nothing where none fits.
std::optional<PaperCandidate> nearest_that_fits(const PaperCase& c, const PaperPlan& plan) {
  const PaperPlan::Groups& n = plan.size;
  using Kept = std::vector<PaperPlan::Groups>;
  const std::array<Kept, 3> steps = {
      Kept{n}, Kept{{n.tp1, n.tp2, 0, 0}, {0, 0, n.pp, 0}, {0, 0, 0, n.dp}}, Kept{{0, 0, 0, 0}}};
  for (const Kept& step : steps) {
    std::optional<PaperCandidate> best;
    for (const PaperPlan::Groups& kept : step) {
      const auto search = paper_search(c, plan.gpus(), {.best = 1, .fixed = kept});
      if (!search || search->best.empty()) continue;
      if (!best || search->best[0].estimate.time < best->estimate.time) best = search->best[0];
    }
    if (best) return best;
  }
  return std::nullopt;
}

Diagnostic does_not_fit(const PaperCase& c, const PaperCandidate& found,
                        const std::optional<PaperCandidate>& nearest) {
  const std::string hint =
      nearest
          ? fmt::format("the nearest plan that fits: {}, {} s, {}", paper_plan_words(nearest->plan),
                        paper_time_words(nearest->estimate.time),
                        paper_memory_words(c, nearest->estimate))
          : fmt::format("no plan of {} GPUs fits; flopcast plan shows the leanest",
                        found.plan.gpus());
  return {ErrorCode::kTooLarge, paper_plan_words(found.plan),
          fmt::format("needs {} on each GPU", paper_memory_words(c, found.estimate)), hint};
}

}  // namespace

int run_paper_estimate(Io& io, const PaperEstimateCommand& command) {
  const Result<PaperCase> c = paper_case(command.model, command.global_batch, command.paper);
  if (!c) return fail(io, c.error());
  const Result<PaperCandidate> found = asked_plan(*c, command);
  if (!found) return fail(io, found.error());
  const Result<std::vector<PaperOperator>> operators = paper_operators(*c, found->plan);
  if (!operators) return fail(io, operators.error());
  std::optional<PaperCandidate> nearest;
  if (!found->estimate.fits) nearest = nearest_that_fits(*c, found->plan);
  const PaperEstimateReport report{*c, *found, *operators, nearest};
  const std::string text = command.format.json  ? paper_estimate_json(report)
                           : command.format.csv ? paper_estimate_csv(report)
                                                : paper_estimate_text(report);
  if (const int code = print(io, text, command.format); code != kDone) return code;
  return found->estimate.fits ? kDone : fail(io, does_not_fit(*c, *found, nearest));
}

}  // namespace flopcast::cli
