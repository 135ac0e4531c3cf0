// Fits log2 t = theta log2 form(x) + G(x) on a grid G that must not fall along its axes: residuals
// R over the whole formula first, then G = (1 - theta) log2 smooth form + R at the knots, then the
// nearest such numbers that are monotone.
#pragma once

#include "cost/fit/band.h"
#include "cost/fit/grid.h"
#include "cost/model/fits.h"
#include "cost/model/grid_text.h"

namespace flopcast::cost {

template <std::size_t D>
class FoldedFit {
 public:
  /// @param knot_form log2 of the smooth formula at every knot. @param row_form log2 of the formula
  /// per row. @param measured log2 of seconds per row.
  FoldedFit(std::array<Axis, D> axes, std::span<const std::array<double, D>> points,
            std::vector<double> knot_form, std::vector<double> row_form,
            std::vector<double> measured, GridPenalty penalty)
      : axes_(std::move(axes)),
        design_(make_design<D>(axes_, points)),
        knot_form_(std::move(knot_form)),
        row_form_(std::move(row_form)),
        measured_(std::move(measured)),
        penalty_(std::move(penalty)),
        residual_(knot_form_.size(), 0.0) {}

  /// Sets theta; the solution so far is kept as the start of the next.
  void set_share(double share) {
    folded_.clear();
    rest_.clear();
    for (const double form : knot_form_) folded_.push_back((1 - share) * form);
    for (std::size_t i = 0; i < measured_.size(); ++i) {
      rest_.push_back(measured_[i] - share * row_form_[i] - design_.at(i, folded_));
    }
  }
  Grid<D> fit(std::span<const std::uint8_t> used) {
    residual_ = fit_grid(axes_, design_, rest_, penalty_, std::move(residual_), used);
    std::vector<double> values(folded_);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += residual_[i];
    std::array<bool, D> monotone;
    monotone.fill(true);
    make_monotone(shape_of(axes_), monotone, knot_support(design_, values.size()), values);
    Grid<D> grid(axes_);
    std::copy(values.begin(), values.end(), grid.values().begin());
    round_as_packed(grid.values());
    return grid;
  }

 private:
  std::array<Axis, D> axes_;
  GridDesign design_;
  std::vector<double> knot_form_, row_form_, measured_;
  GridPenalty penalty_;
  std::vector<double> residual_, folded_, rest_;
};

/// Values of theta a fit chooses from, by the error of rows held out.
inline constexpr std::array<double, 4> kFormShares = {0.1, 0.3, 0.5, 0.75};

/// Mean absolute log error.
inline double mean_error(std::span<const Outcome> outcomes) {
  double sum = 0;
  for (const Outcome& o : outcomes) sum += std::abs(std::log(o.predicted_s / o.measured_s));
  return outcomes.empty() ? 0 : sum / static_cast<double>(outcomes.size());
}

/// Chooses theta and sets `fit`'s form_share, band and grid. @param held rows kept out for that.
/// @param stage a FoldedFit. @param outcomes_of(fit): of the rows held out.
template <typename Fit, typename Stage, std::size_t D, typename OutcomesOf>
void fit_best_share(Fit& fit, Stage& stage, Grid<D> Fit::*grid, std::span<const std::uint8_t> held,
                    OutcomesOf&& outcomes_of) {
  std::vector<std::uint8_t> used;
  for (const std::uint8_t h : held) used.push_back(h == 0 ? 1 : 0);
  double best = HUGE_VAL, best_share = kFormShares[0];
  for (const double share : kFormShares) {
    fit.form_share = share;
    stage.set_share(share);
    fit.*grid = stage.fit(used);
    const std::vector<Outcome> outcomes = outcomes_of(fit);
    const double error = mean_error(outcomes);
    if (error >= best) continue;
    best = error;
    best_share = share;
    fit.origin.band = band_of(outcomes);
  }
  fit.form_share = best_share;
  stage.set_share(best_share);
  fit.*grid = stage.fit({});
}

}  // namespace flopcast::cost
