// Everything a calibration leaves behind, per class of kernels: the coefficients of a base formula,
// a grid or curves of log residuals, the band of what residuals were left, and where it comes from.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "cost/forms/attention_form.h"
#include "cost/forms/gemm_form.h"
#include "cost/forms/moe_form.h"
#include "cost/forms/rates.h"
#include "cost/model/grid.h"
#include "flopcast/cost.h"

namespace flopcast::cost {

/// 10 % and 90 % quantiles of measured / predicted, by predicted time.
struct Band {
  static constexpr std::size_t kClasses = 4;
  std::array<double, kClasses> low{1, 1, 1, 1}, high{1, 1, 1, 1};

  static std::size_t size_class(double seconds) {  ///< < 10 us, < 100 us, < 1 ms, above
    return seconds < 1e-5 ? 0U : seconds < 1e-4 ? 1U : seconds < 1e-3 ? 2U : 3U;
  }
  /// Wider by a factor either way, independent of what it already holds.
  Band widened(double factor) const;
};
std::string_view size_class_name(std::size_t size_class);  ///< "< 10 us"

struct FitOrigin {
  std::string source;      ///< what was measured, in the words of whoever fitted
  std::uint64_t rows = 0;  ///< measurements
  Rates rates;             ///< what the formula divided by
  Band band;
};

/// log2 t = theta log2 form + grid(log2 m, log2 n, log2 k), both of which do not fall. The more the
/// formula carries (theta), the more of the steps of tiles and waves there are; the less, the more
/// freely the grid follows the measurements, which must rise faster than theta of the formula does.
struct GemmFit {
  GemmType type = GemmType::kBf16;
  FitOrigin origin;
  double form_share = 0.5;  ///< theta
  GemmCoefficients base;
  Grid<3> grid;
  /// Kernels that want m in multiples of 4 and copy otherwise: t(m) = factor t(next multiple) + extra.
  double odd_factor = 1, odd_extra_s = 0;
};

/// One kind of attention: log2 t = theta log2 form + grid.
struct AttentionFit {
  AttentionKind kind;
  FitOrigin origin;
  double form_share = 0.5;  ///< theta
  AttentionCoefficients base;
  Grid<3> prefill;  ///< (query length, batch * heads, heads / kv heads); empty for decode
  Grid<2> decode;   ///< (kv length, batch * kv heads); empty for prefill
};

struct MoeFit {
  GemmType type = GemmType::kBf16;
  FitOrigin origin;  ///< band of layers with curves
  Band unseen_band;  ///< band of layers without
  MoeCoefficients base;
  std::array<Grid<4>, kSkews.size()> grid;  ///< log2 residual of unseen layers
  MoeCurves curves;                         ///< log2 residual of measured layers, along tokens
};

/// log2 t = theta log2 form + grid(log2 rows, log2 columns), form = (launch^p + (bytes / (e W))^p)^(1/p)
struct MemoryFit {
  MemoryOp op = MemoryOp::kElementWise;
  FitOrigin origin;
  double form_share = 0.5;  ///< theta
  double launch_s = 2e-6, bandwidth_share = 0.8, norm = 2;
  Grid<2> grid;
};

struct Fits {
  std::string chip;
  std::vector<GemmFit> gemm;
  std::vector<AttentionFit> attention;
  std::vector<MoeFit> moe;
  std::vector<MemoryFit> memory;
};

}  // namespace flopcast::cost
