// What one GPU does at every moment: a sweep over its rows, then any window's breakdown in O(log
// rows).
//
//            |--compute--|        |--compute--|
//                  |--communication--|              |--copy--|
//   moments  other exp.c. overlap exp.comm. ...
//
// Worked example (gpu_activity_test repeats it): compute 0-10 and 20-30 us, communication 5-25 us,
// a copy 40-45 us, window 0-50 us: exposed compute 10, overlapped 10, exposed communication 10,
// other 20, of which idle 15.
#pragma once

#include <cstdint>
#include <vector>

#include "report/replay/gpu_changes.h"

namespace flopcast::report {

class GpuActivity {
 public:
  explicit GpuActivity(const GpuChanges& changes);

  /// The four parts add up to `to - from`.
  Breakdown within(Time from, Time to) const;
  bool empty() const { return moments_.empty(); }
  /// First start and last end of any GPU row; 0 where there is none.
  Time first() const { return empty() ? Time{} : moments_.front().at; }
  Time last() const { return empty() ? Time{} : moments_.back().at; }

 private:
  /// From `at` to the next moment the same kinds of rows run.
  struct Moment {
    Time at;
    std::uint8_t running = 0;  // bit per GpuRow
    Breakdown before;          // of everything from the first moment to `at`
  };
  Breakdown until(Time time) const;

  std::vector<Moment> moments_;
};

}  // namespace flopcast::report
