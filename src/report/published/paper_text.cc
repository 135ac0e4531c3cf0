// Paper mode for a terminal: one plan, the best plans of a search, the best plan of many searches.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text/format.h"
#include "flopcast/base/quantity.h"
#include "report/published/paper_words.h"
#include "report/render/table.h"

namespace flopcast {

using namespace report;  // the room's own names

namespace {

/// What says most about a plan, in columns; the same for plans of one search and of many.
const std::vector<Table::Column> kPlanColumns = {
    {"time s"}, {"tp"},        {"tp2"},     {"pp"},     {"dp"},        {"microbatch"}, {"panels"},
    {"domain"}, {"memory GB"}, {"compute"}, {"memory"}, {"transfers"}, {"bubble"},     {"days"}};

std::vector<std::string> plan_cells(const PaperCase& c, const PaperCandidate& found) {
  const PaperPlan& p = found.plan;
  const PaperEstimate& e = found.estimate;
  const Seconds transfers =
      e.tensor_communication + e.pipeline_communication + e.data_communication;
  const auto number = [](std::int64_t n) { return std::to_string(n); };
  return {paper_time_words(e.time),
          number(p.size.tp1),
          number(p.size.tp2),
          number(p.size.pp),
          number(p.size.dp),
          number(p.microbatch),
          number(p.panels),
          fmt::format("{}x{}x{}x{}", p.domain.tp1, p.domain.tp2, p.domain.pp, p.domain.dp),
          fmt::format("{:.1f}{}", e.memory.value * 1e-9, e.fits ? "" : "*"),
          percent(e.compute / e.time),
          percent(e.exposed_memory / e.time),
          percent(transfers / e.time),
          percent(e.bubble / e.time),
          fmt::format("{:.4g}", paper_training_days(c, e.time))};
}

constexpr std::string_view kLegend =
    "\ndomain: GPUs of tp x tp2 x pp x dp that share an NVLink domain; shares are of the time.\n";

std::string one_text(const PaperCell& cell, const PaperSearch& search) {
  std::string text = paper_case_words(cell.c, cell.gpus) + '\n' +
                     paper_source_text(cell.c.defects) +
                     fmt::format("{}, {} fit in memory\n\n", counted(search.candidates, "plan"),
                                 grouped(search.feasible));
  Table table(kPlanColumns);
  for (const PaperCandidate& found : search.best) table.add(plan_cells(cell.c, found));
  return table.empty() ? text : text + table.text() + std::string(kLegend);
}

/// Hardware that a sweep changes beyond a system's name.
struct SweptRate {
  const char* title;
  double (*value)(const PaperSystem&);  ///< in the title's unit
};
constexpr std::array<SweptRate, 5> kSweptRates = {
    {{"HBM GB", [](const PaperSystem& s) { return s.hbm_capacity.value * 1e-9; }},
     {"HBM GB/s", [](const PaperSystem& s) { return s.hbm_bandwidth.value * 1e-9; }},
     {"matrix TFLOP/s", [](const PaperSystem& s) { return s.matrix.value * 1e-12; }},
     {"vector TFLOP/s", [](const PaperSystem& s) { return s.vector.value * 1e-12; }},
     {"NVLink GB/s", [](const PaperSystem& s) { return s.nvlink.bandwidth.value * 1e-9; }}}};

/// Those that differ between cells of one name.
std::vector<SweptRate> swept_rates(const std::vector<PaperCell>& cells) {
  std::vector<SweptRate> swept;
  for (const SweptRate& rate : kSweptRates) {
    std::map<std::string_view, double> of_name;
    const bool differs = std::ranges::any_of(cells, [&](const PaperCell& cell) {
      const double value = rate.value(cell.c.system);
      return of_name.emplace(cell.c.system.name, value).first->second != value;
    });
    if (differs) swept.push_back(rate);
  }
  return swept;
}

std::string many_text(const std::vector<PaperCell>& cells,
                      const std::vector<PaperSearch>& results) {
  std::vector<Table::Column> columns = {
      {"model", Align::kLeft}, {"strategy", Align::kLeft}, {"system", Align::kLeft}};
  const std::vector<SweptRate> swept = swept_rates(cells);
  for (const SweptRate& rate : swept) columns.push_back({rate.title});
  for (const char* title : {"GPUs", "plans", "fit"}) columns.push_back({title});
  columns.insert(columns.end(), kPlanColumns.begin(), kPlanColumns.end());
  Table table(columns);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const PaperCase& c = cells[i].c;
    std::vector<std::string> row = {c.model.name, std::string(name(c.strategy)), c.system.name};
    for (const SweptRate& rate : swept) row.push_back(fmt::format("{:.5g}", rate.value(c.system)));
    row.insert(row.end(), {std::to_string(cells[i].gpus), grouped(results[i].candidates),
                           grouped(results[i].feasible)});
    const std::vector<std::string> plan = results[i].best.empty()
                                              ? std::vector<std::string>(kPlanColumns.size(), "-")
                                              : plan_cells(c, results[i].best[0]);
    row.insert(row.end(), plan.begin(), plan.end());
    table.add(std::move(row));
  }
  return table.text() + std::string(kLegend) + "*: does not fit in memory\n";
}

}  // namespace

std::string paper_estimate_text(const PaperEstimateReport& report) {
  const PaperCase& c = report.of;
  const PaperCandidate& found = report.found;
  const PaperEstimate& e = found.estimate;
  std::string text = paper_case_words(c, found.plan.gpus()) + '\n' + paper_plan_words(found.plan) +
                     '\n' + paper_source_text(c.defects) + '\n';
  const auto line = [&text](std::string_view what, const std::string& value) {
    text += fmt::format("  {:<10} {}\n", what, value);
  };
  line("iteration", fmt::format("{} s   ({} x {} microbatches of {})", paper_time_words(e.time),
                                found.plan.size.dp, e.microbatches, found.plan.microbatch));
  line("training", fmt::format("{:.4g} days", paper_training_days(c, e.time)));
  line("memory", paper_memory_words(c, e) + (e.fits ? "" : ": does not fit"));
  Table times({{"time", Align::kLeft}, {"s"}, {"share"}});
  for (const PaperPart& part : paper_parts(e)) {
    times.add({std::string(part.name), paper_time_words(part.value), percent(part.value / e.time)});
  }
  Table memory({{"memory", Align::kLeft}, {"GB"}, {"share"}});
  for (const PaperShare& share : paper_memory(e)) {
    memory.add({std::string(share.name), fmt::format("{:.2f}", share.value.value * 1e-9),
                percent(share.value / e.memory)});
  }
  return text + '\n' + times.text() + '\n' + memory.text();
}

std::string paper_searches_text(const PaperSearches& searches) {
  return searches.many ? many_text(searches.cells, searches.results)
                       : one_text(searches.cells[0], searches.results[0]);
}

}  // namespace flopcast
