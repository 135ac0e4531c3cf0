// The page of `flopcast explore`.
#include "base/text/json_writer.h"
#include "flopcast/report/explore.h"
#include "report/render/page_template.h"
#include "web_assets.h"

namespace flopcast {

using namespace report;  // the room's own names

namespace {

/// What web/explore.js draws: the best points, every line, and whether its point is on the front.
std::string page_data(std::span<const ExploreRow> rows) {
  std::string data = "{\"asked\": ";
  append_json_string(data, rows.empty() ? "" : rows.front().asked);
  JsonWriter best;
  best.begin_array();
  for (const ExploreBest& one : explore_best(rows)) {
    best.begin_object({}, JsonWriter::Layout::kLine);
    best.text("measure", one.measure);
    best.count("point", one.row);
    best.count("equals", one.equals);
    best.end_object();
  }
  best.end_array();
  data += ", \"best\": " + std::move(best).take();
  data += ", \"points\": [";
  const std::vector<bool> front = explore_front(rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::string line = explore_json_line(rows[i]);
    line.resize(line.rfind('}'));
    data += (i > 0 ? ",\n" : "\n") + line;
    data += front[i] ? ", \"front\": true}" : ", \"front\": false}";
  }
  return data + "]}\n";
}

}  // namespace

std::string explore_html(std::span<const ExploreRow> rows, std::string_view title) {
  return html_of({.title = std::string(title),
                  .kind = "explore",
                  .scripts = {web::numbers_js(), web::page_js(), web::colours_js(),
                              web::charts_js(), web::sortable_js(), web::explore_js()},
                  .documents = {{"data", page_data(rows)}}});
}

}  // namespace flopcast
