// Floor 8: what is in a trace, what is wrong with it, and the program behind it: `flopcast trace info`,
// `flopcast trace validate`, `flopcast trace model`.
#pragma once

#include <string>
#include <vector>

#include "flopcast/replay.h"
#include "flopcast/trace.h"
#include "flopcast/trace/summary.h"
#include "flopcast/whatif/model.h"

namespace flopcast {

/// What a recording holds, for people.
std::string trace_info_text(const RunSummary& run);
/// One document; docs/reference/json.md names every field.
std::string trace_info_json(const RunSummary& run);

/// @param steps compare_steps(set)
std::string trace_check_text(const TraceSet& set, const StepComparison& steps);
/// One document; docs/reference/json.md names every field.
std::string trace_check_json(const TraceSet& set, const StepComparison& steps);

/// The program behind a recording, so that a person can check it: groups and why, stages, layers,
/// and every position of every layer. One rank of each stage is shown.
/// @param recording what `model` was made of.
std::string trace_model_text(const TraceSet& set, const replaying::Recording& recording,
                             const TraceModel& model);
/// One document, all ranks; docs/reference/json.md names every field.
std::string trace_model_json(const TraceSet& set, const replaying::Recording& recording,
                             const TraceModel& model);

/// What a recording holds that a forecast profits from.
struct RecordingFeature {
  const char* name;    ///< stable identifier
  bool present;        ///< whether the recording has it
  const char* what;    ///< what it is for
  const char* advice;  ///< how to record it
};
/// All of them, present or not.
std::vector<RecordingFeature> recording_features(const RunSummary& run);

}  // namespace flopcast
