// What of a chip the cost formulas see, and what of a GEMM type.
#pragma once

#include <cstdint>
#include <optional>

#include "flopcast/cost.h"

namespace flopcast::cost {

/// Peak rates of a chip for one kind of arithmetic.
struct Rates {
  double flops = 0;      ///< FLOP/s
  double bandwidth = 0;  ///< HBM, B/s
  double cores = 0;      ///< SMs, CUs

  bool operator==(const Rates&) const = default;
};
/// Each rate by its own factor.
inline Rates times(const Rates& rates, const Rates& factors) {
  return {rates.flops * factors.flops, rates.bandwidth * factors.bandwidth,
          rates.cores * factors.cores};
}
/// The factors from one chip's rates to another's; nothing where they are the same.
inline std::optional<Rates> move_between(const Rates& from, const Rates& to) {
  const Rates factors{to.flops / from.flops, to.bandwidth / from.bandwidth, to.cores / from.cores};
  constexpr double kWritten = 1e-9;  // numbers that went through a file
  const auto same = [](double factor) { return factor > 1 - kWritten && factor < 1 + kWritten; };
  if (same(factors.flops) && same(factors.bandwidth) && same(factors.cores)) return std::nullopt;
  return factors;
}

/// Bytes per element of the operands of C = A B.
struct OperandBytes {
  double a = 2, b = 2, c = 2;
};
OperandBytes operand_bytes(GemmType type);
/// The arithmetic a GEMM of this type runs on.
DataType arithmetic(GemmType type);

/// The chip's peak for `type`; where it has none, that of the next wider type it has (the operands
/// are then converted), and `emulated` says so.
struct MatrixRate {
  Rates rates;
  bool emulated = false;
};
MatrixRate matrix_rates(const Chip& chip, DataType type);

/// Sizes as the formulas take them: 1 .. 2^40, so that no product overflows a double's exponent.
inline constexpr std::int64_t kMostSize = std::int64_t{1} << 40;
constexpr double size_of(std::int64_t n) {
  return static_cast<double>(n < 1 ? 1 : n > kMostSize ? kMostSize : n);
}

}  // namespace flopcast::cost
