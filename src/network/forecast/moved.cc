#include "network/forecast/moved.h"

#include <algorithm>
#include <cmath>

#include "network/collective/levels.h"

namespace flopcast::network {
namespace {

/// Sizes at which curves are moved: a byte, and quarters of octaves from where bytes begin to count to more than any chip
/// holds.
std::vector<double> kept_log2_sizes() {
  constexpr int kPerOctave = 4, kFirst = 6, kLast = 42;
  std::vector<double> sizes = {0};
  for (int i = kFirst * kPerOctave; i <= kLast * kPerOctave; ++i) {
    sizes.push_back(static_cast<double>(i) / kPerOctave);
  }
  return sizes;
}

double log2_bytes(Bytes size) { return std::log2(std::max(size.value, 1.0)); }

}  // namespace

std::optional<Seconds> form_time(const Cluster& cluster, const GroupShape& shape, CollectiveOp op,
                                 Bytes size) {
  if (runs_nccl(cluster)) {
    const std::vector<NcclChoice> choices = nccl_choices(nccl_graph(cluster, shape), op, size);
    if (!choices.empty()) return choices.front().cost.time();
  }
  std::optional<Seconds> best;
  for (const CollectiveAlgorithm algorithm : usual_algorithms(shape, op)) {
    const auto times = alpha_beta(shape, op, algorithm, size);
    if (times && (!best || times->total() < *best)) best = times->total();
  }
  return best;
}

MovedCurve::MovedCurve(const MeasuredTime& measured, const FormTime& before,
                       const FormTime& after) {
  double longest = 0;
  for (const double log2_size : kept_log2_sizes()) {
    const Bytes size{std::exp2(log2_size)};
    const auto old_time = before(size), new_time = after(size);
    const bool known = old_time && new_time && old_time->value > 0;
    const double ratio = known ? *new_time / *old_time : 1;
    const double time = measured(size).value;
    longest = std::max(longest, time * ratio);
    knots_.push_back({log2_size, std::log(time), std::log(longest / time)});
  }
}

double MovedCurve::factor(Bytes size, Seconds measured) const {
  const double at = log2_bytes(size);
  const auto above = std::ranges::upper_bound(knots_, at, {}, &Knot::log2_size);
  const Knot& a = *std::prev(above);
  if (above == knots_.end()) return std::exp(a.log_factor);
  const Knot& b = *above;
  // A factor that falls does so as what was measured rises, by no more than that. Where neither rises nor falls, both ways
  // to go from one to the other agree, so that no number makes a step.
  const bool falls = b.log_factor < a.log_factor && b.log_time > a.log_time;
  const double share = falls ? (std::log(measured.value) - a.log_time) / (b.log_time - a.log_time)
                             : (at - a.log2_size) / (b.log2_size - a.log2_size);
  return std::exp(std::lerp(a.log_factor, b.log_factor, std::clamp(share, 0.0, 1.0)));
}

}  // namespace flopcast::network
