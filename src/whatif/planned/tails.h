// What is sent once a step: how long it takes in another run, and how much of it passes hide.
//
// Of a transfer R that runs beside passes of B seconds, R - h B is left over, and never less than
// the last of its buckets (one a layer): R / layers. The share h is what the recording shows. A second
// that is hidden slows the kernels beside it, by so much that a part of it is left over all the same.
#pragma once

#include <functional>
#include <optional>

#include "whatif/planned/planned_step.h"

namespace flopcast::whatif::planned {

/// What a chip's transfers go by.
struct ChipLoad {
  double parameters = 0;  ///< in seconds of the recorded optimizer
  double cover = 0;       ///< seconds of passes that a transfer may hide behind
  double layers = 0;      ///< how many buckets there are; 0: not known
};

/// New over recorded time of a whole transfer whose bytes and ranks change.
using TransferRatio =
    std::function<double(const WholeTransfer& recorded, double bytes, std::uint32_t ranks)>;
/// By the bytes on a ring's links.
double ring_ratio(const WholeTransfer& recorded, double bytes, std::uint32_t ranks);

/// One kind of transfer, of gradients or of weights, over all chips.
class Tail {
 public:
  /// @param left of each chip, what nothing hides; whole[chip] are empty where they are not told
  /// @param unseen h where whole transfers are told but all that was left over are buckets
  /// @param slowed part of what is hidden that kernels beside it take longer, below 1
  Tail(const std::vector<double>& left, const std::vector<std::vector<WholeTransfer>>& whole,
       const std::vector<ChipLoad>& loads, double unseen, double slowed = 0);

  bool any() const { return any_; }  ///< something was sent
  /// What is left over of that of a chip of the new run. @param replicas new over recorded
  double left(const ChipLoad& load, double replicas, const TransferRatio& ratio) const;

 private:
  void solve_told(const std::vector<double>& left,
                  const std::vector<std::vector<WholeTransfer>>& all);
  void solve_compared(const std::vector<double>& left);
  double whole_time(const ChipLoad& load, double replicas, const TransferRatio& ratio) const;

  std::vector<ChipLoad> loads_;
  std::vector<WholeTransfer> told_;  // of the chip with most; empty: not told
  double told_parameters_ = 0;       // of that chip
  double rate_ = 0;                  // seconds of a transfer for one of the optimizer
  double hidden_ = 0;                // h
  double slowed_ = 0;
  bool any_ = false;
};

}  // namespace flopcast::whatif::planned
