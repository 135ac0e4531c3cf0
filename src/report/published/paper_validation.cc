// Paper mode beside expected values of the published code.
#include <fmt/format.h>

#include <array>

#include "base/text/json_writer.h"
#include "flopcast/report/published.h"
#include "report/render/table.h"

namespace flopcast {

using namespace report;  // the room's own names

namespace {

constexpr std::array<std::string_view, 4> kKinds = {"collective", "layers", "config", "search"};
// Above this a number is not the published code's.
constexpr double kModelTolerance = 1e-9;

void write_summary(JsonWriter& json, std::string_view key, const PaperSummary& summary) {
  json.begin_object(key, JsonWriter::Layout::kLine);
  json.count("n", summary.n);
  json.ratio("max_rel", summary.max_rel);
  json.count("values", summary.values);
  json.count("mismatches", summary.mismatches);
  json.count("failures", summary.failures);
  json.end_object();
}

void write_checks(JsonWriter& json, std::string_view key, const std::vector<PaperCheck>& checks) {
  json.begin_array(key);
  for (const PaperCheck& check : checks) {
    json.begin_object({}, JsonWriter::Layout::kLine);
    json.text("id", check.id);
    json.text("kind", check.kind);
    if (check.failure) {
      json.text("failure", check.failure->text());
    } else {
      json.count("values", check.values);
      json.ratio("max_rel", check.max_rel);
      json.text("worst", check.worst);
      json.begin_array("mismatches", JsonWriter::Layout::kLine);
      for (const std::string& mismatch : check.mismatches) json.text({}, mismatch);
      json.end_array();
    }
    json.end_object();
  }
  json.end_array();
}

void add_rows(Table& table, std::string_view defects, const std::vector<PaperCheck>& checks) {
  const auto add = [&](std::string_view kind, const PaperSummary& summary) {
    if (summary.n + summary.failures == 0) return;
    table.add({std::string(defects), std::string(kind), std::to_string(summary.n),
               std::to_string(summary.values), fmt::format("{:.2g}", summary.max_rel),
               std::to_string(summary.mismatches), summary.worst});
  };
  for (const std::string_view kind : kKinds) add(kind, summarise(checks, kind));
  add("all", summarise(checks));
}

std::string differences(std::string_view defects, const std::vector<PaperCheck>& checks) {
  std::string text;
  for (const PaperCheck& check : checks) {
    if (check.failure) text += fmt::format("{}: {}\n", defects, check.failure->text());
    if (!(check.max_rel <= kModelTolerance)) {
      text += fmt::format("{}: {}: {} is off by {:.3g}\n", defects, check.id, check.worst,
                          check.max_rel);
    }
    for (const std::string& mismatch : check.mismatches) {
      text += fmt::format("{}: {}: {}\n", defects, check.id, mismatch);
    }
  }
  return text;
}

}  // namespace

std::string paper_validation_json(const PaperValidation& validation) {
  JsonWriter json;
  json.begin_object();
  const PaperSummary all = summarise(validation);
  json.begin_object("summary");
  json.count("n", all.n);
  json.ratio("max_rel", all.max_rel);
  json.count("mismatches", all.mismatches);
  json.count("failures", all.failures);
  write_summary(json, "published", summarise(validation.published));
  write_summary(json, "repaired", summarise(validation.repaired));
  json.end_object();
  write_checks(json, "published", validation.published);
  write_checks(json, "repaired", validation.repaired);
  json.end_object();
  return std::move(json).take();
}

std::string paper_validation_text(const PaperValidation& validation) {
  Table table({{"defects", Align::kLeft},
               {"cases", Align::kLeft},
               {"n"},
               {"values"},
               {"max rel"},
               {"mismatches"},
               {"worst", Align::kLeft}});
  add_rows(table, "published", validation.published);
  add_rows(table, "repaired", validation.repaired);
  return table.text() + differences("published", validation.published) +
         differences("repaired", validation.repaired);
}

}  // namespace flopcast
