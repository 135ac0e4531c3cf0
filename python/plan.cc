// Searches for plans. Results travel as the JSON lines of `flopcast plan --out`: what one process
// found another can merge.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <chrono>
#include <future>
#include <map>

#include "errors.h"
#include "flopcast/report/plan.h"
#include "forecasts.h"

namespace flopcast {
namespace {

using Changes = std::vector<std::pair<std::string, std::string>>;

/// What Python asks, as plain values that can be sent to another process.
struct Asked {
  PlanQuestion question;

  Asked(const std::string& model, const std::string& cluster, unsigned chips,
        const std::vector<std::string>& constraints, const Changes& changes,
        const std::map<std::string, std::string>& settings, const std::string& plan_from,
        bool placements, std::size_t best) {
    question.model = model;
    question.cluster = cluster;
    question.chips = chips;
    for (const std::string& text : constraints) {
      question.constraints.push_back(value_or_raise(parse_plan_constraint(text)));
    }
    for (const auto& [name, value] : changes) question.changes.push_back({name, value});
    question.placements = placements;
    question.best = best;
    const PlanSettings given(settings.begin(), settings.end());
    if (plan_from.empty()) {
      question = value_or_raise(with_settings(std::move(question), given));
    } else {
      const PlanFile from = value_or_raise(read_plan(plan_from));
      question = value_or_raise(with_settings(std::move(question), given, &from));
    }
  }
  void train(const std::string& software, const std::string& constants, double usd_per_chip_hour,
             double memory_share) {
    if (!(memory_share > 0 && memory_share <= 1)) {
      raise({ErrorCode::kUsage, "memory_share", "is not above 0 and at most 1", "0.9 is 90 %"});
    }
    question.training.software = software;
    question.training.constants = constants;
    question.training.usd_per_chip_hour = usd_per_chip_hour;
    question.training.memory_share = memory_share;
  }
};

/// The search on threads of its own, so that Ctrl-C reaches Python meanwhile.
std::string search(const Asked& asked, unsigned threads, unsigned shard, unsigned shards) {
  std::atomic<bool> stop = false;
  PlanRun run{threads, shard, shards, {}};
  run.progress = [&stop](std::uint64_t, std::uint64_t) { return !stop.load(); };
  std::future<Result<PlanReport>> result =
      std::async(std::launch::async, [&] { return answer(asked.question, run); });
  for (bool ready = false; !ready;) {
    {
      const nb::gil_scoped_release other_python_threads_go_on;
      ready = result.wait_for(std::chrono::milliseconds(50)) == std::future_status::ready;
    }
    if (!ready && PyErr_CheckSignals() != 0) {
      stop = true;
      result.wait();
      throw nb::python_error();
    }
  }
  return plan_json_line(value_or_raise(result.get()));
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

[[noreturn]] void refuse(const Asked& asked, const std::string& line) {
  const std::vector<PlanReport> reports = reports_of(line);
  raise(plan_refusal(asked.question, reports.at(0)));
}

}  // namespace

void define_plan(nb::module_& module) {
  nb::class_<Asked>(module, "PlanQuestion")
      .def(nb::init<const std::string&, const std::string&, unsigned,
                    const std::vector<std::string>&, const Changes&,
                    const std::map<std::string, std::string>&, const std::string&, bool,
                    std::size_t>())
      .def("train", &Asked::train)
      .def("search", &search)
      .def("refuse", [](const Asked& asked, const std::string& line) { refuse(asked, line); });
  module.def("merge_plans", &merge);
  module.def("sweep_points", &sweep);
  module.def("plans_text",
             [](const std::string& lines) { return text(plans_text(reports_of(lines))); });
  module.def("plan_json",
             [](const std::string& line) { return text(plan_json(reports_of(line).at(0))); });
  module.def("plans_csv",
             [](const std::string& lines) { return text(plans_csv(reports_of(lines))); });
  module.def("plans_html",
             [](const std::string& lines) { return text(plans_html(reports_of(lines))); });
}

}  // namespace flopcast
