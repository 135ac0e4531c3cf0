// The page of `flopcast serve-plan`.
#include <fmt/format.h>

#include "flopcast/report/serve_plan.h"
#include "report/render/page_template.h"
#include "web_assets.h"

namespace flopcast {

using namespace report;  // the room's own names

std::string serve_plan_html(const ServePlanReport& report) {
  return html_of({.title = fmt::format("{} on {}", report.model, report.on),
                  .kind = "serve-plan",
                  .scripts = {web::numbers_js(), web::page_js(), web::colours_js(),
                              web::charts_js(), web::sortable_js(), web::fleets_js()},
                  .documents = {{"data", serve_plan_json(report)}}});
}

}  // namespace flopcast
