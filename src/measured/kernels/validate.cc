// Forecasts of measured kernels, and how far off they are; what to keep out of a fit to prove it.
#include <algorithm>
#include <cmath>
#include <map>

#include "base/numeric/mix.h"
#include "base/numeric/quantile.h"
#include "flopcast/measured/kernels.h"

namespace flopcast {

namespace {

/// Splits into fifths by a key and a seed.
class Chance {
 public:
  explicit Chance(std::uint64_t seed) : seed_(mix(seed)) {}
  std::uint64_t of(std::uint64_t a, std::uint64_t b = 0) const { return mix(mix(a ^ seed_) + b); }
  bool fifth(std::uint64_t a, std::uint64_t b = 0) const { return of(a, b) % 5 == 0; }

 private:
  std::uint64_t seed_;
};

std::uint64_t bits(std::int64_t n) { return static_cast<std::uint64_t>(n); }

int fold_of(const KernelSample& sample, std::size_t index, KernelHoldOut kind,
            const Chance& chance) {
  constexpr std::uint64_t kModelFolds = 4;
  const auto* gemm = std::get_if<Gemm>(&sample.kernel);
  const auto* attention = std::get_if<Attention>(&sample.kernel);
  const auto* moe = std::get_if<GroupedGemm>(&sample.kernel);
  const auto* memory = std::get_if<MemoryBound>(&sample.kernel);
  bool out = false;
  switch (kind) {
    case KernelHoldOut::kRandom:
      out = chance.fifth(index);
      break;
    case KernelHoldOut::kPairs:
      out =
          (gemm != nullptr && chance.fifth(bits(gemm->n), bits(gemm->k))) ||
          (attention != nullptr && chance.fifth(bits(attention->heads), bits(attention->kv_heads)));
      break;
    case KernelHoldOut::kSmallM:
      out = gemm != nullptr && gemm->m <= 4;
      break;
    case KernelHoldOut::kTokens:
      out = moe != nullptr && chance.fifth(bits(moe->tokens));
      break;
    case KernelHoldOut::kModels:
      if (moe != nullptr) {
        return static_cast<int>(
            chance.of(bits(moe->hidden) * 65536 + bits(moe->intermediate), bits(moe->experts)) %
            kModelFolds);
      }
      if (memory != nullptr) {
        return static_cast<int>(chance.of(bits(memory->columns)) % kModelFolds);
      }
      break;
    case KernelHoldOut::kLargest:
      break;
  }
  return out ? 0 : -1;
}

/// Per operation, the tenth with most work.
std::vector<int> largest_tenths(std::span<const KernelSample> samples) {
  std::map<std::string, std::vector<double>> work;
  std::vector<double> own;
  for (const KernelSample& sample : samples) {
    const double flops = kernel_flops(sample.kernel).value;
    own.push_back(flops > 0 ? flops : kernel_bytes(sample.kernel).value);
    work[operation_name(sample.kernel)].push_back(own.back());
  }
  for (auto& [name, all] : work) std::ranges::sort(all);
  std::vector<int> folds;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    std::vector<double>& all = work[operation_name(samples[i].kernel)];
    folds.push_back(own[i] >= all[all.size() * 9 / 10] ? 0 : -1);
  }
  return folds;
}

KernelErrors errors_of(std::string_view chip, const std::string& operation,
                       std::string_view size_class, std::span<const KernelForecast* const> rows) {
  KernelErrors e{std::string(chip), operation, std::string(size_class), rows.size()};
  std::vector<double> errors, ratios, widths;
  std::size_t inside = 0;
  for (const KernelForecast* row : rows) {
    const double measured = row->sample->time.value;
    const double ratio = row->forecast.time.value / measured;
    ratios.push_back(ratio);
    errors.push_back(std::abs(ratio - 1));
    e.mape += errors.back() / static_cast<double>(rows.size());
    widths.push_back(std::sqrt(row->forecast.high / row->forecast.low));
    inside += row->forecast.low.value <= measured && measured <= row->forecast.high.value ? 1U : 0U;
  }
  for (std::vector<double>* values : {&errors, &ratios, &widths}) std::ranges::sort(*values);
  e.median = quantile(errors, 0.5);
  e.p95 = quantile(errors, 0.95);
  e.bias = quantile(ratios, 0.5);
  e.band_coverage = static_cast<double>(inside) / static_cast<double>(rows.size());
  e.band_width = quantile(widths, 0.5);
  return e;
}

struct SizeClass {
  std::string_view name;
  std::vector<const KernelForecast*> rows;  ///< in their own order
  Seconds least;                            ///< of their times
};

/// The size classes that there are rows of, smallest first.
std::vector<SizeClass> by_size(std::span<const KernelForecast* const> rows) {
  std::vector<SizeClass> classes;
  for (const KernelForecast* row : rows) {
    const Seconds time = row->sample->time;
    const std::string_view name = kernel_size_class(time);
    auto at = std::ranges::find(classes, name, &SizeClass::name);
    if (at == classes.end()) at = classes.insert(at, SizeClass{name, {}, time});
    at->rows.push_back(row);
    at->least = std::min(at->least, time);
  }
  std::ranges::sort(classes, {}, &SizeClass::least);
  return classes;
}

}  // namespace

