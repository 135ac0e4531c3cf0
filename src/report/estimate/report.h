// What the texts, JSON and pages of an estimate share: times and placements in words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/text/json_writer.h"
#include "flopcast/report/estimate.h"

namespace flopcast::report {

/// Columns that a row of text has at most.
inline constexpr std::size_t kTextWidth = 80;

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
/// To four significant digits: nobody knows more of a forecast.
std::string rounded_count(double count);
/// A training run to its end, several lines: time, failures, cost, energy.
std::string whole_run_text(const WholeRun& run, const RunQuestion& asked);
/// The same in one line, without what was asked: "207.6 days (192.3 days to 267.8 days), ...".
std::string run_words(const WholeRun& run);
/// Of a table of runs: what, and how much; empty: not known.
struct RunCell {
  std::string title, text;
};
std::vector<RunCell> run_cells(const WholeRun& run);
/// The members of estimate_json; the object is open.
void write_estimate(JsonWriter& w, const EstimateReport& report);
/// "llama-3-70b on 128 x dgx-h100".
std::string title_of(const EstimateReport& report);

}  // namespace flopcast::report
