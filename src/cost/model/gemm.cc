#include "cost/model/gemm.h"

namespace flopcast::cost {
namespace {

Grid<3>::Point logs(double m, double n, double k) {
  return {std::log2(m), std::log2(n), std::log2(k)};
}

constexpr std::array<bool, 3> kAllAxes = {true, true, true};

}  // namespace

GemmModel::GemmModel(const GemmFit& fit, const Rates& rates, const std::optional<Rates>& move)
    : form_(fit.base, rates, operand_bytes(fit.type)),
      moved_(move ? std::optional<GemmForm>(
                        GemmForm(fit.base, times(rates, *move), operand_bytes(fit.type)))
                  : std::nullopt),
      grid_(fit.grid),
      band_(fit.origin.band),
      share_(fit.form_share),
      odd_factor_(fit.odd_factor),
      odd_extra_(fit.odd_extra_s) {}

double GemmModel::seconds(const Gemm& gemm) const {
  const double m = size_of(gemm.m), n = size_of(gemm.n), k = size_of(gemm.k);
  const double batch = size_of(gemm.batch);
  const bool odd = (gemm.m & 3) != 0 && (odd_factor_ > 1 || odd_extra_ > 0);
  if (!odd) return aligned_seconds(m, n, k, batch);
  const double next = std::ceil(m / 4) * 4;
  return odd_factor_ * aligned_seconds(next, n, k, batch) + odd_extra_;
}

double GemmModel::aligned_seconds(double m, double n, double k, double batch) const {
  double log2_t = share_ * form_.log2_time(m, n, k, batch);
  if (moved_) log2_t += moved_->log2_smooth(m, n, k, batch) - form_.log2_smooth(m, n, k, batch);
  if (grid_.empty()) return std::exp2(log2_t + (1 - share_) * form_.log2_smooth(m, n, k, batch));
  const double rows = std::min(m * batch, static_cast<double>(kMostSize));
  log2_t += grid_.at(logs(rows, n, k));
  if (batch > 1) {
    // The grid knows one product of m * batch rows; what batches move more, the formula adds.
    log2_t += (1 - share_) * (form_.log2_smooth(m, n, k, batch) - form_.log2_smooth(rows, n, k, 1));
  }
  return std::exp2(log2_t);
}

GemmFit scaled(const GemmFit& fit, GemmType type, const Rates& rates) {
  const Rates& from = fit.origin.rates;
  const GemmForm old_form(fit.base, from, operand_bytes(fit.type));
  const GemmForm new_form(fit.base, rates, operand_bytes(type));
  const double ratio = (rates.flops / rates.cores) / (from.flops / from.cores);
  GemmFit out = fit;
  out.type = type;
  out.origin.rates = rates;
  const double rest = 1 - fit.form_share;
  std::vector<double> values(out.grid.values().size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto [m, n, k] = out.grid.knot(i);
    const double old_k = std::max(1.0, k / ratio);
    const double residual =
        fit.grid.at(logs(m, n, old_k)) - rest * old_form.log2_smooth(m, n, old_k, 1);
    values[i] = residual + rest * new_form.log2_smooth(m, n, k, 1);
  }
  const std::vector<double> support(values.size(), 1.0);
  make_monotone(shape_of(out.grid.axes()), kAllAxes, support, values);
  std::copy(values.begin(), values.end(), out.grid.values().begin());
  return out;
}

}  // namespace flopcast::cost
