// The base formula of a GEMM's time:
//
//   t = launch + (C^p + M^p)^(1/p)
//   C = min over tile shapes of  [(1-q) w + q ceil(w)] * cores * 2 tile_m tile_n (k + k0) / (P e)
//       with w = ceil(m/tile_m) ceil(n/tile_n) batch / cores   waves of tiles over the cores
//   M = [a m (k + kb) + b (n + nb) (k + kb) + 2 m (n + nb)] batch / (W r)
//
// P and W are the chip's peak FLOP/s and bandwidth; launch, p, q and e per tile, k0, kb, nb and r
// are fitted. It does not fall when m, n, k or batch grows: every term is built from products,
// sums, ceilings and minima of functions that do not.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <span>

#include "cost/forms/rates.h"

namespace flopcast::cost {

struct Tile {
  int log2_m, log2_n;
};
inline constexpr std::array<Tile, 6> kTiles = {
    {{8, 7}, {7, 8}, {7, 7}, {6, 8}, {6, 6}, {4, 7}}  // 256x128 128x256 128x128 64x256 64x64 16x128
};

struct GemmCoefficients {
  static constexpr std::size_t kCount = 6 + 2 * kTiles.size();
  double launch_s = 3e-6, bandwidth_share = 0.8, norm = 3, extra_k = 64, byte_k = 64, byte_n = 64;
  std::array<double, kTiles.size()> rate_share{}, quantised{};

  static GemmCoefficients from(std::span<const double> values);
  std::array<double, kCount> values() const;
};

/// C (x) M: (x^p + y^p)^(1/p) by base-2 logarithms.
inline double p_norm(double x, double y, double p) {
  const double large = x > y ? x : y, small = x > y ? y : x;
  if (small <= 0) return large;
  const double log2_power = p * std::log2(small / large);
  if (log2_power < -40) return large;  // 1 + x is 1 within rounding of the result
  return large * std::exp2(std::log2(1 + std::exp2(log2_power)) / p);
}

class GemmForm {
 public:
  GemmForm() = default;
  GemmForm(const GemmCoefficients& c, const Rates& rates, const OperandBytes& bytes);

  /// log2 of seconds. Sizes are >= 1; m and n are rounded up to whole tiles as integers.
  double log2_time(double m, double n, double k, double batch) const {
    return evaluate(m, n, k, batch, quantised_);
  }
  /// The same without rounding to whole waves.
  double log2_smooth(double m, double n, double k, double batch) const {
    return evaluate(m, n, k, batch, {});
  }

 private:
  double evaluate(double m, double n, double k, double batch,
                  const std::array<double, kTiles.size()>& quantised) const;

  double launch_ = 0, p_ = 1, extra_k_ = 0, byte_k_ = 0, byte_n_ = 0;
  double per_a_ = 0, per_b_ = 0, per_c_ = 0;                // seconds per element moved
  double per_core_ = 1;                                     // 1 / cores
  std::array<double, kTiles.size()> wave_{}, quantised_{};  // seconds per wave and unit of k
};

}  // namespace flopcast::cost
