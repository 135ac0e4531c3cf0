// Calibration of dense matrix products: base formula, residual grid, the odd-m term, the band.
#include <algorithm>

#include "base/numeric/least_squares.h"
#include "base/numeric/mix.h"
#include "cost/fit/folded.h"
#include "cost/model/gemm.h"

namespace flopcast::cost {
namespace {

constexpr std::size_t kBaseRows = 3000;  // enough for the formula's parameters; the grid sees all
constexpr double kBaseScale = 0.1;

std::vector<Parameter> base_parameters(double quantised, double launch_s) {
  std::vector<Parameter> p = {
      {std::min(launch_s, 5e-5), 2e-7, 1e-4},  // launch
      {0.8, 0.05, 1.0},                        // bandwidth share
      {3, 1, 12},                              // norm
      {64, 0.05, 4096},                        // extra k
      {100, 0.05, 16384},                      // bytes: extra k
      {100, 0.05, 16384},                      // bytes: extra n
  };
  for (const Tile& tile : kTiles) {
    const double area = std::exp2(tile.log2_m + tile.log2_n - 15);
    p.push_back({std::max(0.15, 0.9 * std::pow(area, 0.35)), 1e-3, 1.0});
  }
  for (std::size_t i = 0; i < kTiles.size(); ++i) p.push_back({quantised, 1e-3, 0.95});
  return p;
}

ParameterFit fit_base(GemmType type, const Rates& rates, std::span<const GemmRow> rows) {
  const std::vector<std::size_t> sample = sample_rows(rows.size(), kBaseRows);
  double fastest = HUGE_VAL;
  for (const GemmRow& row : rows) fastest = std::min(fastest, row.seconds);
  const Residuals residuals = [&](std::span<const double> values, std::span<double> out) {
    const GemmForm form(GemmCoefficients::from(values), rates, operand_bytes(type));
    for (std::size_t i = 0; i < sample.size(); ++i) {
      const GemmRow& r = rows[sample[i]];
      out[i] = (form.log2_time(r.m, r.n, r.k, 1) - std::log2(r.seconds)) * std::log(2.0);
    }
  };
  ParameterFit best;
  for (const double quantised : {0.25, 0.7}) {
    ParameterFit fit =
        fit_parameters(base_parameters(quantised, fastest), sample.size(), residuals, kBaseScale);
    if (best.values.empty() || fit.cost < best.cost) best = std::move(fit);
  }
  return best;
}

FoldedFit<3> make_stage(const GemmFit& fit, std::span<const GemmRow> rows) {
  const GemmForm form(fit.base, fit.origin.rates, operand_bytes(fit.type));
  std::vector<Grid<3>::Point> points;
  std::vector<double> knot_form, row_form, measured;
  for (const GemmRow& r : rows) {
    points.push_back({std::log2(r.m), std::log2(r.n), std::log2(r.k)});
    row_form.push_back(form.log2_time(r.m, r.n, r.k, 1));
    measured.push_back(std::log2(r.seconds));
  }
  const Grid<3> blank(gemm_axes());
  for (std::size_t i = 0; i < blank.values().size(); ++i) {
    const auto [m, n, k] = blank.knot(i);
    knot_form.push_back(form.log2_smooth(m, n, k, 1));
  }
  return {gemm_axes(),          points,
          std::move(knot_form), std::move(row_form),
          std::move(measured),  {{0.02, 0.02, 0.02}, {0.005, 0.01, 0.01}, 0.1}};
}

bool is_odd(const GemmRow& row) { return (static_cast<std::int64_t>(row.m) & 3) != 0; }

double seconds(const GemmModel& model, const GemmRow& row) {
  return model.seconds({static_cast<std::int64_t>(row.m), static_cast<std::int64_t>(row.n),
                        static_cast<std::int64_t>(row.k)});
}

/// Mean absolute log error of the rows m % 4 != 0.
double odd_error(const GemmModel& model, std::span<const GemmRow> rows) {
  double sum = 0;
  std::size_t n = 0;
  for (const GemmRow& row : rows) {
    if (!is_odd(row)) continue;
    sum += std::abs(std::log(seconds(model, row) / row.seconds));
    ++n;
  }
  return n == 0 ? 0 : sum / static_cast<double>(n);
}

/// factor and extra of t = factor * t(next multiple of 4) + extra, by weighted least squares on
/// relative errors, a few robust rounds.
void fit_odd_term(GemmFit& fit, std::span<const GemmRow> rows) {
  const GemmModel model(fit, fit.origin.rates);
  double factor = 1.3, extra = 0;
  for (int round = 0; round < 5; ++round) {
    double aa = 0, ab = 0, bb = 0, ay = 0, by = 0;
    for (GemmRow row : rows) {
      if (!is_odd(row)) continue;
      row.m = std::ceil(row.m / 4) * 4;
      const double base = seconds(model, row);
      const double r = (factor * base + extra) / row.seconds - 1;
      const double w = 1 / std::sqrt(1 + r * r / 0.01);
      const double a = base / row.seconds, b = 1e-6 / row.seconds;
      aa += w * a * a, ab += w * a * b, bb += w * b * b, ay += w * a, by += w * b;
    }
    const double determinant = aa * bb - ab * ab;
    if (!(determinant > 0)) return;
    factor = std::max(1.0, (ay * bb - by * ab) / determinant);
    extra = std::max(0.0, (by - factor * ab) / bb) * 1e-6;
  }
  fit.odd_factor = factor;
  fit.odd_extra_s = extra;
}

/// Rows m % 4 != 0 as they would have been without the term.
void remove_odd_term(const GemmFit& fit, std::span<GemmRow> rows) {
  for (GemmRow& row : rows) {
    if (!is_odd(row)) continue;
    const double without = (row.seconds - fit.odd_extra_s) / fit.odd_factor;
    row.seconds = std::max(without, 0.2 * row.seconds);
    row.m = std::ceil(row.m / 4) * 4;
  }
}

/// Whether a fit of the aligned rows alone, with the odd term, explains the odd rows much better.
bool needs_odd_term(GemmFit& fit, std::span<const GemmRow> rows) {
  constexpr double kWorthIt = 0.03;
  std::vector<std::uint8_t> aligned;
  for (const GemmRow& row : rows) aligned.push_back(is_odd(row) ? 0 : 1);
  const auto odd = static_cast<std::size_t>(std::count(aligned.begin(), aligned.end(), 0));
  if (odd < 100 || odd + 100 > rows.size()) return false;
  FoldedFit<3> stage = make_stage(fit, rows);
  stage.set_share(fit.form_share);
  GemmFit all = fit;
  all.grid = stage.fit({});
  GemmFit with = fit;
  with.grid = stage.fit(aligned);
  fit_odd_term(with, rows);
  const double plain = odd_error(GemmModel(all, fit.origin.rates), rows);
  if (odd_error(GemmModel(with, fit.origin.rates), rows) + kWorthIt > plain) return false;
  fit.odd_factor = with.odd_factor;
  fit.odd_extra_s = with.odd_extra_s;
  return true;
}

}  // namespace

const Grid<3>::Axes& gemm_axes() {
  static const Grid<3>::Axes axes = {
      Axis({1,    2,    4,    6,    8,    12,   16,   24,    32,    48,     64,     65,
            96,   128,  129,  192,  256,  257,  384,  512,   513,   768,    769,    1024,
            1025, 1536, 2048, 2049, 3072, 4096, 8192, 16384, 32768, 131072, 1048576}),
      Axis({1,    32,   64,   128,  256,  512,   768,   1024,  1536,  2048,   2560,   3072,
            3584, 4096, 5120, 6144, 8192, 12288, 16384, 32768, 65536, 262144, 1048576}),
      Axis({1,    32,   64,   128,  256,   512,   768,   1024,  1536,   2048,
            3072, 4096, 6144, 8192, 12288, 16384, 32768, 65536, 262144, 1048576})};
  return axes;
}

GemmFit fit_gemm(GemmType type, const Rates& rates, std::vector<GemmRow> rows) {
  GemmFit fit;
  fit.type = type;
  fit.origin.rates = rates;
  fit.origin.rows = rows.size();
  const std::vector<GemmRow> measured = rows;
  fit.base = GemmCoefficients::from(fit_base(type, rates, rows).values);
  if (needs_odd_term(fit, rows)) {
    remove_odd_term(fit, rows);
    fit.base = GemmCoefficients::from(fit_base(type, rates, rows).values);
  }
  FoldedFit<3> stage = make_stage(fit, rows);
  const std::vector<std::uint8_t> held = held_out_fifth(rows.size());
  fit_best_share(fit, stage, &GemmFit::grid, held, [&](const GemmFit& trial) {
    const GemmModel model(trial, rates);
    std::vector<Outcome> outcomes;
    for (std::size_t i = 0; i < measured.size(); ++i) {
      if (held[i] != 0) outcomes.push_back({seconds(model, measured[i]), measured[i].seconds});
    }
    return outcomes;
  });
  return fit;
}

}  // namespace flopcast::cost
