#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "flopcast/cost/fit.h"

namespace flopcast::cost {
namespace {

using ::testing::HasSubstr;

KernelSamples read(const std::string& text) {
  Result<KernelSamples> samples = parse_kernel_samples(text, "t.csv");
  EXPECT_TRUE(samples) << (samples ? "" : samples.error().text());
  return samples ? std::move(*samples) : KernelSamples{};
}

TEST(KernelSamples, Gemm) {
  const KernelSamples s = read("gemm_dtype,m,n,k,latency\nbfloat16,128,4096,2048,0.5\n");
  ASSERT_EQ(s.rows.size(), 1U);
  const auto& g = std::get<Gemm>(s.rows[0].kernel);
  EXPECT_EQ(g.m, 128);
  EXPECT_EQ(g.n, 4096);
  EXPECT_EQ(g.k, 2048);
  EXPECT_EQ(g.type, GemmType::kBf16);
  EXPECT_DOUBLE_EQ(s.rows[0].time.value, 0.5e-3);
}

TEST(KernelSamples, AttentionOfBothPhases) {
  const std::string head =
      "num_heads,num_key_value_heads,head_dim,window_size,attn_dtype,kv_cache_dtype,latency\n";
  const KernelSamples prefill =
      read("batch_size,isl," + head + "4,4096,32,8,128,0,bfloat16,fp8,2\n");
  const auto& p = std::get<Attention>(prefill.rows.at(0).kernel);
  EXPECT_EQ(p.query_length, 4096);
  EXPECT_EQ(p.kv_length, 4096);
  EXPECT_EQ(p.kv_cache, DataType::kFp8);
  EXPECT_EQ(operation_name(p), "attention prefill bf16");
  const KernelSamples decode =
      read("batch_size,isl,step," + head + "4,1,1023,32,0,128,0,bfloat16,bfloat16,2\n");
  const auto& d = std::get<Attention>(decode.rows.at(0).kernel);
  EXPECT_EQ(d.query_length, 1);
  EXPECT_EQ(d.kv_length, 1024);
  EXPECT_EQ(d.kv_heads, 32);  // 0: as many as heads
  EXPECT_EQ(operation_name(d), "attention decode bf16");
}

TEST(KernelSamples, OneLayerCountsOnceByItsFastestKernel) {
  const KernelSamples s = read(
      "moe_dtype,num_tokens,hidden_size,inter_size,topk,num_experts,moe_tp_size,moe_ep_size,"
      "distribution,latency\n"
      "nvfp4,16,4096,1536,8,128,1,4,balanced,0.5\n"
      "nvfp4,16,4096,1536,8,128,1,4,balanced,0.2\n"
      "nvfp4,16,4096,1536,8,128,1,4,power_law_1.2,0.3\n"
      "nvfp4,16,2688,1856,6,128,1,4,balanced,0.3\n");
  ASSERT_EQ(s.rows.size(), 3U);
  EXPECT_DOUBLE_EQ(s.rows[0].time.value, 0.2e-3);
  EXPECT_DOUBLE_EQ(std::get<GroupedGemm>(s.rows[1].kernel).skew, 1.2);
  EXPECT_TRUE(std::get<GroupedGemm>(s.rows[0].kernel).gated);
  EXPECT_FALSE(std::get<GroupedGemm>(s.rows[2].kernel).gated);
}

TEST(KernelSamples, VidurLayersGiveTheirMemoryBoundOperators) {
  const KernelSamples s = read(
      "time_stats.emb.median,time_stats.input_layernorm.median,time_stats.attn_rope.median,"
      "time_stats.mlp_act.median,n_head,n_kv_head,n_embd,n_expanded_embd,use_gated_mlp,num_tokens,"
      "num_tensor_parallel_workers\n0.1,0.2,0.3,0.4,64,8,8192,28672,True,100,4\n");
  ASSERT_EQ(s.rows.size(), 4U);
  const auto& rope = std::get<MemoryBound>(s.rows[2].kernel);
  EXPECT_EQ(rope.op, MemoryOp::kRope);
  EXPECT_EQ(rope.columns, 72 * 128 / 4);
  const auto& act = std::get<MemoryBound>(s.rows[3].kernel);
  EXPECT_EQ(act.op, MemoryOp::kGatedActivation);
  EXPECT_EQ(act.columns, 28672 / 4);
  EXPECT_EQ(act.rows, 100);
}

TEST(KernelSamples, PlainOperators) {
  const KernelSamples s = read("op,rows,columns,dtype,latency\nsoftmax,4096,512,fp16,0.05\n");
  EXPECT_EQ(std::get<MemoryBound>(s.rows.at(0).kernel).op, MemoryOp::kSoftmax);
}

TEST(KernelSamples, BadRowsAreCountedAndTheFirstIsNamed) {
  const KernelSamples s = read(
      "gemm_dtype,m,n,k,latency\nbf16,1,1,1,1\nbf16,0,1,1,1\nbf16,1,1,1,-1\nmagic,1,1,1,1\n"
      "bf16,1,1,1,nan\nbf16,1,1,1e99,1\n");
  EXPECT_EQ(s.rows.size(), 1U);
  EXPECT_EQ(s.anomalies.count("bad_row"), 5U);
  EXPECT_THAT(s.anomalies.list().at(0).first, HasSubstr("t.csv:3"));
  EXPECT_THAT(s.anomalies.list().at(0).first, HasSubstr("m is 0"));
}

TEST(KernelSamples, OtherTablesAreRefused) {
  const auto unknown = parse_kernel_samples("a,b\n1,2\n", "t.csv");
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().what, HasSubstr("a, b"));
  EXPECT_THAT(unknown.error().hint, HasSubstr("gemm_dtype"));
  const auto empty = parse_kernel_samples("gemm_dtype,m,n,k,latency\nx,1,1,1,1\n", "t.csv");
  ASSERT_FALSE(empty);
  EXPECT_THAT(empty.error().what, HasSubstr("no usable row"));
}

}  // namespace
}  // namespace flopcast::cost
