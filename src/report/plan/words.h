// What the texts of one search and of many share.
#pragma once

#include <span>
#include <string>

#include "flopcast/question/plan.h"

namespace flopcast::report {

/// Of gigabytes, without the unit: "38.9".
std::string gigabytes(Bytes bytes);
/// "12.3 k", to three digits: nobody knows more of a forecast.
std::string short_count(double value);

/// Which point is fastest, which are as fast as far as anybody knows, and which of those costs least; "": nothing fits.
std::string plans_verdict(std::span<const PlanReport> reports);

}  // namespace flopcast::report
