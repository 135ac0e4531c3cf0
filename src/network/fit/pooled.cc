#include "network/fit/pooled.h"

#include <algorithm>
#include <cmath>

#include "base/numeric/linear.h"

namespace flopcast::network {
namespace {

using Terms = std::array<double, PooledForm::kTerms>;

Terms terms_of(CollectiveOp op, unsigned ranks, unsigned nodes, double bytes) {
  const double passes = op == CollectiveOp::kAllReduce ? 2 : 1;
  const double factor = bus_bandwidth_factor(op, ranks);
  const double steps = passes * (ranks - 1.0);
  const double depth = passes * std::log2(nodes);
  const double across = nodes > 1 ? factor * bytes * nodes / ranks : 0;
  return {1,
          steps,
          factor * bytes,
          bytes,
          std::sqrt(steps * bytes),
          depth,
          passes * (nodes - 1.0),
          across,
          std::sqrt(depth * bytes)};
}

}  // namespace

double PooledForm::at(CollectiveOp op, unsigned ranks, unsigned nodes, double bytes) const {
  const Terms terms = terms_of(op, ranks, nodes, bytes);
  double sum = 0;
  for (std::size_t i = 0; i < kTerms; ++i) sum += coefficients[i] * terms[i];
  return sum;
}

PooledForm fit_pooled(const std::vector<const MeasuredCurve*>& curves) {
  constexpr int kTurns = 5;
  constexpr double kExact = 0.03;
  PooledForm form;
  for (int turn = 0; turn < kTurns; ++turn) {
    NormalEquations equations(PooledForm::kTerms);
    for (const MeasuredCurve* curve : curves) {
      const CollectiveCase& what = curve->what;
      for (std::size_t i = 0; i < curve->curve.log_time.size(); ++i) {
        const double bytes = std::exp2(curve->curve.log2_size[i]);
        const double time = std::exp(curve->curve.log_time[i]);
        const Terms terms = terms_of(what.op, what.ranks, what.nodes, bytes);
        std::vector<double> row(terms.begin(), terms.end());
        for (double& term : row) term /= time;
        const double off =
            turn == 0 ? 1 : std::fabs(form.at(what.op, what.ranks, what.nodes, bytes) / time - 1);
        equations.add(row, 1, 1 / std::max(off, kExact));
      }
    }
    const std::vector<double> x = equations.solve_non_negative();
    std::ranges::copy(x, form.coefficients.begin());
  }
  for (double& c : form.coefficients) c = to_digits(c, kCoefficientDigits);
  return form;
}

std::string launch_mode(const CollectiveCase& what) {
  // Sends that PyTorch queues up run back to back.
  const bool torch = what.version.starts_with("torch") && what.op != CollectiveOp::kSendRecv;
  if (torch || what.library.find("eager") != what.library.npos) return "eager";
  return what.library == "NCCL" ? "nccl" : "graph";
}

}  // namespace flopcast::network
