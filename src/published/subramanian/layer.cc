#include "published/subramanian/layer.h"

#include <algorithm>

namespace flopcast::published {
namespace {

// The published code charges it to every operator, element-wise ones too, in both directions; to a
// SUMMA product once, not per panel.
constexpr double kOperatorLatency = 20e-6;

}  // namespace

LayerCosts::LayerCosts(const Rates& rates, const PaperPlan::Groups& size,
                       const PaperPlan::Groups& domain, const PaperDefects& defects) {
  for (std::size_t kind = 0; kind < costs_[0].size(); ++kind) {
    const auto collective = static_cast<PaperCollective>(kind);
    costs_[0][kind] = collective_cost(rates, collective, size.tp1, domain.tp1, defects);
    costs_[1][kind] = collective_cost(rates, collective, size.tp2, domain.tp2, defects);
  }
}

LayerSums layer_sums(const Layer& layer) {
  LayerSums sums;
  for (const Operator& op : layer) {
    sums.flops += op.forward.flops + op.backward.flops;
    sums.weights += op.weights;
    sums.activations += op.activations;
  }
  sums.boundary = layer[kFirstNorm].activations;
  return sums;
}

Parts operator_time(const Operator& op, const Work& work, std::int64_t panels, const Rates& rates,
                    const LayerCosts& costs) {
  const double per_flop = op.matrix ? rates.seconds_per_matrix_flop : rates.seconds_per_vector_flop;
  Parts parts;
  parts.compute = kOperatorLatency + work.flops * per_flop;
  parts.exposed_memory = std::max(work.bytes * rates.seconds_per_hbm_byte - parts.compute, 0.0);
  const double pieces = op.panels ? static_cast<double>(panels) : 1;
  double one = 0;
  for (std::size_t i = 0; i < work.transfer_count; ++i) {
    const Transfer& transfer = work.transfers[i];
    one += costs.of(transfer.axis, transfer.kind).time(transfer.bytes / pieces);
  }
  parts.communication =
      op.panels ? one + std::max(pieces * one - parts.compute - parts.exposed_memory, 0.0) : one;
  return parts;
}

LayerTime layer_time(const Layer& layer, std::int64_t panels, const Rates& rates,
                     const LayerCosts& costs) {
  LayerTime time;
  for (const Operator& op : layer) {
    time.forward += operator_time(op, op.forward, panels, rates, costs);
    time.backward += operator_time(op, op.backward, panels, rates, costs);
  }
  return time;
}

}  // namespace flopcast::published
