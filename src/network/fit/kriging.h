// Floor 2, private to the fit of collectives: what a system's cases leave over of their mean (mean_time.h),
// as a Gaussian field over cases (kinship.h). A case is estimated from those it resembles, on its own
// system and on others.
#pragma once

#include <cstdint>
#include <vector>

#include "base/numeric/linear.h"
#include "network/fit/curve.h"
#include "network/fit/kinship.h"
#include "network/fit/mean_time.h"

namespace flopcast::network {

/// Sizes at which curves are compared: powers of two, 2^kFirstPower .. 2^kLastPower, times 2^octaves
/// of each (kinship.h).
inline constexpr int kFirstPower = 6, kLastPower = 36;

/// A measured curve as what it leaves over.
struct Residuals {
  Kin kin;
  int first = 0;                  ///< power of two
  std::vector<double> log_ratio;  ///< log(measured / mean)

  int end() const { return first + static_cast<int>(log_ratio.size()); }
  bool covers(int power) const { return power >= first && power < end(); }
  double at(int power) const { return log_ratio[static_cast<std::size_t>(power - first)]; }
};
Residuals residuals_of(const MeasuredCurve& curve, const Platform& platform, const MeanTime& mean);

/// How far from the nearest measurement of its system a case is.
enum class Distance : std::uint8_t {
  kVersion,    ///< the case was measured with another version or data type
  kOperation,  ///< its ranks and nodes were, with another operation or another library
  kRanks,      ///< its ranks and nodes were not
};
inline constexpr std::size_t kDistances = 3;

class Kriging {
 public:
  /// @param relatives must live as long; the first `own` are of the system that is asked for.
  Kriging(std::vector<const Residuals*> relatives, std::size_t own);

  struct Estimate {
    double first = 0;                   ///< log2 of the first size; the next is twice that
    std::vector<double> log_ratio, sd;  ///< of time to mean
  };
  /// At the sizes that the system's own curves cover; at all where it has none.
  Estimate estimate(const Kin& kin) const;

  /// Residuals of the system's own curves that are launched as `like` is and do the same operation from
  /// what the others say of them: each kept out with all that is no further than `distance`.
  struct Miss {
    double log2_size = 0;
    double error = 0, sd = 0;
  };
  std::vector<Miss> misses(Distance distance, const Kin& like) const;

 private:
  struct Group {                       // sizes that the same curves cover
    std::vector<std::size_t> members;  // of relatives_, ascending
    std::vector<int> powers;
    std::vector<double> doubt;  // added to the variance of curves that their relatives contradict
    Cholesky factor;
    std::vector<std::vector<double>> weights;  // covariance^-1 residuals, by power
  };
  Group make_group(const std::vector<std::size_t>& members, const std::vector<int>& powers) const;
  std::vector<double> residuals(const std::vector<std::size_t>& members, int power) const;

  using Block = std::vector<std::size_t>;  // of a group's members
  std::vector<Block> blocks(const Group& group, Distance distance) const;
  void block_misses(const Group& group, const Block& block, const Kin& like,
                    std::vector<Miss>& out) const;

  std::vector<const Residuals*> relatives_;
  std::size_t own_;
  std::vector<Group> groups_;
};

}  // namespace flopcast::network
