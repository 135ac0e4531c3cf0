// How far moved kernels are off: the constant that widens their bands is found anew from the catalogue's fits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "catalog_files.h"
#include "cost/model/attention.h"
#include "cost/model/constants.h"
#include "cost/model/fits_file.h"
#include "cost/model/gemm.h"

namespace flopcast::cost {
namespace {

/// One kernel of a chip, forecast from another chip's fit.
struct KernelMiss {
  double distance = 0, log_error = 0;
};

double rates_distance(const Rates& from, const Rates& to) {
  return std::abs(std::log(to.flops / from.flops)) +
         std::abs(std::log(to.bandwidth / from.bandwidth));
}

std::vector<Gemm> products_of(GemmType type) {
  std::vector<Gemm> products;
  for (const std::int64_t m : {1, 16, 64, 256, 1024, 4096, 16384}) {
    for (const std::int64_t n : {1024, 4096, 8192, 16384}) {
      for (const std::int64_t k : {1024, 4096, 8192, 16384}) products.push_back({m, n, k, 1, type});
    }
  }
  return products;
}

std::vector<Attention> attentions_of(const AttentionKind& kind) {
  std::vector<Attention> all;
  for (const std::int64_t batch : {1, 8, 32}) {
    for (const std::int64_t length : {512, 2048, 8192}) {
      for (const std::int64_t kv_heads : {8, 32}) {
        Attention one{batch, kind.decode ? 1 : length, length, 32, kv_heads, kind.head_dim};
        one.type = kind.type, one.kv_cache = kind.kv_cache;
        all.push_back(one);
      }
    }
  }
  return all;
}

/// Both fits are of one class of kernels.
template <typename Model, typename Fit, typename Kernel>
void add_kernel_misses(const Fit& from, const Fit& to, const std::vector<Kernel>& kernels,
                       std::vector<KernelMiss>& out) {
  const Rates &old_rates = from.origin.rates, &new_rates = to.origin.rates;
  const Model moved(from, old_rates, move_between(old_rates, new_rates)), fitted(to, new_rates);
  const double distance = rates_distance(old_rates, new_rates);
  for (const Kernel& kernel : kernels)
    out.push_back({distance, std::log(fitted.seconds(kernel) / moved.seconds(kernel))});
}

void add_chip_misses(const Fits& from, const Fits& to, std::vector<KernelMiss>& out) {
  for (const GemmFit& a : from.gemm) {
    for (const GemmFit& b : to.gemm) {
      if (a.type == b.type) add_kernel_misses<GemmModel>(a, b, products_of(a.type), out);
    }
  }
  for (const AttentionFit& a : from.attention) {
    for (const AttentionFit& b : to.attention) {
      const bool same = a.kind == b.kind && a.kind.window == 0;
      if (same) add_kernel_misses<AttentionModel>(a, b, attentions_of(a.kind), out);
    }
  }
}

std::vector<std::shared_ptr<const Fits>> shipped_fits() {
  std::vector<std::shared_ptr<const Fits>> all;
  for (const CatalogFile& file : catalog_files()) {
    if (!file.path.starts_with("kernels/")) continue;
    const auto fits = parse_fits(file.text, std::string(file.path));
    EXPECT_TRUE(fits) << file.path;
    if (fits) all.push_back(*fits);
  }
  return all;
}

TEST(MovedKernelSpread, IsThatOfChipsForecastFromEachOther) {
  constexpr double kFar = 0.5;
  std::vector<KernelMiss> misses;
  std::set<std::set<std::string>> pairs;
  const auto all = shipped_fits();
  for (const auto& from : all) {
    for (const auto& to : all) {
      if (from == to) continue;
      const std::size_t before = misses.size();
      add_chip_misses(*from, *to, misses);
      std::erase_if(misses, [](const KernelMiss& miss) { return miss.distance < kFar; });
      if (misses.size() > before) pairs.insert({from->chip, to->chip});
    }
  }
  ASSERT_GT(misses.size(), 5000U);
  std::vector<double> per_fold;
  for (const KernelMiss& miss : misses)
    per_fold.push_back(std::abs(miss.log_error) / miss.distance);
  std::ranges::sort(per_fold);
  EXPECT_NEAR(kernel_constants().per_fold, per_fold[per_fold.size() * 4 / 5], 0.01)
      << misses.size() << " kernels of " << pairs.size() << " pairs of chips: say so in [moved] of "
      << "catalog/cost/constants.toml";
}

TEST(KernelConstants, OneThatIsMissingOrWithoutSourceIsNamed) {
  const std::string good(catalog_data::cost_constants_toml());
  ASSERT_TRUE(parse_kernel_constants(good, "c.toml"));
  const auto with = [&good](std::string_view from, std::string_view to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    const auto read = parse_kernel_constants(text, "c.toml");
    return read ? std::string() : read.error().text();
  };
  EXPECT_NE(with("per_fold =", "per_folds =").find("[moved] per_fold"), std::string::npos);
  EXPECT_NE(with("per_fold = ", "per_fold = -").find("[moved] per_fold"), std::string::npos);
  EXPECT_NE(with("source = \"moved\"", "source = \"hearsay\"").find("[moved] per_fold"),
            std::string::npos);
}

}  // namespace
}  // namespace flopcast::cost
