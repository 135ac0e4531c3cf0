#include "cost/model/attention.h"

#include <algorithm>
#include <cmath>

namespace flopcast::cost {
namespace {

constexpr std::array<bool, 3> kMonotone = {true, true, true};

template <std::size_t D, typename Knot>
Grid<D> refold(const Grid<D>& grid, double share, const AttentionForm& old_form,
               const AttentionForm& new_form, Knot&& shape_at) {
  if (grid.empty()) return grid;
  Grid<D> out = grid;
  std::vector<double> values(grid.values().begin(), grid.values().end());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const AttentionShape shape = shape_at(grid.knot(i));
    values[i] += (1 - share) * (new_form.log2_smooth(shape) - old_form.log2_smooth(shape));
  }
  const std::vector<double> support(values.size(), 1.0);
  make_monotone(shape_of(grid.axes()), std::span(kMonotone).first(D), support, values);
  std::copy(values.begin(), values.end(), out.values().begin());
  return out;
}

}  // namespace

AttentionShape prefill_knot(const Grid<3>::Point& knot, const AttentionKind& kind) {
  AttentionShape s;
  s.queries = s.keys = knot[0];
  s.heads = knot[1];
  s.kv_heads = std::max(1.0, knot[1] / knot[2]);
  s.window = kind.window;
  return s;
}

AttentionShape decode_knot(const Grid<2>::Point& knot) {
  AttentionShape s;
  s.keys = knot[0];
  s.heads = s.kv_heads = knot[1];
  return s;
}

Grid<3>::Point prefill_point(const AttentionShape& s) {
  // A chunk of a longer prompt lies between a prompt of its own length and the whole one.
  const double length = 0.5 * (std::log2(s.queries) + std::log2(s.keys));
  return {length, std::log2(s.batch * s.heads), std::log2(s.heads / s.kv_heads)};
}

Grid<2>::Point decode_point(const AttentionShape& s) {
  const double reach = s.window > 0 ? std::min(s.keys, static_cast<double>(s.window)) : s.keys;
  return {std::log2(reach), std::log2(s.batch * s.kv_heads)};
}

AttentionModel::AttentionModel(const AttentionFit& fit, const Rates& rates,
                               const std::optional<Rates>& move)
    : kind_(fit.kind),
      base_(fit.base),
      rates_(rates),
      moved_(move ? std::optional<Rates>(times(rates, *move)) : std::nullopt),
      form_(fit.base, rates, fit.kind),
      prefill_(fit.prefill),
      decode_(fit.decode),
      band_(fit.origin.band),
      share_(fit.form_share) {}

double AttentionModel::seconds(const Attention& attention) const {
  const AttentionShape shape = shape_of(attention);
  AttentionShape fitted = shape;
  fitted.window = kind_.window;
  double log2_t = share_ * form_.log2_time(fitted);
  if (!prefill_.empty()) {
    log2_t += prefill_.at(prefill_point(fitted));
  } else if (!decode_.empty()) {
    log2_t += decode_.at(decode_point(fitted));
  } else {
    log2_t += (1 - share_) * form_.log2_smooth(fitted);
  }
  const AttentionKind asked = kind_of(attention);
  AttentionShape causal = fitted;
  causal.causal = true;
  if (asked != kind_) {
    const AttentionForm form(base_, rates_, asked);
    log2_t += form.log2_smooth(shape) - form_.log2_smooth(fitted);
  } else if (!shape.causal) {
    log2_t += (1 - share_) * (form_.log2_smooth(fitted) - form_.log2_smooth(causal));
  }
  if (moved_) {
    log2_t += AttentionForm(base_, *moved_, asked).log2_smooth(shape) -
              AttentionForm(base_, rates_, asked).log2_smooth(shape);
  }
  return std::exp2(log2_t);
}

AttentionFit scaled(const AttentionFit& fit, const AttentionKind& kind, const Rates& rates) {
  const AttentionForm old_form(fit.base, fit.origin.rates, fit.kind);
  const AttentionForm new_form(fit.base, rates, kind);
  AttentionFit out = fit;
  out.kind = kind;
  out.origin.rates = rates;
  const auto knot_of = [&fit](const Grid<3>::Point& knot) { return prefill_knot(knot, fit.kind); };
  out.prefill = refold(fit.prefill, fit.form_share, old_form, new_form, knot_of);
  out.decode = refold(fit.decode, fit.form_share, old_form, new_form, decode_knot);
  return out;
}

double kind_distance(const AttentionKind& asked, const AttentionKind& fitted) {
  double distance = asked.decode == fitted.decode ? 0 : 1e6;
  if (asked.type != fitted.type) {
    distance += bytes_per_element(asked.type) == bytes_per_element(fitted.type) ? 0.01 : 20;
  }
  if (asked.kv_cache != fitted.kv_cache) {
    distance += bytes_per_element(asked.kv_cache) == bytes_per_element(fitted.kv_cache) ? 0.01 : 5;
  }
  if ((asked.window > 0) != (fitted.window > 0)) distance += 10;
  if (asked.window > 0 && fitted.window > 0) {
    distance += std::abs(std::log2(size_of(asked.window) / size_of(fitted.window))) / 4;
  }
  return distance + std::abs(std::log2(size_of(asked.head_dim) / size_of(fitted.head_dim)));
}

}  // namespace flopcast::cost
