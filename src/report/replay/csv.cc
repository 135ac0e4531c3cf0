// A row per set, model, rank and step. Columns carry their units; docs/reference/json.md names them
// too.
#include "base/text/format.h"
#include "flopcast/report/sets.h"
#include "report/render/table.h"

namespace flopcast {

using namespace report;  // the room's own names

namespace {

void add_parts(std::vector<std::string>& cells, const Breakdown& parts) {
  for (const Time part :
       {parts.exposed_compute, parts.exposed_communication, parts.waiting, parts.waiting_for_host,
        parts.waiting_for_stage, parts.overlapped, parts.other, parts.idle}) {
    cells.push_back(exact_seconds(part));
  }
}

std::vector<Table::Column> csv_columns() {
  std::vector<Table::Column> list;
  for (const char* name :
       {"set", "mode", "baseline", "rank", "step", "measured_s", "replayed_s", "error",
        "gpu_measured_s", "gpu_replayed_s", "gpu_step_error", "start_error_median_s"}) {
    list.push_back({name});
  }
  for (const std::string run : {"measured", "replayed"}) {
    for (const char* part :
         {"exposed_compute", "exposed_communication", "waiting", "waiting_for_host",
          "waiting_for_stage", "overlapped", "other", "idle"}) {
      list.push_back({run + "_" + part + "_s"});
    }
  }
  list.push_back({"damaged"});
  return list;
}

std::vector<std::string> csv_row(const SetResult& set, const RankSummary& rank,
                                 const StepSummary& step) {
  const auto ratio = [](std::optional<double> r) { return r ? exact_ratio(*r) : std::string(); };
  std::vector<std::string> cells = {set.name,
                                    lag_mode_name(set.lags),
                                    baseline_name(set.baseline),
                                    std::to_string(rank.rank),
                                    step.name,
                                    exact_seconds(step.host.measured),
                                    exact_seconds(step.host.replayed),
                                    ratio(step.error),
                                    step.gpu ? exact_seconds(step.gpu->measured) : "",
                                    step.gpu ? exact_seconds(step.gpu->replayed) : "",
                                    ratio(step.gpu_error),
                                    exact_ratio(step.start_error_median_s)};
  add_parts(cells, step.parts.measured);
  add_parts(cells, step.parts.replayed);
  cells.push_back(set.damage.empty() ? "0" : "1");
  return cells;
}

}  // namespace

std::string sets_csv(const std::vector<SetResult>& sets) {
  Table table(csv_columns());
  for (const SetResult& set : sets) {
    for (const RankSummary& rank : set.summary.ranks) {
      for (const StepSummary& step : rank.steps) table.add(csv_row(set, rank, step));
    }
  }
  return table.csv();
}

}  // namespace flopcast
