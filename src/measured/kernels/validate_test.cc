// What is kept out, and errors of forecasts.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "flopcast/measured/kernels.h"

namespace flopcast::measured {
namespace {

TEST(KernelHoldOut, FoldsAreFixedByTheSeed) {
  std::vector<KernelSample> rows;
  for (std::int64_t m = 1; m <= 400; ++m) rows.push_back({Gemm{m, m % 20 + 1, 64}, {1e-5}});
  const auto share = [&rows](KernelHoldOut kind, std::uint64_t seed) {
    const std::vector<int> folds = hold_out_folds(rows, kind, seed);
    return static_cast<double>(std::count(folds.begin(), folds.end(), 0)) / 400;
  };
  EXPECT_NEAR(share(KernelHoldOut::kRandom, 1), 0.2, 0.06);
  EXPECT_EQ(hold_out_folds(rows, KernelHoldOut::kRandom, 3),
            hold_out_folds(rows, KernelHoldOut::kRandom, 3));
  EXPECT_NE(hold_out_folds(rows, KernelHoldOut::kRandom, 3),
            hold_out_folds(rows, KernelHoldOut::kRandom, 4));
  EXPECT_NEAR(share(KernelHoldOut::kLargest, 1), 0.1, 0.01);
  EXPECT_NEAR(share(KernelHoldOut::kSmallM, 1), 0.01, 1e-9);
  const std::vector<int> pairs = hold_out_folds(rows, KernelHoldOut::kPairs, 1);
  for (std::size_t i = 20; i < rows.size(); ++i) EXPECT_EQ(pairs[i], pairs[i - 20]);
}

TEST(KernelErrors, AreThoseOfTheForecasts) {
  std::vector<KernelSample> rows(10, {Gemm{1, 1, 1}, {100e-6}});
  std::vector<KernelForecast> forecasts;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    KernelTime t;
    t.time = {(90e-6) + 2e-6 * static_cast<double>(i)};
    t.low = t.time * 0.95;
    t.high = t.time * 1.05;
    forecasts.push_back({&rows[i], t});
  }
  const std::vector<KernelErrors> errors = kernel_errors("c", forecasts);
  ASSERT_EQ(errors.size(), 2U);
  EXPECT_EQ(errors[0].size_class, "all");
  EXPECT_EQ(errors[1].size_class, "100 us-1 ms");
  EXPECT_NEAR(errors[0].mape, 0.05, 1e-9);
  EXPECT_NEAR(errors[0].bias, 0.99, 1e-9);
  EXPECT_NEAR(errors[0].band_coverage, 0.5, 1e-9);
  EXPECT_NEAR(errors[0].band_width, std::sqrt(1.05 / 0.95), 1e-9);
}

}  // namespace
}  // namespace flopcast::measured
