// Searches at several points, or on several clusters, for a terminal: a row for each.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/layout/fit.h"
#include "base/text/format.h"
#include "base/text/shown.h"
#include "flopcast/analytic/odds.h"
#include "flopcast/parallel/fields.h"
#include "flopcast/report/plan.h"
#include "report/estimate/report.h"
#include "report/plan/words.h"
#include "report/render/table.h"

namespace flopcast {

using namespace report;  // the room's own names

namespace {

bool several_clusters(std::span<const PlanReport> reports) {
  return std::any_of(reports.begin(), reports.end(),
                     [&](const PlanReport& r) { return r.on != reports.front().on; });
}

/// What tells a point from the others.
std::string point_words(std::span<const PlanReport> reports, const PlanReport& r) {
  std::string text = several_clusters(reports) ? escaped(r.on) : std::string();
  for (const PlanChange& change : r.changes) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", change.name, change.value);
  }
  return text;
}

/// Of one step of the best plan: money where every point has a price, else chips times seconds.
double cost_of(const PlanReport& r, bool priced) {
  const PlanCandidate& best = r.best.front();
  return priced ? best.cost_usd : best.found.time.value * r.chips;
}

/// Whether no point of the sweep is both faster and cheaper, and better in one of them.
bool on_front(std::span<const PlanReport> reports, const PlanReport& one, bool priced) {
  const double time = one.best.front().found.time.value, cost = cost_of(one, priced);
  return std::none_of(reports.begin(), reports.end(), [&](const PlanReport& other) {
    if (!other.fits()) return false;
    const double its_time = other.best.front().found.time.value, its_cost = cost_of(other, priced);
    return its_time <= time && its_cost <= cost && (its_time < time || its_cost < cost);
  });
}

std::vector<std::string> step_row(std::span<const PlanReport> reports, const PlanReport& r,
                                  bool priced) {
  const std::string point = point_words(reports, r);
  if (!r.fits()) return {point, grouped(r.chips), "-", "-", "-", "-", "-", "-", ""};
  const PlanCandidate& w = r.best.front();
  return {point,
          grouped(r.chips),
          short_time(w.found.time),
          short_count(w.tokens_per_second),
          percent(w.mfu),
          gigabytes(w.found.memory),
          odds_words(w.fit_odds).substr(std::string_view("fits: ").size()),
          short_count(cost_of(r, priced)),
          on_front(reports, r, priced) ? "*" : ""};
}

std::string steps_table(std::span<const PlanReport> reports) {
  const bool priced = std::all_of(reports.begin(), reports.end(),
                                  [](const PlanReport& r) { return r.usd_per_chip_hour > 0; });
  Table table({{"", Align::kLeft},
               {"chips"},
               {"a step"},
               {"tokens/s"},
               {"MFU"},
               {"GB"},
               {"fits"},
               {priced ? "USD" : "chip-s"},
               {"", Align::kLeft}});
  for (const PlanReport& report : reports) table.add(step_row(reports, report, priced));
  return table.text() + "  * nothing is both faster and cheaper\n";
}

/// What the run costs at a price of the catalogue: whose price that is.
std::string prices_text(std::span<const PlanReport> reports) {
  std::string text;
  for (const PlanReport& report : reports) {
    if (!report.run || report.run->price_source.empty()) continue;
    text += fmt::format("  {} at {} USD a chip and hour: {}\n", point_words(reports, report),
                        report.run->usd_per_chip_hour, escaped(report.run->price_source));
  }
  return text;
}

/// Columns of which nothing is known at any point are left out.
std::string runs_table(std::span<const PlanReport> reports) {
  if (!reports.front().run) return {};
  std::vector<std::vector<RunCell>> rows;
  for (const PlanReport& report : reports) {
    rows.push_back(run_cells(report.fits() && report.best.front().run ? *report.best.front().run
                                                                      : WholeRun{}));
    if (report.fits()) continue;
    for (RunCell& cell : rows.back()) cell.text.clear();
  }
  std::vector<Table::Column> columns = {{"the whole run", Align::kLeft}};
  std::vector<std::vector<std::string>> cells(reports.size());
  for (std::size_t i = 0; i < reports.size(); ++i) {
    cells[i].push_back(point_words(reports, reports[i]));
  }
  for (std::size_t c = 0; c < rows.front().size(); ++c) {
    const auto known = [c](const std::vector<RunCell>& row) { return !row[c].text.empty(); };
    if (std::none_of(rows.begin(), rows.end(), known)) continue;
    columns.push_back({rows.front()[c].title});
    for (std::size_t i = 0; i < rows.size(); ++i) {
      cells[i].push_back(rows[i][c].text.empty() ? "-" : rows[i][c].text);
    }
  }
  Table table(columns);
  for (std::vector<std::string>& row : cells) table.add(std::move(row));
  return "\n" + table.text() + prices_text(reports);
}

std::string plans_list(std::span<const PlanReport> reports) {
  std::string text = "\nThe best plans, and where most of their time goes\n";
  for (const PlanReport& r : reports) {
    text += fmt::format("  {}\n", point_words(reports, r));
    if (!r.fits()) {
      text += "      nothing fits\n";
      continue;
    }
    const PlanCandidate& w = r.best.front();
    const auto longest = std::max_element(w.parts.begin(), w.parts.end()) - w.parts.begin();
    text += fmt::format("      {}\n      {} ({})\n", plan_words(w.found.plan),
                        meaning(static_cast<TimePart>(longest)),
                        percent(w.parts[static_cast<std::size_t>(longest)] / w.found.time));
  }
  return text;
}

}  // namespace

std::string report::plans_verdict(std::span<const PlanReport> reports) {
  const PlanComparison all = compare_plans(reports);
  if (!all.fastest) return {};
  const auto named = [&](std::size_t i) { return point_words(reports, reports[i]); };
  std::string text = fmt::format("Fastest: {}", named(*all.fastest));
  if (all.equal.size() > 1) {
    text += "; as fast, within the bands of both:";
    const char* between = " ";
    for (const std::size_t i : all.equal) {
      if (i == *all.fastest) continue;
      text += between + named(i);
      between = "; ";
    }
    text += all.cheapest ? fmt::format(". The cheapest of these: {}", named(*all.cheapest))
                         : ". Which is the cheapest is told where each has a price (--price)";
  }
  return text + ".";
}

std::string plans_text(std::span<const PlanReport> reports) {
  if (reports.empty()) return {};
  if (reports.size() == 1) return plan_text(reports.front());
  const PlanReport& first = reports.front();
  std::string text =
      fmt::format("{}{}: {} of {} tokens a step\n\n", escaped(first.model),
                  several_clusters(reports) ? "" : " on " + escaped(first.on),
                  counted(static_cast<std::uint64_t>(first.global_batch), "sequence"),
                  grouped(static_cast<std::uint64_t>(first.sequence)));
  text += steps_table(reports) + runs_table(reports) + plans_list(reports);
  if (const std::string verdict = plans_verdict(reports); !verdict.empty())
    text += '\n' + verdict + '\n';
  return fit_text(text, kTextWidth);
}

}  // namespace flopcast
