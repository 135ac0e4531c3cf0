// Calibration of memory-bound operators.
#include <algorithm>

#include "base/numeric/least_squares.h"
#include "cost/fit/folded.h"
#include "cost/model/memory_bound.h"

namespace flopcast::cost {
namespace {

const Grid<2>::Axes& memory_axes() {
  static const Grid<2>::Axes axes = {
      Axis({0.125, 1, 4, 16, 32, 64, 128, 256, 512, 1024, 1536, 2048, 3072, 4096, 8192, 16384,
            32768, 131072, 1048576}),
      Axis({1, 256, 1024, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 32768, 1048576, 1073741824})};
  return axes;
}

double log2_form(const MemoryFit& fit, const MemoryBound& kernel) {
  MemoryFit form = fit;
  form.grid = {};
  return std::log2(memory_seconds(form, fit.origin.rates.bandwidth, kernel));
}

void fit_base(MemoryFit& fit, std::span<const MemoryRow> rows) {
  double fastest = 1;
  for (const MemoryRow& row : rows) fastest = std::min(fastest, row.seconds);
  const std::array<Parameter, 3> parameters = {
      {{std::clamp(fastest, 3e-7, 1e-4), 2e-7, 2e-4}, {0.6, 0.02, 2}, {2, 1, 12}}};
  const auto with = [&fit](std::span<const double> v) {
    MemoryFit trial = fit;
    trial.launch_s = v[0], trial.bandwidth_share = v[1], trial.norm = v[2];
    return trial;
  };
  const Residuals residuals = [&](std::span<const double> v, std::span<double> out) {
    const MemoryFit trial = with(v);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double t = memory_seconds(trial, trial.origin.rates.bandwidth, rows[i].kernel);
      out[i] = std::log(t / rows[i].seconds);
    }
  };
  fit = with(fit_parameters(parameters, rows.size(), residuals, 0.1).values);
}

}  // namespace

MemoryFit fit_memory(MemoryOp op, const Rates& rates, std::span<const MemoryRow> rows) {
  MemoryFit fit;
  fit.op = op;
  fit.origin.rates = rates;
  fit.origin.rows = rows.size();
  fit_base(fit, rows);
  std::vector<Grid<2>::Point> points;
  std::vector<double> knot_form, row_form, measured;
  for (const MemoryRow& row : rows) {
    const MemoryBound& k = row.kernel;
    points.push_back(memory_point(k));
    row_form.push_back(log2_form(fit, k));
    measured.push_back(std::log2(row.seconds));
  }
  const Grid<2> blank(memory_axes());
  for (std::size_t i = 0; i < blank.values().size(); ++i) {
    const auto [r, c] = blank.knot(i);
    MemoryBound kernel{op, static_cast<std::int64_t>(r), static_cast<std::int64_t>(c)};
    knot_form.push_back(log2_form(fit, kernel));
  }
  FoldedFit<2> stage(memory_axes(), points, std::move(knot_form), std::move(row_form),
                     std::move(measured), {{0.5, 0.5}, {0.05, 0.05}, 0.1});
  const std::vector<std::uint8_t> held = held_out_fifth(rows.size());
  fit_best_share(fit, stage, &MemoryFit::grid, held, [&](const MemoryFit& trial) {
    std::vector<Outcome> outcomes;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (held[i] == 0) continue;
      outcomes.push_back({memory_seconds(trial, rates.bandwidth, rows[i].kernel), rows[i].seconds});
    }
    return outcomes;
  });
  return fit;
}

}  // namespace flopcast::cost
