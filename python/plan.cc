// Searches for plans. Results travel as the JSON lines of `flopcast plan --out`: what one process
// found another can merge.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <map>
#include <memory>
#include <tuple>

#include "errors.h"
#include "flopcast/analytic/odds.h"
#include "flopcast/question/launch.h"
#include "flopcast/question/run.h"
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

void set_training(PlanQuestion& question, double usd_per_chip_hour, double memory_share,
                  double fit_odds) {
  if (!(memory_share > 0 && memory_share <= 1)) {
    raise({ErrorCode::kUsage, "memory_share", "is not above 0 and at most 1", "0.9 is 90 %"});
  }
  question.training.usd_per_chip_hour = usd_per_chip_hour;
  question.training.memory_share = memory_share;
  if (const auto problem = odds_problem("fit_odds", fit_odds)) raise(*problem);
  question.training.fit_odds = fit_odds;
}

void set_run(PlanQuestion& question, const RunSettings& settings) {
  question.run = value_or_raise(run_question(settings));
  if (question.run) question.run->usd_per_chip_hour = question.training.usd_per_chip_hour;
}

/// What a search has done, told to Python between slices of time.
struct Done {
  std::atomic<std::uint64_t> done = 0, all = 0;
};

/// @param progress called with what is done of how much, when that changes; may be None
std::string search(const PlanQuestion& question, unsigned threads, unsigned shard, unsigned shards,
                   const nb::object& progress) {
  const auto counts = std::make_shared<Done>();
  std::uint64_t told = 0;
  const auto tell = [&] {
    const std::uint64_t done = counts->done;
    if (progress.is_none() || done == told) return;
    told = done;
    progress(done, counts->all.load());
  };
  const auto found = interruptible(
      [question, threads, shard, shards, counts](const Stop& stop) {
        return answer(question, {threads, shard, shards,
                                 [&stop, &counts](std::uint64_t done, std::uint64_t all) {
                                   counts->all = all;
                                   counts->done = done;
                                   return !stop;
                                 }});
      },
      tell);
  std::string line = plan_json_line(value_or_raise(found));
  tell();
  return line;
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

/// Places of the fastest, of those as fast, and of the cheapest of these; -1 for none.
std::tuple<int, std::vector<std::size_t>, int> compare(const std::string& lines) {
  const PlanComparison all = compare_plans(reports_of(lines));
  const auto place = [](const std::optional<std::size_t>& one) {
    return one ? static_cast<int>(*one) : -1;
  };
  return {place(all.fastest), all.equal, place(all.cheapest)};
}

void refuse(const PlanQuestion& question, const std::string& line) {
  raise(interruptible([question, reports = reports_of(line)](const Stop&) {
    return plan_refusal(question, reports.at(0));
  }));
}

}  // namespace

void define_plan(nb::module_& module) {
  using namespace nb::literals;
  nb::class_<RunSettings>(module, "RunSettings")
      .def(nb::new_([](std::string tokens, std::string steps, std::string chip_mtbf,
                       std::string checkpoint_time, std::string restart_time, double co2,
                       double pue) {
             return RunSettings{std::move(tokens),
                                std::move(steps),
                                std::move(chip_mtbf),
                                std::move(checkpoint_time),
                                std::move(restart_time),
                                co2,
                                pue};
           }),
           nb::kw_only(), "tokens"_a = "", "steps"_a = "", "chip_mtbf"_a = "",
           "checkpoint_time"_a = "", "restart_time"_a = "", "co2"_a = 0.0, "pue"_a = 1.0);
  nb::class_<PlanQuestion>(module, "PlanQuestion")
      .def(nb::new_(&plan_question), "model"_a, "cluster"_a, nb::kw_only(), "chips"_a = 0,
           "constraints"_a = std::vector<std::string>{}, "changes"_a = Changes{},
           "settings"_a = std::map<std::string, std::string>{}, "plan_from"_a = "",
           "launchable"_a = "", "placements"_a = true, "best"_a = 10, "software"_a = "")
      .def("train", &set_training, nb::kw_only(), "usd_per_chip_hour"_a = 0.0,
           "memory_share"_a = 1.0, "fit_odds"_a = TrainingOptions().fit_odds)
      .def("run", &set_run, "settings"_a)
      .def("search", &search, nb::kw_only(), "threads"_a, "shard"_a, "shards"_a,
           "progress"_a = nb::none(),
           nb::sig("def search(self, *, threads: int, shard: int, shards: int, progress: "
                   "typing.Callable[[int, int], None] | None = None) -> str"),
           "A shard of the search as one JSON line.")
      .def("refuse", &refuse, "line"_a, nb::sig("def refuse(self, line: str) -> typing.NoReturn"),
           "Raises why a search found nothing.");
  module.def("merge_plans", &merge, "lines"_a);
  module.def("sweep_points", &sweep, "sweeps"_a);
  module.def("compare_plans", &compare, "lines"_a);
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
