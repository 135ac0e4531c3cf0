// Calibration of attention, one kind (decode or prefill, types, head dimension, window) at a time.
#include <algorithm>

#include "base/numeric/least_squares.h"
#include "base/numeric/mix.h"
#include "cost/fit/folded.h"
#include "cost/model/attention.h"

namespace flopcast::cost {
namespace {

const Grid<3>::Axes& prefill_axes() {
  static const Grid<3>::Axes axes = {
      Axis({1, 16, 32, 64, 128, 256, 512, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384,
            32768, 131072, 1048576}),
      Axis({1, 2, 4, 8, 16, 32, 64, 96, 128, 192, 256, 512, 1024, 2048, 4096, 8192, 65536}),
      Axis({1, 2, 4, 8, 16, 32, 64, 128})};
  return axes;
}

const Grid<2>::Axes& decode_axes() {
  static const Grid<2>::Axes axes = {
      Axis({1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072,
            1048576}),
      Axis({1, 2, 4, 8, 16, 32, 48, 64, 96, 128, 192, 256, 512, 1024, 2048, 4096, 8192, 65536})};
  return axes;
}

AttentionCoefficients fit_base(const AttentionKind& kind, const Rates& rates,
                               std::span<const AttentionRow> rows) {
  double fastest = 1;
  for (const AttentionRow& row : rows) fastest = std::min(fastest, row.seconds);
  // Decode knows no rate, norm or waves: their bounds are closed.
  const double open = kind.decode ? 0 : 1;
  const std::array<Parameter, AttentionCoefficients::kCount> parameters = {
      {{std::min(fastest, 1e-4), 3e-7, 2e-4},
       {0.5, kind.decode ? 0.5 : 0.02, 0.5 + 0.5 * open},
       {0.8, 0.05, 1},
       {2, kind.decode ? 2.0 : 1.0, 2 + 10 * open},
       {100, 0.05, 4096},
       {0.3, kind.decode ? 0.3 : 1e-3, 0.3 + 0.65 * open}}};
  const std::vector<std::size_t> sample = sample_rows(rows.size(), 3000);
  const Residuals residuals = [&](std::span<const double> values, std::span<double> out) {
    const AttentionForm form(AttentionCoefficients::from(values), rates, kind);
    for (std::size_t i = 0; i < sample.size(); ++i) {
      const AttentionRow& row = rows[sample[i]];
      out[i] = (form.log2_time(shape_of(row.attention)) - std::log2(row.seconds)) * std::log(2.0);
    }
  };
  return AttentionCoefficients::from(
      fit_parameters(parameters, sample.size(), residuals, 0.1).values);
}

template <std::size_t D, typename PointOf, typename KnotOf>
void fit_grids(AttentionFit& fit, std::span<const AttentionRow> rows,
               const std::array<Axis, D>& axes, Grid<D> AttentionFit::*grid, GridPenalty penalty,
               PointOf&& point_of, KnotOf&& knot_of) {
  const AttentionForm form(fit.base, fit.origin.rates, fit.kind);
  std::vector<typename Grid<D>::Point> points;
  std::vector<double> row_form, measured, knot_form;
  for (const AttentionRow& row : rows) {
    const AttentionShape shape = shape_of(row.attention);
    points.push_back(point_of(shape));
    row_form.push_back(form.log2_time(shape));
    measured.push_back(std::log2(row.seconds));
  }
  const Grid<D> blank(axes);
  for (std::size_t i = 0; i < blank.values().size(); ++i) {
    knot_form.push_back(form.log2_smooth(knot_of(blank.knot(i))));
  }
  FoldedFit<D> stage(axes, points, std::move(knot_form), std::move(row_form), std::move(measured),
                     std::move(penalty));
  const std::vector<std::uint8_t> held = held_out_fifth(rows.size());
  fit_best_share(fit, stage, grid, held, [&](const AttentionFit& trial) {
    const AttentionModel model(trial, trial.origin.rates);
    std::vector<Outcome> outcomes;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (held[i] != 0) outcomes.push_back({model.seconds(rows[i].attention), rows[i].seconds});
    }
    return outcomes;
  });
}

}  // namespace

AttentionFit fit_attention(const AttentionKind& kind, const Rates& rates,
                           std::span<const AttentionRow> rows) {
  AttentionFit fit;
  fit.kind = kind;
  fit.origin.rates = rates;
  fit.origin.rows = rows.size();
  fit.base = fit_base(kind, rates, rows);
  if (kind.decode) {
    fit_grids<2>(fit, rows, decode_axes(), &AttentionFit::decode, {{0.02, 0.02}, {0.01, 0.01}, 0.1},
                 decode_point, decode_knot);
  } else {
    fit_grids<3>(fit, rows, prefill_axes(), &AttentionFit::prefill,
                 {{0.02, 0.02, 0.02}, {0.005, 0.005, 0.005}, 0.08}, prefill_point,
                 [&kind](const Grid<3>::Point& knot) { return prefill_knot(knot, kind); });
  }
  return fit;
}

}  // namespace flopcast::cost
