// flopcast trace: looking at traces without replaying them.
#include "cli/terminal/command.h"

namespace flopcast::cli {

void add_trace(CLI::App& app, Action& action) {
  CLI::App* trace = app.add_subcommand(
      "trace", "See what is in a trace, what is wrong, what ran, cut it, pack it");
  trace->require_subcommand(1);
  add_trace_info(*trace, action);
  add_trace_validate(*trace, action);
  add_trace_model(*trace, action);
  add_trace_slice(*trace, action);
  add_trace_pack(*trace, action);
  set_example(*trace, "flopcast trace info demo/sample");
}

}  // namespace flopcast::cli
