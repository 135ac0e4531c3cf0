// What every command file provides: a function that adds its command to the parser. The command's
// action is run once the whole line has been parsed, and returns the exit code.
#pragma once

#include <functional>

#include "cli/terminal/cli11.h"
#include "cli/terminal/io.h"

namespace flopcast::cli {

using Action = std::function<int(Io&)>;

/// `action` is set by whichever command the line names.
void add_replay(CLI::App& app, Action& action);
void add_whatif(CLI::App& app, Action& action);
void add_run(CLI::App& app, Action& action);
void add_resolve(CLI::App& app, Action& action);
void add_trace(CLI::App& app, Action& action);
void add_trace_info(CLI::App& trace, Action& action);
void add_trace_pack(CLI::App& trace, Action& action);
void add_trace_model(CLI::App& trace, Action& action);
void add_trace_validate(CLI::App& trace, Action& action);
void add_trace_slice(CLI::App& trace, Action& action);
void add_validate(CLI::App& app, Action& action);
void add_validate_collectives(CLI::App& validate, Action& action);
void add_validate_kernels(CLI::App& validate, Action& action);
void add_validate_training(CLI::App& validate, Action& action);
void add_validate_transformer_model(CLI::App& validate, Action& action);
void add_validate_mapping(CLI::App& validate, Action& action);
void add_validate_whatif(CLI::App& validate, Action& action);
void add_validate_serving(CLI::App& validate, Action& action);
void add_validate_serving_trace(CLI::App& validate, Action& action);
void add_calibrate(CLI::App& app, Action& action);
void add_calibrate_network(CLI::App& calibrate, Action& action);
void add_calibrate_kernels(CLI::App& calibrate, Action& action);
void add_calibrate_host(CLI::App& calibrate, Action& action);
void add_calibrate_serving(CLI::App& calibrate, Action& action);
void add_models(CLI::App& app, Action& action);
void add_hw(CLI::App& app, Action& action);
void add_net(CLI::App& app, Action& action);
void add_cost(CLI::App& app, Action& action);
void add_estimate(CLI::App& app, Action& action);
void add_plan(CLI::App& app, Action& action);
void add_merge(CLI::App& app, Action& action);
void add_serve(CLI::App& app, Action& action);
void add_map(CLI::App& app, Action& action);
void add_explore(CLI::App& app, Action& action);
void add_serve_plan(CLI::App& app, Action& action);
void add_doctor(CLI::App& app, Action& action);
void add_schema(CLI::App& app, Action& action);

/// What the `--` of `flopcast run -- PROGRAM` is to the parser.
inline constexpr const char* kLauncherFollows = "--launcher-follows";

/// Shown at the end of --help. The tests run every one of them in a folder that holds demo/sample.
void set_example(CLI::App& command, const std::string& line);

}  // namespace flopcast::cli
