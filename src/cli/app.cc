#include "cli/app.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <exception>
#include <new>
#include <optional>

#include "base/layout/fit.h"
#include "base/text/names.h"
#include "base/text/shown.h"
#include "cli/terminal/command.h"
#include "cli/terminal/outputs.h"
#include "flopcast/version.h"

namespace flopcast::cli {
namespace {

/// The deepest command that the line named.
CLI::App* named_command(CLI::App* app) {
  const std::vector<CLI::App*> deeper = app->get_subcommands();
  return deeper.empty() ? app : named_command(deeper.front());
}

std::string full_name(const CLI::App* app) {
  return app->get_parent() ? full_name(app->get_parent()) + ' ' + app->get_name() : app->get_name();
}

int show_help(CLI::App& app, Io& io) {
  const CLI::App* command = named_command(&app);
  const CLI::App* parent = command->get_parent();
  return print(io, command->help(parent ? full_name(parent) : ""), {});
}

/// What the line says that the commands on it do not know, and what was meant.
std::optional<Diagnostic> unknown_word(const CLI::App& app) {
  const std::vector<std::string> left = app.remaining();
  if (left.empty()) {
    const auto deeper = app.get_subcommands();
    return deeper.empty() ? std::nullopt : unknown_word(*deeper.front());
  }
  const std::string word = left.front().substr(0, left.front().find('='));
  const bool option = word.starts_with('-');
  std::vector<std::string> known;
  for (const CLI::Option* other : app.get_options()) {
    for (const std::string& name : other->get_lnames()) {
      if (option) known.push_back("--" + name);
    }
  }
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    if (!option) known.push_back(command->get_name());
  }
  if (known.empty()) {
    return flopcast::usage_error("", fmt::format("'{}' was not expected", excerpt(word)),
                                 "quote names that hold blanks");
  }
  return flopcast::usage_error(
      "", fmt::format("there is no {} '{}'", option ? "option" : "command", excerpt(word)),
      did_you_mean(word, known, ""));
}

int usage_error(CLI::App& app, const CLI::ParseError& error, Io& io) {
  // A word that is not understood is why another is missing.
  const bool unknown = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr ||
                       dynamic_cast<const CLI::RequiredError*>(&error) != nullptr ||
                       dynamic_cast<const CLI::CallForHelp*>(&error) != nullptr;
  const std::optional<Diagnostic> word = unknown ? unknown_word(app) : std::nullopt;
  fail(io, word ? *word : flopcast::usage_error("", error.what(), ""));
  io.err << "See " << full_name(named_command(&app)) << " --help\n" << std::flush;
  return static_cast<int>(ErrorCode::kUsage);
}

void add_commands(CLI::App& app, Action& action) {
  app.name("flopcast");
  app.description("Forecasts how long large-scale ML training and serving takes.");
  app.require_subcommand(1);
  app.set_version_flag("--version", fmt::format("flopcast {} ({})", kVersion, git_revision()));
  add_replay(app, action);
  add_whatif(app, action);
  add_run(app, action);
  add_resolve(app, action);
  add_estimate(app, action);
  add_plan(app, action);
  add_merge(app, action);
  add_serve(app, action);
  add_map(app, action);
  add_explore(app, action);
  add_serve_plan(app, action);
  add_trace(app, action);
  add_models(app, action);
  add_hw(app, action);
  add_net(app, action);
  add_cost(app, action);
  add_validate(app, action);
  add_calibrate(app, action);
  add_doctor(app, action);
  add_schema(app, action);
  set_example(app, "flopcast replay demo/sample");
}

/// A word as a shell takes it: in quotes where it holds more than a shell leaves alone.
std::string shell_word(const std::string& word) {
  constexpr std::string_view kPlain = "-+=.,:/_@%^";
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [&](unsigned char c) {
    return std::isalnum(c) != 0 || kPlain.find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (plain) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string shell_line(const std::vector<std::string>& arguments) {
  std::string line = "flopcast";
  for (const std::string& word : arguments) line += ' ' + shell_word(word);
  return line;
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
  // CLI11 takes the arguments last first, and drops the first `--`, which says something to `run`.
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  // `serve --search` is serve-plan by another name.
  if (!reversed.empty() && reversed.back() == "serve" && std::erase(reversed, "--search") > 0) {
    reversed.back() = "serve-plan";
  }
  const auto mark = std::find(reversed.rbegin(), reversed.rend(), "--");
  if (mark != reversed.rend() && reversed.back() == "run") *mark = kLauncherFollows;
  try {
    app.parse(reversed);
  } catch (const CLI::CallForVersion& version) {
    return print(io, std::string(version.what()) + '\n');
  } catch (const CLI::CallForHelp& help) {
    // Of a command that does not exist there is none.
    const CLI::App* command = named_command(&app);
    const bool unknown =
        !command->get_subcommands(nullptr).empty() && !command->remaining().empty();
    return unknown ? usage_error(app, help, io) : show_help(app, io);
  } catch (const CLI::ParseError& error) {
    if (arguments.empty()) {
      io.err << fit_text(app.help(), io.width) << std::flush;
      return static_cast<int>(ErrorCode::kUsage);
    }
    return usage_error(app, error, io);
  }
  if (const auto problem = prepare_outputs(*named_command(&app))) return fail(io, *problem);
  io.command = shell_line(arguments);
  io.inputs = named_inputs(*named_command(&app));
  return run_action(action, io);
}

}  // namespace flopcast::cli
