// From samples of any kinds to fits, one per class of kernels.
#include <fmt/format.h>

#include <algorithm>

#include "cost/model/attention.h"
#include "cost/model/gemm.h"
#include "cost/model/memory_bound.h"
#include "cost/model/moe.h"
#include "flopcast/cost/fit.h"

namespace flopcast {
namespace {

using namespace cost;

/// Samples of one class each, in order of first appearance.
template <typename Key, typename RowType>
class Groups {
 public:
  std::vector<RowType>& operator[](const Key& key) {
    for (auto& [known, rows] : groups_) {
      if (known == key) return rows;
    }
    return groups_.emplace_back(key, std::vector<RowType>()).second;
  }
  auto begin() { return groups_.begin(); }
  auto end() { return groups_.end(); }

 private:
  std::vector<std::pair<Key, std::vector<RowType>>> groups_;
};

struct Sorter {
  Groups<GemmType, GemmRow> gemm;
  Groups<AttentionKind, AttentionRow> attention;
  Groups<GemmType, MoeRow> moe;
  Groups<MemoryOp, MemoryRow> memory;

  double seconds = 0;
  void operator()(const Gemm& g) {
    gemm[g.type].push_back({size_of(g.m), size_of(g.n), size_of(g.k), seconds});
  }
  void operator()(const Attention& a) { attention[kind_of(a)].push_back({a, seconds}); }
  void operator()(const GroupedGemm& g) { moe[g.type].push_back({g, seconds}); }
  void operator()(const MemoryBound& k) { memory[k.op].push_back({k, seconds}); }
};

template <typename Fit, typename Same>
void merge_list(std::vector<Fit>& into, const std::vector<Fit>& from, Same&& same) {
  for (const Fit& fit : from) {
    const auto at =
        std::find_if(into.begin(), into.end(), [&](const Fit& known) { return same(known, fit); });
    if (at == into.end()) {
      into.push_back(fit);
    } else {
      *at = fit;
    }
  }
}

}  // namespace

KernelFit calibrate_kernels(const Chip& chip, std::span<const KernelSample> samples,
                            std::string_view source) {
  Sorter sorted;
  for (const KernelSample& sample : samples) {
    sorted.seconds = sample.time.value;
    std::visit(sorted, sample.kernel);
  }
  auto fits = std::make_shared<Fits>();
  fits->chip = chip.name;
  const auto keep = [&source](auto& list, auto fit) {
    fit.origin.source = source;
    list.push_back(std::move(fit));
  };
  for (auto& [type, rows] : sorted.gemm) {
    keep(fits->gemm, fit_gemm(type, matrix_rates(chip, arithmetic(type)).rates, rows));
  }
  for (auto& [kind, rows] : sorted.attention) {
    keep(fits->attention, fit_attention(kind, matrix_rates(chip, kind.type).rates, rows));
  }
  for (auto& [type, rows] : sorted.moe) {
    keep(fits->moe, fit_moe(type, matrix_rates(chip, arithmetic(type)).rates, rows));
  }
  for (auto& [op, rows] : sorted.memory) {
    keep(fits->memory, fit_memory(op, matrix_rates(chip, DataType::kBf16).rates, rows));
  }
  return KernelFit(std::move(fits));
}

KernelFit merge(const KernelFit& a, const KernelFit& b) {
  auto fits = std::make_shared<Fits>(a.fits());
  const Fits& other = b.fits();
  merge_list(fits->gemm, other.gemm,
             [](const GemmFit& x, const GemmFit& y) { return x.type == y.type; });
  merge_list(fits->attention, other.attention,
             [](const AttentionFit& x, const AttentionFit& y) { return x.kind == y.kind; });
  merge_list(fits->moe, other.moe,
             [](const MoeFit& x, const MoeFit& y) { return x.type == y.type; });
  merge_list(fits->memory, other.memory,
             [](const MemoryFit& x, const MemoryFit& y) { return x.op == y.op; });
  return KernelFit(std::move(fits));
}

}  // namespace flopcast
