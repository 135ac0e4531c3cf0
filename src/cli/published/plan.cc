// flopcast plan --model-of subramanian: the best plans in paper mode; sweeps and the paper's figures.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/text/format.h"
#include "cli/published/output.h"
#include "cli/published/sweep.h"
#include "report/render/table.h"

namespace flopcast::cli {

using namespace report;

namespace {

constexpr std::int64_t kMostTried = std::int64_t{1} << 20;  ///< GPUs

struct Asked {
  std::vector<PaperCell> cells;
  bool many = false;  ///< a sweep or a figure: the best plan of each cell
};

Result<PaperCell> base_cell(const PaperPlanCommand& command) {
  const auto given_or_swept = [&](const std::string& given, std::string_view axis) {
    return given.empty() ? paper_first_swept(command.sweeps, axis) : given;
  };
  PaperOptions options = command.paper;
  options.system = given_or_swept(options.system, "system");
  Result<PaperCase> c =
      paper_case(given_or_swept(command.model, "model"), command.global_batch, options);
  if (!c) return c.error();
  PaperCell cell{std::move(*c), command.chips, {}};
  cell.options.best = command.sweeps.empty() ? command.best : 1;
  cell.options.fixed_domain = options.domain;
  if (const auto fixed = apply_paper_musts(command.must, cell); !fixed) return fixed.error();
  return cell;
}

Result<Asked> asked_cells(const PaperPlanCommand& command) {
  if (!command.figure.empty()) {
    if (!command.model.empty() || command.chips > 0 || !command.must.empty() ||
        !command.sweeps.empty() || !command.paper.system.empty()) {
      return Diagnostic{ErrorCode::kUsage, "--figure " + command.figure,
                        "a figure brings its own model, system, sizes and plans",
                        "leave them out, or leave out --figure"};
    }
    const Result<PaperDefects> defects = parse_paper_defects(command.paper.defects);
    if (!defects) return defects.error();
    auto cells = paper_figure_cells(command.figure, *defects);
    if (!cells) return cells.error();
    return Asked{std::move(*cells), true};
  }
  const Result<PaperCell> base = base_cell(command);
  if (!base) return base.error();
  auto cells = paper_sweep_cells(command.sweeps, *base);
  if (!cells) return cells.error();
  if (cells->front().gpus == 0) {
    return Diagnostic{ErrorCode::kUsage, "--chips", "how many GPUs?", "--chips 16384"};
  }
  return Asked{std::move(*cells), !command.sweeps.empty()};
}

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
  return {seconds_text(e.time),
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
  std::string text = case_text(cell.c, cell.gpus) + '\n' + paper_source_text(cell.c.defects) +
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

void write_search(JsonWriter& json, const PaperCell& cell, const PaperSearch& search) {
  json.begin_object();
  write_case(json, cell.c, cell.gpus);
  json.count("candidates", search.candidates);
  json.count("feasible", search.feasible);
  json.begin_array("best");
  for (const PaperCandidate& found : search.best) {
    json.begin_object();
    write_candidate(json, cell.c, found);
    json.end_object();
  }
  json.end_array();
  if (search.leanest) {
    json.begin_object("leanest");
    write_candidate(json, cell.c, *search.leanest);
    json.end_object();
  }
  json.end_object();
}

std::string searches_json(const std::vector<PaperCell>& cells,
                          const std::vector<PaperSearch>& results) {
  JsonWriter json;
  json.begin_object();
  json.begin_array("searches");
  for (std::size_t i = 0; i < cells.size(); ++i) write_search(json, cells[i], results[i]);
  json.end_array();
  json.end_object();
  return std::move(json).take();
}

/// A line for each plan of one search.
std::string plans_csv(const PaperCell& cell, const PaperSearch& search) {
  if (search.best.empty()) return paper_csv({&cell, 1}, {&search, 1});
  const std::vector<PaperCell> cells(search.best.size(), cell);
  std::vector<PaperSearch> rows(search.best.size(), search);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].best = {search.best[i]};
  return paper_csv(cells, rows);
}

std::string text_of(const Asked& asked, const std::vector<PaperSearch>& results,
                    const FormatOptions& format) {
  if (format.json) return searches_json(asked.cells, results);
  if (format.csv) {
    return asked.many ? paper_csv(asked.cells, results) : plans_csv(asked.cells[0], results[0]);
  }
  return asked.many ? many_text(asked.cells, results) : one_text(asked.cells[0], results[0]);
}

/// Twice, four times, ... as many GPUs until something fits.
std::string larger_that_fits(const PaperCell& cell) {
  PaperSearchOptions options = cell.options;
  options.best = 1;
  for (std::int64_t gpus = 2 * cell.gpus; gpus <= kMostTried; gpus *= 2) {
    const auto search = paper_search(cell.c, gpus, options);
    if (!search || search->best.empty()) continue;
    return fmt::format("{} GPUs are enough: {}, {} s", gpus, plan_text(search->best[0].plan),
                       seconds_text(search->best[0].estimate.time));
  }
  return "a GPU with more memory, a smaller model, or fewer degrees fixed";
}

/// Sizes at hand that have a plan, fitting or not.
std::string near_size(const PaperCell& cell) {
  constexpr std::int64_t kFarthest = 512;
  PaperSearchOptions options = cell.options;
  options.best = 0;
  for (std::int64_t off = 1; off <= kFarthest; ++off) {
    for (const std::int64_t gpus : {cell.gpus + off, cell.gpus - off}) {
      const auto search = paper_search(cell.c, gpus, options);
      if (search && search->candidates > 0) return fmt::format("{} GPUs have a plan", gpus);
    }
  }
  return "fix fewer degrees";
}

Diagnostic nothing_fits(const PaperCell& cell, const PaperSearch& search) {
  const std::string where = case_text(cell.c, cell.gpus);
  if (!search.leanest) {
    return {ErrorCode::kUsage, where,
            "no degrees of parallelism divide heads, depth and batch and fill the NVLink domains",
            near_size(cell)};
  }
  return {
      ErrorCode::kTooLarge, where,
      fmt::format("no plan fits; the leanest needs {} on each GPU: {}",
                  memory_text(cell.c, search.leanest->estimate), plan_text(search.leanest->plan)),
      larger_that_fits(cell)};
}

}  // namespace

int run_paper_plan(Io& io, const PaperPlanCommand& command) {
  const Result<Asked> asked = asked_cells(command);
  if (!asked) return fail(io, asked.error());
  const auto results = paper_study(asked->cells, command.threads);
  if (!results) return fail(io, results.error());
  if (const int code = print(io, text_of(*asked, *results, command.format)); code != kDone) {
    return code;
  }
  const bool found = !asked->many && results->front().best.empty();
  return found ? fail(io, nothing_fits(asked->cells[0], results->front())) : kDone;
}

}  // namespace flopcast::cli
