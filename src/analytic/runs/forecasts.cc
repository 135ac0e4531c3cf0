// Forecasts of measured runs, and their errors.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "analytic/runs/open.h"
#include "analytic/step/training_state.h"
#include "base/numeric/quantile.h"
#include "base/numeric/rank_correlation.h"
#include "flopcast/analytic/runs.h"

namespace flopcast {
namespace {

using analytic::Constants;
using SystemOf = Result<std::shared_ptr<const analytic::System>>;

/// By cluster line and software: runs share them, and reading them takes longer than a forecast.
using ConstantsOf = std::map<std::pair<std::string_view, std::string_view>, Result<Constants>>;

ConstantsOf load_all(const std::vector<const TrainingRun*>& runs,
                     const std::map<std::string, SystemOf>& systems, const std::string& file) {
  ConstantsOf all;
  for (const TrainingRun* run : runs) {
    const SystemOf& system = systems.at(run->cluster);
    const auto key = std::pair<std::string_view, std::string_view>(run->cluster, run->software);
    if (!system || all.contains(key)) continue;
    const Chip& chip = (*system)->machine.cluster().as_measured().chip;
    all.emplace(key, training_constants(chip, software_name(run->software, chip), file));
  }
  return all;
}

RunForecast forecast(const TrainingRun& run, const SystemOf& system, const ConstantsOf& constants,
                     const std::string& file) {
  RunForecast out;
  out.run = &run;
  out.plan = run.plan;
  if (!system) {
    out.failure = system.error();
    return out;
  }
  const Result<Constants>& loaded = constants.at({run.cluster, run.software});
  if (!loaded) {
    out.failure = loaded.error();
    return out;
  }
  TrainingOptions options;
  options.software = run.software;
  options.constants = file;
  const TrainingModel model = TrainingModel::State::with(
      run.model, *system, options, software_name(run.software, (*system)->machine.cluster().chip), *loaded);
  Result<TrainingEstimate> estimate = analytic::estimate_open(model, run, out.plan);
  if (estimate) out.estimate = std::move(*estimate);
  if (!estimate) out.failure = estimate.error();
  return out;
}

SystemOf system_of(const std::string& line) {
  Result<Cluster> cluster = Catalog::builtin().cluster(line);
  if (!cluster) return cluster.error();
  return analytic::make_system(std::move(*cluster), Catalog::builtin(), {});
}

}  // namespace

struct RunForecaster::State {
  std::vector<TrainingRun> runs;
  std::map<std::string, SystemOf> systems;  ///< by cluster line
};

RunForecaster::RunForecaster(std::vector<TrainingRun> runs)
    : state_(std::make_unique<State>(State{std::move(runs), {}})) {
  for (const TrainingRun& run : state_->runs) {
    if (!run.incomplete.empty() || state_->systems.contains(run.cluster)) continue;
    state_->systems.emplace(run.cluster, system_of(run.cluster));
  }
}
RunForecaster::RunForecaster(RunForecaster&&) noexcept = default;
RunForecaster& RunForecaster::operator=(RunForecaster&&) noexcept = default;
RunForecaster::~RunForecaster() = default;

const std::vector<TrainingRun>& RunForecaster::runs() const { return state_->runs; }

std::vector<RunForecast> RunForecaster::forecast(const std::string& constants, unsigned threads,
                                                 const std::vector<std::size_t>& some) const {
  std::vector<const TrainingRun*> complete;
  for (const TrainingRun& run : state_->runs) {
    if (run.incomplete.empty()) complete.push_back(&run);
  }
  if (!some.empty()) {
    std::vector<const TrainingRun*> taken;
    for (const std::size_t i : some) taken.push_back(complete.at(i));
    complete = std::move(taken);
  }
  const ConstantsOf loaded = load_all(complete, state_->systems, constants);
  std::vector<RunForecast> forecasts(complete.size());
  parallel_for(complete.size(), threads, [&](std::size_t i) {
    const TrainingRun& run = *complete[i];
    forecasts[i] = ::flopcast::forecast(run, state_->systems.at(run.cluster), loaded, constants);
  });
  return forecasts;
}

RunErrors run_errors(const std::vector<const RunForecast*>& forecasts) {
  RunErrors errors;
  std::vector<double> sizes, signed_errors, told, measured;
  for (const RunForecast* f : forecasts) {
    if (f->failure) continue;
    const double error = f->error();
    sizes.push_back(std::abs(error));
    signed_errors.push_back(error);
    // Throughput per chip: tokens of a step over its time and chips.
    const double work = f->run->plan.chips() / static_cast<double>(f->run->plan.global_batch);
    told.push_back(-f->estimate.step.value * work);
    measured.push_back(-f->run->measured_s * work);
    errors.band += f->in_band() ? 1 : 0;
    if (f->run->memory.value > 0) {
      errors.memory_mape += std::abs(f->memory().value / f->run->memory.value - 1);
      ++errors.memory_n;
    }
  }
  errors.n = sizes.size();
  if (errors.memory_n > 0) errors.memory_mape /= static_cast<double>(errors.memory_n);
  errors.spearman = std::numeric_limits<double>::quiet_NaN();
  if (errors.n == 0) return errors;
  const auto n = static_cast<double>(errors.n);
  errors.mape = std::accumulate(sizes.begin(), sizes.end(), 0.0) / n;
  errors.bias = std::accumulate(signed_errors.begin(), signed_errors.end(), 0.0) / n;
  std::ranges::sort(signed_errors);
  std::ranges::sort(sizes);
  errors.median = quantile(signed_errors, 0.5);
  errors.p90 = quantile(sizes, 0.9);
  errors.worst = sizes.back();
  errors.band /= n;
  if (errors.n >= 3) errors.spearman = rank_correlation(told, measured);
  return errors;
}

}  // namespace flopcast
