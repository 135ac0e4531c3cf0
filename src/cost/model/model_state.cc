// Chooses, for every class of kernels, whose fit answers for it.
#include "cost/model/model_state.h"

#include <fmt/format.h>

#include <cmath>

#include "cost/model/constants.h"
#include "cost/model/scaled_fits.h"

namespace flopcast {
namespace {

using namespace cost;

/// How unlike two GEMM types are; below 1 they are the same kernel under another name.
double type_distance(GemmType asked, GemmType fitted, bool emulated) {
  if (asked == fitted) return 0;
  const OperandBytes a = operand_bytes(asked), b = operand_bytes(fitted);
  const double bytes = std::abs(std::log2(a.a / b.a)) + std::abs(std::log2(a.b / b.b));
  const DataType x = arithmetic(asked), y = arithmetic(fitted);
  const auto half = [](DataType t) { return t == DataType::kBf16 || t == DataType::kFp16; };
  if (x == y || (half(x) && half(y))) return 0.2 + 0.6 * std::min(bytes, 1.0);
  // What the chip does not have it emulates in bf16, so bf16 is nearest then.
  return (emulated && half(y) ? 0.9 : 3) + 0.3 * std::min(bytes, 3.0);
}

template <typename Fit>
struct Choice {
  std::shared_ptr<const Fits> keep;  // owns the fit
  const Fit* fit = nullptr;
  const Candidate* from = nullptr;
  double distance = HUGE_VAL;
};

/// The nearest fit by distance of chip plus distance of class; the user's come before the chip's own where they hold the
/// same kernel under whatever name. Files of far relatives are not even opened once something nearer is found.
template <typename Fit, typename Distance>
Choice<Fit> choose(const std::vector<Candidate>& candidates, std::vector<Fit> Fits::*list,
                   Distance&& distance) {
  constexpr double kOtherKernel = 1;
  Choice<Fit> best;
  for (const Candidate& candidate : candidates) {
    if (candidate.distance >= best.distance) break;
    const bool given = best.from != nullptr && best.from->given;
    if (given && !candidate.given && best.distance < kOtherKernel) break;
    std::shared_ptr<const Fits> fits = candidate.load();
    for (const Fit& fit : (*fits).*list) {
      const double d = candidate.distance + distance(fit, candidate);
      if (d < best.distance) best = {fits, &fit, &candidate, d};
    }
  }
  return best;
}

std::string origin_text(const FitOrigin& origin, std::string_view chip) {
  return fmt::format("{}, {} rows{}{}", chip, origin.rows, origin.source.empty() ? "" : ", ",
                     origin.source);
}

/// What an answer rests on when the fit of `fitted` on another or the same chip answers for `asked`.
struct Provenance {
  Basis basis = Basis::kFitted;
  std::string source;
  double uncertainty = 1;
};
Provenance provenance(const Candidate& from, const FitOrigin& origin, std::string_view asked,
                      std::string_view fitted, double distance, const std::string& chip) {
  constexpr double kOtherClass = 1.3;
  Provenance out;
  out.uncertainty = from.uncertainty;
  const bool same = distance - from.distance < 1;
  if (!same) out.uncertainty *= kOtherClass;
  const std::string file = from.file.empty() ? std::string() : from.file + ": ";
  const std::string origin_of_fit = origin_text(origin, from.chip);
  if (from.own() && same) {
    out.source =
        file + (asked == fitted ? fmt::format("fit {} ({})", asked, origin_of_fit)
                                : fmt::format("fit {} as {} ({})", asked, fitted, origin_of_fit));
    return out;
  }
  out.basis = Basis::kRoofline;
  out.source = fmt::format("{}{} on {} scaled by roofline ratios from fit {} ({})", file, asked,
                           chip, fitted, origin_of_fit);
  return out;
}

/// scaled(), remembered.
std::shared_ptr<const GemmFit> scaled_gemm(const Choice<GemmFit>& choice, GemmType type,
                                           const Rates& rates) {
  static ScaledFits<GemmFit, GemmType> known;
  return known.of(choice.keep, *choice.fit, type, rates);
}
std::shared_ptr<const AttentionFit> scaled_attention(const Choice<AttentionFit>& choice,
                                                     const AttentionFit& fit, const Rates& rates) {
  static ScaledFits<AttentionFit, AttentionKind> known;
  return known.of(choice.keep, fit, fit.kind, rates);
}

/// What a fit's times are moved by to the chip that is asked for, and what that adds to the band.
struct Move {
  std::optional<Rates> factors;
  double uncertainty = 1;
};
/// @param nominal, asked rates for the class of kernels
/// @param as_it_is the fit stands at the rates that it was taken with
template <typename Fit>
Move move_of(const Choice<Fit>& choice, const Fit& fit, bool as_it_is, const Rates& nominal,
             const Rates& asked) {
  const bool own_rates = as_it_is && choice.from->given;
  Move move{move_between(own_rates ? fit.origin.rates : nominal, asked), 1};
  if (!move.factors) return move;
  move.uncertainty =
      std::exp(kernel_constants().per_fold * (std::abs(std::log(move.factors->flops)) +
                                              std::abs(std::log(move.factors->bandwidth))));
  return move;
}

/// Says that an answer was moved.
void tell(const Move& move, Basis& basis, std::string& source) {
  if (!move.factors) return;
  basis = std::max(basis, Basis::kRoofline);
  source += fmt::format(", moved to {:.3g} x the FLOP/s and {:.3g} x the bandwidth by its formula",
                        move.factors->flops, move.factors->bandwidth);
}

constexpr double kAssumedBand = 1.6;
std::string assumed_source(std::string_view what) {
  return fmt::format("assumed {}: nothing like it was measured", what);
}

Band assumed_band() { return Band{}.widened(kAssumedBand); }

}  // namespace

const GemmSlot& KernelModel::State::gemm_slot(GemmType type) const {
  GemmSlot& slot = gemm[static_cast<std::size_t>(type)];
  std::call_once(slot.once, [&] { fill(slot, type); });
  return slot;
}

const MoeSlot& KernelModel::State::moe_slot(GemmType type) const {
  MoeSlot& slot = moe[static_cast<std::size_t>(type)];
  std::call_once(slot.once, [&] { fill(slot, type); });
  return slot;
}

const MemorySlot& KernelModel::State::memory_slot(MemoryOp op) const {
  MemorySlot& slot = memory[static_cast<std::size_t>(op)];
  std::call_once(slot.once, [&] { fill(slot, op); });
  return slot;
}

const std::vector<AttentionEntry>& KernelModel::State::attention_entries(bool decode) const {
  const std::size_t i = decode ? 1 : 0;
  std::call_once(attention_once[i], [&] { fill_attention(decode); });
  return attention[i];
}

void KernelModel::State::fill(GemmSlot& slot, GemmType type) const {
  const MatrixRate rate = matrix_rates(nominal, arithmetic(type));
  slot.rates = matrix_rates(chip, arithmetic(type)).rates;
  const auto choice =
      choose<GemmFit>(candidates, &Fits::gemm, [&](const GemmFit& fit, const Candidate&) {
        return type_distance(type, fit.type, rate.emulated);
      });
  if (choice.fit == nullptr) {
    GemmFit fit;
    fit.type = type;
    fit.base.rate_share = {0.7, 0.7, 0.65, 0.5, 0.4, 0.25};
    fit.origin.band = assumed_band();
    slot.model.emplace(fit, slot.rates);
    slot.source = assumed_source(fmt::format("gemm {}", name(type)));
    return;
  }
  const Provenance p =
      provenance(*choice.from, choice.fit->origin, fmt::format("gemm {}", name(type)),
                 fmt::format("gemm {}", name(choice.fit->type)), choice.distance, nominal.name);
  // A fit of this chip divides by the rates it was made with, whatever the catalogue says now.
  const bool as_it_is = choice.from->own() &&
                        operand_bytes(choice.fit->type).b == operand_bytes(type).b &&
                        choice.distance < 1;
  GemmFit fit = as_it_is ? *choice.fit : *scaled_gemm(choice, type, rate.rates);
  const Move move = move_of(choice, fit, as_it_is, rate.rates, slot.rates);
  fit.origin.band = fit.origin.band.widened(p.uncertainty * move.uncertainty);
  slot.model.emplace(fit, as_it_is ? fit.origin.rates : rate.rates, move.factors);
  slot.basis = p.basis;
  slot.source = p.source;
  tell(move, slot.basis, slot.source);
}

void KernelModel::State::fill(MoeSlot& slot, GemmType type) const {
  const MatrixRate rate = matrix_rates(nominal, arithmetic(type));
  slot.rates = matrix_rates(chip, arithmetic(type)).rates;
  const auto choice =
      choose<MoeFit>(candidates, &Fits::moe, [&](const MoeFit& fit, const Candidate&) {
        return type_distance(type, fit.type, rate.emulated);
      });
  if (choice.fit == nullptr) {
    MoeFit fit;
    fit.type = type;
    fit.origin.band = fit.unseen_band = assumed_band();
    slot.model.emplace(fit, slot.rates);
    slot.table_basis = Basis::kAssumed;
    slot.source = assumed_source(fmt::format("moe {}", name(type)));
    return;
  }
  const Provenance p =
      provenance(*choice.from, choice.fit->origin, fmt::format("moe {}", name(type)),
                 fmt::format("moe {}", name(choice.fit->type)), choice.distance, nominal.name);
  const bool as_it_is = choice.from->own() && choice.fit->type == type;
  MoeFit fit = as_it_is ? *choice.fit : scaled(*choice.fit, type, rate.rates);
  const Move move = move_of(choice, fit, as_it_is, rate.rates, slot.rates);
  fit.origin.band = fit.origin.band.widened(p.uncertainty * move.uncertainty);
  fit.unseen_band = fit.unseen_band.widened(p.uncertainty * move.uncertainty);
  slot.model.emplace(fit, fit.origin.rates, move.factors);
  slot.basis = p.basis;
  slot.source = p.source;
  tell(move, slot.basis, slot.source);
  slot.table_basis = slot.basis == Basis::kFitted ? Basis::kTable : slot.basis;
}

void KernelModel::State::fill(MemorySlot& slot, MemoryOp op) const {
  constexpr double kSimilar = 2.5;  // another operator of this chip, rather than another vendor's
  // What share of its memory's bandwidth a chip's kernels reach is their software's more than the vendor's: a dozen
  // measurements of a framework's first kernels for a chip speak for that chip alone. MI210's (LLMCompass, PyTorch of 2022)
  // reach 0.21 to 0.38, PyTorch's on MI300X 0.65 to 0.8 (catalog/operators).
  constexpr std::size_t kDozen = 20;
  constexpr double kAlone = 1.5;
  const auto choice = choose<MemoryFit>(
      candidates, &Fits::memory, [&](const MemoryFit& fit, const Candidate& from) {
        const double few = !from.own() && fit.origin.rows < kDozen ? kAlone : 0;
        return few + (fit.op == op ? 0 : fit.op == similar(op) ? kSimilar : HUGE_VAL);
      });
  if (choice.fit == nullptr) {
    slot.fit = assumed_memory_fit(op);
    slot.band = assumed_band();
    slot.source = assumed_source(name(op));
    return;
  }
  const Provenance p = provenance(*choice.from, choice.fit->origin, name(op), name(choice.fit->op),
                                  choice.distance, nominal.name);
  // The formula takes the chip's own bandwidth: there is nothing to move but what is said of it.
  const Move move =
      move_of(choice, *choice.fit, false, matrix_rates(nominal, DataType::kBf16).rates,
              matrix_rates(chip, DataType::kBf16).rates);
  slot.fit = *choice.fit;
  slot.band = choice.fit->origin.band.widened(p.uncertainty * move.uncertainty);
  slot.basis = choice.fit->op == op ? p.basis : Basis::kAssumed;
  slot.source =
      choice.fit->op == op ? p.source : fmt::format("assumed {} as {}", name(op), p.source);
  tell(move, slot.basis, slot.source);
}

void KernelModel::State::fill_attention(bool decode) const {
  const std::string_view phase = decode ? "decode" : "prefill";
  const auto choice = choose<AttentionFit>(candidates, &Fits::attention,
                                           [&](const AttentionFit& fit, const Candidate&) {
                                             return fit.kind.decode == decode ? 0 : HUGE_VAL;
                                           });
  std::vector<AttentionEntry>& entries = attention[decode ? 1 : 0];
  if (choice.fit == nullptr) {
    AttentionFit fit;
    fit.kind.decode = decode;
    const std::string source = assumed_source(fmt::format("attention {}", phase));
    const Band band = assumed_band();
    const Rates rates = matrix_rates(chip, fit.kind.type).rates;  // nothing to move from
    entries.push_back(
        {AttentionModel(fit, rates), band, band, Basis::kAssumed, source, source, source});
    return;
  }
  for (const AttentionFit& fitted : choice.keep->attention) {
    if (fitted.kind.decode != decode) continue;
    const std::string what =
        fmt::format("attention {} {} kv {} head_dim {} window {}", phase, name(fitted.kind.type),
                    name(fitted.kind.kv_cache), fitted.kind.head_dim, fitted.kind.window);
    const Provenance p =
        provenance(*choice.from, fitted.origin, what, what, choice.distance, nominal.name);
    const Rates rates = matrix_rates(nominal, fitted.kind.type).rates;
    const bool as_it_is = choice.from->own();
    AttentionFit fit = as_it_is ? fitted : *scaled_attention(choice, fitted, rates);
    const Move move =
        move_of(choice, fit, as_it_is, rates, matrix_rates(chip, fitted.kind.type).rates);
    fit.origin.band = fit.origin.band.widened(p.uncertainty * move.uncertainty);
    const Band& band = fit.origin.band;
    Basis basis = p.basis;
    std::string source = p.source;
    tell(move, basis, source);
    entries.push_back(
        {AttentionModel(fit, fit.origin.rates, move.factors), band.widened(1.2), band.widened(1.3),
         basis, source, fmt::format("another kind, by the ratio of formulas to {}", source),
         fmt::format("backward assumed 2.5 x forward FLOP at 0.75 of its rate; {}", source)});
  }
}

}  // namespace flopcast
