// Searches for fleets. Results travel as the JSON lines of `flopcast serve-plan --out`: what one process found another
// can merge.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "errors.h"
#include "flopcast/report/serve_plan.h"
#include "forecasts.h"
#include "interrupt.h"

namespace flopcast {
namespace {

std::string search_fleet(const std::string& model, const std::string& cluster,
                         const ServeSettings& settings, unsigned threads, unsigned shard,
                         unsigned shards) {
  const auto work = [=](const Stop& stop) -> Result<ServePlanReport> {
    const Catalog& catalog = Catalog::builtin();
    const auto question = make_serve_plan_question(model, cluster, settings, catalog);
    if (!question) return question.error();
    const auto go_on = [&stop](const FleetSearchCounts&) { return !stop; };
    return answer_serve_plan(*question, catalog, {threads, shard, shards, go_on});
  };
  return serve_plan_json_line(value_or_raise(interruptible(work)));
}

std::vector<ServePlanReport> serve_plan_reports_of(const std::string& lines) {
  return value_or_raise(read_serve_plan_reports(lines, "results"));
}

}  // namespace

void define_serving_plan(nb::module_& module) {
  using namespace nb::literals;
  module.def("serve_plan_search", &search_fleet, "model"_a, "cluster"_a, "settings"_a,
             nb::kw_only(), "threads"_a, "shard"_a, "shards"_a,
             "A shard of the search as one JSON line.");
  module.def(
      "merge_serve_plans",
      [](const std::string& lines) {
        return serve_plan_json_line(
            value_or_raise(merge_serve_plans(serve_plan_reports_of(lines))));
      },
      "lines"_a);
  module.def(
      "refuse_serve_plan",
      [](const std::string& line) { raise(serve_plan_refusal(serve_plan_reports_of(line).at(0))); },
      "line"_a, nb::sig("def refuse_serve_plan(line: str) -> typing.NoReturn"));
  module.def(
      "serve_plan_json",
      [](const std::string& line) {
        return text(serve_plan_json(serve_plan_reports_of(line).at(0)));
      },
      "line"_a);
  module.def(
      "serve_plan_text",
      [](const std::string& line) {
        return text(serve_plan_text(serve_plan_reports_of(line).at(0)));
      },
      "line"_a);
  module.def(
      "serve_plan_html",
      [](const std::string& line) {
        return text(serve_plan_html(serve_plan_reports_of(line).at(0)));
      },
      "line"_a);
  module.def(
      "serve_plans_csv",
      [](const std::string& lines) { return text(serve_plans_csv(serve_plan_reports_of(lines))); },
      "lines"_a);
  const auto compared = [](const std::string& lines) {
    return value_or_raise(merge_and_compare_serve_plans(serve_plan_reports_of(lines)));
  };
  module.def(
      "serve_plans_json",
      [compared](const std::string& lines) { return text(serve_plans_json(compared(lines))); },
      "lines"_a);
  module.def(
      "serve_plans_text",
      [compared](const std::string& lines) { return text(serve_plans_text(compared(lines))); },
      "lines"_a);
  module.def(
      "serve_plans_html",
      [compared](const std::string& lines) { return text(serve_plans_html(compared(lines))); },
      "lines"_a);
  module.def("serve_plan_settings", [] {
    std::vector<std::string> names;
    for (const ServeSetting& one : serve_plan_settings()) names.emplace_back(one.name);
    for (const ServeSetting& one : serve_settings()) {
      if (one.topic == ServeTopic::kLoad) names.emplace_back(one.name);
    }
    return names;
  });
}

}  // namespace flopcast
