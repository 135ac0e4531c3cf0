// Errors of forecasts as a table for people and as JSON for programs.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "flopcast/report/network.h"

namespace flopcast {

namespace {

std::string line(const CollectiveErrors& e) {
  return fmt::format("{:<52} {:>7} {:>7.1f} {:>7.1f} {:>7.1f} {:>+7.1f} {:>9.1f}\n", e.group,
                     e.rows, 100 * e.mape, 100 * e.median, 100 * e.p95, 100 * e.bias,
                     100 * e.band_coverage);
}

nlohmann::ordered_json object(const CollectiveErrors& e) {
  return {{"mape", e.mape},
          {"median", e.median},
          {"p95", e.p95},
          {"bias", e.bias},
          {"band_coverage", e.band_coverage},
          {"rows", e.rows}};
}

}  // namespace

std::string collective_errors_text(const CollectiveValidation& validation) {
  std::string out = fmt::format("{:<52} {:>7} {:>7} {:>7} {:>7} {:>7} {:>9}\n", "errors in %",
                                "rows", "mean", "median", "p95", "bias", "in band");
  out += line(validation.all);
  for (const CollectiveErrors& group : validation.groups) out += line(group);
  if (validation.unanswered > 0) {
    out += fmt::format("{} rows without a forecast\n", validation.unanswered);
  }
  for (const Anomaly& anomaly : validation.anomalies.list()) {
    out += fmt::format("{} x {}: {}\n", anomaly.count, anomaly.kind, anomaly.first);
  }
  return out;
}

std::string collective_errors_json(const CollectiveValidation& validation) {
  nlohmann::ordered_json out = object(validation.all);
  out["unanswered"] = validation.unanswered;
  for (const CollectiveErrors& group : validation.groups) {
    const std::size_t slash = group.group.find('/');
    out["by"][group.group.substr(0, slash)][group.group.substr(slash + 1)] = object(group);
  }
  for (const Anomaly& anomaly : validation.anomalies.list()) {
    out["anomalies"][anomaly.kind] = {{"count", anomaly.count}, {"first", anomaly.first}};
  }
  return out.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace flopcast
