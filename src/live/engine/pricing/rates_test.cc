#include "live/engine/pricing/rates.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "live/engine/pricing/kernels.h"

namespace flopcast::live {
namespace {

Chip chip_of(const std::string& name) { return *Catalog::builtin().chip(name); }

Result<Rates> rates_of(const std::string& text, const std::string& chip = "h100-sxm") {
  return Rates::parse(text, "rates.toml", chip_of(chip), Catalog::builtin());
}

KernelPrices recorded_prices(const std::string& chip, Conditions conditions = {}) {
  return KernelPrices(std::move(*Machine::of(chip_of(chip), Catalog::builtin())),
                      std::move(*Rates::make(chip_of(chip), Catalog::builtin())), conditions);
}

constexpr const char* kClasses = R"(
[[memory]]
name = "plain"
kernels = ["elementwise", "!odd"]
share = 0.5
chips = ["h100-sxm"]
[[memory]]
name = "lists"
kernels = ["multi", "apply"]
like = "plain"
)";

TEST(LiveRates, TheFirstClassWithAllWordsAndNoneOfTheOthersCounts) {
  const auto rates = rates_of(kClasses);
  ASSERT_TRUE(rates) << rates.error().text();
  const double half = 0.5 * chip_of("h100-sxm").hbm_bandwidth.value;
  EXPECT_DOUBLE_EQ(rates->streaming("_Z11elementwiseE")->bytes_per_second, half);
  EXPECT_EQ(rates->streaming("_Z11elementwiseE")->basis, Basis::kFitted);
  EXPECT_FALSE(rates->streaming("an odd elementwise"));
  EXPECT_FALSE(rates->streaming("multi"));
  EXPECT_DOUBLE_EQ(rates->streaming("multi_tensor_apply")->bytes_per_second, half);
  // Nobody measured those, nor that chip.
  EXPECT_EQ(rates->streaming("multi_tensor_apply")->basis, Basis::kRoofline);
  EXPECT_EQ(rates_of(kClasses, "a100")->streaming("elementwise")->basis, Basis::kRoofline);
}

TEST(LiveRates, FilesThatSayNothingAreRefused) {
  EXPECT_FALSE(rates_of("[[memory]]\nname = \"a\"\nshare = 0.5\n"));
  EXPECT_FALSE(rates_of("[[memory]]\nname = \"a\"\nkernels = [\"k\"]\nshare = 0\n"));
  EXPECT_FALSE(rates_of("[[memory]]\nname = \"a\"\nkernels = [\"k\"]\nlike = \"b\"\n"));
  EXPECT_FALSE(
      rates_of("[[memory]]\nname = \"a\"\nkernels = [\"k\"]\nshare = 0.5\nelements = -1\n"));
  EXPECT_FALSE(rates_of("[[attention]]\nkernel = \"k\"\nforward_flops = 1e14\n"));
  EXPECT_FALSE(
      rates_of("[[attention]]\nkernel = \"k\"\nforward_flops = 1e14\n"
               "backward_flops = 1e14\nchip = \"no chip\"\n"));
}

TEST(LiveRates, AttentionTakesWhatWasPublished) {
  KernelPrices prices = recorded_prices("h100-sxm");
  const auto rate = [&prices](const char* what, double tokens, bool backward) {
    const std::string signature = "attention bf16 " + std::to_string(16384 / int(tokens)) + " " +
                                  std::to_string(int(tokens)) + " " + std::to_string(int(tokens)) +
                                  " 16 16 128 1 " + (backward ? "1 " : "0 ") + what;
    const double flops = 2 * 16384 * tokens * 16 * 128 * (backward ? 2.5 : 1);
    return flops / prices.price(signature, 1).seconds() / 1e12;
  };
  // Figures 5 and 6 of arXiv:2407.08608, causal forward.
  EXPECT_NEAR(rate("pytorch_flash", 4096, false), 319, 35);
  EXPECT_NEAR(rate("pytorch_flash", 8192, false), 333, 35);
  EXPECT_NEAR(rate("cudnn attention", 4096, false), 518, 55);
  EXPECT_NEAR(rate("cudnn attention", 8192, false), 529, 55);
  EXPECT_LT(rate("pytorch_flash", 4096, true), rate("pytorch_flash", 4096, false));
  EXPECT_EQ(prices.by_basis().size(), 1u);
  EXPECT_EQ(prices.by_basis().count("fitted"), 1u);
}

TEST(LiveRates, LargeKernelsStreamAsTheirClassDoes) {
  KernelPrices prices = recorded_prices("h100-sxm");
  const auto time = [&prices](const std::string& what, const std::string& kernel) {
    return prices.price("operator " + what + " 1000 " + kernel, 1).seconds();
  };
  const std::string add = "aten::add.Tensor bf16:50304x768*2 bf16:50304x768";
  // modded-nanogpt's trace has 77.3 and 331 us of these.
  EXPECT_NEAR(time(add, "vectorized_elementwise_kernel") / 77.3e-6, 1, 0.05);
  // As many elements a second whatever their bytes: TraceLens's traces have 57.2 and 32.6 us of these.
  EXPECT_NEAR(time("aten::copy_ bf16:3136x8x12x64*2 =0", "elementwise_kernel") / 57.2e-6, 1, 0.2);
  EXPECT_NEAR(time("aten::mul.Tensor fp32:16x559x1024,fp32:16x559x1 fp32:16x559x1024",
                   "elementwise_kernel") /
                  32.6e-6,
              1, 0.2);
  // Where elements are large, bandwidth is less.
  const double wide =
      time("aten::mul.Tensor c64:8192x32x64*2 c64:8192x32x64", "elementwise_kernel");
  EXPECT_GT(3 * 8.0 * 8192 * 32 * 64 / wide, 0.8 * chip_of("h100-sxm").hbm_bandwidth.value);
  EXPECT_EQ(prices.by_basis().count("assumed"), 0u);
  // Small ones are launches.
  EXPECT_LT(time("aten::copy_ bf16:8,bf16:8 =0", "vectorized_elementwise_kernel"), 4e-6);
  // What an operator does that is in no table is assumed, whatever its kernel is called.
  time("aten::nobody_knows bf16:8 bf16:8", "vectorized_elementwise_kernel");
  EXPECT_EQ(prices.by_basis().at("assumed").kernels, 1u);
}

// Of Liger-Kernel's benchmarks (BSD-2; benchmark/data/all_benchmark_data.csv): PyTorch's own operators, to which nothing was
// fitted.
TEST(LiveRates, OperatorsTakeWhatOthersMeasured) {
  const auto time = [](const std::string& chip, const std::string& what,
                       const std::string& kernel) {
    return recorded_prices(chip).price("operator " + what + " 1000 " + kernel, 1).seconds();
  };
  // relu, then square: 185.5 and 97.9 us.
  const auto relu = [&time](const std::string& rows) {
    const std::string sizes = "bf16:" + rows + "x8192";
    return time("h100-sxm", "aten::relu " + sizes + " " + sizes, "vectorized_elementwise_kernel");
  };
  EXPECT_NEAR(relu("8192") / (185.5e-6 / 2), 1, 0.03);
  EXPECT_NEAR(relu("4096") / (97.9e-6 / 2), 1, 0.05);
  // The cross entropy of 16,384 rows: rows too long to be kept are read three times.
  const auto log_softmax = [&time](const std::string& sizes) {
    return time("a100-sxm-80g", "aten::_log_softmax " + sizes + " " + sizes, "cunn_SoftMaxForward");
  };
  EXPECT_NEAR(log_softmax("fp32:16384x131072") / 20.73e-3, 1, 0.12);
  EXPECT_NEAR(log_softmax("fp32:16384x32768") / 5.317e-3, 1, 0.12);
}

TEST(LiveRates, ElementsWorkedOutGoByCoresAndClock) {
  const auto elements = [](const std::string& chip) {
    return Rates::make(chip_of(chip), Catalog::builtin())
        ->streaming("elementwise_kernel")
        ->elements_per_second;
  };
  EXPECT_NEAR(elements("a100-sxm-80g") / elements("h100-sxm"), 108 * 1.41 / (132 * 1.98), 0.01);
}

/// A cache that a step's keys are put into is as large as the memory.
TEST(LiveRates, WhatIsPutIntoALargeTensorIsNotAllOfIt) {
  KernelPrices prices = recorded_prices("h100-sxm");
  const std::string kernel = " =0 1000 index_elementwise_kernel";
  const std::string all = "operator aten::_index_put_impl_ bf16:1048576x4x64,i64:1048576,bf16:";
  for (const char* const few : {"_index_put_impl_ bf16:1048576x4x64,i64:8,bf16:8x4x64",
                                "index_copy_ bf16:1048576x4x64,i64:8,bf16:8x4x64",
                                "_index_put_impl_ bf16:1048576x4x64,i64:8,bf16:",
                                "index_fill_.int_Scalar bf16:1048576x4x64,i64:8"}) {
    EXPECT_LT(prices.price(std::string("operator aten::") + few + kernel, 1).seconds(), 20e-6)
        << few;
  }
  EXPECT_GT(prices.price(all + kernel, 1).seconds(), 500e-6);
}

TEST(LiveRates, AFillIsWrittenACopyIsReadToo) {
  const KernelPrices prices = recorded_prices("h100-sxm");
  const std::uint64_t bytes = 1u << 30;
  EXPECT_GT(prices.copy_on_chip(bytes).seconds(), 1.8 * prices.fill_on_chip(bytes).seconds());
}

TEST(LiveRates, PowerSlowsProductsAlone) {
  KernelPrices full = recorded_prices("h100-sxm");
  KernelPrices held = recorded_prices("h100-sxm", {1, 0.5});
  const std::string gemm = "gemm bf16 4096 4096 4096 1 k", moves = "memory 1073741824 1073741824 k";
  EXPECT_NEAR(held.price(gemm, 1).seconds() / full.price(gemm, 1).seconds(), 2, 1e-6);
  EXPECT_EQ(held.price(moves, 1), full.price(moves, 1));
}

RC_GTEST_PROP(LiveRates, AnyTextIsReadOrRefused, (const std::string& text)) {
  const auto rates = rates_of(text);
  const bool fine = !rates || !rates->streaming("k") || rates->streaming("k")->bytes_per_second > 0;
  RC_ASSERT(fine);
}

}  // namespace
}  // namespace flopcast::live
