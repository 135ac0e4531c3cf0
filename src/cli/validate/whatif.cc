// flopcast validate whatif: recordings changed, against recordings of the changed run.

#include <memory>

#include "cli/terminal/command.h"
#include "cli/terminal/options.h"
#include "flopcast/report/whatif.h"

namespace flopcast::cli {
namespace {

struct WhatIfCases {
  std::filesystem::path file;
  FormatOptions format;
  unsigned threads = 0;
};

/// Cases without a forecast are told, and are no error of the command's.
int run_cases(Io& io, const WhatIfCases& command) {
  const Result<std::vector<WhatIfCase>> cases = read_whatif_cases(command.file);
  if (!cases) return fail(io, cases.error());
  WhatIfValidationOptions options;
  options.threads = command.threads;
  const std::vector<WhatIfOutcome> outcomes = validate_whatif(*cases, options);
  return print(
      io, command.format.json ? whatif_validation_json(outcomes) : whatif_validation_text(outcomes),
      command.format);
}

}  // namespace

void add_validate_whatif(CLI::App& validate, Action& action) {
  CLI::App* sub = validate.add_subcommand(
      "whatif", "Forecast changed runs that were recorded or measured as well; errors per case");
  const auto command = std::make_shared<WhatIfCases>();
  sub->add_option("FILE", command->file, "Cases, JSON (docs/reference/what-if-files.md)")
      ->required()
      ->type_name("");
  add_format(*sub, command->format, false);
  sub->add_option("--threads", command->threads, "Threads to compute with; 0 means every core")
      ->type_name("N")
      ->capture_default_str();
  set_example(*sub, "flopcast validate whatif examples/whatif.json");
  sub->callback(
      [command, &action] { action = [command](Io& io) { return run_cases(io, *command); }; });
}

}  // namespace flopcast::cli
