// A whole training run in words: days, failures, money, energy.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text/amounts.h"
#include "base/text/format.h"
#include "base/text/shown.h"
#include "report/estimate/report.h"
#include "report/render/counts.h"

namespace flopcast::report {
namespace {

constexpr double kMinuteSeconds = 60, kHourSeconds = 3600, kDaySeconds = 86400;
constexpr double kMwh = 3.6e9, kTonne = 1000;

/// A time of hours and days, in the one that reads better.
std::string long_time(Seconds time) {
  if (time.value >= 2 * kDaySeconds) return fmt::format("{:.1f} days", time.value / kDaySeconds);
  if (time.value >= 2 * kHourSeconds) return fmt::format("{:.1f} hours", time.value / kHourSeconds);
  if (time.value >= 2 * kMinuteSeconds)
    return fmt::format("{:.1f} min", time.value / kMinuteSeconds);
  return short_time(time);
}

/// "33.6 to 46.8 days", "46.0 hours to 2.1 days".
std::string long_band(Seconds low, Seconds high) {
  const std::string first = long_time(low), last = long_time(high);
  const std::size_t unit = first.find(' '), other = last.find(' ');
  const bool same = unit != std::string::npos && other != std::string::npos &&
                    first.substr(unit) == last.substr(other);
  return fmt::format("{} to {}", same ? first.substr(0, unit) : first, last);
}

/// "15 T", "300 B".
std::string total_words(double count) {
  constexpr double kTrillion = 1e12, kBillion = 1e9;
  if (count >= kTrillion) return fmt::format("{:.4g} T", count / kTrillion);
  if (count >= kBillion) return fmt::format("{:.4g} B", count / kBillion);
  return rounded_count(count);
}

std::string failures_text(const WholeRun& run, const RunQuestion& asked) {
  if (run.failures <= 0)
    return "  failures    none told: --chip-mtbf and --checkpoint-time count them\n";
  return fmt::format(
             "  failures    {} expected, one in {}; a checkpoint after every {} of work; {} of the "
             "time is lost to both\n",
             rounded_count(run.failures), long_time(run.time * (1 / run.failures)),
             long_time(run.checkpoint_every), percent(1 - run.work / run.time)) +
         (asked.restart.value > 0 ? "" : "  restarts    take no time: --restart-time tells it\n");
}

std::string cost_text(const WholeRun& run, const RunQuestion& asked) {
  if (run.cost_usd <= 0) return "  cost        no price told, nor known: --price\n";
  return fmt::format("  cost        {} USD, at {} USD a chip and hour{}\n",
                     rounded_count(run.cost_usd), asked.usd_per_chip_hour,
                     asked.price_source.empty() ? "" : ": " + escaped(asked.price_source));
}

std::string energy_text(const WholeRun& run, const RunQuestion& asked) {
  if (run.energy_j <= 0) return "  energy      the catalogue knows no power of this chip\n";
  return fmt::format(
      "  energy      {:.4g} MWh, chips at their power limit{}{}\n", run.energy_j / kMwh,
      asked.power_overhead > 1 ? fmt::format(" x {} for the site", asked.power_overhead) : "",
      run.co2_kg > 0 ? fmt::format("; {:.4g} t of CO2", run.co2_kg / kTonne) : "");
}

}  // namespace

std::string rounded_count(double count) {
  const double digit =
      std::pow(10, std::max(0.0, std::floor(std::log10(std::max(count, 1.0))) - 3));
  return grouped_whole(std::round(count / digit) * digit);
}

std::string whole_run_text(const WholeRun& run, const RunQuestion& asked) {
  return fmt::format(
             "The whole run: {} tokens in {} steps\n  time        {} (10-90 %: {}), {} "
             "chip-hours\n",
             total_words(run.tokens), rounded_count(run.steps), long_time(run.time),
             long_band(run.low, run.high), rounded_count(run.chip_hours)) +
         failures_text(run, asked) + cost_text(run, asked) + energy_text(run, asked);
}

std::string run_words(const WholeRun& run) {
  std::string text =
      fmt::format("{} ({} to {}), {} chip-hours", long_time(run.time), long_time(run.low),
                  long_time(run.high), rounded_count(run.chip_hours));
  if (run.cost_usd > 0) text += fmt::format(", {} USD", rounded_count(run.cost_usd));
  if (run.energy_j > 0) text += fmt::format(", {:.4g} MWh", run.energy_j / kMwh);
  if (run.co2_kg > 0) text += fmt::format(", {:.4g} t of CO2", run.co2_kg / kTonne);
  return text;
}

std::vector<RunCell> run_cells(const WholeRun& run) {
  const auto told = [](double value, double unit) {
    return value > 0 ? rounded_count(value / unit) : std::string();
  };
  return {{"time", long_time(run.time)},
          {"10-90 %", long_band(run.low, run.high)},
          {"chip-hours", rounded_count(run.chip_hours)},
          {"failures", told(run.failures, 1)},
          {"USD", told(run.cost_usd, 1)},
          {"MWh", told(run.energy_j, kMwh)},
          {"t CO2", told(run.co2_kg, kTonne)}};
}

}  // namespace flopcast::report
