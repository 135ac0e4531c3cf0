// Estimates of training steps.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <tuple>

#include "errors.h"
#include "flopcast/parallel/settings.h"
#include "flopcast/report/estimate.h"
#include "forecasts.h"

namespace flopcast {
namespace {

using Settings = std::map<std::string, std::string>;

TrainingModel* open_training(const std::string& model, const std::string& cluster,
                             const std::string& software, const std::string& constants,
                             double usd_per_chip_hour, double memory_share) {
  TrainingOptions options;
  options.software = software;
  options.constants = constants;
  options.usd_per_chip_hour = usd_per_chip_hour;
  options.memory_share = memory_share;
  const Catalog& catalog = Catalog::builtin();
  return new TrainingModel(value_or_raise(
      TrainingModel::make(value_or_raise(load_model(model)),
                          value_or_raise(catalog.cluster(cluster)), catalog, options)));
}

NamedPlan named_plan(const TrainingModel& model, const Settings& settings,
                     const std::string& from) {
  const PlanSettings given(settings.begin(), settings.end());
  const unsigned chips = model.cluster().chips();
  if (from.empty()) return value_or_raise(make_plan(given, chips));
  const PlanFile file = value_or_raise(read_plan(from));
  return value_or_raise(make_plan(given, chips, &file));
}

EstimateReport* estimate(const TrainingModel& model, const Settings& settings,
                         const std::string& from) {
  NamedPlan named = named_plan(model, settings, from);
  const auto run = [&] {
    const nb::gil_scoped_release other_python_threads_go_on;
    return make_estimate_report(model, named.plan, std::move(named.assumed));
  };
  return new EstimateReport(value_or_raise(run()));
}

/// (text, what the format has no setting for)
std::tuple<std::string, std::vector<std::string>> plan_as(const EstimateReport& report,
                                                          const std::string& format) {
  for (const PlanFormat one :
       {PlanFormat::kMegatron, PlanFormat::kTorchtitan, PlanFormat::kDeepspeed}) {
    if (name(one) != format) continue;
    const PlanText text = write_plan(report.plan, one);
    return {text.text, text.lost};
  }
  raise({ErrorCode::kUsage, "format", "unknown name '" + format + "'",
         "one of megatron, torchtitan, deepspeed"});
}

std::string problem_text(const EstimateReport& report) {
  const std::optional<Diagnostic> problem = memory_problem(report);
  return problem ? problem->text() : std::string();
}

std::vector<std::string> setting_names() {
  std::vector<std::string> names;
  for (const PlanSetting& setting : plan_settings()) names.emplace_back(setting.name);
  return names;
}

}  // namespace

void define_analytic(nb::module_& module) {
  nb::class_<EstimateReport>(module, "Estimate")
      .def("json", [](const EstimateReport& self) { return text(estimate_json(self)); })
      .def("text", [](const EstimateReport& self) { return text(estimate_text(self)); })
      .def("html", [](const EstimateReport& self) { return text(estimate_html(self)); })
      .def("csv",
           [](const EstimateReport& self) {
             return text(estimate_csv({&self, 1}));
           })
      .def("problem", [](const EstimateReport& self) { return text(problem_text(self)); })
      .def("plan_as", &plan_as);
  nb::class_<TrainingModel>(module, "TrainingModel")
      .def(nb::new_(&open_training))
      .def("software", [](const TrainingModel& self) { return text(self.software()); })
      .def("chips", [](const TrainingModel& self) { return self.cluster().chips(); })
      .def("estimate", &estimate);
  module.def("plan_settings", &setting_names);
  module.def("training_software", &training_software);
}

}  // namespace flopcast
