// The files that a command writes: the one place that says what they must not be.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/terminal/cli11.h"
#include "flopcast/base.h"

namespace flopcast::cli {

/// Marks an option whose values are files that the command writes.
CLI::Option* as_output(CLI::Option* option);

/// --html FILE: a self-contained page.
CLI::Option* add_page(CLI::App& command, std::filesystem::path& html,
                      const std::string& what = "Write a self-contained page");

/// To be called once the line is parsed, before hours of work. Every output must have a folder that can be
/// written to, and be neither standard output's file, another output, nor anything the line names to be read:
/// whatever the spelling of the path, through links too. Ctrl-C then cleans those folders.
std::optional<Diagnostic> prepare_outputs(CLI::App& command);
/// Files and folders that the line names to be read, each once, in its order.
std::vector<std::string> named_inputs(CLI::App& command);

}  // namespace flopcast::cli
