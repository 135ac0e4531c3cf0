// Where the time of a GPU goes, counted as its tasks become known: nothing is kept of them.
#pragma once

#include <array>
#include <cstdint>

#include "flopcast/live.h"

namespace flopcast::live {

/// Tasks are to be given by their starts.
class Activity {
 public:
  enum class Of : std::uint8_t { kCompute, kCommunication, kCopy, kHostWait };
  void add(Of what, Time start, Time end);
  /// From the first task of the GPU to the last so far.
  LiveTimes times() const;

 private:
  void advance(Time to);
  void count(Time from, Time to);
  void add_pause();
  bool runs(Of what, Time at) const { return until_[static_cast<std::size_t>(what)] > at; }

  std::array<Time, 4> until_{};  ///< the last end of each class
  Time now_;                     ///< counted so far
  bool begun_ = false;           ///< the GPU has had a task
  LiveTimes times_;
  LiveTimes since_;  ///< the GPU last had something to do
};

}  // namespace flopcast::live
