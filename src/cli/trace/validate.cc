// flopcast trace validate: what is wrong or missing in a trace.
#include <memory>

#include "cli/terminal/command.h"
#include "cli/terminal/options.h"
#include "cli/trace/runs.h"
#include "flopcast/report/trace.h"

namespace flopcast::cli {
namespace {

struct CheckCommand {
  InputOptions input;
  FormatOptions format;
};

int run_check(Io& io, const CheckCommand& command) {
  std::vector<std::string> texts;
  const int code = for_each_run(io, command.input, [&](const TraceSet& set) {
    const StepComparison steps = compare_steps(set);
    texts.push_back(command.format.json ? trace_check_json(set, steps)
                                        : trace_check_text(set, steps));
    return kDone;
  });
  return print_each(io, texts, command.format, code);
}

}  // namespace

void add_trace_validate(CLI::App& trace, Action& action) {
  CLI::App* sub = trace.add_subcommand(
      "validate",
      "What is wrong or missing: every oddity counted, with a first example; and which "
      "steps have the same structure");
  const auto command = std::make_shared<CheckCommand>();
  add_input(*sub, command->input);
  add_steps(*sub, command->input.steps);
  add_format(*sub, command->format, false);
  set_example(*sub, "flopcast trace validate demo/sample");
  sub->callback(
      [command, &action] { action = [command](Io& io) { return run_check(io, *command); }; });
}

}  // namespace flopcast::cli
