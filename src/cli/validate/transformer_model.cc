// flopcast validate transformer-model: paper mode against expected values of the published code.
#include <fmt/format.h>

#include <memory>
#include <vector>

#include "base/text/format.h"
#include "cli/terminal/command.h"
#include "cli/terminal/options.h"
#include "flopcast/report/published.h"

namespace flopcast::cli {
namespace {

struct TransformerCommand {
  std::filesystem::path path;
  FormatOptions format;
  unsigned threads = 0;
};

int run_transformer(Io& io, const TransformerCommand& command) {
  const Result<PaperValidation> validation = validate_paper_cases(command.path, command.threads);
  if (!validation) return fail(io, validation.error());
  const std::string text =
      command.format.json ? paper_validation_json(*validation) : paper_validation_text(*validation);
  if (const int code = print(io, text, command.format); code != kDone) return code;
  std::vector<const PaperCheck*> failed;
  for (const auto* checks : {&validation->published, &validation->repaired}) {
    for (const PaperCheck& check : *checks) {
      if (check.failure) failed.push_back(&check);
    }
  }
  if (failed.empty()) return kDone;
  return fail(io, {ErrorCode::kBadInput, command.path.string(),
                   fmt::format("{} could not be made", counted(failed.size(), "comparison")),
                   fmt::format("the first, of {}: {}", failed[0]->id, failed[0]->failure->text())});
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
