// Floor 2, private to the calibration: one form per system and operation, over ranks and nodes.
//
//   t = c0 + c1 r(p-1) + c2 f S + c3 S + c4 sqrt(r(p-1)S)
//     + c5 r lg N + c6 r(N-1) + c7 f S/g [N>1] + c8 sqrt(r lg N S),    all c >= 0
//
// p ranks on N nodes, g = p/N, S bytes; f: bus bandwidth factor; r: passes, all_reduce 2, else 1.
// The first five are a latency, one per ring step, the ring's transfer, what does not shrink with p
// (trees, multicast) and chunked pipelining; the others the same between nodes.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "network/fit/curve.h"

namespace flopcast::network {

struct PooledForm {
  static constexpr std::size_t kTerms = 9;
  std::array<double, kTerms> coefficients{};
  double at(CollectiveOp op, unsigned ranks, unsigned nodes, double bytes) const;
};
/// Least relative deviations over all knots of the curves.
PooledForm fit_pooled(const std::vector<const MeasuredCurve*>& curves);

/// Collectives are launched in one of three ways, which pools keep apart: "nccl" (by a program in C),
/// "eager" (from Python, call by call) and "graph" (replayed).
std::string launch_mode(const CollectiveCase& what);

}  // namespace flopcast::network
