// Forecasts against published measurements that were kept out of the fit: on the rows in tests/data,
// and on all rows of the same tables where ../shared is at hand. The same limits hold on both.
#include <gtest/gtest.h>

#include "flopcast/measured/kernels.h"
#include "support/shared_traces.h"

namespace flopcast::measured {
namespace {

KernelErrors held_out(const std::filesystem::path& file, const std::string& chip,
                      KernelHoldOut kind, const std::string& operation) {
  const Result<KernelSamples> samples = read_kernel_samples(file);
  if (!samples) return {};
  std::vector<KernelSample> rows;
  for (const KernelSample& row : samples->rows) {
    if (operation_name(row.kernel) == operation) rows.push_back(row);
  }
  return held_out_errors(*Catalog::builtin().chip(chip), rows, kind, 7).at(0);
}

enum class Rows : std::uint8_t { kInTheTree, kAll };
void PrintTo(Rows rows, std::ostream* out) { *out << (rows == Rows::kAll ? "all" : "in the tree"); }

class KernelAccuracy : public testing::TestWithParam<Rows> {
 protected:
  void SetUp() override {
    if (GetParam() == Rows::kInTheTree) return;
    FLOPCAST_SHARED_OR_SKIP(all, kAll);
  }
  static std::filesystem::path table(const std::string& name) {
    if (GetParam() == Rows::kInTheTree) return test::data_path("kernels/" + name + ".csv");
    return test::shared_path(kAll) / (name + "_perf.csv.gz");
  }

 private:
  static constexpr const char* kAll = "measured/kernels/aiconfigurator";
};

TEST_P(KernelAccuracy, GemmShapesKeptOut) {
  const std::filesystem::path file = table("h200_sxm_gemm");
  const KernelErrors bf16 = held_out(file, "h200", KernelHoldOut::kRandom, "gemm bf16");
  EXPECT_GT(bf16.rows, GetParam() == Rows::kAll ? 1000U : 500U);
  EXPECT_LT(bf16.mape, 0.055);
  EXPECT_LT(bf16.p95, 0.15);
  EXPECT_NEAR(bf16.band_coverage, 0.8, 0.05);
  const KernelErrors fp8 = held_out(file, "h200", KernelHoldOut::kPairs, "gemm fp8");
  EXPECT_LT(fp8.mape, 0.035);
  EXPECT_LT(fp8.p95, 0.10);
  const KernelErrors largest = held_out(file, "h200", KernelHoldOut::kLargest, "gemm bf16");
  EXPECT_LT(largest.mape, 0.07);
  EXPECT_LT(largest.p95, 0.17);
}

TEST_P(KernelAccuracy, PrefillAndDecodeKeptOut) {
  const KernelErrors p = held_out(table("a100_sxm_context_attention"), "a100",
                                  KernelHoldOut::kRandom, "attention prefill bf16");
  EXPECT_GT(p.rows, 250U);
  EXPECT_LT(p.mape, 0.04);
  EXPECT_LT(p.p95, 0.12);
  const KernelErrors d = held_out(table("h200_sxm_generation_attention"), "h200",
                                  KernelHoldOut::kRandom, "attention decode bf16");
  EXPECT_GT(d.rows, 500U);
  EXPECT_LT(d.mape, 0.07);
  EXPECT_LT(d.p95, 0.20);
}

TEST_P(KernelAccuracy, MoeLayersKeptOut) {
  const KernelErrors layers =
      held_out(table("b200_sxm_moe"), "b200", KernelHoldOut::kModels, "moe fp8");
  EXPECT_GE(layers.rows, 3000U);
  EXPECT_LT(layers.mape, 0.14);
  EXPECT_LT(layers.p95, 0.45);
}

TEST_P(KernelAccuracy, BlackwellFromHopper) {
  const Result<KernelSamples> samples = read_kernel_samples(table("b200_sxm_gemm"));
  ASSERT_TRUE(samples);
  std::vector<KernelSample> rows;
  for (const KernelSample& row : samples->rows) {
    if (operation_name(row.kernel) == "gemm bf16") rows.push_back(row);
  }
  const auto model =
      KernelModel::make(*Catalog::builtin().chip("b200"), Catalog::builtin(), {{}, "h100", {}});
  ASSERT_TRUE(model);
  const KernelErrors e = kernel_errors("b200", forecast_all(*model, rows)).at(0);
  EXPECT_LT(e.mape, 0.13);
  EXPECT_GT(e.band_coverage, 0.75);
  EXPECT_LT(e.band_coverage, 0.85);
  EXPECT_LT(e.band_width, 1.25);
}

INSTANTIATE_TEST_SUITE_P(Tables, KernelAccuracy, testing::Values(Rows::kInTheTree, Rows::kAll),
                         [](const auto& param) {
                           return std::string(param.param == Rows::kAll ? "AllRows" : "InTheTree");
                         });

}  // namespace
}  // namespace flopcast::measured
