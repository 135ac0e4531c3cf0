// The base formulas: numbers by hand, and that they do not fall.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "cost/forms/attention_form.h"
#include "cost/forms/gemm_form.h"
#include "cost/forms/moe_form.h"
#include "cost/model/memory_bound.h"

namespace flopcast::cost {
namespace {

GemmCoefficients plain_gemm(double quantised) {
  GemmCoefficients c;
  c.launch_s = 2e-6;
  c.bandwidth_share = 1;
  c.norm = 12;
  c.extra_k = c.byte_k = c.byte_n = 1e-9;
  c.rate_share.fill(0.001);
  c.rate_share[2] = 0.5;  // only 128 x 128 tiles are any good
  c.quantised.fill(quantised);
  return c;
}

TEST(GemmForm, WorkedNumber) {
  // 100 cores of 1 TFLOP/s each at half of it: a wave of 100 tiles of 128 x 128 with k = 1000 takes
  // 2 * 128 * 128 * 1000 / 0.5e12 = 65.536 us. 1280 x 1408 are 110 tiles: two waves.
  const Rates rates{100e12, 1e15, 100};
  const GemmForm stepped(plain_gemm(0.95), rates, {2, 2, 2});
  const double two_waves = 2e-6 + (1.1 + 0.95 * 0.9) * 65.536e-6;
  EXPECT_NEAR(std::exp2(stepped.log2_time(1280, 1408, 1000, 1)) / two_waves, 1, 1e-6);
  EXPECT_NEAR(std::exp2(stepped.log2_smooth(1280, 1408, 1000, 1)) / (2e-6 + 1.1 * 65.536e-6), 1,
              1e-6);
  // Memory-bound: 2 * (1 * 1000 + 1000 * 1000 + 1 * 1000) bytes at 1 GB/s.
  const GemmForm slow_memory(plain_gemm(0.5), {100e12, 1e9, 100}, {2, 2, 2});
  EXPECT_NEAR(std::exp2(slow_memory.log2_time(1, 1000, 1000, 1)) / (2e-6 + 2.004e-3), 1, 1e-3);
}

RC_GTEST_PROP(GemmForm, DoesNotFall, ()) {
  GemmCoefficients c = plain_gemm(*rc::gen::inRange(0, 95) / 100.0);
  for (double& share : c.rate_share) share = *rc::gen::inRange(1, 100) / 100.0;
  c.norm = 1 + *rc::gen::inRange(0, 100) / 20.0;
  c.extra_k = *rc::gen::inRange(1, 500);
  c.byte_k = *rc::gen::inRange(1, 5000);
  c.byte_n = *rc::gen::inRange(1, 5000);
  const GemmForm form(c, {989e12, 3.35e12, 132}, {1, 1, 2});
  std::array<double, 4> x;
  for (double& v : x) v = *rc::gen::inRange(1, 20000);
  const double before = form.log2_time(x[0], x[1], x[2], x[3]);
  x[static_cast<std::size_t>(*rc::gen::inRange(0, 4))] += *rc::gen::inRange(0, 3000);
  RC_ASSERT(form.log2_time(x[0], x[1], x[2], x[3]) >= before - 1e-9);
}

double pairs_by_counting(std::int64_t queries, std::int64_t keys, std::int64_t window,
                         bool causal) {
  double pairs = 0;
  for (std::int64_t q = keys - queries; q < keys; ++q) {
    for (std::int64_t k = 0; k < keys; ++k) {
      if (causal && k > q) continue;
      if (causal && window > 0 && k <= q - window) continue;
      ++pairs;
    }
  }
  return pairs;
}

RC_GTEST_PROP(AttentionForm, CountsPairsAsTheMaskDoes, ()) {
  AttentionShape shape;
  const std::int64_t queries = *rc::gen::inRange(1, 40), keys = queries + *rc::gen::inRange(0, 40);
  shape.queries = static_cast<double>(queries);
  shape.keys = static_cast<double>(keys);
  shape.window = *rc::gen::inRange(0, 90);
  RC_ASSERT(attention_pairs(shape) == pairs_by_counting(queries, keys, shape.window, true));
  shape.causal = false;
  shape.window = 0;
  RC_ASSERT(attention_pairs(shape) == pairs_by_counting(queries, keys, 0, false));
}

TEST(AttentionForm, DecodeReadsTheCacheOnce) {
  AttentionCoefficients c;
  c.launch_s = 5e-6;
  c.bandwidth_share = 0.9;
  c.extra_keys = 1e-9;
  const AttentionKind kind{true, DataType::kBf16, DataType::kFp8, 128, 0};
  const AttentionForm form(c, {989e12, 3e12, 132}, kind);
  AttentionShape shape;
  shape.keys = 8192;
  shape.batch = 64;
  shape.heads = 32;
  shape.kv_heads = 8;
  const double bytes = 2.0 * 64 * 8 * 8192 * 128;
  EXPECT_NEAR(std::exp2(form.log2_time(shape)) / (5e-6 + bytes / 2.7e12), 1, 1e-6);
}

TEST(MoeForm, ReachesEveryExpertBeforeItPads) {
  MoeCoefficients c;
  c.launch_s = 1e-9, c.per_expert_s = c.per_copy_s = 1e-20, c.extra_bytes = 1e-3;
  c.bandwidth_share = 1, c.norm = 10, c.activations = 1e-6;
  const Rates rates{1e18, 1e12, 100};  // weights decide
  const MoeForm form(c, rates, {2, 2, 2});
  MoeShape s;
  s.hidden = 1000, s.inner = 500, s.experts = 64, s.top_k = 8;
  const double expert = 3.0 * 1000 * 500 * 2 / 1e12;
  s.tokens = 2;
  EXPECT_NEAR(std::exp2(form.log2_time(s, 0)) / (16 * expert), 1, 1e-3);
  s.tokens = 100;
  EXPECT_NEAR(std::exp2(form.log2_time(s, 0)) / (64 * expert), 1, 1e-3);
  s.expert_parallel = 8;
  EXPECT_NEAR(std::exp2(form.log2_time(s, 0)) / (8 * expert), 1, 1e-3);
  s.tokens = 10;  // 10 copies here: skew sends them to fewer experts
  EXPECT_LT(form.log2_time(s, 2), form.log2_time(s, 0) + 1e-9);
}

TEST(MemoryBound, BytesFollowTheOperator) {
  const MemoryBound norm{MemoryOp::kRmsNorm, 100, 200, DataType::kBf16};
  EXPECT_EQ(bytes_of(norm), 100 * 200 * 2 * 2);
  MemoryBound gated{MemoryOp::kGatedActivation, 100, 200, DataType::kBf16};
  EXPECT_EQ(bytes_of(gated), 100 * 200 * 2 * 3);
  gated.read = {10};
  gated.written = {5};
  EXPECT_EQ(bytes_of(gated), 15);
}

}  // namespace
}  // namespace flopcast::cost
