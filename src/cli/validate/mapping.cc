// flopcast validate mapping: numbers published with DFModel against the search in paper mode, and the
// points of its figures.
#include <memory>

#include "cli/terminal/command.h"
#include "cli/terminal/options.h"
#include "flopcast/report/published.h"

namespace flopcast::cli {
namespace {

struct MappingCommand {
  std::filesystem::path path;
  std::string study;
  FormatOptions format;
  unsigned threads = 0;
};

int run_study(Io& io, const MappingCommand& command) {
  const Result<PublishedStudy> study =
      published_study(command.study, Catalog::builtin(), command.threads);
  if (!study) return fail(io, study.error());
  return print(io,
               command.format.json  ? published_json(*study)
               : command.format.csv ? published_csv(*study)
                                    : published_text(*study),
               command.format);
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
  return print(io,
               command.format.json  ? published_json(*validation)
               : command.format.csv ? published_csv(*validation)
                                    : published_text(*validation),
               command.format);
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
