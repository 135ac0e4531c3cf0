#include "flopcast/question/run.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "base/counts.h"

namespace flopcast {
namespace {

Result<double> count_of(std::string_view name, const std::string& text) {
  if (text.empty()) return 0.0;
  const std::optional<double> count = parse_total(text);
  if (count && *count > 0) return *count;
  return usage_error(name, fmt::format("expected a number such as 15T or 500000, found '{}'", text),
                     "k, M, B and T are 10^3 to 10^12");
}

Result<Seconds> seconds_of(std::string_view name, const std::string& text) {
  if (text.empty()) return Seconds{};
  Result<Seconds> time = parse_seconds(text);
  if (time) return time;
  Diagnostic wrong = time.error();
  wrong.code = ErrorCode::kUsage;
  wrong.where = name;
  return wrong;
}

bool asks_for_a_run(const RunSettings& s) {
  return !s.chip_mtbf.empty() || !s.checkpoint_time.empty() || !s.restart_time.empty() ||
         s.co2 != 0 || s.pue != 1;
}

}  // namespace

Result<std::optional<RunQuestion>> run_question(const RunSettings& settings) {
  if (settings.tokens.empty() && settings.steps.empty()) {
    if (!asks_for_a_run(settings)) return std::optional<RunQuestion>();
    return usage_error("tokens",
                       "is not given, nor is steps: failures and energy are of a whole run",
                       "say how long it is: 15T tokens, or 500000 steps");
  }
  RunQuestion asked;
  const Result<double> tokens = count_of("tokens", settings.tokens);
  if (!tokens) return tokens.error();
  const Result<double> steps = count_of("steps", settings.steps);
  if (!steps) return steps.error();
  asked.tokens = *tokens;
  asked.steps = *steps;
  const std::pair<Seconds*, std::pair<std::string_view, const std::string*>> times[] = {
      {&asked.chip_between_failures, {"chip-mtbf", &settings.chip_mtbf}},
      {&asked.checkpoint, {"checkpoint-time", &settings.checkpoint_time}},
      {&asked.restart, {"restart-time", &settings.restart_time}}};
  for (const auto& [to, from] : times) {
    const Result<Seconds> time = seconds_of(from.first, *from.second);
    if (!time) return time.error();
    *to = *time;
  }
  asked.kg_co2_per_kwh = settings.co2;
  asked.power_overhead = settings.pue;
  if (auto problem = run_problem(asked)) return *std::move(problem);
  return std::optional(asked);
}

}  // namespace flopcast
