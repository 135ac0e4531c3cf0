// What kernels do, by the names that libraries gave them in recordings.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "flopcast/trace.h"

namespace flopcast {
namespace {

TEST(KernelNames, KindsOfRecordedNames) {
  using Kind = KernelKind;
  const std::pair<const char*, Kind> names[] = {
      {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)", Kind::kCommunication},
      {"void deep_ep::internode_ll::combine<3, 10, 7168, 9>(void*)", Kind::kCommunication},
      {"nvjet_tst_256x128_64x4_1x2_h_bz_coopA_NNT", Kind::kGemm},
      {"ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_tn", Kind::kGemm},
      {"void cutlass::Kernel2<cutlass_80_tensorop_f16_s16816gemm_relu>(int)", Kind::kGemm},
      {"Cijk_Ailk_Bljk_B_BS_BH_Bias_HA_S_SAV_UserArgs_MT128x256x32", Kind::kGemm},
      {"void implicit_convolve_sgemm<float, float, 1024>(int)", Kind::kGemm},
      {"void cudnn::detail::dgrad_engine<float, 512>(int)", Kind::kGemm},
      {"volta_scudnn_128x64_stridedB_interior_nn_v1", Kind::kGemm},
      {"void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<x> > >(y)",
       Kind::kAttention},
      {"fmha_cutlassF_bf16_aligned_64x64_rf_sm80(Params)", Kind::kAttention},
      {"attn_fwd", Kind::kAttention},
      {"triton_red_fused__flash_attention_backward_mm_3", Kind::kOther},
      {"void at::native::(anonymous namespace)::cunn_SoftMaxForward<8>(gemm_type)", Kind::kOther},
      {"void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor>(int)",
       Kind::kOther},
      {"", Kind::kOther},
  };
  for (const auto& [name, kind] : names) EXPECT_EQ(kernel_kind(name), kind) << name;
}

}  // namespace
}  // namespace flopcast
