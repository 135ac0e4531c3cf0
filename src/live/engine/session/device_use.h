// How busy a chip is and whose memory it holds, for programs that watch it while the run goes on.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "flopcast/engine/growing.h"

namespace flopcast::live {

/// Time in which something ran, whatever ran beside it.
class BusyTime {
 public:
  /// In any order, but nothing that begins before what was forgotten.
  void add(Time start, Time end);
  /// Nothing is asked of the time before any more, but how much of it was busy.
  void forget(Time before);
  /// Busy time between the two. @pre nothing after `from` was forgotten
  Time within(Time from, Time to) const;
  /// Busy time from the beginning.
  Time until(Time to) const;
  std::size_t size() const { return spans_.size(); }

 private:
  using Span = std::pair<Time, Time>;
  static std::vector<Span> merged(std::vector<Span> spans);
  std::vector<Span> spans_;
  Time forgotten_;  ///< busy time of what is no longer in it
};

/// A task of a chip whose end is not known yet.
struct Unended {
  GrowingTask task = kNoGrowingTask;  ///< kept
  GrowingTask behind =
      kNoGrowingTask;  ///< kept; the task runs from its end on. None: it has not begun either
  bool computes = false;
};

/// What processes have of a chip's memory, from when on.
using Holdings = std::map<std::uint32_t, std::deque<std::pair<Time, std::uint64_t>>>;

struct ChipUse {
  BusyTime computes, moves;
  std::vector<Unended> unended;
  std::size_t tidy_at = 4096;  ///< so many spans and tasks are looked through together
  Holdings holdings;           ///< by process
};

}  // namespace flopcast::live
