// Where a time of a host thread lies among its pieces.
#pragma once

#include "flopcast/replay/steps.h"

namespace flopcast::replaying {

/// Moves a thread's recorded times to its replayed ones. Inside a piece time runs on from its
/// start; in a gap from the end of the piece before.
class HostWarp {
 public:
  HostWarp(const RankModel& rank, std::uint32_t thread)
      : pieces_(rank.threads[thread].pieces), thread_(thread), at_(pieces_.begin()) {}

  /// Of a row that starts at t; soonest where rows come in order.
  HostPoint start_at(Time t);
  /// Of a row that ends at t; soonest for the row whose start was asked for last.
  HostPoint end_at(Time t) const;

 private:
  using It = std::vector<Piece>::const_iterator;
  std::uint32_t index(It it) const { return static_cast<std::uint32_t>(it - pieces_.begin()); }
  template <typename Before>
  It seek(Before before) const;
  HostPoint inside(It it, Time t) const;
  HostPoint between(It next, Time t) const;

  const std::vector<Piece>& pieces_;
  std::uint32_t thread_;
  It at_;  // where the last start was found
};

}  // namespace flopcast::replaying
