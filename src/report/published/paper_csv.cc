// Paper mode as comma-separated values: the case, its best plan, where its time and memory go.
#include <fmt/format.h>

#include "flopcast/report/published.h"
#include "report/render/table.h"

namespace flopcast {

using namespace report;  // the room's own names

namespace {

constexpr const char* kTitles[] = {"model",
                                   "strategy",
                                   "system",
                                   "gpus",
                                   "hbm_capacity_bytes",
                                   "hbm_bandwidth_bytes_per_s",
                                   "matrix_flops_per_s",
                                   "vector_flops_per_s",
                                   "candidates",
                                   "feasible",
                                   "tp1",
                                   "tp2",
                                   "pp",
                                   "dp",
                                   "microbatch",
                                   "panels",
                                   "domain_tp1",
                                   "domain_tp2",
                                   "domain_pp",
                                   "domain_dp",
                                   "iteration_time_s",
                                   "compute_s",
                                   "exposed_memory_s",
                                   "tensor_communication_s",
                                   "pipeline_communication_s",
                                   "data_communication_s",
                                   "bubble_s",
                                   "memory_bytes",
                                   "weights_bytes",
                                   "gradients_bytes",
                                   "optimizer_bytes",
                                   "activations_bytes",
                                   "fits",
                                   "training_days"};

template <typename... Values>
void append(std::vector<std::string>& row, const Values&... values) {
  (row.push_back(fmt::format("{}", values)), ...);
}

void append_plan(std::vector<std::string>& row, const PaperCase& c, const PaperCandidate& best) {
  const PaperPlan& p = best.plan;
  const PaperEstimate& e = best.estimate;
  append(row, p.size.tp1, p.size.tp2, p.size.pp, p.size.dp, p.microbatch, p.panels);
  append(row, p.domain.tp1, p.domain.tp2, p.domain.pp, p.domain.dp);
  append(row, e.time.value, e.compute.value, e.exposed_memory.value, e.tensor_communication.value,
         e.pipeline_communication.value, e.data_communication.value, e.bubble.value);
  append(row, e.memory.value, e.weights.value, e.gradients.value, e.optimizer.value,
         e.activations.value, e.fits, paper_training_days(c, e.time));
}

/// @param best null: nothing stands where the plan would
std::vector<std::string> row_of(const PaperCell& cell, const PaperSearch& search,
                                const PaperCandidate* best) {
  const PaperSystem& s = cell.c.system;
  std::vector<std::string> row;
  append(row, cell.c.model.name, name(cell.c.strategy), s.name, cell.gpus, s.hbm_capacity.value,
         s.hbm_bandwidth.value, s.matrix.value, s.vector.value, search.candidates, search.feasible);
  if (best != nullptr) append_plan(row, cell.c, *best);
  row.resize(std::size(kTitles));
  return row;
}

}  // namespace

std::string paper_searches_csv(const PaperSearches& searches) {
  std::vector<Table::Column> titles;
  for (const char* title : kTitles) titles.push_back({title});
  Table table(std::move(titles));
  for (std::size_t i = 0; i < std::min(searches.cells.size(), searches.results.size()); ++i) {
    const PaperCell& cell = searches.cells[i];
    const PaperSearch& search = searches.results[i];
    if (search.best.empty()) table.add(row_of(cell, search, nullptr));
    for (const PaperCandidate& found : search.best) {
      table.add(row_of(cell, search, &found));
      if (searches.many) break;
    }
  }
  return table.csv();
}

std::string paper_estimate_csv(const PaperEstimateReport& report) {
  PaperSearch search;
  search.candidates = 1;
  search.feasible = report.found.estimate.fits ? 1 : 0;
  search.best = {report.found};
  return paper_searches_csv({{{report.of, report.found.plan.gpus()}}, {search}});
}

}  // namespace flopcast
