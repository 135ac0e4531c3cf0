// Points of a published figure.
#include <fmt/format.h>

#include "base/text/json_writer.h"
#include "flopcast/report/published.h"
#include "report/render/table.h"

namespace flopcast {

using namespace report;  // the room's own names

namespace {

std::string cell_text(const PublishedStudy::Cell& cell, bool exact) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  const double value = std::get<double>(cell);
  return exact ? fmt::format("{}", value) : fmt::format("{:.6g}", value);
}

Table table_of(const PublishedStudy& study, bool exact) {
  std::vector<Table::Column> columns;
  for (std::size_t c = 0; c < study.columns.size(); ++c) {
    const bool words = !study.rows.empty() && study.rows[0][c].index() == 0;
    columns.push_back({study.columns[c], words ? Align::kLeft : Align::kRight});
  }
  Table table(std::move(columns));
  for (const auto& row : study.rows) {
    std::vector<std::string> cells;
    for (const PublishedStudy::Cell& cell : row) cells.push_back(cell_text(cell, exact));
    table.add(std::move(cells));
  }
  return table;
}

}  // namespace

std::string published_text(const PublishedStudy& study) {
  return study.title + "\n" + table_of(study, false).text();
}

std::string published_csv(const PublishedStudy& study) { return table_of(study, true).csv(); }

std::string published_json(const PublishedStudy& study) {
  JsonWriter json;
  json.begin_object();
  json.text("study", study.name);
  json.text("title", study.title);
  json.begin_array("points");
  for (const auto& row : study.rows) {
    json.begin_object({}, JsonWriter::Layout::kLine);
    for (std::size_t c = 0; c < study.columns.size(); ++c) {
      if (const auto* text = std::get_if<std::string>(&row[c])) {
        json.text(study.columns[c], *text);
      } else {
        json.exact(study.columns[c], std::get<double>(row[c]));
      }
    }
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return std::move(json).take();
}

}  // namespace flopcast
