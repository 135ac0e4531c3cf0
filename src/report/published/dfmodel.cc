// Numbers published with DFModel beside those of the search.
#include <fmt/format.h>

#include <map>

#include "base/text/json_writer.h"
#include "flopcast/report/published.h"
#include "report/render/table.h"

namespace flopcast {

using namespace report;  // the room's own names

namespace {

// Above this a number is not the published code's.
constexpr double kMappingTolerance = 1e-6;

std::string number(double value) { return fmt::format("{:.9g}", value); }

void write_checks(JsonWriter& json, std::string_view key, const PublishedValidation& validation,
                  PublishedKind kind) {
  json.begin_array(key);
  for (const PublishedCheck& check : validation.checks) {
    if (check.kind != kind) continue;
    json.begin_object({}, JsonWriter::Layout::kLine);
    json.text("section", check.section);
    json.text("name", check.name);
    json.text("field", check.field);
    json.exact("expected", check.expected);
    json.exact("got", check.got);
    json.exact("relative", check.relative());
    json.exact("unexplained", check.unexplained());
    json.end_object();
  }
  json.end_array();
}

/// A line per section: how many numbers, and the worst.
std::string sections_text(const PublishedValidation& validation) {
  std::vector<std::string> order;
  std::map<std::string, PublishedValidation> sections;
  for (const PublishedCheck& check : validation.checks) {
    if (check.kind != PublishedKind::kHeld) continue;
    if (!sections.contains(check.section)) order.push_back(check.section);
    sections[check.section].checks.push_back(check);
  }
  Table table({{"section", Align::kLeft}, {"n"}, {"max rel"}, {"worst", Align::kLeft}});
  const auto add = [&table](const std::string& name, const PublishedValidation& of) {
    const PublishedCheck* worst = of.worst();
    table.add({name, std::to_string(of.count(PublishedKind::kHeld)),
               fmt::format("{:.2g}", of.max_rel()),
               worst == nullptr ? "" : worst->name + " " + worst->field});
  };
  for (const std::string& name : order) add(name, sections[name]);
  add("all", validation);
  return table.text();
}

std::string checks_text(const std::string& title, const PublishedValidation& validation,
                        PublishedKind kind, double above) {
  Table table({{"section", Align::kLeft},
               {"name", Align::kLeft},
               {"field", Align::kLeft},
               {"expected"},
               {"got"},
               {"relative"}});
  for (const PublishedCheck& check : validation.checks) {
    if (check.kind != kind || check.unexplained() <= above) continue;
    table.add({check.section, check.name, check.field, number(check.expected), number(check.got),
               fmt::format("{:+.2g}", check.relative())});
  }
  return table.empty() ? "" : fmt::format("\n{}\n{}", title, table.text());
}

}  // namespace

std::string published_json(const PublishedValidation& validation) {
  JsonWriter json;
  json.begin_object();
  json.begin_object("summary");
  json.count("n", validation.count(PublishedKind::kHeld));
  json.exact("max_rel", validation.max_rel());
  if (const PublishedCheck* worst = validation.worst()) {
    json.text("worst", fmt::format("{} {} {}", worst->section, worst->name, worst->field));
  }
  json.count("unconverged", validation.count(PublishedKind::kUnconverged));
  json.count("paper", validation.count(PublishedKind::kPaper));
  std::uint64_t unchecked = 0;
  for (const PublishedGap& gap : validation.unchecked) unchecked += gap.numbers;
  json.count("not_checked", unchecked);
  json.end_object();
  write_checks(json, "checks", validation, PublishedKind::kHeld);
  write_checks(json, "optimum_below_published_log", validation, PublishedKind::kUnconverged);
  write_checks(json, "as_printed_in_the_paper", validation, PublishedKind::kPaper);
  json.begin_array("not_checked");
  for (const PublishedGap& gap : validation.unchecked) {
    json.begin_object({}, JsonWriter::Layout::kLine);
    json.text("section", gap.section);
    json.text("name", gap.name);
    json.count("numbers", gap.numbers);
    json.text("why", gap.why);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return std::move(json).take();
}

std::string published_text(const PublishedValidation& validation) {
  std::string text = sections_text(validation);
  text += checks_text("differences", validation, PublishedKind::kHeld, kMappingTolerance);
  text += checks_text("optimum below published log", validation, PublishedKind::kUnconverged, -1);
  text += checks_text("as printed in the paper", validation, PublishedKind::kPaper, -1);
  Table table(
      {{"section", Align::kLeft}, {"name", Align::kLeft}, {"numbers"}, {"why", Align::kLeft}});
  for (const PublishedGap& gap : validation.unchecked) {
    table.add({gap.section, gap.name, std::to_string(gap.numbers), gap.why});
  }
  if (!table.empty()) text += "\nnot checked\n" + table.text();
  return text;
}

std::string published_csv(const PublishedValidation& validation) {
  Table table({{"section"}, {"name"}, {"field"}, {"expected"}, {"got"}, {"relative"}, {"kind"}});
  for (const PublishedCheck& check : validation.checks) {
    table.add({check.section, check.name, check.field, fmt::format("{}", check.expected),
               fmt::format("{}", check.got), fmt::format("{:.3g}", check.relative()),
               std::string(name(check.kind))});
  }
  return table.csv();
}

}  // namespace flopcast
