// Calibration of mixtures of experts: base formula, a residual grid per skew for layers nobody
// measured, and residual curves along tokens for those somebody did.
#include <algorithm>
#include <map>

#include "base/numeric/least_squares.h"
#include "base/numeric/mix.h"
#include "base/numeric/quantile.h"
#include "cost/fit/band.h"
#include "cost/fit/grid.h"
#include "cost/model/grid_text.h"
#include "cost/model/moe.h"

namespace flopcast::cost {
namespace {

std::size_t skew_index(double skew) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < kSkews.size(); ++i) {
    if (std::abs(kSkews[i] - skew) < std::abs(kSkews[best] - skew)) best = i;
  }
  return best;
}

MoeCurves::Key key_of(const GroupedGemm& g) {
  return {
      static_cast<std::uint32_t>(g.hidden),          static_cast<std::uint32_t>(g.intermediate),
      static_cast<std::uint32_t>(g.top_k),           static_cast<std::uint32_t>(g.experts),
      static_cast<std::uint32_t>(g.tensor_parallel), static_cast<std::uint32_t>(g.expert_parallel)};
}

MoeCurves::Key layer_of(MoeCurves::Key key) {
  key.tensor_parallel = key.expert_parallel = 0;
  return key;
}

MoeCoefficients fit_base(GemmType type, const Rates& rates, std::span<const MoeRow> rows) {
  const std::array<Parameter, MoeCoefficients::kCount> parameters = {{{2e-5, 1e-6, 5e-4},
                                                                      {0.6, 1e-2, 1},
                                                                      {0.7, 1e-2, 1},
                                                                      {3, 1, 10},
                                                                      {16, 0.5, 512},
                                                                      {100, 0.5, 8192},
                                                                      {100, 0.5, 8192},
                                                                      {1e-8, 1e-12, 1e-6},
                                                                      {1e-13, 1e-17, 1e-11},
                                                                      {1e6, 1e3, 1e8},
                                                                      {0.35, 1e-3, 1},
                                                                      {0.45, 1e-3, 1},
                                                                      {1, 0.1, 4},
                                                                      {1, 1e-2, 16}}};
  const std::vector<std::size_t> sample = sample_rows(rows.size(), 4000);
  const Residuals residuals = [&](std::span<const double> values, std::span<double> out) {
    const MoeForm form(MoeCoefficients::from(values), rates, operand_bytes(type));
    for (std::size_t i = 0; i < sample.size(); ++i) {
      const MoeRow& row = rows[sample[i]];
      const double t = form.log2_time(shape_of(row.layer), skew_index(row.layer.skew));
      out[i] = (t - std::log2(row.seconds)) * std::log(2.0);
    }
  };
  return MoeCoefficients::from(fit_parameters(parameters, sample.size(), residuals, 0.15).values);
}

const Grid<4>::Axes& moe_axes() {
  static const Grid<4>::Axes axes = {Axis({0.002, 0.02, 0.1, 0.5, 2, 8, 32, 128, 512, 4096}),
                                     Axis({1, 4, 16, 64, 256, 512}),
                                     Axis({64, 256, 1024, 4096, 16384}), Axis({2048, 4096, 7168})};
  return axes;
}

/// The residual grids, fitted to chosen rows.
class GridStage {
 public:
  GridStage(const MoeFit& fit, std::span<const MoeRow> rows) : skew_(rows.size()) {
    const MoeForm form(fit.base, fit.origin.rates, operand_bytes(fit.type));
    std::vector<Grid<4>::Point> points;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      skew_[i] = skew_index(rows[i].layer.skew);
      const MoeShape shape = shape_of(rows[i].layer);
      points.push_back(moe_point(shape));
      rest_.push_back(std::log2(rows[i].seconds) - form.log2_time(shape, skew_[i]));
    }
    design_ = make_design<4>(moe_axes(), points);
  }
  void fit(std::span<const std::uint8_t> used, std::array<Grid<4>, kSkews.size()>& grids) const {
    const GridPenalty penalty{{0.2, 0.5, 1, 1}, {0.05, 0.05, 0.1, 0.1}, 0.3};
    for (std::size_t s = 0; s < kSkews.size(); ++s) {
      std::vector<std::uint8_t> mine(used.begin(), used.end());
      for (std::size_t i = 0; i < mine.size(); ++i) mine[i] = skew_[i] == s ? mine[i] : 0;
      Grid<4> grid(moe_axes());
      const std::vector<double> values =
          fit_grid(moe_axes(), design_, rest_, penalty,
                   std::vector<double>(grid.values().size(), 0.0), mine);
      std::copy(values.begin(), values.end(), grid.values().begin());
      round_as_packed(grid.values());
      grids[s] = std::move(grid);
    }
  }

 private:
  std::vector<std::size_t> skew_;
  std::vector<double> rest_;
  GridDesign design_;
};

