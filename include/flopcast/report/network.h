// Floor 8: forecasts of `flopcast net`, and errors of collectives, as tables, JSON and pages.
#pragma once

#include <string>
#include <vector>

#include "flopcast/measured/network.h"
#include "flopcast/network/collectives.h"
#include "flopcast/network/traffic.h"

namespace flopcast {

/// Times over sizes: the forecast itself, or one algorithm's.
struct CollectiveCurve {
  std::string name;     ///< "forecast", or an algorithm and protocol
  bool chosen = false;  ///< the forecast itself
  /// One size.
  struct Point {
    Bytes size;    ///< bytes, as CollectiveQuery counts them
    Seconds time;  ///< until the last rank is done
  };
  std::vector<Point> points;  ///< ascending sizes
};

/// A question of `flopcast net time`, and its answer.
struct CollectiveReport {
  std::string cluster;                  ///< as the user wrote it
  std::vector<FitNote> own_fits;        ///< of the cluster
  CollectiveQuery query;                ///< what was asked
  unsigned ranks = 0;                   ///< that take part
  CollectiveTime answer;                ///< what came out
  std::vector<CollectiveCurve> curves;  ///< for the page only
};

/// Curves from 1 KiB to 16 GiB, in factors of two: the forecast, then every algorithm it considered.
Result<std::vector<CollectiveCurve>> collective_curves(const CollectiveModel& model,
                                                       const CollectiveQuery& query);

/// For people: time, band, what it rests on, what else was considered.
std::string collective_text(const CollectiveReport& report);
/// One document; docs/reference/json.md names every field.
std::string collective_json(const CollectiveReport& report);
/// A page with the curves.
std::string collective_html(const CollectiveReport& report);

/// What `flopcast net run` shows.
struct TrafficReport {
  std::string cluster;                  ///< as the user wrote it
  std::vector<TrafficRow> traffic;      ///< what was run
  TrafficResult result;                 ///< when it ran
  std::vector<std::string> link_names;  ///< of result.links
};

/// Names the links.
TrafficReport make_traffic_report(const Cluster& cluster, const Topology& topology,
                                  std::vector<TrafficRow> traffic, TrafficResult result);

/// For people: when rows ended, which links were busiest.
std::string traffic_text(const TrafficReport& report);
/// One document; docs/reference/json.md names every field.
std::string traffic_json(const TrafficReport& report);
/// A row per flow: id, bytes, start_s, end_s.
std::string traffic_csv(const TrafficReport& report);
/// A page with the use of every link over time.
std::string traffic_html(const TrafficReport& report);

/// Errors of forecasts against measurements: a row for all, then one for each group, in percent.
std::string collective_errors_text(const CollectiveValidation& validation);
/// The same as fractions: docs/reference/json.md, "validate collectives".
std::string collective_errors_json(const CollectiveValidation& validation);

}  // namespace flopcast
