// Answers: a fit's time, held to the roofline, with its band, basis and source.
#include <algorithm>
#include <cmath>

#include "cost/model/model_state.h"
#include "cost/model/work.h"
#include "flopcast/cost/kernel_fit.h"

namespace flopcast {
namespace {

using namespace cost;

KernelTime answer(double seconds, double roofline, const Band& band, Basis basis,
                  std::string_view source) {
  const double time = std::max(seconds, roofline);
  const std::size_t i = Band::size_class(time);
  // Measured times may lie below the roofline (operands in the L2 cache), so may the band.
  return {{time},
          {std::min(time, seconds * band.low[i])},
          {std::max(time, seconds * band.high[i])},
          {roofline},
          basis,
          source};
}

/// Share of the HBM bandwidth no large stream exceeds (BabelStream on A100 and H100: 0.90 to 0.93).
constexpr double kBestStreaming = 0.92;

/// The entry of exactly this kind, or the nearest.
struct Nearest {
  const AttentionEntry* entry = nullptr;
  bool exact = false;
};
Nearest nearest(const std::vector<AttentionEntry>& entries, const AttentionKind& kind) {
  for (const AttentionEntry& entry : entries) {
    if (entry.model.kind() == kind) return {&entry, true};
  }
  const auto best = std::min_element(
      entries.begin(), entries.end(), [&kind](const AttentionEntry& a, const AttentionEntry& b) {
        return kind_distance(kind, a.model.kind()) < kind_distance(kind, b.model.kind());
      });
  // bf16 and fp16 are one kernel.
  return {&*best, kind_distance(kind, best->model.kind()) < 0.05};
}

Chip nominal_of(const Chip& chip, const Catalog& catalog, const KernelModelOptions& options) {
  if (options.nominal) return *options.nominal;
  const Result<Chip> known = catalog.chip(chip.name);
  return known ? *known : chip;
}

struct Forward {
  Nearest found;
  double seconds = 0;
};
/// A window that nobody measured takes, of the way from the nearest narrower one to none at all, the share that its pairs of
/// queries and keys are of the way; no window takes longer than none.
Forward forward_of(const std::vector<AttentionEntry>& entries, const Attention& attention) {
  const AttentionKind kind = kind_of(attention);
  Forward out{nearest(entries, kind)};
  const AttentionModel& fitted = out.found.entry->model;
  out.seconds = fitted.seconds(attention);
  if (out.found.exact || kind.window == 0 || kind.decode) return out;
  Attention whole = attention, narrow = attention;
  whole.window = 0;
  narrow.window = fitted.kind().window;
  const double all = nearest(entries, kind_of(whole)).entry->model.seconds(whole);
  if (narrow.window > 0 && narrow.window < kind.window) {
    const auto pairs = [](const Attention& a) { return attention_pairs(shape_of(a)); };
    const double least = fitted.seconds(narrow), way = pairs(whole) - pairs(narrow);
    const double share = way > 0 ? (pairs(attention) - pairs(narrow)) / way : 1;
    out.seconds = least + share * (all - least);
  }
  out.seconds = std::min(out.seconds, all);
  return out;
}

}  // namespace

KernelTime KernelModel::time(const Gemm& gemm) const {
  const GemmSlot& slot = state_->gemm_slot(gemm.type);
  return answer(slot.model->seconds(gemm), roofline_of(gemm, slot.rates), slot.model->band(),
                slot.basis, slot.source);
}

KernelTime KernelModel::time(const Attention& attention) const {
  const auto [found, forward] =
      forward_of(state_->attention_entries(is_decode(attention)), attention);
  const AttentionEntry& entry = *found.entry;
  const double roofline = roofline_of(attention, matrix_rates(state_->chip, attention.type).rates);
  if (attention.backward) {
    return answer(forward * kBackwardFlops / kBackwardRate, roofline, entry.backward_band,
                  Basis::kAssumed, entry.backward_source);
  }
  if (found.exact) return answer(forward, roofline, entry.model.band(), entry.basis, entry.source);
  const Basis basis = std::max(entry.basis, Basis::kRoofline);
  return answer(forward, roofline, entry.near_band, basis, entry.near_source);
}

KernelTime KernelModel::time(const GroupedGemm& gemm) const {
  const MoeSlot& slot = state_->moe_slot(gemm.type);
  const MoeModel::Answer found = slot.model->time(gemm);
  return answer(found.seconds, roofline_of(gemm, slot.rates), slot.model->band(found.table),
                found.table ? slot.table_basis : slot.basis, slot.source);
}

KernelTime KernelModel::time(const MemoryBound& kernel) const {
  const MemorySlot& slot = state_->memory_slot(kernel.op);
  const double bandwidth = std::max(state_->chip.hbm_bandwidth.value, 1.0);
  const double roofline = bytes_of(kernel) / bandwidth;
  double seconds = memory_seconds(slot.fit, bandwidth, kernel);
  // What looks faster than that on another operator ran in the cache.
  if (slot.basis == Basis::kAssumed) seconds = std::max(seconds, roofline / kBestStreaming);
  return answer(seconds, roofline, slot.band, slot.basis, slot.source);
}

KernelTime KernelModel::time(const Kernel& kernel) const {
  return std::visit([this](const auto& k) { return time(k); }, kernel);
}

Result<KernelModel> KernelModel::make(const Chip& chip, const Catalog& catalog,
                                      const KernelModelOptions& options) {
  auto state = std::make_unique<State>();
  state->chip = chip;
  state->nominal = nominal_of(chip, catalog, options);
  Result<std::vector<Candidate>> candidates = candidates_for(state->nominal, catalog, options);
  if (!candidates) return candidates.error();
  state->candidates = std::move(*candidates);
  return KernelModel(std::move(state));
}

KernelModel KernelModel::make(const Chip& chip, const KernelFit& fit) {
  auto state = std::make_unique<State>();
  state->chip = state->nominal = chip;
  state->candidates.push_back(candidate_of(std::make_shared<const Fits>(fit.fits())));
  return KernelModel(std::move(state));
}

KernelModel::KernelModel(std::unique_ptr<State> state) : state_(std::move(state)) {}
KernelModel::KernelModel(KernelModel&&) noexcept = default;
KernelModel& KernelModel::operator=(KernelModel&&) noexcept = default;
KernelModel::~KernelModel() = default;

}  // namespace flopcast
