// What the texts, JSON and pages of an estimate share: times and placements in words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/text/json_writer.h"
#include "flopcast/report/estimate.h"

namespace flopcast::report {

/// "tensor-parallel transfers".
std::string_view meaning(TimePart part);

struct PartShare {
  TimePart part;
  Seconds time;
  double share = 0;  ///< of the step
};
/// What takes time, longest first.
std::vector<PartShare> ranked_parts(const TrainingEstimate& estimate);

/// "62.0 % table, 38.0 % fitted": what kernel and transfer times rest on, best first.
std::string rests_on_words(const TrainingEstimate& estimate);
/// "within 8 chips: tp 8; within 128 chips: tp 8 x dp 16".
std::string placement_words(const Placement& placement);
/// The members of estimate_json; the object is open.
void write_estimate(JsonWriter& w, const EstimateReport& report);
/// "llama-3-70b on 128 x dgx-h100".
std::string title_of(const EstimateReport& report);

}  // namespace flopcast::report
