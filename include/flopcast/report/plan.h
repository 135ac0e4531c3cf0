// Floor 8: answers to searches for plans, as tables, CSV and a page.
#pragma once

#include <span>
#include <string>

#include "flopcast/question/plan.h"

namespace flopcast {

/// One report, for people: winner, Megatron's flags, the best, time against memory, why.
std::string plan_text(const PlanReport& report);
/// A sweep: one row per point.
std::string plans_text(std::span<const PlanReport> reports);
/// The best plans of every report, a row each.
std::string plans_csv(std::span<const PlanReport> reports);
/// A page with everything: time against memory, where the time goes, curves over a sweep.
std::string plans_html(std::span<const PlanReport> reports);

}  // namespace flopcast
