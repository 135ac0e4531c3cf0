// The page of `flopcast serve-plan`.
#include <fmt/format.h>

#include "base/text/format.h"
#include "flopcast/report/serve_plan.h"
#include "report/render/page_template.h"
#include "web_assets.h"

namespace flopcast {

using namespace report;  // the room's own names

namespace {

std::string fleets_page(const std::string& title, std::vector<Page::Document> documents) {
  return html_of({.title = title,
                  .kind = "serve-plan",
                  .scripts = {web::numbers_js(), web::page_js(), web::colours_js(),
                              web::charts_js(), web::sortable_js(), web::fleets_js()},
                  .documents = std::move(documents)});
}

}  // namespace

std::string serve_plan_html(const ServePlanReport& report) {
  return fleets_page(fmt::format("{} on {}", report.model, report.on),
                     {{"data", serve_plan_json(report)}});
}

std::string serve_plans_html(const ServePlanComparison& comparison) {
  return fleets_page(
      fmt::format("{} on {}", comparison.winner().model,
                  counted(comparison.reports.size(), "cluster")),
      {{"data", serve_plan_json(comparison.winner())}, {"clusters", serve_plans_json(comparison)}});
}

}  // namespace flopcast
