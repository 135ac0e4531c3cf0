#include "live/engine/pricing/named_kernels.h"

#include <gtest/gtest.h>

#include "live/engine/pricing/kernels.h"

namespace flopcast::live {
namespace {

constexpr const char* kAdd =
    "_ZN2at6native29vectorized_elementwise_kernelILi8ENS0_15CUDAFunctor_"
    "addIN3c108BFloat16EEESt5arrayIPcLm3EEEE"
    "viT0_T1_";
constexpr const char* kFill =
    "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5arrayIPcLm1EEEEviT0_"
    "T1_";
constexpr const char* kForEach =
    "_ZN2at6native57_GLOBAL__N__0_0_0_025multi_tensor_apply_kernelINS1_"
    "18TensorListMetadataILi2EEENS1_"
    "14UnaryOpFunctorIfLi2ELi1ELi1EEEJEEEvT_T0_DpT1_";

TEST(LiveNamedKernels, ElementsAreThoseOfTheGrid) {
  const auto add = named_kernel(kAdd, 1024);
  ASSERT_TRUE(add);
  EXPECT_DOUBLE_EQ(add->read.value, 1024 * 8 * 2 * 2);
  EXPECT_DOUBLE_EQ(add->written.value, 1024 * 8 * 2);
  const auto fill = named_kernel(kFill, 1024);
  EXPECT_DOUBLE_EQ(fill->read.value, 0);
  EXPECT_DOUBLE_EQ(fill->written.value, 1024 * 8 * 4);
}

TEST(LiveNamedKernels, ListsAreDoneInChunks) {
  const auto kernel = named_kernel(kForEach, 512);
  ASSERT_TRUE(kernel);
  EXPECT_DOUBLE_EQ(kernel->read.value, 65536 * 2 * 4);
  EXPECT_DOUBLE_EQ(kernel->written.value, 65536 * 4);
}

TEST(LiveNamedKernels, WhatIsNotKnownIsNotGuessed) {
  EXPECT_FALSE(named_kernel("_Z8whateverv", 512));
  EXPECT_FALSE(named_kernel("TensorListMetadataILi", 512));
  EXPECT_FALSE(named_kernel("", 0));
  EXPECT_TRUE(named_kernel("triton_poi_fused_add_0", 0));
  EXPECT_TRUE(parse_signature(std::string("kernel ") + kAdd, 512).known);
  EXPECT_FALSE(parse_signature("kernel _Z8whateverv", 512).known);
}

TEST(LiveNamedKernels, ArgumentsTellWhatIsMoved) {
  const Signature read = parse_signature("arguments 8192 4096 65536 triton_poi_fused_add_0", 512);
  EXPECT_FALSE(read.known);  // what it does with them
  EXPECT_DOUBLE_EQ(read.behind, 65536);
  EXPECT_EQ(read.name, "triton_poi_fused_add_0");
  const auto& kernel = std::get<MemoryBound>(read.kernel);
  EXPECT_DOUBLE_EQ(kernel.read.value, 8192);
  EXPECT_DOUBLE_EQ(kernel.written.value, 4096);
  EXPECT_FALSE(parse_signature("arguments many 4096 name", 512).known);
}

}  // namespace
}  // namespace flopcast::live
