// Searches for plans. Results travel as the JSON lines of `flopcast plan --out`: what one process
// found another can merge.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <map>

#include "errors.h"
#include "flopcast/question/launch.h"
#include "flopcast/report/plan.h"
#include "forecasts.h"
#include "interrupt.h"

namespace flopcast {
namespace {

using Changes = std::vector<std::pair<std::string, std::string>>;

PlanQuestion plan_question(const std::string& model, const std::string& cluster, unsigned chips,
                           const std::vector<std::string>& constraints, const Changes& changes,
                           const std::map<std::string, std::string>& settings,
                           const std::string& plan_from, const std::string& launchable,
                           bool placements, std::size_t best, const std::string& software) {
  PlanQuestion question;
  question.training.software = software;
  question.model = model;
  question.cluster = cluster;
  question.chips = chips;
  for (const std::string& text : constraints) {
    question.constraints.push_back(value_or_raise(parse_plan_constraint(text)));
  }
  for (const auto& [name, value] : changes) question.changes.push_back({name, value});
  question.launchable = parse_plan_format(launchable);
  if (!question.launchable && !launchable.empty()) {
    raise({ErrorCode::kUsage, "launchable", "unknown name '" + launchable + "'",
           "one of megatron, torchtitan, deepspeed"});
  }
  question.placements = placements;
  question.best = best;
  const PlanSettings given(settings.begin(), settings.end());
  if (plan_from.empty()) return value_or_raise(with_settings(std::move(question), given));
  const LaunchSite site = launch_site(value_or_raise(Catalog::builtin().cluster(cluster)));
  PlanFile from = value_or_raise(
      interruptible([plan_from, site](const Stop&) { return read_plan(plan_from, site); }));
  compare_model(from, value_or_raise(load_model(model)));
  take_software(from, question.training);
  return value_or_raise(with_settings(std::move(question), given, &from));
}

void set_training(PlanQuestion& question, double usd_per_chip_hour, double memory_share) {
  if (!(memory_share > 0 && memory_share <= 1)) {
    raise({ErrorCode::kUsage, "memory_share", "is not above 0 and at most 1", "0.9 is 90 %"});
  }
  question.training.usd_per_chip_hour = usd_per_chip_hour;
  question.training.memory_share = memory_share;
}

std::string search(const PlanQuestion& question, unsigned threads, unsigned shard,
                   unsigned shards) {
  const auto found = interruptible([question, threads, shard, shards](const Stop& stop) {
    return answer(question, {threads, shard, shards,
                             [&stop](std::uint64_t, std::uint64_t) { return !stop; }});
  });
  return plan_json_line(value_or_raise(found));
}

std::vector<PlanReport> reports_of(const std::string& lines) {
  return value_or_raise(read_plan_reports(lines, "results"));
}

std::string merge(const std::string& lines) {
  std::string text;
  for (const PlanReport& report : value_or_raise(merge_all_plans(reports_of(lines)))) {
    text += plan_json_line(report);
  }
  return text;
}

/// Every combination of the sweeps' values, as names and values.
std::vector<Changes> sweep(const std::vector<std::string>& sweeps) {
  std::vector<Changes> points;
  for (const PlanQuestion& point : value_or_raise(sweep_points({}, sweeps))) {
    Changes& changes = points.emplace_back();
    for (const PlanChange& change : point.changes) changes.emplace_back(change.name, change.value);
  }
  return points;
}

void refuse(const PlanQuestion& question, const std::string& line) {
  raise(interruptible([question, reports = reports_of(line)](const Stop&) {
    return plan_refusal(question, reports.at(0));
  }));
}

}  // namespace

void define_plan(nb::module_& module) {
  using namespace nb::literals;
  nb::class_<PlanQuestion>(module, "PlanQuestion")
      .def(nb::new_(&plan_question), "model"_a, "cluster"_a, nb::kw_only(), "chips"_a = 0,
           "constraints"_a = std::vector<std::string>{}, "changes"_a = Changes{},
           "settings"_a = std::map<std::string, std::string>{}, "plan_from"_a = "",
           "launchable"_a = "", "placements"_a = true, "best"_a = 10, "software"_a = "")
      .def("train", &set_training, nb::kw_only(), "usd_per_chip_hour"_a = 0.0,
           "memory_share"_a = 1.0)
      .def("search", &search, nb::kw_only(), "threads"_a, "shard"_a, "shards"_a,
           "A shard of the search as one JSON line.")
      .def("refuse", &refuse, "line"_a, nb::sig("def refuse(self, line: str) -> typing.NoReturn"),
           "Raises why a search found nothing.");
  module.def("merge_plans", &merge, "lines"_a);
  module.def("sweep_points", &sweep, "sweeps"_a);
  module.def(
      "plans_text", [](const std::string& lines) { return text(plans_text(reports_of(lines))); },
      "lines"_a);
  module.def(
      "plan_json", [](const std::string& line) { return text(plan_json(reports_of(line).at(0))); },
      "line"_a);
  module.def(
      "plans_csv", [](const std::string& lines) { return text(plans_csv(reports_of(lines))); },
      "lines"_a);
  module.def(
      "plans_html", [](const std::string& lines) { return text(plans_html(reports_of(lines))); },
      "lines"_a);
}

}  // namespace flopcast
