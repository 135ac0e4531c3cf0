// Forecasts of measured runs, and their errors.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>

#include "base/numeric/quantile.h"
#include "base/numeric/rank_correlation.h"
#include "flopcast/analytic/reuse.h"
#include "flopcast/measured/training.h"
#include "measured/training/open.h"

namespace flopcast {
namespace {

/// A model made once, of which those of other runs are made.
using ModelOf = Result<std::shared_ptr<const TrainingModel>>;
ModelOf shared(Result<TrainingModel> made) {
  if (!made) return made.error();
  return std::make_shared<const TrainingModel>(std::move(*made));
}

/// Cluster line and software: runs share them, and reading constants takes longer than a forecast.
using ModelKey = std::pair<std::string_view, std::string_view>;
using ModelsOf = std::map<ModelKey, ModelOf>;

ModelKey key_of(const TrainingRun& run, const RunForecastOptions& options) {
  return {run.cluster, options.software_told ? std::string_view(run.software) : std::string_view()};
}

ModelsOf load_all(const std::vector<const TrainingRun*>& runs,
                  const std::map<std::string, ModelOf>& machines,
                  const RunForecastOptions& options) {
  ModelsOf all;
  for (const TrainingRun* run : runs) {
    const ModelKey key = key_of(*run, options);
    if (all.contains(key)) continue;
    const ModelOf& machine = machines.at(run->cluster);
    TrainingOptions training;
    training.software = key.second;
    training.fits = options.fits;
    training.fit_odds = measured::kRanAllTheSame;
    all.emplace(key, machine ? shared(with_options(**machine, training)) : machine);
  }
  return all;
}

RunForecast forecast(const TrainingRun& run, const ModelOf& known) {
  RunForecast out;
  out.run = &run;
  out.plan = run.plan;
  if (!known) {
    out.failure = known.error();
    return out;
  }
  const TrainingModel model = with_model(**known, run.model);
  Result<TrainingEstimate> estimate = measured::estimate_open(model, run, out.plan);
  if (estimate) out.estimate = std::move(*estimate);
  if (!estimate) out.failure = estimate.error();
  return out;
}

ModelOf machine_of(const TrainingRun& run) {
  Result<Cluster> cluster = Catalog::builtin().cluster(run.cluster);
  if (!cluster) return cluster.error();
  return shared(TrainingModel::make(run.model, std::move(*cluster), Catalog::builtin()));
}

}  // namespace

struct RunForecaster::State {
  std::vector<TrainingRun> runs;
  std::map<std::string, ModelOf> machines;  ///< by cluster line, of the first run there
};

RunForecaster::RunForecaster(std::vector<TrainingRun> runs)
    : state_(std::make_unique<State>(State{std::move(runs), {}})) {
  for (const TrainingRun& run : state_->runs) {
    if (!run.incomplete.empty() || state_->machines.contains(run.cluster)) continue;
    state_->machines.emplace(run.cluster, machine_of(run));
  }
}
RunForecaster::RunForecaster(RunForecaster&&) noexcept = default;
RunForecaster& RunForecaster::operator=(RunForecaster&&) noexcept = default;
RunForecaster::~RunForecaster() = default;

const std::vector<TrainingRun>& RunForecaster::runs() const { return state_->runs; }

std::vector<RunForecast> RunForecaster::forecast(const RunForecastOptions& options) const {
  std::vector<const TrainingRun*> complete;
  for (const TrainingRun& run : state_->runs) {
    if (run.incomplete.empty()) complete.push_back(&run);
  }
  if (!options.some.empty()) {
    std::vector<const TrainingRun*> taken;
    for (const std::size_t i : options.some) taken.push_back(complete.at(i));
    complete = std::move(taken);
  }
  const ModelsOf models = load_all(complete, state_->machines, options);
  std::vector<RunForecast> forecasts(complete.size());
  parallel_for(complete.size(), options.threads, [&](std::size_t i) {
    const TrainingRun& run = *complete[i];
    forecasts[i] = ::flopcast::forecast(run, models.at(key_of(run, options)));
  });
  return forecasts;
}

bool same_problem(const TrainingRun& a, const TrainingRun& b) {
  const auto asked = [](const TrainingRun& run) {
    return std::tie(run.set, run.cluster, run.chips, run.software, run.month, run.plan.precision,
                    run.plan.global_batch, run.plan.sequence, run.plan.lora_rank, run.model.hidden,
                    run.model.vocab, run.model.kinds, run.model.order);
  };
  return asked(a) == asked(b);
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
