// Times of mixture-of-experts GEMMs from a MoeFit.
#pragma once

#include <optional>
#include <span>

#include "cost/model/fits.h"

namespace flopcast::cost {

class MoeModel {
 public:
  /// @param move the model to a chip with so many times the rates.
  MoeModel(const MoeFit& fit, const Rates& rates, const std::optional<Rates>& move = {});

  struct Answer {
    double seconds = 0;
    bool table = false;  ///< between measured points of this very layer and split
  };
  /// Before the roofline is applied.
  Answer time(const GroupedGemm& gemm) const;
  const Band& band(bool table) const { return table ? band_ : unseen_band_; }

 private:
  double log2_seconds(const GroupedGemm& gemm, const MoeShape& shape, std::size_t skew,
                      const float* curve) const;

  MoeForm form_;
  std::optional<MoeForm> moved_;
  std::array<Grid<4>, kSkews.size()> grid_;
  MoeCurves curves_;
  Band band_, unseen_band_;
};

/// Where the residual grid looks a layer up: tokens per expert, experts on the chip, inner width,
/// hidden width.
Grid<4>::Point moe_point(const MoeShape& shape);

/// The fit for a chip of other rates, or another type: its formula with these; curves stay.
MoeFit scaled(const MoeFit& fit, GemmType type, const Rates& rates);

struct MoeRow {
  GroupedGemm layer;
  double seconds = 0;
};
MoeFit fit_moe(GemmType type, const Rates& rates, std::span<const MoeRow> rows);

}  // namespace flopcast::cost
