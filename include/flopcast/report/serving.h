// Floor 8: forecasts of measured deployments beside what was measured.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "flopcast/measured/serving.h"

namespace flopcast {

/// Tables for a terminal. `cases`: with a line for each point.
std::string serving_validation_text(const ServingValidation& validation, bool cases);
/// docs/reference/serving.md, "validate serving".
std::string serving_validation_json(const ServingValidation& validation);
/// A line for each clean point.
std::string serving_validation_csv(const ServingValidation& validation);

/// A measured timeline beside its forecast, for a terminal.
std::string serving_timeline_text(const TimelineForecast& forecast);
/// docs/reference/serving.md, "validate serving-trace".
std::string serving_timeline_json(const TimelineForecast& forecast);

/// Factors of deployments, for a terminal.
std::string serving_calibration_text(std::span<const ServingCalibration> calibrations);
/// docs/reference/serving.md, "calibrate serving".
std::string serving_calibration_json(std::span<const ServingCalibration> calibrations);

}  // namespace flopcast
