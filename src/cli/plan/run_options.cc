#include "cli/plan/run_options.h"

namespace flopcast::cli {

void add_run(CLI::App& command, RunSettings& run) {
  const auto text = [&](const char* flag, std::string& to, const char* meaning, const char* type) {
    command.add_option(flag, to, meaning)->type_name(type);
  };
  text("--tokens", run.tokens,
       "Of the whole run: also days, chip-hours, money, energy (15T: 15 x 10^12)", "N");
  text("--steps", run.steps, "The same by steps of the optimizer", "N");
  text("--chip-mtbf", run.chip_mtbf,
       "Mean time between failures of one chip with its share of host and network: 50000h", "TIME");
  text("--checkpoint-time", run.checkpoint_time,
       "For which training stands still for a checkpoint: 30s", "TIME");
  text("--restart-time", run.restart_time, "From a failure until training goes on: 10min", "TIME");
  command.add_option("--co2", run.co2, "CO2 of the electricity, kg a kWh")->type_name("KG");
  command.add_option("--pue", run.pue, "Energy of the site over that of its chips")
      ->type_name("RATIO")
      ->capture_default_str();
}

Result<std::optional<RunQuestion>> run_of_flags(const RunSettings& run) {
  Result<std::optional<RunQuestion>> asked = run_question(run);
  if (asked) return asked;
  Diagnostic wrong = asked.error();
  wrong.where = "--" + wrong.where;
  return wrong;
}

}  // namespace flopcast::cli
