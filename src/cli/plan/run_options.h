// Flags of a whole run: how long it is, how often chips fail, what energy is.
#pragma once

#include <string>

#include "cli/terminal/command.h"
#include "flopcast/analytic/whole_run.h"

namespace flopcast::cli {

struct RunFlags {
  std::string tokens, steps, chip_between_failures, checkpoint, restart;
  double kg_co2_per_kwh = 0, power_overhead = 1;
};
void add_run(CLI::App& command, RunFlags& flags);
/// What is asked of the whole run; none where neither its tokens nor its steps are told. Errors: a number that is none; failures
/// or energy of a run that nobody asked for.
Result<std::optional<RunQuestion>> run_question(const RunFlags& flags, double usd_per_chip_hour);

}  // namespace flopcast::cli
