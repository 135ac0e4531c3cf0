// The base formula of a mixture of experts' GEMMs on one chip of an expert-parallel group:
//
//   rows   = min(T k / ep * ep^s, T min(E/ep, k))   token copies on the busiest chip; s grows with skew
//   active = clamp(rows, 1, E/ep)                   balanced routing spreads over all experts first
//            E/ep (1 - exp(-c rows E^-1 ep))        skewed routing
//   padded = rows + active tile (1 - exp(-rows / (active tile)))
//   t = launch + per_expert E/ep + per_copy T k H + (C^p + M^p)^(1/p)
//   C = 2 G (H + h0) (I/tp + i0) padded / (P e)
//   M = [G H I/tp active bytes_b + bytes0 + rows bytes_a (2 H + G I/tp)] / (W r)
//
// with G = 3 matrices per expert (gate, up, down) or 2. What one chip of the measured tables holds
// is the busiest one, so skew costs more the more ways the experts are split.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "cost/forms/rates.h"

namespace flopcast::cost {

/// Exponents of the power law of expert loads that are measured; others are interpolated.
inline constexpr std::array<double, 3> kSkews = {0, 1.01, 1.2};

struct MoeCoefficients {
  static constexpr std::size_t kCount = 14;
  double launch_s = 2e-5, rate_share = 0.6, bandwidth_share = 0.7, norm = 3, tile = 16,
         extra_hidden = 100, extra_inner = 100, per_expert_s = 1e-8, per_copy_s = 1e-13,
         extra_bytes = 1e6, skew_low = 0.35, skew_high = 0.45, spread = 1, activations = 1;
  static MoeCoefficients from(std::span<const double> v);
  std::array<double, kCount> values() const;
};

/// One layer as the formula sees it.
struct MoeShape {
  double tokens = 1, hidden = 1, inner = 1;  ///< inner: intermediate / tp
  double top_k = 1, experts = 1, expert_parallel = 1, matrices = 3;
  double local_experts() const { return experts / expert_parallel; }
};
MoeShape shape_of(const GroupedGemm& gemm);

class MoeForm {
 public:
  MoeForm() = default;
  MoeForm(const MoeCoefficients& c, const Rates& rates, const OperandBytes& bytes);
  /// log2 of seconds. @param skew index into kSkews.
  double log2_time(const MoeShape& shape, std::size_t skew) const;

 private:
  MoeCoefficients c_;
  double flop_time_ = 0, weight_time_ = 0, activation_time_ = 0, extra_time_ = 0;
};

/// Residual curves of measured layers along the number of tokens.
class MoeCurves {
 public:
  /// Layer and how it is split; tensor_parallel 0: the mean over the splits measured.
  struct Key {
    std::uint32_t hidden = 0, intermediate = 0, top_k = 0, experts = 0;
    std::uint32_t tensor_parallel = 0, expert_parallel = 0;
    auto operator<=>(const Key&) const = default;
  };
  MoeCurves() = default;
  /// @param tokens growing, at least two. @param values per key, per skew, per token count: log2
  /// residuals. Keys are sorted and distinct.
  MoeCurves(std::vector<double> tokens, std::vector<Key> keys, std::vector<float> values);

  struct Found {
    const float* curve = nullptr;  ///< kSkews x tokens; null: nothing is known of this layer
    bool exact = false;            ///< this very split was measured
  };
  Found find(const GroupedGemm& gemm) const;
  double at(const float* curve, std::size_t skew, double log2_tokens) const;

  bool empty() const { return keys_.empty(); }
  const std::vector<double>& tokens() const { return tokens_; }
  const std::vector<Key>& keys() const { return keys_; }
  const std::vector<float>& values() const { return values_; }
  std::size_t stride() const { return kSkews.size() * tokens_.size(); }

 private:
  static std::uint64_t hash(const Key& key);
  const float* lookup(const Key& key) const;

  std::vector<double> tokens_, log2_tokens_;
  std::vector<Key> keys_;
  std::vector<float> values_;
  std::vector<std::uint32_t> slots_;  // open addressing, index + 1; 0 is free
};

}  // namespace flopcast::cost
