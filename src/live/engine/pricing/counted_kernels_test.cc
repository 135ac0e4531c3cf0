// Launches that were counted cost what libraries' kernels of the same work do, and never less than the chip allows.
#include "live/engine/pricing/counted_kernels.h"

#include <gtest/gtest.h>

#include "live/engine/pricing/kernels.h"

namespace flopcast::live {
namespace {

KernelPrices prices_on(const std::string& chip) {
  const Catalog& catalog = Catalog::builtin();
  return KernelPrices(std::move(*Machine::of(*catalog.chip(chip), catalog)),
                      *Rates::make(*catalog.chip(chip), catalog));
}
double seconds(const std::string& chip, const std::string& signature) {
  return prices_on(chip).price(signature, 1 << 20).seconds();
}

TEST(LiveCountedKernels, AProductInBlocksCostsWhatTheLibrarysDoes) {
  for (const std::int64_t size : {1024, 4096, 16384}) {
    const std::string sizes =
        std::to_string(size) + ' ' + std::to_string(size) + ' ' + std::to_string(size);
    const std::string k = std::to_string(size), bytes = std::to_string(4 * size * size);
    const std::string blocks = std::to_string(size / 128 * (size / 64));
    const double library = seconds("h100-sxm", "gemm bf16 " + sizes + " 1 cublas");
    const double counted =
        seconds("h100-sxm", "counted " + bytes + " 0 0 0 known bf16:128:64:" + k + ':' + k + ':' +
                                blocks + ":plain - mm");
    EXPECT_NEAR(counted / library, 1, 0.1) << size;
  }
}

TEST(LiveCountedKernels, NothingIsFasterThanTheChip) {
  const Chip chip = *Catalog::builtin().chip("h100-sxm");
  const auto peak = peak_rate(chip, DataType::kBf16).value;
  for (const char* const kind : {"plain", "attention", "backward"}) {
    for (const double blocks : {1.0, 1e3, 1e6}) {
      const std::string text =
          "counted 1 1 0 0 known bf16:64:64:4096:4096:" + std::to_string(std::int64_t(blocks)) +
          ':' + kind + " - k";
      EXPECT_GE(seconds("h100-sxm", text), 2 * 64 * 64 * 4096 * blocks / peak) << text;
    }
  }
  // Bytes, and operations outside of products.
  EXPECT_GE(seconds("h100-sxm", "counted 8000000000 2000000000 0 0 known - - k"),
            1e10 / chip.hbm_bandwidth.value);
  EXPECT_GE(seconds("h100-sxm", "counted 8000000000 2000000000 0 0 known - softmax:1000:2500000 k"),
            1e10 / chip.hbm_bandwidth.value);
  EXPECT_GE(seconds("h100-sxm", "counted 4 4 1000000000000 0 known - - k"),
            (1 - 1e-9) * 1e12 / peak_rate(chip, DataType::kFp32).value);
}

TEST(LiveCountedKernels, RatesOfOtherKernelsStayWithinTheChip) {
  // A rate that no chip has: ten times what the model of attention says.
  const Catalog& catalog = Catalog::builtin();
  const Chip chip = *catalog.chip("h100-sxm");
  const auto rates = Rates::parse(
      "[[attention]]\nkernel = \"quick\"\nchip = \"h100-sxm\"\nforward_flops = 9e15\n"
      "backward_flops = 9e15\n",
      "rates.toml", chip, catalog);
  ASSERT_TRUE(rates);
  KernelPrices prices(std::move(*Machine::of(chip, catalog)), *rates);
  const double flops = 4.0 * 8192 * 8192 / 2 * 32 * 128;
  EXPECT_GE(prices.price("attention bf16 1 8192 8192 32 32 128 1 0 quick", 1).seconds(),
            flops / peak_rate(chip, DataType::kBf16).value);
}

TEST(LiveCountedKernels, CausalAttentionIsHalfOfTheWhole) {
  const std::string rest = ":attention - k";
  const std::string scores = "counted 1 1 0 0 known bf16:128:64:128:128:262144:plain,";
  const double whole = seconds("h100-sxm", scores + "bf16:128:128:8192:8192:2048" + rest);
  const double causal = seconds(
      "h100-sxm",
      "counted 1 1 0 0 known bf16:128:64:128:128:131072:plain,bf16:128:128:4096:8192:2048" + rest);
  EXPECT_NEAR(causal / whole, 0.5, 0.1);
}

TEST(LiveCountedKernels, WhatIsNotKnownIsToldWithWhatItCanReach) {
  KernelPrices prices = prices_on("h100-sxm");
  prices.price("counted 1000 1000 0 335000000000 tt.made_up - - odd", 1);
  prices.price("arguments 1000 1000 3350000000 other", 1);
  prices.price("kernel nameless", 1);
  prices.price("counted 1000 1000 0 3350000000 assumed - - assumed", 1);
  const auto& unknown = prices.unknown();
  ASSERT_EQ(unknown.size(), 3u);
  EXPECT_EQ(unknown.at("odd (not followed: tt.made_up)").bytes, 335000000000u);
  EXPECT_NEAR(unknown.at("odd (not followed: tt.made_up)").floor.seconds(), 0.1, 0.001);
  EXPECT_NEAR(unknown.at("other").floor.seconds(), 0.001, 1e-5);
  EXPECT_EQ(unknown.at("nameless").bytes, 0u);
  EXPECT_EQ(unknown.at("nameless").floor, unknown.at("nameless").priced.time);
  EXPECT_EQ(prices.by_basis().at("unknown").kernels, 3u);
  EXPECT_EQ(prices.by_basis().at("assumed").kernels, 1u);
}

TEST(LiveCountedKernels, DamagedTextsAreNone) {
  for (const char* const text :
       {"", "1 1 0 0", "1 1 0 0 known", "1 1 0 0 known -", "x 1 0 0 known - - k",
        "-1 1 0 0 known - - k", "1 1 0 0 known bf16:1:1:1:1:1 - k",
        "1 1 0 0 known bf16:1:1:1:1:1:odd - k", "1 1 0 0 known odd:1:1:1:1:1:plain - k",
        "1 1 0 0 known bf16:0:1:1:1:1:plain - k", "1 1 0 0 known - softmax:1 k",
        "1 1 0 0 known - odd:1:1 k"})
    EXPECT_FALSE(parse_counted(text)) << text;
  EXPECT_TRUE(parse_counted("1 1 0 0 known bf16:1:1:1:1:1:plain softmax:1:1 k"));
}

}  // namespace
}  // namespace flopcast::live
