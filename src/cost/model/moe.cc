#include "cost/model/moe.h"

namespace flopcast::cost {
namespace {

/// Index of the measured exponent at or below `skew`, and how far it is to the next.
struct SkewPlace {
  std::size_t index = 0;
  double fraction = 0;
};

SkewPlace place_of(double skew) {
  if (!(skew > 0)) return {};
  if (skew >= kSkews.back()) return {kSkews.size() - 1, 0};
  const std::size_t i = skew >= kSkews[1] ? 1 : 0;
  return {i, (skew - kSkews[i]) / (kSkews[i + 1] - kSkews[i])};
}

}  // namespace

Grid<4>::Point moe_point(const MoeShape& s) {
  return {std::log2(s.tokens * s.top_k / s.experts), std::log2(s.local_experts()),
          std::log2(s.inner), std::log2(s.hidden)};
}

MoeModel::MoeModel(const MoeFit& fit, const Rates& rates, const std::optional<Rates>& move)
    : form_(fit.base, rates, operand_bytes(fit.type)),
      moved_(move ? std::optional<MoeForm>(
                        MoeForm(fit.base, times(rates, *move), operand_bytes(fit.type)))
                  : std::nullopt),
      grid_(fit.grid),
      curves_(fit.curves),
      band_(fit.origin.band),
      unseen_band_(fit.unseen_band) {}

double MoeModel::log2_seconds(const GroupedGemm& gemm, const MoeShape& shape, std::size_t skew,
                              const float* curve) const {
  double log2_t = (moved_ ? *moved_ : form_).log2_time(shape, skew);
  if (!grid_[skew].empty()) log2_t += grid_[skew].at(moe_point(shape));
  if (curve != nullptr) log2_t += curves_.at(curve, skew, std::log2(size_of(gemm.tokens)));
  return log2_t;
}

MoeModel::Answer MoeModel::time(const GroupedGemm& gemm) const {
  const MoeShape shape = shape_of(gemm);
  const MoeCurves::Found found = curves_.find(gemm);
  const SkewPlace place = place_of(gemm.skew);
  double log2_t = log2_seconds(gemm, shape, place.index, found.curve);
  if (place.fraction > 0) {
    const double next = log2_seconds(gemm, shape, place.index + 1, found.curve);
    log2_t += place.fraction * (next - log2_t);
  }
  return {std::exp2(log2_t), found.exact};
}

MoeFit scaled(const MoeFit& fit, GemmType type, const Rates& rates) {
  MoeFit out = fit;
  out.type = type;
  out.origin.rates = rates;
  return out;
}

}  // namespace flopcast::cost
