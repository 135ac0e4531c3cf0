#include "flopcast/parallel/fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <type_traits>

#include "flopcast/parallel/names.h"

namespace flopcast {

std::vector<PlanCell> plan_cells(const Plan& plan) {
  std::vector<PlanCell> cells;
  visit_plan(plan, [&](std::string_view key, const auto& value) {
    using Value = std::decay_t<decltype(value)>;
    if constexpr (std::is_enum_v<Value>) {
      cells.push_back({key, std::string(name(value))});
    } else if constexpr (std::is_same_v<Value, std::vector<unsigned>>) {
      cells.push_back({key, fmt::format("{}", fmt::join(value, " "))});
    } else {
      cells.push_back({key, fmt::format("{}", value)});
    }
  });
  return cells;
}

std::string plan_change_words(const Plan& from, const Plan& to) {
  const std::vector<PlanCell> before = plan_cells(from), after = plan_cells(to);
  std::vector<std::string> changes;
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (before[i].value == after[i].value) continue;
    changes.push_back(fmt::format("{} {}", after[i].name, after[i].value));
  }
  return fmt::format("{}", fmt::join(changes, ", "));
}

}  // namespace flopcast
