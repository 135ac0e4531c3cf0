// The best plans of searches, a row each.
#include <fmt/format.h>

#include "flopcast/parallel/fields.h"
#include "flopcast/parallel/names.h"
#include "flopcast/report/plan.h"
#include "report/render/table.h"

namespace flopcast {

using namespace report;  // the room's own names

namespace {

using Cells = std::vector<std::string>;

/// One field of a plan, by its type.
struct CellWriter {
  Cells& cells;
  void operator()(std::string_view, bool value) { cells.emplace_back(value ? "true" : "false"); }
  void operator()(std::string_view, const std::vector<unsigned>& values) {
    cells.push_back(fmt::format("{}", fmt::join(values, " ")));
  }
  template <typename Value>
  void operator()(std::string_view, Value value) {
    if constexpr (std::is_enum_v<Value>) {
      cells.emplace_back(name(value));
    } else {
      cells.push_back(fmt::format("{}", static_cast<std::int64_t>(value)));
    }
  }
};

std::vector<Table::Column> columns(const PlanReport& first) {
  std::vector<Table::Column> titles = {{"model"}, {"cluster"}, {"chips"}};
  for (const PlanChange& change : first.changes) titles.push_back({"sweep_" + change.name});
  for (const char* title :
       {"rank", "time_s", "low_s", "high_s", "tokens_per_second", "mfu", "hfu", "memory_bytes",
        "memory_low_bytes", "memory_high_bytes", "fit_odds", "tie", "energy_j", "cost_usd"}) {
    titles.push_back({title});
  }
  visit_plan(first.base,
             [&](std::string_view key, const auto&) { titles.push_back({std::string(key)}); });
  for (std::size_t i = 0; i < kTimeParts; ++i) {
    titles.push_back({fmt::format("{}_s", name(static_cast<TimePart>(i)))});
  }
  StageMemory none;
  WholeRun none_run;
  visit_memory(
      none, [&](std::string_view key, Bytes) { titles.push_back({fmt::format("{}_bytes", key)}); });
  if (first.run) {
    visit_whole_run(none_run, [&](std::string_view key, double) {
      titles.push_back({fmt::format("run_{}", key)});
    });
  }
  return titles;
}

Cells row(const PlanReport& r, std::size_t rank) {
  const PlanCandidate& c = r.best[rank];
  Cells cells = {r.model, r.cluster, fmt::format("{}", r.chips)};
  for (const PlanChange& change : r.changes) cells.push_back(change.value);
  cells.push_back(fmt::format("{}", rank + 1));
  for (const double value :
       {c.found.time.value, c.low.value, c.high.value, c.tokens_per_second, c.mfu, c.hfu,
        c.found.memory.value, c.memory_low.value, c.memory_high.value, c.fit_odds}) {
    cells.push_back(fmt::format("{}", value));
  }
  cells.emplace_back(c.tie ? "true" : "false");
  for (const double value : {c.energy_j, c.cost_usd}) cells.push_back(fmt::format("{}", value));
  visit_plan(c.found.plan, CellWriter{cells});
  for (const Seconds part : c.parts) cells.push_back(fmt::format("{}", part.value));
  visit_memory(c.memory, [&](std::string_view, Bytes bytes) {
    cells.push_back(fmt::format("{}", bytes.value));
  });
  if (r.run) {
    const WholeRun run = c.run.value_or(WholeRun{});
    visit_whole_run(
        run, [&](std::string_view, double value) { cells.push_back(fmt::format("{}", value)); });
  }
  return cells;
}

}  // namespace

std::string plans_csv(std::span<const PlanReport> reports) {
  if (reports.empty()) return {};
  Table table(columns(reports.front()));
  for (const PlanReport& report : reports) {
    for (std::size_t rank = 0; rank < report.best.size(); ++rank) table.add(row(report, rank));
  }
  return table.csv();
}

}  // namespace flopcast
