// Floor 8: forecasts of `flopcast net`, and errors of collectives, as tables, JSON and pages.
#pragma once

#include <string>
#include <vector>

#include "flopcast/network/collectives.h"
#include "flopcast/network/fit.h"
#include "flopcast/network/traffic.h"

namespace flopcast {

/// Times over sizes: the forecast itself, or one algorithm's.
struct CollectiveCurve {
  std::string name;
  bool chosen = false;
  struct Point {
    Bytes size;
    Seconds time;
  };
  std::vector<Point> points;
};

struct CollectiveReport {
  std::string cluster;
  CollectiveQuery query;
  unsigned ranks = 0;
  CollectiveTime answer;
  std::vector<CollectiveCurve> curves;  ///< for the page only
};

/// Curves from 1 KiB to 16 GiB, in factors of two: the forecast, then every algorithm it considered.
Result<std::vector<CollectiveCurve>> collective_curves(const CollectiveModel& model,
                                                       const CollectiveQuery& query);

std::string collective_text(const CollectiveReport& report);
std::string collective_json(const CollectiveReport& report);
std::string collective_html(const CollectiveReport& report);

struct TrafficReport {
  std::string cluster;
  std::vector<TrafficRow> traffic;
  TrafficResult result;
  std::vector<std::string> link_names;  ///< of result.links
};

/// Names the links.
TrafficReport make_traffic_report(const Cluster& cluster, const Topology& topology,
                                  std::vector<TrafficRow> traffic, TrafficResult result);

std::string traffic_text(const TrafficReport& report);
std::string traffic_json(const TrafficReport& report);
/// A row per flow: id, bytes, start_s, end_s.
std::string traffic_csv(const TrafficReport& report);
std::string traffic_html(const TrafficReport& report);

/// Errors of forecasts against measurements: a row for all, then one for each group, in percent.
std::string collective_errors_text(const CollectiveValidation& validation);
/// The same as fractions: docs/reference/json.md, "validate collectives".
std::string collective_errors_json(const CollectiveValidation& validation);

}  // namespace flopcast
