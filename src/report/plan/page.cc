// The page of `flopcast plan`.
#include <fmt/format.h>

#include "base/text/json_writer.h"
#include "flopcast/report/plan.h"
#include "report/estimate/report.h"
#include "report/plan/words.h"
#include "report/render/page_template.h"
#include "web_assets.h"

namespace flopcast {

using namespace report;  // the room's own names

namespace {

/// What web/plan.js draws: every report as plan_json_line has it, and words for the parts.
std::string page_data(std::span<const PlanReport> reports) {
  std::string data = "{\"meanings\": {";
  for (std::size_t i = 0; i < kTimeParts; ++i) {
    const auto part = static_cast<TimePart>(i);
    if (i > 0) data += ", ";
    append_json_string(data, name(part));
    data += ": ";
    append_json_string(data, meaning(part));
  }
  data += "}, \"verdict\": ";
  append_json_string(data, plans_verdict(reports));
  data += ", \"points\": [";
  for (std::size_t i = 0; i < reports.size(); ++i) {
    data += (i > 0 ? ",\n" : "\n") + plan_json_line(reports[i]);
  }
  return data + "]}\n";
}

}  // namespace

std::string plans_html(std::span<const PlanReport> reports) {
  std::string title = "no plan";
  if (!reports.empty()) {
    title = fmt::format("{} on {}", reports.front().model, reports.front().on);
  }
  return html_of({.title = title,
                  .kind = "plan",
                  .scripts = {web::numbers_js(), web::page_js(), web::colours_js(), web::bars_js(),
                              web::charts_js(), web::sortable_js(), web::runs_js(), web::plan_js()},
                  .documents = {{"data", page_data(reports)}}});
}

}  // namespace flopcast
