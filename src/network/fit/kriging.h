// Floor 2, private to the calibration: what measured curves say about a case that was not measured.
//
// Each curve's residual r = log(measured) - log(pooled form) is a Gaussian field over cases with
// covariance k(i,j), the product of
//   0.1 + 0.3 [same launch mode] + 0.1 [same library] + 0.5 [same library and version]
//   exp(-|lg g_i/g_j| / 1.5) exp(-|lg N_i/N_j| / 6)            g ranks per node, N nodes
//   1 | 0.97 all_gather with reduce_scatter | 0.5 other operation
//   1 | 0.98 other data type
// and a nugget of 0.005, the share of noise. The estimate is the best linear one (kriging), size by
// size; a case that was measured keeps its curve but for the noise its relatives average out. The
// constants were chosen by four-fold cross-validation over curves (docs/theory/network.md).
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/numeric/linear.h"
#include "network/fit/pooled.h"

namespace flopcast::network {

using PooledForms = std::map<std::pair<CollectiveOp, std::string>, PooledForm>;  // op, launch mode

/// A model that was not fitted to the system.
struct Reference {
  std::function<double(const CollectiveCase&, double bytes)> seconds;  ///< empty: none
  bool switched = true;  ///< chips of a node are joined by a switch of their own, not by PCIe
};

/// What curves are compared to. A pooled form needs two numbers of ranks on a node to say anything
/// about a third (three over PCIe, where chips are not alike), and three combinations across nodes;
/// with fewer the reference stands in, where there is one, else the pooled form of the nearest kin:
/// the same operation in another mode, the same mode with another operation, anything.
class MeanTime {
 public:
  MeanTime(const std::vector<MeasuredCurve>& curves, PooledForms forms, Reference reference);
  double at(const CollectiveCase& what, double bytes) const;

 private:
  PooledForms forms_;
  struct Shapes {
    std::set<std::pair<unsigned, unsigned>> inside, across;  // ranks, nodes
  };
  bool enough(const CollectiveCase& what, const std::string& mode) const;
  std::map<std::pair<CollectiveOp, std::string>, Shapes> shapes_;
  Reference reference_;
};

class Kriging {
 public:
  /// Sizes at which curves are compared: powers of two, 2^kFirst .. 2^kLast.
  static constexpr int kFirst = 6, kLast = 36;

  /// @param curves,mean must live as long.
  Kriging(std::vector<const MeasuredCurve*> curves, const MeanTime& mean);

  struct Estimate {
    int first = 0;                     ///< power of two of the first size
    std::vector<double> log_time, sd;  ///< sd of log time, in units of the field's
  };
  Estimate estimate(const CollectiveCase& what) const;

  /// Residuals of curves from what the others say of them, in units of the estimate's sd: each
  /// curve kept out alone, or with all that share its ranks and nodes.
  struct Miss {
    int power = 0;
    double error = 0, sd = 0;
  };
  std::vector<Miss> misses(bool whole_rank_count) const;

 private:
  double covariance(const CollectiveCase& a, const CollectiveCase& b) const;

  std::vector<const MeasuredCurve*> curves_;
  const MeanTime& mean_;
  std::vector<std::vector<double>> residuals_;  // by curve and power; NaN where not covered
  struct Group {                                // sizes that the same curves cover
    std::vector<std::size_t> members;           // curves
    std::vector<int> powers;
    Cholesky factor;
    std::vector<std::vector<double>> weights;  // covariance^-1 residuals, by power
  };
  std::vector<Group> groups_;

  using Block = std::vector<std::size_t>;  // of a group's members
  std::vector<Block> blocks(const Group& group, bool whole_rank_count) const;
  static void block_misses(const Group& group, const std::vector<std::vector<double>>& inverse,
                           const Block& block, std::vector<Miss>& out);
};

}  // namespace flopcast::network
