// Searches on several machines, beside each other.
#include <algorithm>

#include "flopcast/question/plan.h"

namespace flopcast {
namespace {

/// Each lies in the band of the other.
bool as_fast(const PlanCandidate& a, const PlanCandidate& b) {
  return a.low <= b.found.time && b.found.time <= a.high && b.low <= a.found.time &&
         a.found.time <= b.high;
}

/// Of the whole run where that was asked, else of a step; none: no price is known.
double cost_of(const PlanReport& r) {
  const PlanCandidate& best = r.best.front();
  return best.run ? best.run->cost_usd : best.cost_usd;
}

}  // namespace

PlanComparison compare_plans(std::span<const PlanReport> reports) {
  PlanComparison all;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    if (!reports[i].fits()) continue;
    const auto time = [&](std::size_t of) { return reports[of].best.front().found.time; };
    if (!all.fastest || time(i) < time(*all.fastest)) all.fastest = i;
  }
  if (!all.fastest) return all;
  const PlanCandidate& fastest = reports[*all.fastest].best.front();
  for (std::size_t i = 0; i < reports.size(); ++i) {
    if (reports[i].fits() && as_fast(reports[i].best.front(), fastest)) all.equal.push_back(i);
  }
  const bool priced = std::all_of(all.equal.begin(), all.equal.end(),
                                  [&](std::size_t i) { return cost_of(reports[i]) > 0; });
  if (!priced) return all;
  all.cheapest = *std::min_element(
      all.equal.begin(), all.equal.end(),
      [&](std::size_t a, std::size_t b) { return cost_of(reports[a]) < cost_of(reports[b]); });
  return all;
}

}  // namespace flopcast
