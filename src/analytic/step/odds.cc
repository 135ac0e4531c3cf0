#include "flopcast/analytic/odds.h"

#include <fmt/format.h>

#include <cmath>

#include "base/numeric/normal.h"
#include "base/text/toml_file.h"
#include "catalog_files.h"

namespace flopcast {
namespace {

/// Standard deviation of ln(measured / forecast) on the side of this quantile of it.
double deviation(double factor) { return std::abs(std::log(factor)) / normal_quantile(0.9); }

}  // namespace

Result<PlanOdds> parse_plan_odds(std::string_view text, const std::string& where) {
  const Result<TomlFile> file = parse_toml(text, where, false);
  if (!file) return file.error();
  PlanOdds odds;
  const auto take = [&](const char* table, const char* key, double& to) {
    const auto told = file->root[table];
    to = told[key].value_or(0.0);
    return to > 0 && told["source"].is_string() && told["basis"].is_string();
  };
  const bool whole = take("memory", "low", odds.memory_low) &&
                     take("memory", "high", odds.memory_high) &&
                     take("ties", "time", odds.tie_time) && take("ties", "memory", odds.tie_memory);
  const bool possible =
      odds.memory_low < 1 && odds.memory_high > 1 && odds.tie_time >= 1 && odds.tie_memory > 1;
  if (whole && possible) return odds;
  return Diagnostic{ErrorCode::kBadInput, where,
                    "[memory] has no low < 1 < high, or [ties] no time and memory above 1, with "
                    "their source and basis",
                    "tools/training_bands.py writes this file"};
}

const PlanOdds& plan_odds() {
  static const PlanOdds odds = [] {
    // Compiled in and read by a test.
    const auto read =
        parse_plan_odds(catalog_data::training_bands_toml(), "catalog/training/bands.toml");
    return read ? *read : PlanOdds{};
  }();
  return odds;
}

double fit_odds(Bytes forecast, Bytes capacity) {
  if (forecast <= Bytes{0}) return 1;
  const double room = std::log(capacity / forecast);
  const PlanOdds& known = plan_odds();
  return normal_share(room / deviation(room < 0 ? known.memory_low : known.memory_high));
}

Bytes largest_fitting(Bytes capacity, double odds) {
  const PlanOdds& known = plan_odds();
  const double deviations = normal_quantile(odds);
  const double side = deviation(deviations < 0 ? known.memory_low : known.memory_high);
  return capacity * std::exp(-deviations * side);
}

std::string odds_words(double odds) {
  constexpr double kSure = 0.995;
  if (odds >= kSure) return "fits: > 99 %";
  if (odds < 1 - kSure) return "fits: < 1 %";
  return fmt::format("fits: {:.0f} %", 100 * odds);
}

std::optional<Diagnostic> odds_problem(std::string_view where, double odds) {
  if (odds > 0 && odds < 1) return std::nullopt;
  return usage_error(where, fmt::format("{} is no odds", odds),
                     "give a number between 0 and 1: 0.9 leaves room for what memory is known to, "
                     "0.5 takes plans at the edge");
}

}  // namespace flopcast
