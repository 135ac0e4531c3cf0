// Estimates of training steps.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <memory>
#include <optional>

#include "errors.h"
#include "flopcast/analytic/reuse.h"
#include "flopcast/machine/training.h"
#include "flopcast/parallel/settings.h"
#include "flopcast/question/launch.h"
#include "flopcast/question/run.h"
#include "flopcast/report/estimate.h"
#include "forecasts.h"
#include "interrupt.h"

namespace flopcast {
namespace {

/// A model that estimates may outlive the Python name of.
struct SharedTraining {
  std::shared_ptr<const TrainingModel> model;
};

Result<TrainingModel> make_training(const std::string& model, const std::string& cluster,
                                    const TrainingOptions& options) {
  const Catalog& catalog = Catalog::builtin();
  Result<Model> known = load_model(model);
  if (!known) return known.error();
  Result<Cluster> machine = catalog.cluster(cluster);
  if (!machine) return machine.error();
  return TrainingModel::make(std::move(*known), std::move(*machine), catalog, options);
}

SharedTraining* open_training(const std::string& model, const std::string& cluster,
                              const std::string& software, double usd_per_chip_hour,
                              double memory_share, double fit_odds) {
  TrainingOptions options;
  options.software = software;
  options.usd_per_chip_hour = usd_per_chip_hour;
  options.memory_share = memory_share;
  options.fit_odds = fit_odds;
  TrainingModel made = value_or_raise(interruptible(
      [model, cluster, options](const Stop&) { return make_training(model, cluster, options); }));
  return new SharedTraining{std::make_shared<const TrainingModel>(std::move(made))};
}

/// The plan, and the model as the launch configuration's software trains it.
std::pair<NamedPlan, std::shared_ptr<const TrainingModel>> named_plan(
    std::shared_ptr<const TrainingModel> model, const std::map<std::string, std::string>& settings,
    const std::string& from) {
  const PlanSettings given(settings.begin(), settings.end());
  const unsigned chips = model->cluster().chips();
  if (from.empty()) return {value_or_raise(make_plan(given, chips)), std::move(model)};
  PlanFile file = value_or_raise(interruptible(
      [from, site = launch_site(model->cluster())](const Stop&) { return read_plan(from, site); }));
  compare_model(file, model->model());
  TrainingOptions options = model->options();
  take_software(file, options);
  if (options.software != model->options().software) {
    model = std::make_shared<const TrainingModel>(value_or_raise(with_options(*model, options)));
  }
  return {value_or_raise(make_plan(given, chips, &file)), std::move(model)};
}

EstimateReport* estimate_step(const SharedTraining& training,
                              const std::map<std::string, std::string>& settings,
                              const std::string& from, const RunSettings& run) {
  const auto asked = value_or_raise(run_question(run));
  auto [named, model] = named_plan(training.model, settings, from);
  return new EstimateReport(
      value_or_raise(interruptible([model = std::move(model), named = std::move(named),
                                    asked](const Stop&) mutable -> Result<EstimateReport> {
        Result<EstimateReport> report =
            make_estimate_report(*model, named.plan, std::move(named.assumed));
        if (report && asked) {
          if (auto problem = add_whole_run(*model, *asked, *report)) return *std::move(problem);
        }
        if (report) {
          report->used = std::move(named.used);
          report->ignored = std::move(named.ignored);
          report->unmodelled = std::move(named.unmodelled);
          report->unknown = std::move(named.unknown);
        }
        return report;
      })));
}

constexpr PlanFormat kPlanFormats[] = {PlanFormat::kMegatron, PlanFormat::kTorchtitan,
                                       PlanFormat::kDeepspeed};

std::vector<std::string> plan_formats() {
  std::vector<std::string> names;
  for (const PlanFormat one : kPlanFormats) names.emplace_back(name(one));
  return names;
}

PlanText launcher_text(const EstimateReport& report, const std::string& format) {
  if (const auto one = parse_plan_format(format)) return write_plan(report.plan, *one);
  raise({ErrorCode::kUsage, "format", "unknown name '" + format + "'",
         "one of megatron, torchtitan, deepspeed"});
}

nb::str plan_as(const EstimateReport& report, const std::string& format) {
  return text(launcher_text(report, format).text);
}

std::vector<std::string> plan_lacks(const EstimateReport& report, const std::string& format) {
  return launcher_text(report, format).lost;
}

nb::str problem_text(const EstimateReport& report) {
  const std::optional<Diagnostic> problem = memory_problem(report);
  return text(problem ? problem->text() : std::string());
}

std::vector<std::string> setting_names() {
  std::vector<std::string> names;
  for (const PlanSetting& setting : plan_settings()) names.emplace_back(setting.name);
  return names;
}

}  // namespace

void define_analytic(nb::module_& module) {
  using namespace nb::literals;
  nb::class_<EstimateReport>(module, "Estimate")
      .def("json", [](const EstimateReport& self) { return text(estimate_json(self)); })
      .def("text", [](const EstimateReport& self) { return text(estimate_text(self)); })
      .def("html", [](const EstimateReport& self) { return text(estimate_html(self)); })
      .def("csv",
           [](const EstimateReport& self) {
             return text(estimate_csv({&self, 1}));
           })
      .def("problem", &problem_text)
      .def("plan_as", &plan_as, "format"_a)
      .def("plan_lacks", &plan_lacks, "format"_a);
  nb::class_<SharedTraining>(module, "TrainingModel")
      .def(nb::new_(&open_training), "model"_a, "cluster"_a, nb::kw_only(), "software"_a = "",
           "usd_per_chip_hour"_a = 0.0, "memory_share"_a = 1.0,
           "fit_odds"_a = TrainingOptions().fit_odds)
      .def("software", [](const SharedTraining& self) { return text(self.model->software()); })
      .def("chips", [](const SharedTraining& self) { return self.model->cluster().chips(); })
      .def("estimate", &estimate_step, "settings"_a, nb::kw_only(), "plan_from"_a, "run"_a);
  module.def("plan_settings", &setting_names);
  module.def("plan_formats", &plan_formats);
  module.def("training_software", &training_software);
}

}  // namespace flopcast
