#include "cost/forms/moe_form.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/numeric/mix.h"
#include "cost/forms/gemm_form.h"

namespace flopcast::cost {
namespace {

constexpr double kLog2E = 1.4426950408889634;

}  // namespace

MoeCoefficients MoeCoefficients::from(std::span<const double> v) {
  return {v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], v[9], v[10], v[11], v[12], v[13]};
}

std::array<double, MoeCoefficients::kCount> MoeCoefficients::values() const {
  return {launch_s,     rate_share,  bandwidth_share, norm,       tile,
          extra_hidden, extra_inner, per_expert_s,    per_copy_s, extra_bytes,
          skew_low,     skew_high,   spread,          activations};
}

MoeShape shape_of(const GroupedGemm& g) {
  MoeShape s;
  s.tokens = size_of(g.tokens);
  s.hidden = size_of(g.hidden);
  s.inner = std::max(1.0, size_of(g.intermediate) / size_of(g.tensor_parallel));
  s.experts = size_of(g.experts);
  s.top_k = std::min(size_of(g.top_k), s.experts);
  s.expert_parallel = std::min(size_of(g.expert_parallel), s.experts);
  s.matrices = g.gated ? 3 : 2;
  return s;
}

MoeForm::MoeForm(const MoeCoefficients& c, const Rates& rates, const OperandBytes& bytes) : c_(c) {
  const double byte_time = 1 / (rates.bandwidth * c.bandwidth_share);
  flop_time_ = 2 / (rates.flops * c.rate_share);
  weight_time_ = bytes.b * byte_time;
  activation_time_ = bytes.a * c.activations * byte_time;
  extra_time_ = c.extra_bytes * byte_time;
}

double MoeForm::log2_time(const MoeShape& s, std::size_t skew) const {
  const double local = s.local_experts(), copies = s.tokens * s.top_k;
  const double power = skew == 0 ? 0 : skew == 1 ? c_.skew_low : c_.skew_high;
  double rows = copies / s.expert_parallel;
  if (skew != 0 && s.expert_parallel > 1) rows *= std::exp2(std::log2(s.expert_parallel) * power);
  rows = std::max(0.02, std::min(rows, s.tokens * std::min(local, s.top_k)));
  const double reached = skew == 0 ? std::min(rows, local)
                                   : local * (1 - std::exp2(-kLog2E * c_.spread * rows / local));
  const double active = std::max(1.0, std::min(reached, local));
  const double slots = active * c_.tile;
  const double padded = rows + slots * (1 - std::exp2(-kLog2E * rows / slots));
  const double compute =
      s.matrices * (s.hidden + c_.extra_hidden) * (s.inner + c_.extra_inner) * padded * flop_time_;
  const double memory = s.matrices * s.hidden * s.inner * active * weight_time_ + extra_time_ +
                        rows * (2 * s.hidden + s.matrices * s.inner) * activation_time_;
  const double fixed = c_.launch_s + c_.per_expert_s * local + c_.per_copy_s * copies * s.hidden;
  return std::log2(fixed + p_norm(compute, memory, c_.norm));
}

MoeCurves::MoeCurves(std::vector<double> tokens, std::vector<Key> keys, std::vector<float> values)
    : tokens_(std::move(tokens)), keys_(std::move(keys)), values_(std::move(values)) {
  for (const double t : tokens_) log2_tokens_.push_back(std::log2(t));
  slots_.assign(std::bit_ceil(2 * keys_.size() + 1), 0);
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    std::size_t slot = hash(keys_[i]) & (slots_.size() - 1);
    while (slots_[slot] != 0) slot = (slot + 1) & (slots_.size() - 1);
    slots_[slot] = static_cast<std::uint32_t>(i + 1);
  }
}

std::uint64_t MoeCurves::hash(const Key& k) {
  const std::uint64_t a = mix((std::uint64_t{k.hidden} << 32U) | k.intermediate);
  const std::uint64_t b = a ^ ((std::uint64_t{k.top_k} << 32U) | k.experts);
  return mix(b * 0x9e3779b97f4a7c15U ^
             ((std::uint64_t{k.tensor_parallel} << 32U) | k.expert_parallel));
}

const float* MoeCurves::lookup(const Key& key) const {
  std::size_t slot = hash(key) & (slots_.size() - 1);
  for (; slots_[slot] != 0; slot = (slot + 1) & (slots_.size() - 1)) {
    const std::size_t i = slots_[slot] - 1;
    if (keys_[i] == key) return values_.data() + i * stride();
  }
  return nullptr;
}

MoeCurves::Found MoeCurves::find(const GroupedGemm& g) const {
  if (keys_.empty()) return {};
  const auto number = [](std::int64_t n) {
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(n, 0, UINT32_MAX));
  };
  Key key{number(g.hidden),  number(g.intermediate),    number(g.top_k),
          number(g.experts), number(g.tensor_parallel), number(g.expert_parallel)};
  if (const float* curve = lookup(key)) return {curve, true};
  key.tensor_parallel = key.expert_parallel = 0;
  return {lookup(key), false};
}

double MoeCurves::at(const float* curve, std::size_t skew, double log2_tokens) const {
  const float* values = curve + skew * tokens_.size();
  const auto above = std::upper_bound(log2_tokens_.begin(), log2_tokens_.end(), log2_tokens);
  if (above == log2_tokens_.begin()) return values[0];
  if (above == log2_tokens_.end()) return values[tokens_.size() - 1];
  const auto i = static_cast<std::size_t>(above - log2_tokens_.begin());
  const double f = (log2_tokens - log2_tokens_[i - 1]) / (log2_tokens_[i] - log2_tokens_[i - 1]);
  const double below = values[i - 1];
  return below + f * (values[i] - below);
}

}  // namespace flopcast::cost
