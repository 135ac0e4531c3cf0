// Floor 8: what is in a trace, and what is wrong with it: `flopcast trace info` and `flopcast trace
// validate`.
#pragma once

#include <string>
#include <vector>

#include "flopcast/replay.h"
#include "flopcast/trace.h"

namespace flopcast {

std::string trace_info_text(const TraceSet& set);
std::string trace_info_json(const TraceSet& set);

/// @param steps compare_steps(set)
std::string trace_check_text(const TraceSet& set, const std::vector<StepMatch>& steps);
std::string trace_check_json(const TraceSet& set, const std::vector<StepMatch>& steps);

/// What a recording holds that a forecast profits from.
struct RecordingFeature {
  const char* name;  ///< stable identifier
  bool present;
  const char* what;    ///< what it is for
  const char* advice;  ///< how to record it
};
std::vector<RecordingFeature> recording_features(const TraceSet& set);

}  // namespace flopcast
