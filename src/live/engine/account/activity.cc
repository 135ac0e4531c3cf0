#include "live/engine/account/activity.h"

#include <algorithm>

namespace flopcast::live {

void Activity::add(Of what, Time start, Time end) {
  const bool on_gpu = what != Of::kHostWait;
  if (on_gpu && !begun_) {
    begun_ = true;
    now_ = start;
  }
  if (begun_) advance(start);
  Time& until = until_[static_cast<std::size_t>(what)];
  until = std::max(until, end);
}

/// Counts up to there; between two ends of classes nothing changes.
void Activity::advance(Time to) {
  while (now_ < to) {
    Time next = to;
    for (const Time until : until_) {
      if (until > now_) next = std::min(next, until);
    }
    count(now_, next);
    now_ = next;
  }
}

void Activity::count(Time from, Time to) {
  const Time length = to - from;
  const bool computes = runs(Of::kCompute, from), communicates = runs(Of::kCommunication, from);
  if (!computes && !communicates && !runs(Of::kCopy, from)) {
    since_.window += length;
    (runs(Of::kHostWait, from) ? since_.idle : since_.host_bound) += length;
    return;
  }
  add_pause();
  times_.window += length;
  if (computes && communicates) {
    times_.overlapped += length;
  } else if (computes) {
    times_.exposed_compute += length;
  } else if (communicates) {
    times_.exposed_communication += length;
  } else {
    times_.copies += length;
  }
}

/// What was between two tasks of the GPU; what comes after its last one is not its own.
void Activity::add_pause() {
  times_.window += since_.window;
  times_.idle += since_.idle;
  times_.host_bound += since_.host_bound;
  since_ = {};
}

LiveTimes Activity::times() const {
  Activity whole = *this;
  Time end = now_;
  for (const Of what : {Of::kCompute, Of::kCommunication, Of::kCopy})
    end = std::max(end, until_[static_cast<std::size_t>(what)]);
  if (begun_) whole.advance(end);
  return whole.times_;
}

}  // namespace flopcast::live
