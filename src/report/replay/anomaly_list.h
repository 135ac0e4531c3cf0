// Oddities of a whole set, shown rank by rank.
#pragma once

#include <string>
#include <vector>

#include "base/text/json_writer.h"
#include "flopcast/report/summary.h"

namespace flopcast::report {

/// A line per kind: how often, in how many ranks; below it the first example, uncut.
std::string anomaly_list(const std::vector<RankedAnomaly>& anomalies);
/// The member "anomalies": an entry per rank and kind.
void write_anomalies(JsonWriter& writer, const std::vector<RankedAnomaly>& anomalies);

}  // namespace flopcast::report