std::optional<KernelHoldOut> parse_kernel_hold_out(std::string_view text) {
  constexpr std::pair<std::string_view, KernelHoldOut> kNames[] = {
      {"rand20", KernelHoldOut::kRandom},   {"nkpair", KernelHoldOut::kPairs},
      {"largest", KernelHoldOut::kLargest}, {"smallm", KernelHoldOut::kSmallM},
      {"tokens", KernelHoldOut::kTokens},   {"models", KernelHoldOut::kModels}};
  for (const auto& [known, kind] : kNames) {
    if (known == text) return kind;
  }
  return std::nullopt;
}

std::vector<int> hold_out_folds(std::span<const KernelSample> samples, KernelHoldOut kind,
                                std::uint64_t seed) {
  if (kind == KernelHoldOut::kLargest) return largest_tenths(samples);
  const Chance chance(seed);
  std::vector<int> folds;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    folds.push_back(fold_of(samples[i], i, kind, chance));
  }
  return folds;
}

std::vector<KernelForecast> forecast_all(const KernelModel& model,
                                         std::span<const KernelSample> samples) {
  std::vector<KernelForecast> out;
  out.reserve(samples.size());
  for (const KernelSample& sample : samples) out.push_back({&sample, model.time(sample.kernel)});
  return out;
}

std::vector<KernelErrors> kernel_errors(std::string_view chip,
                                        std::span<const KernelForecast> forecasts) {
  std::vector<std::pair<std::string, std::vector<const KernelForecast*>>> groups;
  std::map<std::string, std::size_t> index;
  for (const KernelForecast& f : forecasts) {
    const std::string operation = operation_name(f.sample->kernel);
    const auto [at, is_new] = index.try_emplace(operation, groups.size());
    if (is_new) groups.emplace_back(operation, std::vector<const KernelForecast*>());
    groups[at->second].second.push_back(&f);
  }
  std::vector<KernelErrors> out;
  for (const auto& [operation, rows] : groups) {
    out.push_back(errors_of(chip, operation, "all", rows));
    for (const SizeClass& some : by_size(rows)) {
      out.push_back(errors_of(chip, operation, some.name, some.rows));
    }
  }
  return out;
}

std::vector<KernelErrors> held_out_errors(const Chip& chip, std::span<const KernelSample> samples,
                                          KernelHoldOut kind, std::uint64_t seed) {
  const std::vector<int> folds = hold_out_folds(samples, kind, seed);
  const int last = folds.empty() ? -1 : *std::max_element(folds.begin(), folds.end());
  std::vector<KernelForecast> forecasts;
  std::vector<std::unique_ptr<KernelModel>> models;  // forecasts point into their sources
  for (int fold = 0; fold <= last; ++fold) {
    std::vector<KernelSample> kept;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      if (folds[i] != fold) kept.push_back(samples[i]);
    }
    models.push_back(std::make_unique<KernelModel>(
        KernelModel::make(chip, calibrate_kernels(chip, kept, "the rest"))));
    for (std::size_t i = 0; i < samples.size(); ++i) {
      if (folds[i] == fold) {
        forecasts.push_back({&samples[i], models.back()->time(samples[i].kernel)});
      }
    }
  }
  return kernel_errors(chip.name, forecasts);
}

}  // namespace flopcast
