// flopcast estimate --model-of subramanian: one plan in paper mode.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/text/format.h"
#include "cli/published/output.h"
#include "flopcast/base/quantity.h"
#include "report/render/table.h"

namespace flopcast::cli {

using namespace report;

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
      ErrorCode::kUsage, plan_text(plan),
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

std::string estimate_text(const PaperCase& c, const PaperCandidate& found) {
  const PaperEstimate& e = found.estimate;
  std::string text = case_text(c, found.plan.gpus()) + '\n' + plan_text(found.plan) + '\n' +
                     paper_source_text(c.defects) + '\n';
  const auto line = [&text](std::string_view what, const std::string& value) {
    text += fmt::format("  {:<10} {}\n", what, value);
  };
  line("iteration", fmt::format("{} s   ({} x {} microbatches of {})", seconds_text(e.time),
                                found.plan.size.dp, e.microbatches, found.plan.microbatch));
  line("training", fmt::format("{:.4g} days", paper_training_days(c, e.time)));
  line("memory", memory_text(c, e) + (e.fits ? "" : ": does not fit"));
  Table times({{"time", Align::kLeft}, {"s"}, {"share"}});
  for (const PaperPart& part : paper_parts(e)) {
    times.add({std::string(part.name), seconds_text(part.value), percent(part.value / e.time)});
  }
  Table memory({{"memory", Align::kLeft}, {"GB"}, {"share"}});
  for (const PaperShare& share : paper_memory(e)) {
    memory.add({std::string(share.name), fmt::format("{:.2f}", share.value.value * 1e-9),
                percent(share.value / e.memory)});
  }
  return text + '\n' + times.text() + '\n' + memory.text();
}

void write_phase(JsonWriter& json, std::string_view key, const PaperOperator::Phase& phase) {
  json.begin_object(key);
  json.exact("time_s", phase.time.value);
  json.exact("compute_s", phase.compute.value);
  json.exact("exposed_memory_s", phase.exposed_memory.value);
  json.exact("communication_s", phase.communication.value);
  json.exact("flops", phase.flops.value);
  json.end_object();
}

void write_operators(JsonWriter& json, const std::vector<PaperOperator>& operators) {
  json.begin_array("operators");
  for (const PaperOperator& op : operators) {
    json.begin_object({}, JsonWriter::Layout::kLine);
    json.text("name", op.name);
    write_phase(json, "forward", op.forward);
    write_phase(json, "backward", op.backward);
    json.exact("weights_bytes", op.weights.value);
    json.exact("activations_bytes", op.activations.value);
    json.end_object();
  }
  json.end_array();
}

std::string estimate_json(const PaperCase& c, const PaperCandidate& found,
                          const std::vector<PaperOperator>& operators,
                          const std::optional<PaperCandidate>& nearest) {
  JsonWriter json;
  json.begin_object();
  write_case(json, c, found.plan.gpus());
  write_candidate(json, c, found);
  write_operators(json, operators);
  if (nearest) {
    json.begin_object("nearest");
    write_candidate(json, c, *nearest);
    json.end_object();
  }
  json.end_object();
  return std::move(json).take();
}

std::string estimate_csv(const PaperCase& c, const PaperCandidate& found) {
  const PaperCell cell{c, found.plan.gpus()};
  PaperSearch search;
  search.candidates = 1;
  search.feasible = found.estimate.fits ? 1 : 0;
  search.best = {found};
  return paper_csv({&cell, 1}, {&search, 1});
}

Diagnostic does_not_fit(const PaperCase& c, const PaperCandidate& found,
                        const std::optional<PaperCandidate>& nearest) {
  const std::string hint =
      nearest ? fmt::format("the nearest plan that fits: {}, {} s, {}", plan_text(nearest->plan),
                            seconds_text(nearest->estimate.time), memory_text(c, nearest->estimate))
              : fmt::format("no plan of {} GPUs fits; flopcast plan shows the leanest",
                            found.plan.gpus());
  return {ErrorCode::kTooLarge, plan_text(found.plan),
          fmt::format("needs {} on each GPU", memory_text(c, found.estimate)), hint};
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
  const std::string text = command.format.json  ? estimate_json(*c, *found, *operators, nearest)
                           : command.format.csv ? estimate_csv(*c, *found)
                                                : estimate_text(*c, *found);
  if (const int code = print(io, text); code != kDone) return code;
  return found->estimate.fits ? kDone : fail(io, does_not_fit(*c, *found, nearest));
}

}  // namespace flopcast::cli
