// The program behind a recording, looked for once.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>

#include "flopcast/whatif/model.h"

namespace flopcast::whatif {

/// The TraceModel of one recording: found when first asked for, and shared by all questions.
class FoundModel {
 public:
  /// @param set,recording the same ones each time
  const TraceModel& of(const TraceSet& set, const replaying::Recording& recording) {
    std::call_once(once_, [&] {
      ++searches_;
      model_.emplace(make_trace_model(set, recording));
    });
    return *model_;
  }
  /// How often it was looked for.
  int searches() const { return searches_; }

 private:
  std::once_flag once_;
  std::optional<TraceModel> model_;
  std::atomic<int> searches_ = 0;
};

}  // namespace flopcast::whatif
