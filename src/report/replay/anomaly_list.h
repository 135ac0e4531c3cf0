// Oddities of a whole set, rank by rank.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/text/json_writer.h"
#include "flopcast/trace.h"

namespace flopcast::report {

struct RankedAnomaly {
  std::int32_t rank = -1;  ///< -1: of the whole set
  Anomaly anomaly;
};

/// Of the files together, then of each file in order of ranks.
std::vector<RankedAnomaly> ranked_anomalies(const TraceSet& set);

/// A line per kind: how often, in how many ranks; below it the first example, uncut.
std::string anomaly_list(const std::vector<RankedAnomaly>& anomalies);
/// The member "anomalies": an entry per rank and kind.
void write_anomalies(JsonWriter& writer, const std::vector<RankedAnomaly>& anomalies);

}  // namespace flopcast::report
