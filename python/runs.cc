// Measured training runs and their forecasts, for fits and notebooks.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <limits>
#include <memory>

#include "errors.h"
#include "flopcast/measured/training.h"
#include "forecasts.h"
#include "interrupt.h"

namespace flopcast {
namespace {

/// Runs that forecasts may outlive the Python name of.
struct SharedRuns {
  std::shared_ptr<const RunForecaster> forecaster;
};

Result<std::vector<TrainingRun>> read_all_runs(const std::vector<std::string>& files,
                                               const RunReading& reading) {
  std::vector<TrainingRun> runs;
  for (const std::string& file : files) {
    Result<std::vector<TrainingRun>> read = read_training_runs(file, reading);
    if (!read) return read.error();
    runs.insert(runs.end(), std::make_move_iterator(read->begin()),
                std::make_move_iterator(read->end()));
  }
  return runs;
}

SharedRuns* open_runs(const std::vector<std::string>& files,
                      const std::vector<std::string>& unseen) {
  std::vector<TrainingRun> runs = value_or_raise(
      interruptible([files, unseen](const Stop&) { return read_all_runs(files, {unseen}); }));
  std::erase_if(runs, [](const TrainingRun& run) { return run.quality == 'C'; });
  return new SharedRuns{std::make_shared<const RunForecaster>(std::move(runs))};
}

nb::dict describe(const TrainingRun& run) {
  nb::dict out;
  out["id"] = run.id;
  out["set"] = run.set;
  out["group"] = run.group;
  out["quality"] = std::string(1, run.quality);
  out["experts"] = run.experts;
  out["cluster"] = run.cluster;
  out["software"] = run.software;
  out["model"] = run.model.name;
  out["month"] = run.month;
  out["chips"] = run.chips;
  out["global_batch"] = run.plan.global_batch;
  out["layers"] = run.model.layers();
  out["hidden"] = run.model.hidden;
  out["measured_s"] = run.measured_s;
  return out;
}

nb::list complete(const SharedRuns& runs) {
  nb::list out;
  for (const TrainingRun& run : runs.forecaster->runs()) {
    if (run.incomplete.empty()) out.append(describe(run));
  }
  return out;
}

std::vector<double> forecast(const SharedRuns& runs, const std::string& constants,
                             const std::vector<std::size_t>& some, bool software_told) {
  std::vector<std::shared_ptr<const FitFile>> fits;
  if (!constants.empty()) fits.push_back(value_or_raise(read_fit_file(constants)));
  const auto forecasts =
      interruptible([forecaster = runs.forecaster, fits, some, software_told](const Stop&) {
        return forecaster->forecast({fits, 0, some, software_told});
      });
  std::vector<double> seconds;
  seconds.reserve(forecasts.size());
  for (const RunForecast& f : forecasts) {
    seconds.push_back(f.failure ? std::numeric_limits<double>::quiet_NaN() : f.estimate.step.value);
  }
  return seconds;
}

nb::list constants_of(const std::string& model, const std::string& cluster,
                      const std::string& software) {
  TrainingOptions options;
  options.software = software;
  const TrainingModel made = value_or_raise(TrainingModel::make(
      value_or_raise(load_model(model)), value_or_raise(Catalog::builtin().cluster(cluster)),
      Catalog::builtin(), options));
  nb::list out;
  for (const TrainingConstant& c : made.constants()) {
    nb::dict entry;
    entry["name"] = std::string(c.name);
    entry["value"] = c.value;
    entry["low"] = c.low;
    entry["high"] = c.high;
    entry["meaning"] = std::string(c.meaning);
    out.append(entry);
  }
  return out;
}

}  // namespace

void define_runs(nb::module_& module) {
  using namespace nb::literals;
  nb::class_<SharedRuns>(module, "TrainingRuns",
                         "Measured training runs (files of `flopcast validate training`), but for "
                         "those of quality C, which leave too much open to fit anything to.\n\n"
                         "unseen: sets of runs taken as never seen; what was found out about "
                         "launches in these alone is not used.")
      .def(nb::new_(&open_runs), "files"_a, "unseen"_a = std::vector<std::string>{})
      .def("complete", &complete,
           nb::sig("def complete(self) -> list[dict[str, str | int | float]]"),
           "The runs that can be forecast, one dict each.")
      .def("forecast", &forecast, "constants"_a = "", "some"_a = std::vector<std::size_t>{},
           "software_told"_a = true,
           "Seconds of a step of every complete run, or of some by their places; nan where there "
           "is no forecast. software_told: False forecasts as if nobody had told the runs' "
           "software.")
      .def("__len__", [](const SharedRuns& r) { return r.forecaster->runs().size(); });
  module.def(
      "training_constants", &constants_of, nb::kw_only(), "model"_a = "gpt-3-1.3b",
      "cluster"_a = "h100", "software"_a = "",
      nb::sig("def training_constants(*, model: str = 'gpt-3-1.3b', cluster: str = 'h100', "
              "software: str = '') -> list[dict[str, str | float]]"),
      "Constants of catalog/training/constants.toml that hold for this cluster's chip and this "
      "software: name, value, low, high, meaning.");
}

}  // namespace flopcast
