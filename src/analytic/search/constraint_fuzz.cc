// Any bytes are a constraint on plans or one error in words.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "analytic/search/rules.h"
#include "support/fuzz_target.h"

FUZZ_TARGET(data, size) {
  using namespace flopcast;
  using test::check;
  const auto constraint = parse_plan_constraint({reinterpret_cast<const char*>(data), size});
  if (!constraint) {
    check(!constraint.error().what.empty() && !constraint.error().hint.empty());
    return 0;
  }
  PlanSearchOptions options;
  options.constraints = {*constraint, *constraint};
  const Result<analytic::search::PlanRules> rules = analytic::search::plan_rules(options);
  // Asking twice for the same contradicts nothing but an impossible value.
  options.constraints.pop_back();
  check(rules.ok() == analytic::search::plan_rules(options).ok());
  return 0;
}
