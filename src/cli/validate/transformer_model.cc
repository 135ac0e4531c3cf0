// flopcast validate transformer-model: paper mode against expected values of the published code.
#include <fmt/format.h>

#include <array>
#include <memory>

#include "base/text/json_writer.h"
#include "cli/command.h"
#include "cli/options.h"
#include "published/subramanian/cases.h"
#include "report/render/table.h"

namespace flopcast::cli {

using namespace report;

namespace {

constexpr std::array<std::string_view, 4> kKinds = {"collective", "layers", "config", "search"};
// Above this a number is not the published code's.
constexpr double kModelTolerance = 1e-9;

struct TransformerCommand {
  std::filesystem::path path;
  FormatOptions format;
  unsigned threads = 0;
};

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

PaperSummary both(const PaperValidation& validation) {
  std::vector<PaperCheck> all = validation.published;
  all.insert(all.end(), validation.repaired.begin(), validation.repaired.end());
  PaperSummary summary = summarise(all);
  summary.n = summarise(validation.published).n;  // each case once
  return summary;
}

std::string json_of(const PaperValidation& validation) {
  JsonWriter json;
  json.begin_object();
  const PaperSummary all = both(validation);
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

std::string text_of(const PaperValidation& validation) {
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

int run_transformer(Io& io, const TransformerCommand& command) {
  const Result<PaperValidation> validation = validate_paper_cases(command.path, command.threads);
  if (!validation) return fail(io, validation.error());
  const std::string text = command.format.json ? json_of(*validation) : text_of(*validation);
  if (const int code = print(io, text); code != kDone) return code;
  return both(*validation).failures > 0 ? static_cast<int>(ErrorCode::kBadInput) : kDone;
}

}  // namespace

void add_validate_transformer_model(CLI::App& validate, Action& action) {
  CLI::App* sub = validate.add_subcommand("transformer-model",
                                          "Compare paper mode with expected values of the "
                                          "published code, with and without its defects");
  const auto command = std::make_shared<TransformerCommand>();
  sub->add_option("FILE", command->path, "Expected values, JSON")->required()->type_name("");
  add_format(*sub, command->format, false);
  sub->add_option("--threads", command->threads, "Threads to compute with; 0 means every core")
      ->type_name("N")
      ->capture_default_str();
  set_example(*sub, "flopcast validate transformer-model examples/paper_subramanian/cases.json");
  sub->callback(
      [command, &action] { action = [command](Io& io) { return run_transformer(io, *command); }; });
}

}  // namespace flopcast::cli
