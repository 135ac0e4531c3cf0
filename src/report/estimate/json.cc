// An estimate as JSON and CSV.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text/format.h"
#include "base/text/json_writer.h"
#include "flopcast/parallel/fields.h"
#include "flopcast/question/plan_json.h"
#include "report/estimate/report.h"
#include "report/render/table.h"

namespace flopcast {

using namespace report;  // the room's own names

namespace {

using Layout = JsonWriter::Layout;

void write_memory(JsonWriter& w, const StageMemory& memory) {
  w.begin_object("memory_bytes", Layout::kLine);
  for (const MemoryClass& c : memory_classes(memory)) w.exact(c.name, c.bytes.value);
  w.exact("total", memory.total().value);
  w.end_object();
}

void write_stages(JsonWriter& w, const TrainingEstimate& estimate) {
  w.begin_array("stages");
  for (const StageEstimate& stage : estimate.stages) {
    w.begin_object({}, Layout::kLine);
    w.count("layers", stage.layers);
    w.exact("forward_s", stage.forward.value);
    w.exact("backward_s", stage.backward.value);
    w.exact("busy_s", stage.busy.value);
    w.exact("start_s", stage.start.value);
    w.exact("end_s", stage.end.value);
    w.count("in_flight", stage.memory.in_flight);
    write_memory(w, stage.memory);
    w.end_object();
  }
  w.end_array();
}

void write_times(JsonWriter& w, const TrainingEstimate& estimate) {
  w.exact("time_s", estimate.step.value);
  w.exact("low_s", estimate.low.value);
  w.exact("high_s", estimate.high.value);
  w.exact("tokens_per_second", estimate.tokens_per_second);
  w.exact("mfu", estimate.mfu);
  w.exact("hfu", estimate.hfu);
  w.exact("energy_j", estimate.energy_j);
  w.exact("cost_usd", estimate.cost_usd);
  w.begin_object("parts_s", Layout::kLine);
  for (std::size_t i = 0; i < kTimeParts; ++i) {
    w.exact(name(static_cast<TimePart>(i)), estimate.parts[i].value);
  }
  w.end_object();
  w.begin_object("rests_on", Layout::kLine);
  for (std::size_t i = 0; i < estimate.rests_on.size(); ++i) {
    w.exact(name(static_cast<Basis>(i)), estimate.rests_on[i]);
  }
  w.end_object();
}

/// Plans that would fit: what to change, and what comes of it.
void write_fitting(JsonWriter& w, const EstimateReport& report) {
  w.begin_array("fitting");
  for (const FittingPlan& fitting : report.fitting) {
    w.begin_object({}, Layout::kLine);
    w.text("change", plan_change_words(report.plan, fitting.plan));
    w.exact("time_s", fitting.estimate.step.value);
    write_memory(w, fitting.estimate.memory());
    write_plan_fields(w, "plan", fitting.plan);
    w.end_object();
  }
  w.end_array();
}

std::vector<Table::Column> csv_columns(bool with_run) {
  std::vector<Table::Column> columns = {{"model"}, {"cluster"}, {"chip"}, {"chips"}, {"software"}};
  for (const PlanCell& cell : plan_cells({})) columns.push_back({std::string(cell.name)});
  for (const char* title :
       {"time_s", "low_s", "high_s", "tokens_per_second", "mfu", "hfu", "energy_j", "cost_usd",
        "fits", "fit_odds", "memory_bytes", "memory_low_bytes", "memory_high_bytes", "usable_bytes",
        "capacity_bytes"}) {
    columns.push_back({title});
  }
  for (std::size_t i = 0; i < kTimeParts; ++i) {
    columns.push_back({fmt::format("{}_s", name(static_cast<TimePart>(i)))});
  }
  for (const MemoryClass& c : memory_classes({})) {
    columns.push_back({fmt::format("{}_bytes", c.name)});
  }
  const WholeRun none;
  visit_whole_run(none, [&](std::string_view key, double) {
    if (with_run) columns.push_back({fmt::format("run_{}", key)});
  });
  return columns;
}

std::vector<std::string> csv_row(const EstimateReport& report, bool with_run) {
  const TrainingEstimate& e = report.estimate;
  std::vector<std::string> cells = {report.model, report.cluster, report.chip,
                                    fmt::format("{}", report.plan.chips()), report.software};
  for (PlanCell& cell : plan_cells(report.plan)) cells.push_back(std::move(cell.value));
  for (const double value : {e.step.value, e.low.value, e.high.value, e.tokens_per_second, e.mfu,
                             e.hfu, e.energy_j, e.cost_usd}) {
    cells.push_back(exact_ratio(value));
  }
  cells.push_back(e.fits ? "true" : "false");
  for (const double value : {e.fit_odds, e.memory().total().value, e.memory_low.value,
                             e.memory_high.value, e.capacity.value, report.capacity.value}) {
    cells.push_back(exact_ratio(value));
  }
  for (const Seconds part : e.parts) cells.push_back(exact_ratio(part.value));
  for (const MemoryClass& c : memory_classes(e.memory())) {
    cells.push_back(exact_ratio(c.bytes.value));
  }
  const WholeRun run = report.run.value_or(WholeRun{});
  visit_whole_run(run, [&](std::string_view, double value) {
    if (with_run) cells.push_back(report.run ? exact_ratio(value) : std::string());
  });
  return cells;
}

void write_graph(JsonWriter& w, const EstimateReport& report) {
  if (!report.graph) return w.null("graph");
  const GraphAnswer& graph = *report.graph;
  w.begin_object("graph");
  w.exact("time_s", graph.step.value);
  w.count("tasks", graph.tasks);
  w.begin_object("critical_s", Layout::kLine);
  for (std::size_t i = 0; i < kStepTasks; ++i) {
    w.exact(name(static_cast<StepTask>(i)), graph.critical[i].value);
  }
  w.end_object();
  w.begin_array("busy_s", Layout::kLine);
  for (const Seconds busy : graph.busy) w.exact({}, busy.value);
  w.end_array();
  w.end_object();
}

}  // namespace

void report::write_estimate(JsonWriter& w, const EstimateReport& report) {
  const TrainingEstimate& estimate = report.estimate;
  w.text("model", report.model);
  w.integer("parameters", report.parameters.total);
  w.integer("active_parameters", report.parameters.active);
  w.text("cluster", report.cluster);
  w.text("chip", report.chip);
  w.count("chips", report.plan.chips());
  w.text("software", report.software);
  w.text("words", plan_words(report.plan));
  write_plan_fields(w, "plan", report.plan);
  write_placement(w, estimate.placement);
  write_times(w, estimate);
  w.boolean("fits", estimate.fits);
  w.exact("fit_odds", estimate.fit_odds);
  w.exact("asked_odds", report.asked_odds);
  w.exact("memory_low_bytes", estimate.memory_low.value);
  w.exact("memory_high_bytes", estimate.memory_high.value);
  w.exact("usable_bytes", estimate.capacity.value);
  w.exact("capacity_bytes", report.capacity.value);
  w.count("fullest", estimate.fullest);
  write_stages(w, estimate);
  w.begin_array("memory_notes");
  for (const std::string& text : estimate.memory_notes) w.text({}, text);
  w.end_array();
  write_fitting(w, report);
  write_graph(w, report);
  write_run(w, report.run);
  write_run_question(w, "run_asked", report.asked);
  const auto list = [&](std::string_view key, const std::vector<std::string>& texts) {
    w.begin_array(key);
    for (const std::string& text : texts) w.text({}, text);
    w.end_array();
  };
  write_fits(w, report.own_fits);
  w.text("hint", report.hint);
  list("assumed", report.assumed);
  list("used", report.used);
  list("ignored", report.ignored);
  list("unmodelled", report.unmodelled);
  list("unknown", report.unknown);
}

std::string estimate_json(const EstimateReport& report) {
  JsonWriter w;
  w.begin_object();
  write_estimate(w, report);
  w.end_object();
  return std::move(w).take();
}

std::string estimate_csv(std::span<const EstimateReport> reports) {
  const bool with_run = std::any_of(reports.begin(), reports.end(),
                                    [](const EstimateReport& report) { return !!report.run; });
  Table table(csv_columns(with_run));
  for (const EstimateReport& report : reports) table.add(csv_row(report, with_run));
  return table.csv();
}

}  // namespace flopcast
