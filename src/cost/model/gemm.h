// Times of dense matrix products from a GemmFit.
#pragma once

#include <optional>

#include "cost/model/fits.h"

namespace flopcast::cost {

class GemmModel {
 public:
  /// @param move the model to a chip with so many times the rates.
  GemmModel(const GemmFit& fit, const Rates& rates, const std::optional<Rates>& move = {});

  /// Seconds, before the roofline is applied.
  double seconds(const Gemm& gemm) const;
  const Band& band() const { return band_; }

 private:
  double aligned_seconds(double m, double n, double k, double batch) const;

  GemmForm form_;
  std::optional<GemmForm> moved_;
  Grid<3> grid_;
  Band band_;
  double share_, odd_factor_, odd_extra_;
};

/// The fit for other rates or another type: residuals move along with k, because a chip with r
/// times the rate per core needs r times the work per tile to hide the same latencies.
GemmFit scaled(const GemmFit& fit, GemmType type, const Rates& rates);

struct GemmRow {
  double m = 0, n = 0, k = 0, seconds = 0;
};
/// Deterministic. Needs at least one row; residuals of a fifth of the rows, held out once, give
/// the band.
GemmFit fit_gemm(GemmType type, const Rates& rates, std::vector<GemmRow> rows);

/// The knots every new fit uses; they reach far past what is measured, where the grid is constant
/// in its residual and the formula carries the growth.
const Grid<3>::Axes& gemm_axes();

}  // namespace flopcast::cost
