// The base formula of flash attention's time. Prefill (one tile is 128 queries of one head):
//
//   t = launch + (C^p + M^p)^(1/p)
//   C = [(1-q) w + q ceil(w)] cores * 4 d 128 (keys + s0) / (P e),  w = batch heads ceil(s/128) / cores
//   M = (queries, outputs, keys and values, once each) / (W r)
//
// with `keys` the mean number of keys a query meets. Decode reads the cache once:
//
//   t = launch + (2 b h_kv d (S + s0) bytes) / (W r)
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "cost/forms/rates.h"

namespace flopcast::cost {

/// What is compiled into an attention kernel; each has a fit of its own.
struct AttentionKind {
  bool decode = false;
  DataType type = DataType::kBf16, kv_cache = DataType::kBf16;
  std::int64_t head_dim = 128, window = 0;

  bool operator==(const AttentionKind&) const = default;
};
/// One query against a cache; a prompt of one token is a prefill.
inline bool is_decode(const Attention& a) { return a.query_length <= 1 && a.kv_length > 1; }
AttentionKind kind_of(const Attention& attention);

struct AttentionCoefficients {
  static constexpr std::size_t kCount = 6;
  double launch_s = 5e-6, rate_share = 0.5, bandwidth_share = 0.8, norm = 2, extra_keys = 100,
         quantised = 0.3;
  static AttentionCoefficients from(std::span<const double> v) {
    return {v[0], v[1], v[2], v[3], v[4], v[5]};
  }
  std::array<double, kCount> values() const {
    return {launch_s, rate_share, bandwidth_share, norm, extra_keys, quantised};
  }
};

/// One attention as the formula sees it.
struct AttentionShape {
  double queries = 1, keys = 1;  ///< lengths; of the cache within reach of the window
  double batch = 1, heads = 1, kv_heads = 1;
  bool causal = true;
  std::int64_t window = 0;
};
AttentionShape shape_of(const Attention& attention);

/// Query-key pairs of one head: causal masks end at the last key, windows reach back `window` keys.
double attention_pairs(const AttentionShape& shape);

class AttentionForm {
 public:
  AttentionForm() = default;
  AttentionForm(const AttentionCoefficients& c, const Rates& rates, const AttentionKind& kind);
  double log2_time(const AttentionShape& shape) const { return evaluate(shape, quantised_); }
  double log2_smooth(const AttentionShape& shape) const { return evaluate(shape, 0); }

 private:
  double evaluate(const AttentionShape& shape, double quantised) const;

  bool decode_ = false;
  double launch_ = 0, p_ = 1, extra_keys_ = 0, quantised_ = 0;
  double wave_ = 0;                     // seconds per wave and key
  double per_query_ = 0, per_key_ = 0;  // seconds per element: query and output; key and value
  double per_core_ = 1;
};

}  // namespace flopcast::cost
