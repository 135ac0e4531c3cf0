// Errors of forecast kernels as a table and as JSON.
#include <fmt/format.h>

#include "base/text/json_writer.h"
#include "flopcast/report/cost.h"
#include "report/render/table.h"

namespace flopcast {

using namespace report;  // the room's own names

std::string kernel_errors_text(std::span<const KernelErrors> errors, std::string_view what) {
  Table table({{"chip", Align::kLeft},
               {"operation", Align::kLeft},
               {"size", Align::kLeft},
               {"rows"},
               {"mean %"},
               {"median %"},
               {"p95 %"},
               {"bias"},
               {"in band %"},
               {"band x/"}});
  for (const KernelErrors& e : errors) {
    table.add({e.chip, e.operation, e.size_class, std::to_string(e.rows),
               fmt::format("{:.2f}", 100 * e.mape), fmt::format("{:.2f}", 100 * e.median),
               fmt::format("{:.1f}", 100 * e.p95), fmt::format("{:.3f}", e.bias),
               fmt::format("{:.0f}", 100 * e.band_coverage), fmt::format("{:.2f}", e.band_width)});
  }
  return fmt::format("Forecast against measured kernel times ({})\n{}", what, table.text());
}

std::string kernel_errors_json(std::span<const KernelErrors> errors, std::string_view what,
                               const Anomalies& anomalies) {
  JsonWriter json;
  json.begin_object();
  json.text("unit", "fraction");
  json.text("rows", what);
  json.begin_array("errors");
  for (const KernelErrors& e : errors) {
    json.begin_object({}, JsonWriter::Layout::kLine);
    json.text("chip", e.chip);
    json.text("operation", e.operation);
    json.text("size_class", e.size_class);
    json.count("rows", e.rows);
    json.ratio("mape", e.mape);
    json.ratio("median", e.median);
    json.ratio("p95", e.p95);
    json.ratio("bias", e.bias);
    json.ratio("band_coverage", e.band_coverage);
    json.ratio("band_width", e.band_width);
    json.end_object();
  }
  json.end_array();
  json.begin_array("anomalies");
  for (const Anomaly& a : anomalies.list()) {
    json.begin_object({}, JsonWriter::Layout::kLine);
    json.text("kind", a.kind);
    json.count("count", a.count);
    json.text("first", a.first);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return std::move(json).take();
}

}  // namespace flopcast
