// flopcast trace model: the program behind a recording.
#include "flopcast/whatif/model.h"

#include <memory>

#include "cli/terminal/command.h"
#include "cli/terminal/options.h"
#include "cli/trace/runs.h"
#include "flopcast/report/trace.h"

namespace flopcast::cli {
namespace {

struct ModelCommand {
  InputOptions input;
  FormatOptions format;
};

int run_model(Io& io, const ModelCommand& command) {
  std::vector<std::string> texts;
  const int code = for_each_run(io, command.input, [&](const TraceSet& set) {
    Replay notes;
    const replaying::Recording recording =
        replaying::find_dependencies(set, command.input.threads, notes);
    const TraceModel model = make_trace_model(set, recording);
    texts.push_back(command.format.json ? trace_model_json(set, recording, model)
                                        : trace_model_text(set, recording, model));
    return kDone;
  });
  return print_each(io, texts, command.format, code);
}

}  // namespace

void add_trace_model(CLI::App& trace, Action& action) {
  CLI::App* sub = trace.add_subcommand("model",
                                       "What program ran: groups of ranks and what they share, "
                                       "stages, microbatches, layers, and what "
                                       "runs at every position of a layer");
  const auto command = std::make_shared<ModelCommand>();
  add_input(*sub, command->input);
  add_steps(*sub, command->input.steps);
  add_format(*sub, command->format, false);
  set_example(*sub, "flopcast trace model demo/sample");
  sub->callback(
      [command, &action] { action = [command](Io& io) { return run_model(io, *command); }; });
}

}  // namespace flopcast::cli
