// Host costs and their errors.
#include <fmt/format.h>

#include <cmath>

#include "base/text/json_writer.h"
#include "flopcast/report/host.h"
#include "report/render/table.h"

namespace flopcast {

using namespace report;  // the room's own names

namespace {

double relative_error(const HostError& error) {
  return error.measured_s > 0 ? error.forecast_s / error.measured_s - 1 : 0;
}

}  // namespace

std::string host_fit_text(const HostFit& fit) {
  Table costs({{"cost", Align::kLeft}, {"ns"}, {"what", Align::kLeft}});
  for (std::size_t i = 0; i < kHostCosts; ++i) {
    const auto cost = static_cast<HostCost>(i);
    costs.add({std::string(name(cost)), fmt::format("{:.0f}", fit.table.at(cost)),
               std::string(meaning(cost))});
  }
  Table errors({{"recording", Align::kLeft},
                {"operators"},
                {"measured ms"},
                {"forecast ms"},
                {"error %"},
                {"profiler ms"}});
  for (const HostError& e : fit.errors) {
    errors.add({e.source, std::to_string(e.operators), fmt::format("{:.1f}", 1e3 * e.measured_s),
                fmt::format("{:.1f}", 1e3 * e.forecast_s),
                fmt::format("{:+.1f}", 100 * relative_error(e)),
                fmt::format("{:.1f}", 1e3 * e.profiler_s)});
  }
  return fmt::format(
      "{}\nHost time of each run by {}: off by x{:.2f} either way (root mean square).\nThe "
      "profiler's own "
      "time is taken off\n{}",
      costs.text(), fit.table.spread > 0 ? "a fit to the other recordings" : "the built-in table",
      fit.spread, errors.text());
}

std::string host_fit_json(const HostFit& fit) {
  JsonWriter json;
  json.begin_object();
  json.begin_object("ns");
  for (std::size_t i = 0; i < kHostCosts; ++i)
    json.ratio(name(static_cast<HostCost>(i)), fit.table.ns[i]);
  json.end_object();
  json.ratio("spread", fit.spread);
  json.begin_array("errors");
  for (const HostError& e : fit.errors) {
    json.begin_object({}, JsonWriter::Layout::kLine);
    json.text("recording", e.source);
    json.count("operators", e.operators);
    json.ratio("measured_s", e.measured_s);
    json.ratio("forecast_s", e.forecast_s);
    json.ratio("error", relative_error(e));
    json.ratio("profiler_s", e.profiler_s);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return std::move(json).take();
}

}  // namespace flopcast
