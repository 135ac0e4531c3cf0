// Forecasts against published measurements that were kept out of the fit. The tables are not part
// of the repository; without them the tests are skipped.
#include <gtest/gtest.h>

#include "flopcast/cost/fit.h"
#include "support/shared_traces.h"

namespace flopcast::cost {
namespace {

const std::string kTables = "measured/kernels/aiconfigurator/";

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

TEST(KernelAccuracy, GemmShapesKeptOut) {
  FLOPCAST_SHARED_OR_SKIP(file, kTables + "h200_sxm_gemm_perf.csv.gz");
  const KernelErrors bf16 = held_out(file, "h200", KernelHoldOut::kRandom, "gemm bf16");
  EXPECT_GT(bf16.rows, 1000U);
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

TEST(KernelAccuracy, PrefillAndDecodeKeptOut) {
  FLOPCAST_SHARED_OR_SKIP(prefill, kTables + "a100_sxm_context_attention_perf.csv.gz");
  const KernelErrors p =
      held_out(prefill, "a100", KernelHoldOut::kRandom, "attention prefill bf16");
  EXPECT_LT(p.mape, 0.04);
  EXPECT_LT(p.p95, 0.12);
  FLOPCAST_SHARED_OR_SKIP(decode, kTables + "h200_sxm_generation_attention_perf.csv.gz");
  const KernelErrors d = held_out(decode, "h200", KernelHoldOut::kRandom, "attention decode bf16");
  EXPECT_LT(d.mape, 0.07);
  EXPECT_LT(d.p95, 0.20);
}

TEST(KernelAccuracy, MoeLayersKeptOut) {
  FLOPCAST_SHARED_OR_SKIP(file, kTables + "b200_sxm_moe_perf.csv.gz");
  const KernelErrors layers = held_out(file, "b200", KernelHoldOut::kModels, "moe fp8");
  EXPECT_LT(layers.mape, 0.14);
  EXPECT_LT(layers.p95, 0.45);
}

TEST(KernelAccuracy, BlackwellFromHopper) {
  FLOPCAST_SHARED_OR_SKIP(file, kTables + "b200_sxm_gemm_perf.csv.gz");
  const Result<KernelSamples> samples = read_kernel_samples(file);
  ASSERT_TRUE(samples);
  std::vector<KernelSample> rows;
  for (const KernelSample& row : samples->rows) {
    if (operation_name(row.kernel) == "gemm bf16") rows.push_back(row);
  }
  const auto model =
      KernelModel::make(*Catalog::builtin().chip("b200"), Catalog::builtin(), {{}, "h100"});
  ASSERT_TRUE(model);
  const KernelErrors e = kernel_errors("b200", forecast_all(*model, rows)).at(0);
  EXPECT_LT(e.mape, 0.13);
  EXPECT_GT(e.band_coverage, 0.75);
  EXPECT_LT(e.band_coverage, 0.85);
  EXPECT_LT(e.band_width, 1.25);
}

}  // namespace
}  // namespace flopcast::cost
