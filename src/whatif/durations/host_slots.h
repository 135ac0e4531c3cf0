// A host thread as one stretch after the other, so that time can be taken out of it where the
// recording says something was done.
#pragma once

#include <cstdint>
#include <vector>

#include "flopcast/replay/assembly.h"

namespace flopcast::whatif {

/// What a thread does, by recorded times; what is taken is taken from its durations. Where these
/// were stretched before, so is what is taken. Waiting is left alone: it follows from the run.
class HostSlots {
 public:
  /// @param durations of the rank; must outlive this.
  HostSlots(const replaying::Recording& recording, std::uint32_t rank, std::uint32_t thread,
            replaying::Durations::Rank& durations);

  static constexpr std::uint32_t kNone = replaying::kNoIndex;  ///< no slot
  /// The slot that is just before a moment, or just after it: 2 p for the gap before piece p, 2 p + 1
  /// for the piece. kNone: the thread does nothing then.
  std::uint32_t before(Time at) const;
  std::uint32_t after(Time at) const;  ///< likewise

  /// Takes so much of a slot: as much as is there, never more. @return what was not there to take.
  Time take(std::uint32_t slot, Time cost);
  /// Takes all that the thread did in [from, to). @return how much that was.
  Time take_between(Time from, Time to);
  /// All that is left, without waiting.
  Time work() const;
  /// Makes everything k times as long, without waiting.
  void stretch(double k);

 private:
  Time& time(std::size_t slot) {
    return slot % 2 == 0 ? durations_.gap[thread_][slot / 2] : durations_.piece[thread_][slot / 2];
  }
  Time time(std::size_t slot) const { return const_cast<HostSlots*>(this)->time(slot); }
  Time from(std::size_t slot) const;
  Time to(std::size_t slot) const;
  std::size_t slots() const { return 2 * pieces_.size(); }

  const std::vector<replaying::Piece>& pieces_;
  std::uint32_t thread_;
  replaying::Durations::Rank& durations_;
  std::vector<bool> waits_;    // [slot]: even ones are the gaps before the pieces
  std::vector<double> scale_;  // [slot]: of what was recorded
};

}  // namespace flopcast::whatif
