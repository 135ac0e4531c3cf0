// flopcast trace info: what is in a trace.
#include "flopcast/report/trace.h"

#include <memory>

#include "cli/terminal/command.h"
#include "cli/terminal/options.h"
#include "cli/trace/runs.h"

namespace flopcast::cli {
namespace {

struct InfoCommand {
  InputOptions input;
  FormatOptions format;
};

int run_info(Io& io, const InfoCommand& command) {
  std::vector<std::string> texts;
  const int code = for_each_summary(io, command.input, [&](const RunSummary& run) {
    texts.push_back(command.format.json ? trace_info_json(run) : trace_info_text(run));
    return kDone;
  });
  return print_each(io, texts, command.format, code);
}

}  // namespace

void add_trace_info(CLI::App& trace, Action& action) {
  CLI::App* sub = trace.add_subcommand(
      "info", "What is in a trace: ranks, rows, steps, process groups, and what was recorded");
  const auto command = std::make_shared<InfoCommand>();
  add_input(*sub, command->input);
  add_steps(*sub, command->input.steps);
  add_format(*sub, command->format, false);
  set_example(*sub, "flopcast trace info demo/sample");
  sub->callback(
      [command, &action] { action = [command](Io& io) { return run_info(io, *command); }; });
}

}  // namespace flopcast::cli
