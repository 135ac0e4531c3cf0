// Fields of plans as text, and how one plan differs from another.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "flopcast/parallel.h"

namespace flopcast::report {

struct PlanCell {
  std::string_view name;  ///< as visit_plan has it
  std::string value;      ///< "8", "true", "selective"; lists separated by blanks
};
/// Every field, in the order of visit_plan.
std::vector<PlanCell> plan_cells(const Plan& plan);

/// "tp 16, dp 4": the fields of `to` that `from` has otherwise.
std::string plan_change_words(const Plan& from, const Plan& to);

}  // namespace flopcast::report
