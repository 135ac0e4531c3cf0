#include "network/fit/kriging.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace flopcast::network {
namespace {

constexpr double kNugget = 0.005;
constexpr double kLeastVariance = 0.015;  // of an estimate: between sizes it is interpolated
constexpr double kAnyLibrary = 0.1, kSameMode = 0.3, kSameLibrary = 0.1, kSameVersion = 0.5;
constexpr double kRankScale = 1.5, kNodeScale = 6;
constexpr double kMirroredOp = 0.97, kOtherOp = 0.5, kOtherType = 0.98;

bool is_pass(CollectiveOp op) {
  return op == CollectiveOp::kAllGather || op == CollectiveOp::kReduceScatter;
}

double between_libraries(const CollectiveCase& a, const CollectiveCase& b) {
  double shared = kAnyLibrary;
  if (launch_mode(a.library) == launch_mode(b.library)) shared += kSameMode;
  if (a.library == b.library) shared += kSameLibrary + (a.version == b.version ? kSameVersion : 0);
  return shared;
}

double between_operations(const CollectiveCase& a, const CollectiveCase& b) {
  if (a.op == b.op) return 1;
  return is_pass(a.op) && is_pass(b.op) ? kMirroredOp : kOtherOp;
}

double log_ratio(unsigned a, unsigned b) { return std::fabs(std::log2(double{1} * a / b)); }

}  // namespace

MeanTime::MeanTime(const std::vector<MeasuredCurve>& curves, PooledForms forms, Reference reference)
    : forms_(std::move(forms)), reference_(std::move(reference)) {
  for (const MeasuredCurve& curve : curves) {
    const CollectiveCase& what = curve.what;
    Shapes& shapes = shapes_[{what.op, launch_mode(what.library)}];
    (what.nodes == 1 ? shapes.inside : shapes.across).emplace(what.ranks, what.nodes);
  }
}

bool MeanTime::enough(const CollectiveCase& what, const std::string& mode) const {
  constexpr std::size_t kSwitched = 2, kOverPcie = 3, kAcross = 3;
  const auto shapes = shapes_.find({what.op, mode});
  if (shapes == shapes_.end()) return false;
  if (what.nodes > 1) return shapes->second.across.size() >= kAcross;
  return shapes->second.inside.size() >= (reference_.switched ? kSwitched : kOverPcie);
}

double MeanTime::at(const CollectiveCase& what, double bytes) const {
  const std::string mode = launch_mode(what.library);
  if (reference_.seconds && !enough(what, mode)) return reference_.seconds(what, bytes);
  const PooledForm* best = nullptr;
  int likeness = -1;
  for (const auto& [of, form] : forms_) {
    const int same = (of.first == what.op ? 2 : 0) + (of.second == mode ? 1 : 0);
    if (same > likeness) likeness = same, best = &form;
  }
  return best->at(what.op, what.ranks, what.nodes, bytes);
}

double Kriging::covariance(const CollectiveCase& a, const CollectiveCase& b) const {
  const unsigned ga = a.ranks / a.nodes, gb = b.ranks / b.nodes;
  const double distance = log_ratio(std::max(ga, 1U), std::max(gb, 1U)) / kRankScale +
                          log_ratio(a.nodes, b.nodes) / kNodeScale;
  const bool same_type = a.type == b.type || a.type.empty() || b.type.empty();
  return between_libraries(a, b) * between_operations(a, b) * std::exp(-distance) *
         (same_type ? 1 : kOtherType);
}

Kriging::Kriging(std::vector<const MeasuredCurve*> curves, const MeanTime& mean)
    : curves_(std::move(curves)), mean_(mean) {
  std::map<std::vector<std::size_t>, std::vector<int>> by_members;
  residuals_.assign(curves_.size(), std::vector<double>(kLast - kFirst + 1));
  for (int power = kFirst; power <= kLast; ++power) {
    std::vector<std::size_t> members;
    for (std::size_t i = 0; i < curves_.size(); ++i) {
      if (!curves_[i]->curve.covers(power)) continue;
      const double mean_time = mean_.at(curves_[i]->what, std::exp2(power));
      residuals_[i][power - kFirst] = curves_[i]->curve.at(power) - std::log(mean_time);
      members.push_back(i);
    }
    if (!members.empty()) by_members[members].push_back(power);
  }
  for (auto& [members, powers] : by_members) {
    SquareMatrix matrix(members.size());
    for (std::size_t i = 0; i < members.size(); ++i) {
      for (std::size_t j = 0; j < members.size(); ++j) {
        matrix.at(i, j) = covariance(curves_[members[i]]->what, curves_[members[j]]->what);
      }
      matrix.at(i, i) += kNugget;
    }
    Group group{members, powers, Cholesky(std::move(matrix)), {}};
    for (const int power : powers) {
      std::vector<double> right;
      for (const std::size_t i : members) right.push_back(residuals_[i][power - kFirst]);
      group.weights.push_back(group.factor.solve(std::move(right)));
    }
    groups_.push_back(std::move(group));
  }
}

