// Calibration is deterministic, and its file says all it found.
#include "cost/model/fits_file.h"
#include "base/numeric/mix.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>

#include "cost/model/grid_text.h"
#include "flopcast/cost/fit.h"

namespace flopcast::cost {
namespace {

Chip h100() { return *Catalog::builtin().chip("h100"); }

/// Samples of every class from the shipped model, each off by up to 5 %.
std::vector<KernelSample> samples() {
  const KernelModel model = std::move(*KernelModel::make(h100(), Catalog::builtin()));
  std::vector<KernelSample> out;
  const auto add = [&](const Kernel& kernel) {
    const double noise = 1 + 0.1 * (static_cast<double>(mix(out.size()) % 1000) / 1000 - 0.5);
    out.push_back({kernel, model.time(kernel).time * noise});
  };
  for (const std::int64_t m : {1, 4, 16, 65, 256, 1000, 4096}) {
    for (const std::int64_t n : {64, 1024, 8192}) {
      for (const std::int64_t k : {128, 1000, 16384}) add(Gemm{m, n, k});
      add(MemoryBound{MemoryOp::kRmsNorm, m, n, DataType::kBf16});
    }
  }
  for (const std::int64_t s : {64, 512, 4096}) {
    for (const std::int64_t heads : {8, 32}) {
      add(Attention{1, s, s, heads, 8, 128});
      add(Attention{16, 1, s, heads, heads, 128});
    }
  }
  for (const std::int64_t tokens : {1, 16, 256, 4096}) {
    add(GroupedGemm{tokens, 4096, 1536, 8, 128, 1, 1});
    add(GroupedGemm{tokens, 4096, 1536, 8, 128, 1, 8, GemmType::kBf16, 1.2});
  }
  return out;
}

TEST(Calibrate, SameSamplesSameBytes) {
  const std::vector<KernelSample> rows = samples();
  const std::string first = calibrate_kernels(h100(), rows, "a \"test\"").toml();
  EXPECT_EQ(first, calibrate_kernels(h100(), rows, "a \"test\"").toml());
}

TEST(Calibrate, AFileReadBackGivesTheSameTimesAndText) {
  const std::vector<KernelSample> rows = samples();
  const KernelFit fit = calibrate_kernels(h100(), rows, "a \"test\" \\ of quotes");
  const std::string text = fit.toml();
  const Result<KernelFit> again = KernelFit::parse(text, "fit.toml");
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(again->toml(), text);
  const KernelModel before = KernelModel::make(h100(), fit);
  const KernelModel after = KernelModel::make(h100(), *again);
  for (const KernelSample& row : rows) {
    EXPECT_DOUBLE_EQ(before.time(row.kernel).time.value, after.time(row.kernel).time.value);
    EXPECT_EQ(before.time(row.kernel).source, after.time(row.kernel).source);
  }
}

TEST(Calibrate, FollowsItsSamples) {
  const std::vector<KernelSample> rows = samples();
  const KernelModel model = KernelModel::make(h100(), calibrate_kernels(h100(), rows, "test"));
  std::map<std::string, std::vector<double>> missed;
  for (const KernelSample& row : rows) {
    const double ratio = model.time(row.kernel).time / row.time;
    missed[operation_name(row.kernel)].push_back(std::abs(ratio - 1));
  }
  for (const auto& [operation, misses] : missed) {
    const double sum = std::accumulate(misses.begin(), misses.end(), 0.0);
    EXPECT_LT(sum / static_cast<double>(misses.size()), 0.08) << operation;
  }
}

TEST(Calibrate, MergingKeepsTheLaterFitOfAClass) {
  const std::vector<KernelSample> slow = {{Gemm{64, 64, 64}, {1}}, {Gemm{64, 64, 128}, {1}}};
  const std::vector<KernelSample> fast = {{Gemm{64, 64, 64}, {1e-3}}, {Gemm{64, 64, 128}, {1e-3}}};
  const KernelFit merged =
      merge(calibrate_kernels(h100(), slow, "slow"), calibrate_kernels(h100(), fast, "fast"));
  const KernelModel model = KernelModel::make(h100(), merged);
  EXPECT_LT(model.time(Gemm{64, 64, 64}).time.value, 0.1);
  EXPECT_NE(model.time(Gemm{64, 64, 64}).source.find("fast"), std::string_view::npos);
}

TEST(FitFile, MistakesAreNamedWithTheirLine) {
  const std::string good = calibrate_kernels(h100(), samples(), "test").toml();
  const auto refused = [](const std::string& text) {
    const Result<KernelFit> fit = KernelFit::parse(text, "fit.toml");
    return fit ? std::string() : fit.error().text();
  };
  const auto with = [&good](const std::string& from, const std::string& to) {
    std::string text = good;
    return text.replace(text.find(from), from.size(), to);
  };
  EXPECT_EQ(refused(good), "");
  EXPECT_NE(refused("chip = ").find("fit.toml:1"), std::string::npos);
  EXPECT_NE(refused(with("format = 1", "format = 9")).find("format"), std::string::npos);
  EXPECT_NE(refused(with("type = \"bf16\"", "type = \"bf17\"")).find("type"), std::string::npos);
  EXPECT_NE(refused(with("rows = ", "rows = -")).find("rows"), std::string::npos);
  EXPECT_NE(refused(with("axes = [[1, 2,", "axes = [[2, 1,")).find("axes"), std::string::npos);
  EXPECT_NE(refused(with("step = ", "step = 1e9 # ")).find("step"), std::string::npos);
  EXPECT_NE(refused(with("knots = [\n\"", "knots = [\n\"?")).find("knots"), std::string::npos);
}

TEST(GridText, GridsKeepOrderAndPrecision) {
  std::vector<float> values;
  for (int i = 0; i < 5000; ++i) values.push_back(static_cast<float>(-18 + 0.003 * i));
  const cost::PackedGrid packed = cost::pack_grid(values);
  const auto again = cost::unpack_grid(packed, values.size());
  ASSERT_TRUE(again);
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_NEAR((*again)[i], values[i], packed.step / 2 + 1e-5);
    EXPECT_GE((*again)[i], (*again)[i == 0 ? 0 : i - 1]);
  }
  EXPECT_FALSE(cost::unpack_grid(packed, values.size() - 1));
  EXPECT_FALSE(cost::unpack_grid({0, 1, "A?"}, 1));
}

TEST(GridText, CurvesAreFineNearZeroAndReachFar) {
  std::vector<float> values = {0, 0.01F, -0.1F, 0.5F, -2.9F};
  const auto again = cost::unpack_curves(cost::pack_curves(values), values.size());
  ASSERT_TRUE(again);
  EXPECT_EQ((*again)[0], 0);
  EXPECT_NEAR((*again)[1], 0.01, 0.006);
  EXPECT_NEAR((*again)[2], -0.1, 0.008);
  EXPECT_NEAR((*again)[3], 0.5, 0.025);
  EXPECT_NEAR((*again)[4], -2.9, 0.13);
  const std::string packed = cost::pack_curves(*again);
  EXPECT_EQ(packed, cost::pack_curves(*cost::unpack_curves(packed, values.size())));
  EXPECT_FALSE(cost::unpack_curves("\\", 1));
}

}  // namespace
}  // namespace flopcast::cost
