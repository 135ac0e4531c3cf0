#include "report/serving/groups.h"

#include <fmt/format.h>

#include <algorithm>

namespace flopcast {

using namespace report;

namespace {

ServingForecasts forecasts_if(const ServingValidation& validation, auto takes) {
  ServingForecasts some;
  for (const ServingForecast& f : validation.forecasts) {
    if (takes(*f.point)) some.push_back(&f);
  }
  return some;
}

bool any_known(const ServingValidation& validation) {
  return std::ranges::any_of(validation.forecasts, [](const ServingForecast& f) {
    return f.point->known_protocol && !f.point->disaggregated;
  });
}

std::string model_word(const std::string& told) { return told.substr(told.rfind('/') + 1); }

}  // namespace

ServingForecasts report::pointers_to(const std::vector<ServingForecast>& forecasts) {
  ServingForecasts all;
  for (const ServingForecast& f : forecasts) all.push_back(&f);
  return all;
}

ServingForecasts report::known_forecasts(const ServingValidation& validation) {
  const bool all = !any_known(validation);
  return forecasts_if(validation, [&](const ServingPoint& p) {
    return !p.disaggregated && (all || p.known_protocol);
  });
}

ServingForecasts report::unknown_forecasts(const ServingValidation& validation) {
  if (!any_known(validation)) return {};
  return forecasts_if(validation,
                      [](const ServingPoint& p) { return !p.disaggregated && !p.known_protocol; });
}

ServingForecasts report::disaggregated_forecasts(const ServingValidation& validation) {
  return forecasts_if(validation, [](const ServingPoint& p) { return p.disaggregated; });
}

std::map<std::string, ServingForecasts> report::grouped(const ServingForecasts& forecasts,
                                                        ServingGroup by) {
  std::map<std::string, ServingForecasts> groups;
  for (const ServingForecast* f : forecasts) {
    const ServingPoint& p = *f->point;
    switch (by) {
      case ServingGroup::kEngine:
        groups[p.engine].push_back(f);
        break;
      case ServingGroup::kChip:
        groups[p.chip].push_back(f);
        break;
      case ServingGroup::kModel:
        groups[model_word(p.model)].push_back(f);
        break;
      case ServingGroup::kPair:
        groups[fmt::format("{} {} {} {}", p.engine, p.chip, model_word(p.model), p.precision)]
            .push_back(f);
        break;
    }
  }
  return groups;
}

std::vector<std::pair<ServingRule, std::size_t>> report::exclusions_of(
    const ServingValidation& validation) {
  std::vector<std::pair<ServingRule, std::size_t>> counts;
  for (const ServingRule& rule : serving_rules()) {
    const auto n = std::ranges::count(validation.points, rule.name, &ServingPoint::excluded);
    counts.emplace_back(rule, static_cast<std::size_t>(n));
  }
  return counts;
}

std::size_t report::repaired_of(const ServingValidation& validation) {
  return static_cast<std::size_t>(std::ranges::count_if(
      validation.points, [](const ServingPoint& p) { return !p.repaired.empty(); }));
}

}  // namespace flopcast
