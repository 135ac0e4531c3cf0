#include "cli/app.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <new>

#include "cli/layout/fit.h"
#include "cli/terminal/command.h"
#include "flopcast/version.h"

namespace flopcast::cli {
namespace {

/// The deepest command that the line named.
const CLI::App* named_command(const CLI::App* app) {
  for (const CLI::App* deeper : app->get_subcommands()) return named_command(deeper);
  return app;
}

std::string full_name(const CLI::App* app) {
  return app->get_parent() ? full_name(app->get_parent()) + ' ' + app->get_name() : app->get_name();
}

int show_help(const CLI::App& app, Io& io) {
  const CLI::App* command = named_command(&app);
  const CLI::App* parent = command->get_parent();
  return print(io, command->help(parent ? full_name(parent) : ""), {});
}

int usage_error(const CLI::App& app, const CLI::ParseError& error, Io& io) {
  io.err << "flopcast: error: " << error.what() << "\nSee " << full_name(named_command(&app))
         << " --help\n"
         << std::flush;
  return static_cast<int>(ErrorCode::kUsage);
}

void add_commands(CLI::App& app, Action& action) {
  app.name("flopcast");
  app.description("Forecasts how long large-scale ML training and serving takes.");
  app.require_subcommand(1);
  app.set_version_flag("--version", fmt::format("flopcast {} ({})", kVersion, git_revision()));
  add_replay(app, action);
  add_estimate(app, action);
  add_plan(app, action);
  add_merge(app, action);
  add_map(app, action);
  add_explore(app, action);
  add_trace(app, action);
  add_models(app, action);
  add_hw(app, action);
  add_net(app, action);
  add_cost(app, action);
  add_validate(app, action);
  add_calibrate(app, action);
  add_doctor(app, action);
  set_example(app, "flopcast replay demo/sample");
}

int run_action(const Action& action, Io& io) {
  try {
    return action(io);
  } catch (const std::bad_alloc&) {
    return fail(io, {ErrorCode::kTooLarge, "memory", "there is not enough of it",
                     "cut the trace first: flopcast trace slice --help"});
  } catch (const std::exception& error) {
    return fail(io, {ErrorCode::kBadInput, "flopcast", error.what(), "please report this"});
  }
}

}  // namespace

int run(const std::vector<std::string>& arguments, Io& io) {
  CLI::App app;
  Action action;
  add_commands(app, action);
  // CLI11 takes the arguments last first.
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  try {
    app.parse(reversed);
  } catch (const CLI::CallForVersion& version) {
    return print(io, std::string(version.what()) + '\n');
  } catch (const CLI::CallForHelp&) {
    return show_help(app, io);
  } catch (const CLI::ParseError& error) {
    if (arguments.empty()) {
      io.err << fit_text(app.help(), io.width) << std::flush;
      return static_cast<int>(ErrorCode::kUsage);
    }
    return usage_error(app, error, io);
  }
  return run_action(action, io);
}

}  // namespace flopcast::cli
