#include "network/fit/kriging.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "network/fit/constants.h"

namespace flopcast::network {
namespace {

std::vector<double> unit(std::size_t n, std::size_t at) {
  std::vector<double> vector(n);
  vector[at] = 1;
  return vector;
}

bool counted(const Kin& kin, const Kin& like) {
  return kin.mode == like.mode && kin.what.op == like.what.op &&
         (kin.what.nodes > 1) == (like.what.nodes > 1);
}

double mean_square(const std::vector<std::vector<double>>& by_power, std::size_t i) {
  double sum = 0;
  for (const std::vector<double>& values : by_power) sum += values[i] * values[i];
  return sum / static_cast<double>(by_power.size());
}

}  // namespace

Residuals residuals_of(const MeasuredCurve& curve, const Platform& platform, const MeanTime& mean) {
  Residuals residuals{Kin(curve.what, platform), 0, {}};
  const double octaves = residuals.kin.octaves();
  for (int power = kFirstPower; power <= kLastPower; ++power) {
    const double size = power + octaves;
    if (!curve.curve.covers(size)) continue;
    if (residuals.log_ratio.empty()) residuals.first = power;
    const double expected = mean.at(curve.what, std::exp2(size));
    residuals.log_ratio.push_back(curve.curve.at(size) - std::log(expected));
  }
  return residuals;
}

Kriging::Kriging(std::vector<const Residuals*> relatives, std::size_t own)
    : relatives_(std::move(relatives)), own_(own) {
  std::map<std::pair<Sizes, std::vector<std::size_t>>, std::vector<int>> by_members;
  const std::size_t asked = own_ > 0 ? own_ : relatives_.size();
  for (int power = kFirstPower; power <= kLastPower; ++power) {
    std::vector<std::size_t> members;
    for (std::size_t i = 0; i < relatives_.size(); ++i) {
      if (relatives_[i]->covers(power)) members.push_back(i);
    }
    if (members.empty() || members.front() >= asked) continue;
    by_members[{sizes_of(power), std::move(members)}].push_back(power);
  }
  for (const auto& [key, powers] : by_members) groups_.push_back(make_group(key.second, powers));
}

std::vector<double> Kriging::residuals(const std::vector<std::size_t>& members, int power) const {
  std::vector<double> all;
  for (const std::size_t i : members) all.push_back(relatives_[i]->at(power));
  return all;
}

/// A curve that its relatives contradict counts for less: its residual from what the others say of it,
/// in standard deviations and beyond one, is taken for noise of its own. With P the inverse covariance
/// and r the residuals, that is (P r)_i / sqrt(P_ii) (Dubrule 1983).
Kriging::Group Kriging::make_group(const std::vector<std::size_t>& members,
                                   const std::vector<int>& powers) const {
  const std::size_t n = members.size();
  const Sizes sizes = sizes_of(powers.front());
  SquareMatrix matrix(n);
  for (std::size_t i = 0; i < n; ++i) {
    const Kin& a = relatives_[members[i]]->kin;
    for (std::size_t j = 0; j <= i; ++j) {
      matrix.at(i, j) = matrix.at(j, i) = kinship(a, relatives_[members[j]]->kin, sizes);
    }
    matrix.at(i, i) += run_noise(a, sizes);
  }
  Group group{members, powers, std::vector<double>(n), Cholesky(matrix), {}};
  for (const int power : powers) {
    group.weights.push_back(group.factor.solve(residuals(members, power)));
  }
  for (std::size_t i = 0; i < n; ++i) {
    const double precision = group.factor.quadratic(unit(n, i));
    const double contradiction = mean_square(group.weights, i) / precision;
    group.doubt[i] = std::max(contradiction - 1, 0.0) / precision;
    matrix.at(i, i) += group.doubt[i];
  }
  group.factor = Cholesky(std::move(matrix));
  for (std::size_t s = 0; s < powers.size(); ++s) {
    group.weights[s] = group.factor.solve(residuals(members, powers[s]));
  }
  return group;
}

Kriging::Estimate Kriging::estimate(const Kin& kin) const {
  struct At {
    double log_ratio, sd;
  };
  std::map<int, At> found;
  for (const Group& group : groups_) {
    const Sizes sizes = sizes_of(group.powers.front());
    std::vector<double> nearness;
    for (const std::size_t i : group.members) {
      nearness.push_back(kinship(kin, relatives_[i]->kin, sizes));
    }
    const double own = kinship(kin, kin, sizes) + run_noise(kin, sizes);
    const double sd =
        std::sqrt(std::max(own - group.factor.quadratic(nearness), fit_constants().least_variance));
    for (std::size_t s = 0; s < group.powers.size(); ++s) {
      double log_ratio = 0;
      for (std::size_t i = 0; i < nearness.size(); ++i) {
        log_ratio += nearness[i] * group.weights[s][i];
      }
      found[group.powers[s]] = {log_ratio, sd};
    }
  }
  Estimate estimate;
  if (found.empty()) return estimate;
  const int first = found.begin()->first;
  estimate.first = first + kin.octaves();
  // Curves cover intervals, and those of one system overlap: a power that none covers, between some
  // that do, is an odd file's.
  for (int power = first; power <= found.rbegin()->first; ++power) {
    const auto at = std::prev(found.upper_bound(power));
    estimate.log_ratio.push_back(at->second.log_ratio);
    estimate.sd.push_back(at->second.sd);
  }
  return estimate;
}

std::vector<Kriging::Block> Kriging::blocks(const Group& group, Distance distance) const {
  using Key = std::tuple<unsigned, unsigned, CollectiveOp, std::string_view, std::size_t>;
  std::map<Key, Block> together;
  for (std::size_t i = 0; i < group.members.size() && group.members[i] < own_; ++i) {
    const Kin& kin = relatives_[group.members[i]]->kin;
    Key key{kin.what.ranks, kin.what.nodes, CollectiveOp{}, "", 0};
    if (distance < Distance::kRanks) std::get<2>(key) = kin.what.op, std::get<3>(key) = kin.kernel;
    if (distance < Distance::kOperation) std::get<4>(key) = i + 1;
    together[key].push_back(i);
  }
  std::vector<Block> all;
  for (auto& [key, block] : together) all.push_back(std::move(block));
  return all;
}

/// A block b kept out misses by (P_bb)^-1 (P r)_b, with covariance (P_bb)^-1 (Dubrule 1983).
void Kriging::block_misses(const Group& group, const Block& block, const Kin& like,
                           std::vector<Miss>& out) const {
  const std::size_t n = group.members.size();
  SquareMatrix part(block.size());
  for (std::size_t a = 0; a < block.size(); ++a) {
    const std::vector<double> row = group.factor.solve(unit(n, block[a]));
    for (std::size_t b = 0; b < block.size(); ++b) part.at(a, b) = row[block[b]];
  }
  const Cholesky factor(std::move(part));
  for (std::size_t s = 0; s < group.powers.size(); ++s) {
    std::vector<double> right;
    for (const std::size_t b : block) right.push_back(group.weights[s][b]);
    const std::vector<double> error = factor.solve(std::move(right));
    for (std::size_t a = 0; a < block.size(); ++a) {
      const Kin& kin = relatives_[group.members[block[a]]]->kin;
      if (!counted(kin, like)) continue;
      const double variance = factor.quadratic(unit(block.size(), a)) - group.doubt[block[a]];
      out.push_back({group.powers[s] + kin.octaves(), error[a],
                     std::sqrt(std::max(variance, fit_constants().least_variance))});
    }
  }
}

std::vector<Kriging::Miss> Kriging::misses(Distance distance, const Kin& like) const {
  std::vector<Miss> all;
  for (const Group& group : groups_) {
    for (const Block& block : blocks(group, distance)) {
      // With the whole group kept out nothing is left to forecast from.
      if (block.size() < group.members.size()) block_misses(group, block, like, all);
    }
  }
  return all;
}

}  // namespace flopcast::network
