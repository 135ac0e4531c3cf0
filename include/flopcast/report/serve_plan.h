// Floor 8: answers to searches for fleets, as tables, CSV and a page.
#pragma once

#include <span>
#include <string>

#include "flopcast/question/serve_plan.h"

namespace flopcast {

/// One report, for people: the smallest fleet, its rivals, how it is started, what was gone through.
std::string serve_plan_text(const ServePlanReport& report);
/// Clusters side by side, then the winner's report.
std::string serve_plans_text(const ServePlanComparison& comparison);
/// One self-contained page: clusters side by side, then the winner's.
std::string serve_plans_html(const ServePlanComparison& comparison);
/// The fleets of every report, a row each: the best, or (front) those on the front.
std::string serve_plans_csv(std::span<const ServePlanReport> reports);
/// One self-contained page: the best fleets, what no other beats, how the best is started.
std::string serve_plan_html(const ServePlanReport& report);
/// What became of the space, in words that add up: "720 configurations: 120 impossible, ..." Only of a search that was
/// run now: JSON does not hold all of it.
std::string serve_plan_effort(const FleetSearchCounts& counts);
/// The same while it is searched, short enough for one row.
std::string serve_plan_progress(const FleetSearchCounts& counts);

}  // namespace flopcast
