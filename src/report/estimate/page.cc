// The page of `flopcast estimate`.
#include "report/estimate/report.h"
#include "report/render/page_template.h"
#include "web_assets.h"

namespace flopcast {

using namespace report;  // the room's own names

namespace {

/// Words for the names of parts and classes, so that the page needs no list of its own.
void write_meanings(JsonWriter& w, const EstimateReport& report) {
  w.begin_object("part_meanings");
  for (std::size_t i = 0; i < kTimeParts; ++i) {
    const auto part = static_cast<TimePart>(i);
    w.text(name(part), meaning(part));
  }
  w.end_object();
  w.begin_object("memory_meanings");
  for (const MemoryClass& c : memory_classes(report.estimate.memory())) w.text(c.name, c.meaning);
  w.end_object();
}

}  // namespace

std::string estimate_html(const EstimateReport& report) {
  const std::string title = title_of(report);
  JsonWriter w;
  w.begin_object();
  w.text("title", title);
  write_estimate(w, report);
  write_meanings(w, report);
  if (const auto problem = memory_problem(report)) w.text("problem", problem->text());
  w.end_object();
  return html_of({.title = title,
                  .kind = "estimate",
                  .scripts = {web::numbers_js(), web::page_js(), web::colours_js(), web::bars_js(),
                              web::runs_js(), web::estimate_js()},
                  .documents = {{"data", std::move(w).take()}}});
}

}  // namespace flopcast
