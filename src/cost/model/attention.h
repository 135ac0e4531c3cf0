// Times of flash attention from an AttentionFit.
#pragma once

#include <optional>
#include <span>

#include "cost/model/fits.h"

namespace flopcast::cost {

class AttentionModel {
 public:
  /// @param move the model to a chip with so many times the rates.
  AttentionModel(const AttentionFit& fit, const Rates& rates,
                 const std::optional<Rates>& move = {});

  const AttentionKind& kind() const { return kind_; }
  /// Seconds of the forward pass, before the roofline is applied. Another kind than the fit's own
  /// costs the fit's time by the ratio of the formulas.
  double seconds(const Attention& attention) const;
  const Band& band() const { return band_; }

 private:
  AttentionKind kind_;
  AttentionCoefficients base_;
  Rates rates_;
  std::optional<Rates> moved_;  ///< rates of the chip that times are moved to
  AttentionForm form_;
  Grid<3> prefill_;
  Grid<2> decode_;
  Band band_;
  double share_;
};

/// Where the residual grids look an attention up.
Grid<3>::Point prefill_point(const AttentionShape& shape);
Grid<2>::Point decode_point(const AttentionShape& shape);
/// The knots of those grids as shapes of the kind they were fitted for.
AttentionShape prefill_knot(const Grid<3>::Point& knot, const AttentionKind& kind);
AttentionShape decode_knot(const Grid<2>::Point& knot);

AttentionFit scaled(const AttentionFit& fit, const AttentionKind& kind, const Rates& rates);

struct AttentionRow {
  Attention attention;
  double seconds = 0;
};
/// Rows of one kind.
AttentionFit fit_attention(const AttentionKind& kind, const Rates& rates,
                           std::span<const AttentionRow> rows);

/// How far a fit's kind is from one asked for; 0: the same. Decode and prefill never mix.
double kind_distance(const AttentionKind& asked, const AttentionKind& fitted);

/// Flash attention's backward pass does 2.5 times the forward's FLOP (five products instead of
/// two; Dao, FlashAttention-2, section 4.1) at about three quarters of its rate (its figures 4 to
/// 7). Nobody measured it here: assumed.
inline constexpr double kBackwardFlops = 2.5;
inline constexpr double kBackwardRate = 0.75;

}  // namespace flopcast::cost
