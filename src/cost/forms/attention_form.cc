#include "cost/forms/attention_form.h"

#include <algorithm>
#include <cmath>

#include "cost/forms/gemm_form.h"

namespace flopcast::cost {
namespace {

constexpr double kTileQueries = 128;
/// The products of the two halves of attention, 2 FLOP each, per query, key and head dimension.
constexpr double kFlopsPerPair = 4;

}  // namespace

AttentionKind kind_of(const Attention& a) {
  return {is_decode(a), a.type, a.kv_cache, a.head_dim, std::max<std::int64_t>(a.window, 0)};
}

AttentionShape shape_of(const Attention& a) {
  AttentionShape shape;
  shape.queries = size_of(a.query_length);
  shape.keys = std::max(size_of(a.kv_length), shape.queries);
  shape.batch = size_of(a.batch);
  shape.heads = size_of(a.heads);
  shape.kv_heads = std::min(size_of(a.kv_heads), shape.heads);
  shape.causal = a.causal;
  shape.window = std::max<std::int64_t>(a.window, 0);
  return shape;
}

double attention_pairs(const AttentionShape& s) {
  const double q = s.queries, reach = s.window > 0 ? size_of(s.window) : s.keys;
  if (!s.causal) return q * std::min(s.keys, s.window > 0 ? 2 * reach : s.keys);
  // Query i of q (0-based) sees keys up to keys - q + i, at most `reach` of them.
  const double first = s.keys - q + 1;
  if (reach <= first) return q * reach;
  const double growing = std::min(q, reach - first);  // queries that still see all keys so far
  return growing * first + 0.5 * growing * (growing - 1) + (q - growing) * std::min(reach, s.keys);
}

AttentionForm::AttentionForm(const AttentionCoefficients& c, const Rates& rates,
                             const AttentionKind& kind)
    : decode_(kind.decode),
      launch_(c.launch_s),
      p_(c.norm),
      extra_keys_(c.extra_keys),
      quantised_(c.quantised),
      per_core_(1 / rates.cores) {
  const auto dim = static_cast<double>(std::max<std::int64_t>(kind.head_dim, 1));
  wave_ = rates.cores * kFlopsPerPair * dim * kTileQueries / (rates.flops * c.rate_share);
  const double byte_time = 1 / (rates.bandwidth * c.bandwidth_share);
  per_query_ = dim * (bytes_per_element(kind.type) + 2) * byte_time;
  per_key_ = 2 * dim * bytes_per_element(kind.kv_cache) * byte_time;
}

double AttentionForm::evaluate(const AttentionShape& s, double quantised) const {
  if (decode_) {
    const double reach = s.window > 0 ? std::min(s.keys, static_cast<double>(s.window)) : s.keys;
    return std::log2(launch_ + s.batch * s.kv_heads * (reach + extra_keys_) * per_key_);
  }
  const double mean_keys = attention_pairs(s) / s.queries;
  const double waves = s.batch * s.heads * std::ceil(s.queries / kTileQueries) * per_core_;
  const double blended = waves + quantised * (std::ceil(waves) - waves);
  const double compute = blended * wave_ * (mean_keys + extra_keys_);
  const double memory =
      s.batch * (s.heads * s.queries * per_query_ + s.kv_heads * s.keys * per_key_);
  return std::log2(launch_ + p_norm(compute, memory, p_));
}

}  // namespace flopcast::cost
