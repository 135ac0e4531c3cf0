// flopcast validate mapping: numbers published with DFModel against the search in paper mode, and the
// points of its figures.
#include <fmt/format.h>

#include <map>
#include <memory>

#include "base/text/json_writer.h"
#include "cli/command.h"
#include "cli/options.h"
#include "flopcast/published/dfmodel.h"
#include "report/render/table.h"

namespace flopcast::cli {

using namespace report;

namespace {

// Above this a number is not the published code's.
constexpr double kMappingTolerance = 1e-6;

struct MappingCommand {
  std::filesystem::path path;
  std::string study;
  FormatOptions format;
  unsigned threads = 0;
};

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

std::string json_of(const PublishedValidation& validation) {
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

std::string text_of(const PublishedValidation& validation) {
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

std::string csv_of(const PublishedValidation& validation) {
  Table table({{"section"}, {"name"}, {"field"}, {"expected"}, {"got"}, {"relative"}, {"kind"}});
  for (const PublishedCheck& check : validation.checks) {
    table.add({check.section, check.name, check.field, fmt::format("{}", check.expected),
               fmt::format("{}", check.got), fmt::format("{:.3g}", check.relative()),
               std::string(name(check.kind))});
  }
  return table.csv();
}

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

std::string json_of(const PublishedStudy& study) {
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

int run_study(Io& io, const MappingCommand& command) {
  const Result<PublishedStudy> study =
      published_study(command.study, Catalog::builtin(), command.threads);
  if (!study) return fail(io, study.error());
  return print(io, command.format.json  ? json_of(*study)
                   : command.format.csv ? table_of(*study, true).csv()
                                        : study->title + "\n" + table_of(*study, false).text());
}

int run_mapping(Io& io, const MappingCommand& command) {
  if (!command.study.empty()) return run_study(io, command);
  if (command.path.empty()) {
    return fail(io, Diagnostic{ErrorCode::kUsage, "", "neither a FILE nor a --study is given",
                               "give a JSON file of expected values, or --study fig07"});
  }
  const Result<PublishedValidation> validation =
      validate_published(command.path, Catalog::builtin(), command.threads);
  if (!validation) return fail(io, validation.error());
  return print(io, command.format.json  ? json_of(*validation)
                   : command.format.csv ? csv_of(*validation)
                                        : text_of(*validation));
}

std::string study_help() {
  std::string text = "Compute the points of a published figure instead:";
  for (const auto& [study, title] : published_studies()) text += " " + study;
  return text;
}

}  // namespace

void add_validate_mapping(CLI::App& validate, Action& action) {
  CLI::App* sub = validate.add_subcommand(
      "mapping", "Compare numbers published with DFModel with the search in paper mode");
  const auto command = std::make_shared<MappingCommand>();
  auto* file = sub->add_option("FILE", command->path, "Expected values, JSON")->type_name("");
  sub->add_option("--study", command->study, study_help())->type_name("NAME")->excludes(file);
  add_format(*sub, command->format, true);
  sub->add_option("--threads", command->threads, "Threads to compute with; 0 means every core")
      ->type_name("N")
      ->capture_default_str();
  set_example(*sub, "flopcast validate mapping examples/paper_dfmodel/published.json");
  sub->callback(
      [command, &action] { action = [command](Io& io) { return run_mapping(io, *command); }; });
}

}  // namespace flopcast::cli
