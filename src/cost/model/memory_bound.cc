#include "cost/model/memory_bound.h"

#include <algorithm>
#include <cmath>

namespace flopcast::cost {
namespace {

/// Time of an event nobody measured, launch and pipeline fill together; share of peak bandwidth
/// that streaming kernels of several vendors reach.
constexpr double kAssumedLaunch = 2.5e-6, kAssumedShare = 0.75, kAssumedNorm = 2;

double traffic_bytes(const MemoryBound& k, DataType type, bool backward) {
  const Traffic traffic = traffic_of(k.op, backward);
  return size_of(k.rows) * size_of(k.columns) * bytes_per_element(type) *
         (traffic.read + traffic.written);
}

/// As the measured operators moved: forward, two bytes per element.
double own_bytes(const MemoryBound& k) { return traffic_bytes(k, DataType::kFp16, false); }

}  // namespace

Traffic traffic_of(MemoryOp op, bool backward) {
  switch (op) {
    case MemoryOp::kGatedActivation:
      return backward ? Traffic{3, 2} : Traffic{2, 1};
    case MemoryOp::kAdd:
      return backward ? Traffic{1, 2} : Traffic{2, 1};
    case MemoryOp::kLayerNorm:
    case MemoryOp::kRmsNorm:
    case MemoryOp::kSoftmax:
    case MemoryOp::kActivation:
    case MemoryOp::kElementWise:
      return backward ? Traffic{2, 1} : Traffic{1, 1};
    case MemoryOp::kCrossEntropy:  // logits once for the maximum and sum, once for the loss
      return backward ? Traffic{1, 1} : Traffic{2, 0};
    case MemoryOp::kOptimizer:  // Adam: gradient, weight, two moments; all but the gradient written
      return {4, 3};
    case MemoryOp::kQuantize:  // read to find the scale, read to convert, written at half the size
      return {2, 0.5};
    case MemoryOp::kRope:
    case MemoryOp::kEmbedding:
    case MemoryOp::kCopy:
    case MemoryOp::kMoeDispatch:
    case MemoryOp::kMoeCombine:
      break;
  }
  return {1, 1};
}

double bytes_of(const MemoryBound& k) {
  if (k.read.value > 0 || k.written.value > 0) return k.read.value + k.written.value;
  return traffic_bytes(k, k.type, k.backward);
}

MemoryFit assumed_memory_fit(MemoryOp op) {
  MemoryFit fit;
  fit.op = op;
  fit.launch_s = kAssumedLaunch;
  fit.bandwidth_share = kAssumedShare;
  fit.norm = kAssumedNorm;
  return fit;
}

MemoryOp similar(MemoryOp op) {
  switch (op) {
    case MemoryOp::kLayerNorm:
      return MemoryOp::kRmsNorm;
    case MemoryOp::kRmsNorm:
    case MemoryOp::kCrossEntropy:
      return MemoryOp::kLayerNorm;
    case MemoryOp::kActivation:
      return MemoryOp::kGatedActivation;
    case MemoryOp::kGatedActivation:
    case MemoryOp::kElementWise:
    case MemoryOp::kQuantize:
      return MemoryOp::kActivation;
    case MemoryOp::kCopy:
    case MemoryOp::kOptimizer:
    case MemoryOp::kMoeDispatch:  // rows of kilobytes, in another order
    case MemoryOp::kMoeCombine:
      return MemoryOp::kAdd;
    case MemoryOp::kSoftmax:
    case MemoryOp::kAdd:
    case MemoryOp::kRope:
    case MemoryOp::kEmbedding:
      break;
  }
  return op;
}

double memory_seconds(const MemoryFit& fit, double bandwidth, const MemoryBound& kernel) {
  const double rate = bandwidth * fit.bandwidth_share;
  const double form = p_norm(fit.launch_s, bytes_of(kernel) / rate, fit.norm);
  if (fit.grid.empty()) return form;
  // The grid was fitted at the operator's own traffic; other traffic goes by the formula alone, and
  // so does another chip.
  const double own =
      p_norm(fit.launch_s, own_bytes(kernel) / (fit.origin.rates.bandwidth * fit.bandwidth_share),
             fit.norm);
  return form *
         std::exp2((fit.form_share - 1) * std::log2(own) + fit.grid.at(memory_point(kernel)));
}

Grid<2>::Point memory_point(const MemoryBound& k) {
  constexpr double kLog2Row = 12;
  const double rows = std::log2(size_of(k.rows)), columns = std::log2(size_of(k.columns));
  switch (k.op) {
    case MemoryOp::kActivation:
    case MemoryOp::kGatedActivation:
    case MemoryOp::kAdd:
    case MemoryOp::kElementWise:
    case MemoryOp::kCopy:
    case MemoryOp::kOptimizer:
    case MemoryOp::kQuantize:
      return {rows + columns - kLog2Row, kLog2Row};
    default:
      return {rows, columns};
  }
}

}  // namespace flopcast::cost
