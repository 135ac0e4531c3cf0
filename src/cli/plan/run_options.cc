#include "cli/plan/run_options.h"

#include <fmt/format.h>

#include "base/counts.h"

namespace flopcast::cli {
namespace {

Result<double> count_of(const std::string& flag, const std::string& text) {
  if (text.empty()) return 0.0;
  const std::optional<double> count = parse_total(text);
  if (count && *count > 0) return *count;
  return usage_error(flag, fmt::format("expected a number such as 15T or 500000, found '{}'", text),
                     "k, M, B and T are 10^3 to 10^12");
}

Result<Seconds> seconds_of(const std::string& flag, const std::string& text) {
  if (text.empty()) return Seconds{};
  Result<Seconds> time = parse_seconds(text);
  if (time) return time;
  Diagnostic wrong = time.error();
  wrong.code = ErrorCode::kUsage;
  wrong.where = flag;
  return wrong;
}

bool asks_for_a_run(const RunFlags& flags) {
  return !flags.chip_between_failures.empty() || !flags.checkpoint.empty() ||
         !flags.restart.empty() || flags.kg_co2_per_kwh != 0 || flags.power_overhead != 1;
}

}  // namespace

void add_run(CLI::App& command, RunFlags& flags) {
  const auto text = [&](const char* flag, std::string& to, const char* meaning, const char* type) {
    command.add_option(flag, to, meaning)->type_name(type);
  };
  text("--tokens", flags.tokens,
       "Of the whole run: also days, chip-hours, money, energy (15T: 15 x 10^12)", "N");
  text("--steps", flags.steps, "The same by steps of the optimizer", "N");
  text("--chip-mtbf", flags.chip_between_failures,
       "Mean time between failures of one chip with its share of host and network: 50000h", "TIME");
  text("--checkpoint-time", flags.checkpoint,
       "For which training stands still for a checkpoint: 30s", "TIME");
  text("--restart-time", flags.restart, "From a failure until training goes on: 10min", "TIME");
  command.add_option("--co2", flags.kg_co2_per_kwh, "CO2 of the electricity, kg a kWh")
      ->type_name("KG");
  command.add_option("--pue", flags.power_overhead, "Energy of the site over that of its chips")
      ->type_name("RATIO")
      ->capture_default_str();
}

Result<std::optional<RunQuestion>> run_question(const RunFlags& flags, double usd_per_chip_hour) {
  if (flags.tokens.empty() && flags.steps.empty()) {
    if (!asks_for_a_run(flags)) return std::optional<RunQuestion>();
    return usage_error("--tokens",
                       "is not given, nor is --steps: failures and energy are of a whole run",
                       "give one of them: --tokens 15T");
  }
  RunQuestion asked;
  const Result<double> tokens = count_of("--tokens", flags.tokens);
  if (!tokens) return tokens.error();
  const Result<double> steps = count_of("--steps", flags.steps);
  if (!steps) return steps.error();
  asked.tokens = *tokens;
  asked.steps = *steps;
  const std::pair<Seconds*, std::pair<const char*, const std::string*>> times[] = {
      {&asked.chip_between_failures, {"--chip-mtbf", &flags.chip_between_failures}},
      {&asked.checkpoint, {"--checkpoint-time", &flags.checkpoint}},
      {&asked.restart, {"--restart-time", &flags.restart}}};
  for (const auto& [to, from] : times) {
    const Result<Seconds> time = seconds_of(from.first, *from.second);
    if (!time) return time.error();
    *to = *time;
  }
  asked.usd_per_chip_hour = usd_per_chip_hour;
  asked.kg_co2_per_kwh = flags.kg_co2_per_kwh;
  asked.power_overhead = flags.power_overhead;
  return std::optional(asked);
}

}  // namespace flopcast::cli
