#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <tuple>

#include "cost/operators/tables.h"
#include "flopcast/cost/fit.h"
#include "flopcast/cost/operators.h"
#include "support/shared_traces.h"

namespace flopcast {
namespace {

using cost::OperatorClasses;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kBf16Pair = R"(["c10::BFloat16", "c10::BFloat16"])";

Chip chip(const char* name) { return *Catalog::builtin().chip(name); }
ChipRatios ratios(const char* from, const char* to) {
  Result<ChipRatios> made = ChipRatios::make(chip(from), chip(to), Catalog::builtin());
  EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().text());
  return std::move(*made);
}
std::string class_of(std::string_view name, std::string_view operation = "",
                     std::string_view dims = "", std::string_view types = "") {
  const auto tables = *cost::operator_tables();
  const std::vector<OperatorInput> inputs = operator_inputs(dims, types);
  const std::size_t i = tables->classes.of({name, operation, inputs});
  return i == OperatorClasses::kUnknown ? "unknown" : tables->classes[i].name;
}

TEST(OperatorInputs, SizesAndTypesOneByOne) {
  const auto inputs =
      operator_inputs("[[64, 512], [], [512, 8]]", R"(["float", "Scalar", "c10::Half"])");
  ASSERT_EQ(inputs.size(), 3U);
  EXPECT_THAT(inputs[0].size, ElementsAre(64, 512));
  EXPECT_EQ(inputs[0].type, DataType::kFp32);
  EXPECT_EQ(inputs[0].element_bytes, 4);
  EXPECT_THAT(inputs[1].size, IsEmpty());
  EXPECT_EQ(inputs[1].type, std::nullopt);
  EXPECT_EQ(inputs[2].type, DataType::kFp16);
}

TEST(OperatorInputs, TensorsOfAListComeOneByOne) {
  const auto inputs =
      operator_inputs("[[[4, 1, 768], [4, 196, 768]], []]", R"(["TensorList", "Scalar"])");
  ASSERT_EQ(inputs.size(), 3U);
  EXPECT_THAT(inputs[0].size, ElementsAre(4, 1, 768));
  EXPECT_THAT(inputs[1].size, ElementsAre(4, 196, 768));
}

TEST(OperatorInputs, WhatIsNoListOfSizesHasNone) {
  for (const char* text : {"", "[", "{}", "17", "nonsense"}) {
    EXPECT_THAT(operator_inputs(text, text), IsEmpty()) << text;
  }
}

TEST(OperatorKernel, Products) {
  const auto of = [](const char* name, const char* dims, const char* types) {
    const auto kernel = operator_kernel(name, operator_inputs(dims, types));
    return kernel ? std::get<Gemm>(*kernel) : Gemm{};
  };
  const Gemm mm = of("aten::mm", "[[64, 512], [512, 8]]", kBf16Pair);
  EXPECT_THAT((std::vector{mm.m, mm.n, mm.k, mm.batch}), ElementsAre(64, 8, 512, 1));
  EXPECT_EQ(mm.type, GemmType::kBf16);
  const Gemm addmm =
      of("aten::addmm", "[[8], [64, 512], [512, 8]]", R"(["float","float","float"])");
  EXPECT_THAT((std::vector{addmm.m, addmm.n, addmm.k, addmm.batch}), ElementsAre(64, 8, 512, 1));
  EXPECT_EQ(addmm.type, GemmType::kFp32);
  const Gemm bmm = of("aten::bmm", "[[96, 64, 512], [96, 512, 8]]", kBf16Pair);
  EXPECT_THAT((std::vector{bmm.m, bmm.n, bmm.k, bmm.batch}), ElementsAre(64, 8, 512, 96));
  // One weight for all: its rows are one product's. A linear layer's weight is stored as [n, k].
  const Gemm linear = of("aten::linear", "[[4, 64, 512], [8, 512]]", kBf16Pair);
  EXPECT_THAT((std::vector{linear.m, linear.n, linear.k, linear.batch}),
              ElementsAre(256, 8, 512, 1));
}

TEST(OperatorKernel, AttentionAndWhatIsNone) {
  const char* types = R"(["c10::BFloat16","c10::BFloat16","c10::BFloat16"])";
  const auto inputs =
      operator_inputs("[[2, 128, 16, 64], [2, 256, 4, 64], [2, 256, 4, 64]]", types);
  const Attention a =
      std::get<Attention>(*operator_kernel("aten::_flash_attention_forward", inputs));
  EXPECT_THAT((std::vector{a.batch, a.query_length, a.kv_length, a.heads, a.kv_heads, a.head_dim}),
              ElementsAre(2, 128, 256, 16, 4, 64));
  EXPECT_FALSE(operator_kernel("aten::add", inputs));
  EXPECT_FALSE(operator_kernel("aten::mm", {}));
}

TEST(OperatorClasses, ByKernelThenByOperator) {
  EXPECT_EQ(class_of("void at::native::vectorized_elementwise_kernel<4, at::native::Add>(int)"),
            "contiguous");
  EXPECT_EQ(class_of("void at::native::elementwise_kernel<128, 4, at::native::gpu>(int)"),
            "strided");
  EXPECT_EQ(class_of("void at::native::reduce_kernel<512, 1, at::native::Mean>(int)"), "reduction");
  EXPECT_EQ(class_of("triton_poi_fused_add_0"), "contiguous");
  EXPECT_EQ(class_of("triton_red_fused__fused_rms_norm_embedding_0"), "reduction");
  EXPECT_EQ(class_of("void at::native::index_elementwise_kernel<128, 4>(int)"), "gather");
  EXPECT_EQ(class_of("pytorch_flash::flash_fwd_kernel<Traits>"), "attention");
  EXPECT_EQ(class_of("Cijk_Alik_Bljk_BBS_BH_MT64x64x64"), "gemm");
  EXPECT_EQ(class_of("igemm_fwd_gtcx3_nhwc_bf16", "aten::miopen_convolution"), "convolution");
  EXPECT_EQ(class_of("my_kernel", "aten::native_layer_norm"), "norm");
  EXPECT_EQ(class_of("my_kernel", "my::operator"), "unknown");
  EXPECT_EQ(class_of("ncclDevKernel_AllReduce_Sum_f32_RING_LL(int)"), "unknown");
}

TEST(OperatorClasses, ProductsThatFastKernelsCannotTake) {
  const auto bmm = [](const char* dims) {
    return class_of("ampere_bf16_gemm", "aten::bmm", dims, kBf16Pair);
  };
  EXPECT_EQ(bmm("[[96, 3136, 64], [96, 64, 3136]]"), "gemm");
  EXPECT_EQ(bmm("[[96, 3137, 64], [96, 64, 3137]]"), "odd gemm");  // 6274 bytes a row
  EXPECT_EQ(bmm("[[96, 3136, 63], [96, 63, 3136]]"), "odd gemm");
  EXPECT_EQ(bmm("[[9600, 8, 64], [9600, 64, 64]]"), "thin gemm");
  EXPECT_EQ(bmm("[[9600, 8, 64], [9600, 64, 8]]"), "tiny gemm");
  EXPECT_EQ(class_of("cutlass_kernel", "aten::cudnn_convolution",
                     "[[4, 3, 224, 224], [768, 3, 16, 16]]", kBf16Pair),
            "odd convolution");
}

TEST(OperatorTables, NameTheirMistakes) {
  const auto classes =
      OperatorClasses::parse("[[class]]\nname = \"a\"\nrate = \"cores\"\n", "classes");
  ASSERT_TRUE(classes.ok());
  const auto what = [&](const char* text) {
    const auto speeds = cost::parse_speeds(text, "chip.toml", *classes);
    return speeds ? "" : speeds.error().text();
  };
  EXPECT_THAT(what("chip = \"x\""), HasSubstr("lacks class 'a'"));
  EXPECT_THAT(what("[[class]]\nname = \"a\""), HasSubstr("names no chip"));
  EXPECT_THAT(what("chip = \"x\"\n[[class]]\nname = \"b\""), HasSubstr("no class 'b'"));
  EXPECT_THAT(
      what("chip = \"x\"\n[[class]]\nname = \"a\"\nfloor_s = 1e-6\nshare = 0\nspread = [1, 1]"),
      HasSubstr("share"));
  EXPECT_EQ(
      what("chip = \"x\"\n[[class]]\nname = \"a\"\nfloor_s = 1e-6\nshare = 0.5\nspread = [1, 1]"),
      "");
  EXPECT_FALSE(
      OperatorClasses::parse("[[class]]\nname = \"a\"\nrate = \"fast\"\n", "classes").ok());
}

// By hand: 20 us of which the floor of H100 is not scaled, and the rest by bandwidth and share.
TEST(ChipRatios, FloorAndRest) {
  const auto tables = *cost::operator_tables();
  const std::size_t kind = tables->classes.named("contiguous");
  const auto speed_of = [&](const char* name) {
    for (const auto& speeds : tables->chips) {
      if (speeds.chip == name) return speeds.classes[kind];
    }
    return cost::ClassSpeed{};
  };
  const cost::ClassSpeed a = speed_of("h100-sxm"), b = speed_of("mi300x");
  const double expected = b.floor_s + (20e-6 - a.floor_s) * (3350e9 * a.share) / (5300e9 * b.share);
  const MovedTime there =
      ratios("h100", "mi300x").time({"vectorized_elementwise_kernel", "", {}}, {20e-6});
  EXPECT_NEAR(there.time.value, expected, 1e-10);
  EXPECT_EQ(there.kind, "contiguous");
  EXPECT_EQ(there.basis, Basis::kFitted);
  EXPECT_LT(there.low.value, there.time.value);
  EXPECT_GT(there.high.value, there.time.value);
}

TEST(ChipRatios, ThereAndBackIsTheSame) {
  const ChipRatios there = ratios("h100", "mi300x"), back = ratios("mi300x", "h100");
  for (const char* name :
       {"vectorized_elementwise_kernel", "softmax", "gemm", "flash_fwd_kernel"}) {
    for (const double us : {6.0, 12.0, 900.0}) {
      const RecordedKernel kernel{name, "", {}};
      const Seconds on_amd = there.time(kernel, {us * 1e-6}).time;
      EXPECT_NEAR(back.time(kernel, on_amd).time.value, us * 1e-6, 1e-12) << name << " " << us;
    }
  }
}

// A chip of the same make without a table of its own: by the ratio of what bounds the class.
TEST(ChipRatios, RelativesGoByTheirRates) {
  const ChipRatios to_h200 = ratios("h100", "h200");
  const double second = 1.0;
  EXPECT_NEAR(to_h200.time({"vectorized_elementwise_kernel", "", {}}, {second}).time.value,
              3350.0 / 4800, 1e-4);
  EXPECT_NEAR(to_h200.time({"elementwise_kernel", "", {}}, {second}).time.value, 1,
              1e-4);  // as many cores
  const MovedTime gemm = to_h200.time({"nvjet_hsh", "", {}}, {second});
  EXPECT_NEAR(gemm.time.value, 1, 1e-4);
  EXPECT_EQ(gemm.basis, Basis::kRoofline);
  EXPECT_FALSE(to_h200.measured());
  EXPECT_THAT(to_h200.basis(), HasSubstr("h200-sxm as h100-sxm"));
}

// Kernels that are bound by their instructions go by cores and clocks: 108 at 1.41 GHz against 132 at
// 1.98.
TEST(ChipRatios, InstructionsGoByCoresAndClocks) {
  const MovedTime norm = ratios("a100", "h100").time({"layer_norm_kernel", "", {}}, {1.0});
  EXPECT_NEAR(norm.time.value, 108 * 1.41 / (132 * 1.98), 0.005);
}

// Where both chips' products were measured, their fits say more than peaks.
TEST(ChipRatios, ProductsGoByBothChipsFits) {
  const auto inputs = operator_inputs("[[4096, 4096], [4096, 4096]]", kBf16Pair);
  const ChipRatios to_b200 = ratios("a100", "b200");
  const MovedTime there = to_b200.time({"gemm", "aten::mm", inputs}, {500e-6});
  const Kernel shape = *operator_kernel("aten::mm", inputs);
  const double a = KernelModel::make(chip("a100"), Catalog::builtin())->time(shape).time.value;
  const double b = KernelModel::make(chip("b200"), Catalog::builtin())->time(shape).time.value;
  EXPECT_NEAR(there.time.value, 500e-6 * b / a, 1e-9);
  EXPECT_THAT(std::string(there.source), HasSubstr("fits of a100-sxm-80g and b200-sxm"));
}

TEST(ChipRatios, OfNothingKnownTheBandHoldsEveryRate) {
  const MovedTime there = ratios("h100", "mi300x").time({"my_kernel", "", {}}, {1e-3});
  EXPECT_EQ(there.kind, "unknown");
  EXPECT_EQ(there.basis, Basis::kAssumed);
  for (const double ratio : {3350.0 / 5300, 989.4 / 1307.4, 66.9 / 163.4}) {
    EXPECT_LT(there.low.value, 1e-3 * ratio);
    EXPECT_GT(there.high.value, 1e-3 * ratio);
  }
}

// --- Kernels measured on two chips -----------------------------------------------------------------

/// A name such kernels have, and what tells two of them apart.
using MeasuredKey = std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t>;
struct MeasuredKernel {
  MeasuredKey key;
  std::string dims;  ///< of a product
  double seconds = 0;
};
std::vector<MeasuredKernel> measured_on(const std::filesystem::path& file) {
  constexpr std::pair<MemoryOp, const char*> kNames[] = {
      {MemoryOp::kRmsNorm, "rms_norm"},
      {MemoryOp::kLayerNorm, "layer_norm"},
      {MemoryOp::kActivation, "gelu"},
      {MemoryOp::kGatedActivation, "silu"},
      {MemoryOp::kAdd, "vectorized_elementwise_kernel"},
      {MemoryOp::kRope, "rotary"},
      {MemoryOp::kEmbedding, "embedding"}};
  std::vector<MeasuredKernel> out;
  const Result<KernelSamples> samples = read_kernel_samples(file);
  EXPECT_TRUE(samples.ok());
  for (const KernelSample& sample : samples->rows) {
    if (const auto* gemm = std::get_if<Gemm>(&sample.kernel)) {
      if (gemm->type != GemmType::kBf16) continue;
      out.push_back({{"gemm", gemm->m, gemm->n, gemm->k},
                     fmt::format("[[{}, {}], [{}, {}]]", gemm->m, gemm->k, gemm->k, gemm->n),
                     sample.time.value});
    } else if (const auto* memory = std::get_if<MemoryBound>(&sample.kernel)) {
      for (const auto& [op, name] : kNames) {
        if (op == memory->op)
          out.push_back({{name, memory->rows, memory->columns, 0}, "", sample.time.value});
      }
    }
  }
  return out;
}

/// Share of the kernels of both files whose time on the second chip lies in the band.
double share_held(const std::filesystem::path& from, const char* from_chip,
                  const std::filesystem::path& to, const char* to_chip) {
  std::map<MeasuredKey, double> there;
  for (const MeasuredKernel& one : measured_on(to)) there.emplace(one.key, one.seconds);
  const ChipRatios between = ratios(from_chip, to_chip);
  std::size_t held = 0, count = 0;
  for (const MeasuredKernel& one : measured_on(from)) {
    const auto other = there.find(one.key);
    if (other == there.end()) continue;
    const std::vector<OperatorInput> inputs =
        one.dims.empty() ? std::vector<OperatorInput>() : operator_inputs(one.dims, kBf16Pair);
    const MovedTime moved = between.time(
        {std::get<0>(one.key), one.dims.empty() ? "" : "aten::mm", inputs}, Seconds{one.seconds});
    held += moved.low.value <= other->second && other->second <= moved.high.value ? 1 : 0;
    ++count;
  }
  EXPECT_GE(count, 100U);
  return static_cast<double>(held) / static_cast<double>(count);
}

TEST(ChipRatios, BandsHoldProductsMeasuredOnTwoChips) {
  EXPECT_GE(share_held(test::data_path("kernels/h200_sxm_gemm.csv"), "h200",
                       test::data_path("kernels/b200_sxm_gemm.csv"), "b200"),
            0.8);
}

TEST(ChipRatios, BandsHoldMemoryBoundKernelsMeasuredOnTwoChips) {
  FLOPCAST_SHARED_OR_SKIP(folder, "measured/kernels/vidur");
  for (const char* model : {"meta-llama__Llama-2-7b-hf", "Qwen__Qwen-72B"}) {
    const auto file = [&](const char* chip) {
      return folder / fmt::format("data__profiling__compute__{}__{}__mlp.csv.gz", chip, model);
    };
    EXPECT_GE(share_held(file("a100"), "a100", file("h100"), "h100"), 0.8) << model;
    EXPECT_GE(share_held(file("h100"), "h100", file("a100"), "a100"), 0.8) << model;
  }
}

}  // namespace
}  // namespace flopcast