Kriging::Estimate Kriging::estimate(const CollectiveCase& what) const {
  struct At {
    double log_time, sd;
  };
  std::map<int, At> found;
  for (const Group& group : groups_) {
    std::vector<double> nearness;
    for (const std::size_t i : group.members)
      nearness.push_back(covariance(what, curves_[i]->what));
    const double own = covariance(what, what) + kNugget;
    const double sd = std::sqrt(std::max(own - group.factor.quadratic(nearness), kLeastVariance));
    for (std::size_t s = 0; s < group.powers.size(); ++s) {
      const int power = group.powers[s];
      double log_time = std::log(mean_.at(what, std::exp2(power)));
      for (std::size_t i = 0; i < nearness.size(); ++i) {
        log_time += nearness[i] * group.weights[s][i];
      }
      found[power] = {log_time, sd};
    }
  }
  Estimate estimate;
  estimate.first = found.begin()->first;
  // Curves cover intervals, and those of one system overlap: a power that none covers, between some
  // that do, is an odd file's.
  for (int power = estimate.first; power <= found.rbegin()->first; ++power) {
    const auto at = std::prev(found.upper_bound(power));
    estimate.log_time.push_back(at->second.log_time);
    estimate.sd.push_back(at->second.sd);
  }
  make_monotone(estimate.log_time);
  return estimate;
}

std::vector<Kriging::Block> Kriging::blocks(const Group& group, bool whole_rank_count) const {
  if (!whole_rank_count) {
    std::vector<Block> single;
    for (std::size_t i = 0; i < group.members.size(); ++i) single.push_back({i});
    return single;
  }
  std::map<std::pair<unsigned, unsigned>, Block> by_ranks;
  for (std::size_t i = 0; i < group.members.size(); ++i) {
    const CollectiveCase& what = curves_[group.members[i]]->what;
    by_ranks[{what.ranks, what.nodes}].push_back(i);
  }
  std::vector<Block> all;
  for (auto& [ranks, block] : by_ranks) all.push_back(std::move(block));
  return all;
}

/// With P the inverse covariance and r the residuals, a block b kept out misses by
/// (P_bb)^-1 (P r)_b, with covariance (P_bb)^-1 (Dubrule 1983).
void Kriging::block_misses(const Group& group, const std::vector<std::vector<double>>& inverse,
                           const Block& block, std::vector<Miss>& out) {
  SquareMatrix part(block.size());
  for (std::size_t a = 0; a < block.size(); ++a) {
    for (std::size_t b = 0; b < block.size(); ++b) part.at(a, b) = inverse[block[a]][block[b]];
  }
  const Cholesky factor(std::move(part));
  std::vector<double> sd;
  for (std::size_t a = 0; a < block.size(); ++a) {
    std::vector<double> unit(block.size());
    unit[a] = 1;
    sd.push_back(std::sqrt(std::max(factor.quadratic(unit), kLeastVariance)));
  }
  for (std::size_t s = 0; s < group.powers.size(); ++s) {
    std::vector<double> right;
    for (const std::size_t b : block) right.push_back(group.weights[s][b]);
    const std::vector<double> error = factor.solve(std::move(right));
    for (std::size_t a = 0; a < block.size(); ++a) {
      out.push_back({group.powers[s], error[a], sd[a]});
    }
  }
}

std::vector<Kriging::Miss> Kriging::misses(bool whole_rank_count) const {
  std::vector<Miss> all;
  for (const Group& group : groups_) {
    const std::size_t n = group.members.size();
    std::vector<std::vector<double>> inverse;
    for (std::size_t i = 0; i < n; ++i) {
      std::vector<double> unit(n);
      unit[i] = 1;
      inverse.push_back(group.factor.solve(std::move(unit)));
    }
    for (const Block& block : blocks(group, whole_rank_count)) {
      // With the whole group kept out nothing is left to forecast from.
      if (block.size() < n) block_misses(group, inverse, block, all);
    }
  }
  return all;
}

}  // namespace flopcast::network
