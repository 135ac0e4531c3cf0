// Floor 8: forecasts of `flopcast estimate` as tables, JSON, CSV and a page.
#pragma once

#include <span>
#include <string>

#include "flopcast/question/estimate.h"

namespace flopcast {

/// Aligned tables with bars for a terminal.
std::string estimate_text(const EstimateReport& report);
/// Documented in docs/reference/json.md; the field names are a contract.
std::string estimate_json(const EstimateReport& report);
/// A row for each report: the plan, its time, its parts, its memory. SI units in the titles.
std::string estimate_csv(std::span<const EstimateReport> reports);
/// One self-contained page: breakdown, memory of the stages, the pipeline.
std::string estimate_html(const EstimateReport& report);

}  // namespace flopcast
