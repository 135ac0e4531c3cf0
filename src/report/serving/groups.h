// What the tables of validations of serving have in common: which forecasts belong to which line.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "flopcast/report/serving.h"

namespace flopcast::report {

using ServingForecasts = std::vector<const ServingForecast*>;

/// Those that summaries are of: aggregated, of the public client; where no row is of it, all aggregated ones.
ServingForecasts known_forecasts(const ServingValidation& validation);
/// Aggregated ones of unknown clients, where others are known.
ServingForecasts unknown_forecasts(const ServingValidation& validation);
ServingForecasts disaggregated_forecasts(const ServingValidation& validation);
ServingForecasts pointers_to(const std::vector<ServingForecast>& forecasts);

/// What people group by.
enum class ServingGroup { kEngine, kChip, kModel, kPair };
std::map<std::string, ServingForecasts> grouped(const ServingForecasts& forecasts, ServingGroup by);

/// How many points each rule excludes, in the order of the rules; those that exclude none too.
std::vector<std::pair<ServingRule, std::size_t>> exclusions_of(const ServingValidation& validation);
std::size_t repaired_of(const ServingValidation& validation);

}  // namespace flopcast::report
