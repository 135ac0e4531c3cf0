// Flags of a whole run: how long it is, how often chips fail, what energy is.
#pragma once

#include "cli/terminal/command.h"
#include "flopcast/question/run.h"

namespace flopcast::cli {

void add_run(CLI::App& command, RunSettings& run);
/// run_question of the flags; errors name the flag.
Result<std::optional<RunQuestion>> run_of_flags(const RunSettings& run);

}  // namespace flopcast::cli
