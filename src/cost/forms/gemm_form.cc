#include "cost/forms/gemm_form.h"

#include <algorithm>

namespace flopcast::cost {
namespace {

/// ceil for 0 <= x, without a library call on the query's path.
inline double round_up(double x) {
  constexpr double kWhole = 4503599627370496.0;  // 2^52: whole from here on
  if (x >= kWhole) return x;
  const auto down = static_cast<double>(static_cast<std::int64_t>(x));
  return down < x ? down + 1 : down;
}

inline double tiles_of(std::int64_t size, int log2_tile) {
  return static_cast<double>((size + (std::int64_t{1} << log2_tile) - 1) >> log2_tile);
}

}  // namespace

GemmCoefficients GemmCoefficients::from(std::span<const double> v) {
  GemmCoefficients c{v[0], v[1], v[2], v[3], v[4], v[5], {}, {}};
  for (std::size_t i = 0; i < kTiles.size(); ++i) {
    c.rate_share[i] = v[6 + i];
    c.quantised[i] = v[6 + kTiles.size() + i];
  }
  return c;
}

std::array<double, GemmCoefficients::kCount> GemmCoefficients::values() const {
  std::array<double, kCount> v{launch_s, bandwidth_share, norm, extra_k, byte_k, byte_n};
  std::copy(rate_share.begin(), rate_share.end(), v.begin() + 6);
  std::copy(quantised.begin(), quantised.end(), v.begin() + 6 + kTiles.size());
  return v;
}

GemmForm::GemmForm(const GemmCoefficients& c, const Rates& rates, const OperandBytes& bytes)
    : launch_(c.launch_s),
      p_(c.norm),
      extra_k_(c.extra_k),
      byte_k_(c.byte_k),
      byte_n_(c.byte_n),
      per_core_(1 / rates.cores),
      quantised_(c.quantised) {
  const double byte_time = 1 / (rates.bandwidth * c.bandwidth_share);
  per_a_ = bytes.a * byte_time;
  per_b_ = bytes.b * byte_time;
  per_c_ = bytes.c * byte_time;
  for (std::size_t i = 0; i < kTiles.size(); ++i) {
    const double area = std::exp2(kTiles[i].log2_m + kTiles[i].log2_n);
    wave_[i] = rates.cores * 2 * area / (rates.flops * c.rate_share[i]);
  }
}

double GemmForm::evaluate(double m, double n, double k, double batch,
                          const std::array<double, kTiles.size()>& quantised) const {
  const auto rows = static_cast<std::int64_t>(m), columns = static_cast<std::int64_t>(n);
  const double per_core = batch * per_core_;
  double compute = HUGE_VAL;
  for (std::size_t i = 0; i < kTiles.size(); ++i) {
    const double waves =
        tiles_of(rows, kTiles[i].log2_m) * tiles_of(columns, kTiles[i].log2_n) * per_core;
    compute = std::min(compute, (waves + quantised[i] * (round_up(waves) - waves)) * wave_[i]);
  }
  compute *= k + extra_k_;
  const double long_k = k + byte_k_, long_n = n + byte_n_;
  const double memory =
      (per_a_ * m * long_k + per_b_ * long_n * long_k + per_c_ * m * long_n) * batch;
  return std::log2(launch_ + p_norm(compute, memory, p_));
}

}  // namespace flopcast::cost
