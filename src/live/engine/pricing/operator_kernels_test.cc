#include "live/engine/pricing/operator_kernels.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "live/engine/pricing/kernels.h"
#include "live/engine/pricing/product_kernels.h"

namespace flopcast::live {
namespace {

constexpr double kMiB = 1 << 20;

Kernel of_operator(const std::string& text, bool beside = false) {
  const auto call = parse_operator_call(text);
  EXPECT_TRUE(call) << text;
  return call ? work_of(*call, beside).kernel : Kernel();
}
MemoryBound memory(const std::string& text, bool beside = false) {
  const Kernel kernel = of_operator(text, beside);
  EXPECT_TRUE(std::holds_alternative<MemoryBound>(kernel)) << text;
  return std::get<MemoryBound>(kernel);
}

struct Case {
  const char* text;
  MemoryOp op;
  double read, written;  ///< MiB
};

// Tensors of 1024 x 1024: 2 MiB of bf16, 4 MiB of fp32, 8 MiB of i64.
const Case kCases[] = {
    {"aten::add.Tensor bf16:1024x1024*2 bf16:1024x1024 1000 k", MemoryOp::kAdd, 4, 2},
    {"aten::add_.Tensor fp32:1024x1024*2 =0 1000 k", MemoryOp::kAdd, 8, 4},
    {"aten::add.out bf16:1024x1024*3 =2 1000 k", MemoryOp::kAdd, 4, 2},
    {"aten::mul.Tensor bf16:1024x1024,fp32: bf16:1024x1024 1000 k", MemoryOp::kActivation, 2, 2},
    {"aten::silu bf16:1024x1024 bf16:1024x1024 1000 k", MemoryOp::kActivation, 2, 2},
    {"aten::silu_backward bf16:1024x1024*2 bf16:1024x1024 1000 k", MemoryOp::kAdd, 4, 2},
    {"aten::mul.Tensor bf16:1024x1024,bf16:1024x1024~ bf16:1024x1024 1000 k", MemoryOp::kAdd,
     2 + 1.0 / 512, 2},
    // What is read side by side is read once, whatever else it is.
    {"aten::add.Tensor bf16:1024x1024,bf16:1024x1024!1048576 bf16:1024x1024 1000 k", MemoryOp::kAdd,
     2, 2},
    {"aten::sub.Tensor bf16:1024x1024,bf16:1024x1024!524288 bf16:1024x1024 1000 k", MemoryOp::kAdd,
     3, 2},
    {"aten::mul_.Tensor fp32:1024x1024,fp32:1024x1024!1048576 =0 1000 k", MemoryOp::kAdd, 4, 4},
    {"aten::add.out bf16:1024x1024,bf16:1024x1024!1048576*2 =0 1000 k", MemoryOp::kAdd, 2, 2},
    {"aten::add.out bf16:1024x1024*2,bf16:1024x1024!1048576 =0 1000 k", MemoryOp::kAdd, 4, 2},
    {"aten::_foreach_mul_.List fp32:4194304!2097152 - 1000 k", MemoryOp::kAdd, 8, 8},
    {"aten::nobody_knows bf16:1024x1024,bf16:1024x1024!1048576 bf16:1024x1024 1000 k",
     MemoryOp::kElementWise, 2, 2},
    {"aten::cat bf16:1024x1024,bf16:1024x1024!1048576 bf16:2048x1024 1000 k", MemoryOp::kCopy, 4,
     4},
    {"aten::fill_.Scalar bf16:1024x1024 =0 1000 k", MemoryOp::kCopy, 0, 2},
    {"aten::zero_ bf16:1024x1024 =0 1000 k", MemoryOp::kCopy, 0, 2},
    {"aten::copy_ bf16:1024x1024,fp32:1024x1024 =0 1000 k", MemoryOp::kCopy, 4, 2},
    {"aten::cat bf16:1024x1024*4 bf16:4096x1024 1000 k", MemoryOp::kCopy, 8, 8},
    {"aten::sum.dim_IntList fp32:1024x1024 fp32:1024 1000 k", MemoryOp::kElementWise, 4, 1.0 / 256},
    {"aten::native_layer_norm bf16:1024x1024,bf16:1024*2 bf16:1024x1024,fp32:1024x1*2 1000 k",
     MemoryOp::kLayerNorm, 2 + 1.0 / 256, 2 + 1.0 / 128},
    {"aten::_softmax fp32:1024x1024 fp32:1024x1024 1000 k", MemoryOp::kSoftmax, 4, 4},
    {"aten::_log_softmax fp32:8x131072 fp32:8x131072 1000 k", MemoryOp::kElementWise, 12, 4},
    {"aten::_log_softmax_backward_data fp32:8x131072*2 fp32:8x131072 1000 k",
     MemoryOp::kElementWise, 12, 4},
    {"aten::embedding bf16:131072x1024,i64:1024 bf16:1024x1024 1000 k", MemoryOp::kEmbedding,
     2 + 1.0 / 128, 2},
    {"aten::index_put_ bf16:131072x1024,i64:1024,bf16:1024x1024 =0 1000 k", MemoryOp::kEmbedding,
     4 + 1.0 / 64, 2 + 1.0 / 128},
    // One number into rows, into places of two indices.
    {"aten::_index_put_impl_ bf16:131072x1024,i64:1024,bf16: =0 1000 k", MemoryOp::kEmbedding,
     1.0 / 128, 2},
    {"aten::_index_put_impl_ bf16:1024x1024,i64:1024*2,bf16: =0 1000 k", MemoryOp::kEmbedding,
     1.0 / 64, 1.0 / 512},
    {"aten::index_fill_.int_Scalar bf16:131072x1024,i64:1024 =0 1000 k", MemoryOp::kEmbedding,
     1.0 / 128, 2},
    {"aten::nll_loss_forward fp32:1024x1024,i64:1024 fp32:,fp32: 1000 k", MemoryOp::kElementWise,
     3.0 / 256, 0},
    {"aten::nll_loss_backward fp32:,fp32:1024x1024,i64:1024,fp32: fp32:1024x1024 1000 k",
     MemoryOp::kElementWise, 1.0 / 128, 1.0 / 256},
    {"aten::embedding_dense_backward bf16:1024x1024,i64:1024 bf16:131072x1024 1000 k",
     MemoryOp::kEmbedding, 2 + 1.0 / 128, 2},
    {"aten::_fused_adamw_ fp32:1024x1024*4 - 1000 k", MemoryOp::kOptimizer, 16, 12},
    {"aten::_foreach_mul_.Scalar fp32:1024x1024*4 - 1000 k", MemoryOp::kActivation, 16, 16},
    {"aten::_foreach_addcdiv_.ScalarList fp32:1024x1024*6 - 1000 k", MemoryOp::kAdd, 24, 8},
    {"aten::_foreach_copy_ bf16:1024x1024*2,fp32:1024x1024*2 - 1000 k", MemoryOp::kCopy, 8, 4},
    // Lists too long to be told one by one.
    {"aten::_foreach_copy_ bf16:2097152,fp32:2097152 - 1000 k", MemoryOp::kCopy, 8, 4},
    {"aten::_foreach_copy_ bf16:4194304 - 1000 k", MemoryOp::kCopy, 4, 4},
    {"aten::split_with_sizes_copy.out bf16:8x262144,bf16:8x131072*2 - 1000 k", MemoryOp::kCopy, 4,
     4},
    {"aten::max_pool2d_with_indices_backward fp32:512x1024,fp32:1024x1024,i64:512x1024 "
     "fp32:1024x1024 1000 k",
     MemoryOp::kElementWise, 6, 4},
    {"aten::sort i32:1024x1024 i32:1024x1024,i64:1024x1024 1000 k", MemoryOp::kElementWise, 48, 48},
    {"aten::topk fp32:1024x1024 fp32:1024x2,i64:1024x2 1000 k", MemoryOp::kElementWise, 20,
     3.0 / 128},
    {"aten::nobody_knows bf16:1024x1024 bf16:1024x1024*2 500 k", MemoryOp::kElementWise, 1, 2},
    // Not ended when it was told: what it was given counts as what it writes.
    {"aten::nonzero bool:1024x1024 ? 1000 k", MemoryOp::kElementWise, 1, 1},
};

TEST(LiveOperators, BytesAreThoseOfTheirTensors) {
  for (const Case& one : kCases) {
    const MemoryBound kernel = memory(one.text);
    EXPECT_EQ(name(kernel.op), name(one.op)) << one.text;
    EXPECT_NEAR(kernel.read.value / kMiB, one.read, 1e-4) << one.text;
    EXPECT_NEAR(kernel.written.value / kMiB, one.written, 1e-4) << one.text;
  }
}

TEST(LiveOperators, RowsAreThoseOfTheFirstTensor) {
  const MemoryBound kernel = memory(
      "aten::native_layer_norm bf16:8x512x4096,bf16:4096*2 bf16:8x512x4096,fp32:8x512x1*2 1000 k");
  EXPECT_EQ(kernel.rows, 8 * 512);
  EXPECT_EQ(kernel.columns, 4096);
  EXPECT_TRUE(std::get<MemoryBound>(of_operator("aten::_softmax_backward_data fp32:64x128*2 "
                                                "fp32:64x128 1000 k"))
                  .backward);
}

TEST(LiveOperators, BesideALibraryCallOnlyResultsAreCopied) {
  const MemoryBound kernel =
      memory("aten::addmm bf16:1024,bf16:1024x1024*2 bf16:1024x1024 1000 k", true);
  EXPECT_DOUBLE_EQ(kernel.read.value / kMiB, 2);
  EXPECT_DOUBLE_EQ(kernel.written.value / kMiB, 2);
}

constexpr const char* kFlash =
    "_ZN13pytorch_flash16flash_fwd_kernelINS_23Flash_fwd_kernel_"
    "traitsILi128ELi128ELi64ELi4ELb0ELb0E"
    "N7cutlass10bfloat16_tENS_19Flash_kernel_traitsILi128ELi128ELi64ELi4ES3_"
    "EEEELb0ELb1ELb0ELb0ELb1E"
    "Lb1ELb0ELb0EEEvNS_16Flash_fwd_paramsE";

TEST(LiveOperators, FlashKernelsSayWhetherTheyAreCausal) {
  EXPECT_EQ(causal_by_name(kFlash), true);
  std::string other = kFlash;
  other.replace(other.find("ELb0ELb1ELb0"), 12, "ELb0ELb0ELb0");
  EXPECT_EQ(causal_by_name(other), false);
  EXPECT_EQ(causal_by_name("_Z3anyv"), std::nullopt);
  EXPECT_EQ(causal_by_name("Lb"), std::nullopt);
}

TEST(LiveOperators, AttentionIsTheProductsOfItsTensors) {
  const std::string inputs = "bf16:2x4096x32x128,bf16:2x4096x8x128*2";
  const auto attention = std::get<Attention>(of_operator(
      "aten::_flash_attention_forward " + inputs + " bf16:2x4096x32x128 1000 " + kFlash));
  EXPECT_EQ(attention.batch, 2);
  EXPECT_EQ(attention.query_length, 4096);
  EXPECT_EQ(attention.heads, 32);
  EXPECT_EQ(attention.kv_heads, 8);
  EXPECT_TRUE(attention.causal);
  // Of heads before tokens, and backward: the gradient comes first.
  const auto gradient = std::get<Attention>(
      of_operator("aten::_scaled_dot_product_efficient_attention_backward fp16:2x32x512x64*4,fp16: "
                  "fp16:2x32x512x64*3 1000 fmha_cutlassB_f16_aligned_64x64_k64_sm80"));
  EXPECT_EQ(gradient.query_length, 512);
  EXPECT_EQ(gradient.heads, 32);
  EXPECT_TRUE(gradient.backward);
  // What prepares it moves tensors.
  memory(
      "aten::_flash_attention_backward bf16:2x4096x32x128*5 bf16:2x4096x32x128*3 20 "
      "_ZN13pytorch_flash25flash_bwd_dot_do_o_kernelE");
}

TEST(LiveOperators, ConvolutionsAreProducts) {
  const Kernel forward = of_operator(
      "aten::cudnn_convolution fp16:8x64x56x56,fp16:128x64x3x3 fp16:8x128x28x28 1000 k");
  EXPECT_DOUBLE_EQ(kernel_flops(forward).value, 2.0 * 8 * 28 * 28 * 128 * 64 * 9);
  const Kernel both = of_operator(
      "aten::convolution_backward fp16:8x128x28x28,fp16:8x64x56x56,fp16:128x64x3x3 "
      "fp16:8x64x56x56,fp16:128x64x3x3 1000 k");
  EXPECT_DOUBLE_EQ(kernel_flops(both).value, 2 * kernel_flops(forward).value);
  const Kernel depthwise =
      of_operator("aten::_conv_depthwise2d fp16:8x64x56x56,fp16:64x1x3x3 fp16:8x64x56x56 1000 k");
  EXPECT_DOUBLE_EQ(kernel_flops(depthwise).value, 2.0 * 8 * 56 * 56 * 64 * 9);
}

TEST(LiveOperators, ExpertsAreABatchOfProducts) {
  const Kernel kernel =
      of_operator("aten::_grouped_mm bf16:4096x1024,bf16:8x1024x512,i32:8 bf16:4096x512 1000 k");
  EXPECT_DOUBLE_EQ(kernel_flops(kernel).value, 2.0 * 4096 * 1024 * 512);
  // The gradients of the input and of the matrices do as much.
  for (const char* gradient :
       {"aten::_grouped_mm bf16:4096x512,bf16:8x512x1024,i32:8 bf16:4096x1024 1000 k",
        "aten::_grouped_mm bf16:8x512x1024,bf16:1024x4096,i32:8 bf16:512x4096 1000 k",
        "aten::_grouped_mm bf16:1024x4096,bf16:4096x512,i32:8 bf16:8x1024x512 1000 k",
        // One product, also where the result is not known yet, or the matrix is packed.
        "aten::_scaled_mm fp8:4096x1024,fp8:1024x512,fp32:4096x1,fp32:1x512 bf16:4096x512 1000 k",
        "aten::_scaled_mm fp8:4096x1024,fp8:1024x512,fp32:4096x1,fp32:1x512 ? 1000 k",
        "aten::_weight_int4pack_mm bf16:4096x1024,i32:64x8x32x4,bf16:8x512x2 bf16:4096x512 1000 k"})
    EXPECT_DOUBLE_EQ(kernel_flops(of_operator(gradient)).value, 2.0 * 4096 * 1024 * 512);
}

TEST(LiveOperators, KernelsOfOneOperatorMoveItsBytesTogether) {
  double together = 0;
  for (const char* share : {"250", "700", "50"}) {
    together += kernel_bytes(of_operator("aten::cumsum fp32:1024x1024 fp32:1024x1024 " +
                                         std::string(share) + " k"))
                    .value;
  }
  EXPECT_NEAR(together / kMiB, 8, 1e-3);
}

RC_GTEST_PROP(LiveOperators, AnyTextIsReadOrRefused, (const std::string& text)) {
  const Signature signature = parse_signature("operator " + text, 256);
  RC_ASSERT(kernel_bytes(signature.kernel).value >= 0);
}

RC_GTEST_PROP(LiveOperators, DamagedCallsAreReadOrRefused, ()) {
  const auto& one = *rc::gen::elementOf(std::vector<Case>(std::begin(kCases), std::end(kCases)));
  std::string text = one.text;
  const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
  text[at] = *rc::gen::elementOf(std::string("=*~!x:,. 0-9?"));
  const Signature signature = parse_signature("operator " + text, 256);
  RC_ASSERT(std::isfinite(kernel_bytes(signature.kernel).value));
  RC_ASSERT(kernel_bytes(signature.kernel).value >= 0);
}

}  // namespace
}  // namespace flopcast::live