/// Fills the gaps of a curve: linear between neighbours in log tokens, constant outside, `other`
/// where it has no point at all.
void fill_gaps(std::span<float> curve, std::span<const std::uint8_t> known,
               std::span<const double> tokens, std::span<const float> other) {
  std::vector<std::size_t> at;
  for (std::size_t i = 0; i < curve.size(); ++i) {
    if (known[i] != 0) at.push_back(i);
  }
  for (std::size_t i = 0; i < curve.size(); ++i) {
    if (known[i] != 0) continue;
    if (at.empty()) {
      curve[i] = other[i];
      continue;
    }
    const auto above = std::lower_bound(at.begin(), at.end(), i);
    if (above == at.begin() || above == at.end()) {
      curve[i] = curve[above == at.end() ? at.back() : at.front()];
      continue;
    }
    const std::size_t a = *(above - 1), b = *above;
    const double f = std::log(tokens[i] / tokens[a]) / std::log(tokens[b] / tokens[a]);
    curve[i] = static_cast<float>((1 - f) * curve[a] + f * curve[b]);
  }
}

/// Mean residuals per key, skew and token count; every layer also under its key without split.
MoeCurves make_curves(const MoeFit& fit, std::span<const MoeRow> rows,
                      std::span<const std::uint8_t> used) {
  std::vector<double> tokens;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (used[i] != 0) tokens.push_back(static_cast<double>(rows[i].layer.tokens));
  }
  std::sort(tokens.begin(), tokens.end());
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
  if (tokens.size() < 2) return {};
  MoeFit plain = fit;
  plain.curves = {};
  const MoeModel model(plain, fit.origin.rates);
  std::map<MoeCurves::Key, std::vector<std::vector<double>>> residuals;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (used[i] == 0) continue;
    const auto at = static_cast<std::size_t>(
        std::lower_bound(tokens.begin(), tokens.end(), static_cast<double>(rows[i].layer.tokens)) -
        tokens.begin());
    const double r = std::log2(rows[i].seconds / model.time(rows[i].layer).seconds);
    const MoeCurves::Key key = key_of(rows[i].layer);
    for (const MoeCurves::Key& k : {key, layer_of(key)}) {
      auto& points = residuals[k];
      points.resize(kSkews.size() * tokens.size());
      points[skew_index(rows[i].layer.skew) * tokens.size() + at].push_back(r);
    }
  }
  std::vector<MoeCurves::Key> keys;
  std::vector<float> values;
  for (auto& [key, points] : residuals) {
    keys.push_back(key);
    std::vector<float> curve(points.size());
    std::vector<std::uint8_t> known(points.size());
    for (std::size_t i = 0; i < points.size(); ++i) {
      known[i] = points[i].empty() ? 0 : 1;
      std::ranges::sort(points[i]);
      curve[i] = static_cast<float>(quantile(points[i], 0.5));
    }
    const std::size_t n = tokens.size();
    const std::vector<float> zero(n, 0.0F);
    for (std::size_t s = 0; s < kSkews.size(); ++s) {
      const std::span<float> line(curve.data() + s * n, n);
      const std::span<const float> other =
          s == 0 ? std::span<const float>(zero)
                 : std::span<const float>(curve.data() + (s - 1) * n, n);
      fill_gaps(line, std::span(known).subspan(s * n, n), tokens, other);
    }
    values.insert(values.end(), curve.begin(), curve.end());
  }
  round_curves_as_packed(values);
  return {std::move(tokens), std::move(keys), std::move(values)};
}

void add_outcomes(const MoeFit& fit, std::span<const MoeRow> rows,
                  std::span<const std::uint8_t> used, std::vector<Outcome>& outcomes) {
  const MoeModel model(fit, fit.origin.rates);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (used[i] == 0) outcomes.push_back({model.time(rows[i].layer).seconds, rows[i].seconds});
  }
}

/// Bands: with curves from rows held out anywhere, without from whole layers held out in turn.
void fit_bands(MoeFit& fit, std::span<const MoeRow> rows, const GridStage& stage) {
  constexpr std::uint64_t kFolds = 4;
  std::vector<Outcome> outcomes;
  for (std::uint64_t fold = 0; fold < kFolds; ++fold) {
    std::vector<std::uint8_t> used;
    for (const MoeRow& row : rows) {
      const MoeCurves::Key k = key_of(row.layer);
      used.push_back(mix(mix(k.hidden) + k.intermediate * 31 + k.experts) % kFolds == fold ? 0 : 1);
    }
    stage.fit(used, fit.grid);
    add_outcomes(fit, rows, used, outcomes);
  }
  fit.unseen_band = band_of(outcomes);
  std::vector<std::uint8_t> used = held_out_fifth(rows.size());
  for (std::uint8_t& u : used) u = u == 0 ? 1 : 0;
  stage.fit(used, fit.grid);
  fit.curves = make_curves(fit, rows, used);
  outcomes.clear();
  add_outcomes(fit, rows, used, outcomes);
  fit.origin.band = band_of(outcomes);
}

}  // namespace

MoeFit fit_moe(GemmType type, const Rates& rates, std::span<const MoeRow> rows) {
  MoeFit fit;
  fit.type = type;
  fit.origin.rates = rates;
  fit.origin.rows = rows.size();
  fit.base = fit_base(type, rates, rows);
  const GridStage stage(fit, rows);
  fit_bands(fit, rows, stage);
  const std::vector<std::uint8_t> all(rows.size(), 1);
  stage.fit(all, fit.grid);
  fit.curves = make_curves(fit, rows, all);
  return fit;
}

}  // namespace flopcast::cost
