// Forecasts of measured training runs: tables, JSON, CSV.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "flopcast/report_training.h"
#include "report/json_writer.h"
#include "report/plan_words.h"
#include "report/table.h"

namespace flopcast {
namespace {

using Forecasts = std::vector<const RunForecast*>;

std::string percent(double share) { return fmt::format("{:.1f}", 100 * share); }
std::string rank(double rho) { return std::isnan(rho) ? "" : fmt::format("{:.2f}", rho); }

/// Sets in the order of their names, then all.
std::map<std::string, Forecasts> by_set(const Forecasts& forecasts) {
  std::map<std::string, Forecasts> sets;
  for (const RunForecast* f : forecasts) sets[f->run->set].push_back(f);
  return sets;
}

Forecasts only(const Forecasts& forecasts, bool experts) {
  Forecasts some;
  std::ranges::copy_if(forecasts, std::back_inserter(some),
                       [&](const RunForecast* f) { return f->run->experts == experts; });
  return some;
}

void add_row(Table& table, const std::string& name, const Forecasts& forecasts) {
  const RunErrors e = run_errors(forecasts);
  if (e.n == 0) return;
  table.add({name, std::to_string(e.n), percent(e.mape), percent(e.bias), percent(e.p90),
             percent(e.worst), percent(e.band), rank(e.spearman),
             e.memory_n == 0 ? "" : percent(e.memory_mape)});
}

std::string sets_table(const Forecasts& forecasts) {
  Table table({{"set", Align::kLeft},
               {"runs"},
               {"mean |error| %"},
               {"bias %"},
               {"p90 %"},
               {"worst %"},
               {"in band %"},
               {"rank"},
               {"memory %"}});
  for (const auto& [name, some] : by_set(forecasts)) add_row(table, name, some);
  add_row(table, "all dense", only(forecasts, false));
  add_row(table, "all experts", only(forecasts, true));
  return table.text();
}

std::string cases_table(const Forecasts& forecasts) {
  Table table({{"run", Align::kLeft},
               {"plan", Align::kLeft},
               {"measured s"},
               {"forecast s"},
               {"error %"},
               {"assumed", Align::kLeft}});
  for (const RunForecast* f : forecasts) {
    if (f->failure) continue;
    std::string assumed;
    for (const std::string& what : f->run->assumed) assumed += (assumed.empty() ? "" : "; ") + what;
    table.add({f->run->id, plan_words(f->plan), fmt::format("{:.4g}", f->run->measured_s),
               fmt::format("{:.4g}", f->estimate.step.value), percent(f->error()), assumed});
  }
  return table.text();
}

void write_errors(JsonWriter& json, const RunErrors& e) {
  json.count("n", e.n);
  json.ratio("mape", e.mape);
  json.ratio("bias", e.bias);
  json.ratio("median", e.median);
  json.ratio("p90", e.p90);
  json.ratio("worst", e.worst);
  json.ratio("band_coverage", e.band);
  if (std::isnan(e.spearman)) {
    json.null("spearman");
  } else {
    json.ratio("spearman", e.spearman);
  }
  json.count("memory_n", e.memory_n);
  json.ratio("memory_mape", e.memory_mape);
}

void write_group(JsonWriter& json, std::string_view key, const Forecasts& forecasts) {
  json.begin_object(key, JsonWriter::Layout::kLine);
  write_errors(json, run_errors(forecasts));
  json.end_object();
}

void write_strings(JsonWriter& json, std::string_view key, const std::vector<std::string>& list) {
  json.begin_array(key, JsonWriter::Layout::kLine);
  for (const std::string& item : list) json.text({}, item);
  json.end_array();
}

void write_case(JsonWriter& json, const RunForecast& f) {
  const TrainingRun& run = *f.run;
  json.begin_object({}, JsonWriter::Layout::kLine);
  json.text("id", run.id);
  json.text("set", run.set);
  json.text("group", run.group);
  json.text("quality", std::string(1, run.quality));
  json.boolean("experts", run.experts);
  json.text("cluster", run.cluster);
  json.text("software", run.software);
  json.count("chips", run.chips);
  json.text("plan", plan_words(f.plan));
  json.ratio("measured_s", run.measured_s);
  if (f.failure) {
    json.text("failure", f.failure->text());
  } else {
    json.ratio("forecast_s", f.estimate.step.value);
    json.ratio("low_s", f.estimate.low.value);
    json.ratio("high_s", f.estimate.high.value);
    json.ratio("error", f.error());
    json.ratio("memory_bytes", f.estimate.memory().total().value);
    if (run.memory.value > 0) json.ratio("measured_memory_bytes", run.memory.value);
  }
  write_strings(json, "assumed", run.assumed);
  json.end_object();
}

}  // namespace

bool RunFilter::takes(const TrainingRun& run) const {
  if (!quality.empty() && quality.find(run.quality) == std::string::npos) return false;
  if (dense != experts && run.experts != experts) return false;
  return sets.empty() || std::ranges::find(sets, run.set) != sets.end();
}

TrainingReport training_report(const std::vector<TrainingRun>& runs,
                               const std::vector<RunForecast>& forecasts, const RunFilter& filter) {
  TrainingReport report{&runs, {}, filter};
  for (const RunForecast& f : forecasts) {
    if (filter.takes(*f.run)) report.forecasts.push_back(&f);
  }
  return report;
}

std::string training_text(const TrainingReport& report, bool cases) {
  std::string text = cases ? cases_table(report.forecasts) + "\n" : "";
  text += sets_table(report.forecasts);
  std::map<std::string, std::size_t> left_out;
  for (const TrainingRun& run : *report.runs) {
    if (!run.incomplete.empty()) ++left_out[run.incomplete];
  }
  for (const RunForecast* f : report.forecasts) {
    if (f->failure) ++left_out[f->failure->text()];
  }
  if (!left_out.empty()) text += "\nleft out:\n";
  for (const auto& [why, count] : left_out) text += fmt::format("  {:4}  {}\n", count, why);
  return text;
}

std::string training_json(const TrainingReport& report) {
  JsonWriter json;
  json.begin_object();
  write_group(json, "summary", report.forecasts);
  write_group(json, "dense", only(report.forecasts, false));
  write_group(json, "moe", only(report.forecasts, true));
  json.begin_object("sets");
  for (const auto& [name, some] : by_set(report.forecasts)) write_group(json, name, some);
  json.end_object();
  json.begin_array("cases");
  for (const RunForecast* f : report.forecasts) write_case(json, *f);
  json.end_array();
  json.begin_array("incomplete");
  for (const TrainingRun& run : *report.runs) {
    if (run.incomplete.empty()) continue;
    json.begin_object({}, JsonWriter::Layout::kLine);
    json.text("id", run.id);
    json.text("why", run.incomplete);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return std::move(json).take();
}

std::string training_csv(const TrainingReport& report) {
  std::vector<Table::Column> columns = {{"id"},         {"set"},        {"group"},    {"quality"},
                                        {"experts"},    {"cluster"},    {"software"}, {"chips"},
                                        {"measured_s"}, {"forecast_s"}, {"low_s"},    {"high_s"}};
  for (std::size_t i = 0; i < kTimeParts; ++i) {
    columns.push_back({std::string(name(static_cast<TimePart>(i))) + "_s"});
  }
  Table table(std::move(columns));
  for (const RunForecast* f : report.forecasts) {
    if (f->failure) continue;
    const TrainingRun& run = *f->run;
    const TrainingEstimate& e = f->estimate;
    std::vector<std::string> row = {run.id,
                                    run.set,
                                    run.group,
                                    std::string(1, run.quality),
                                    run.experts ? "1" : "0",
                                    run.cluster,
                                    run.software,
                                    std::to_string(run.chips),
                                    fmt::format("{:.9g}", run.measured_s),
                                    fmt::format("{:.9g}", e.step.value),
                                    fmt::format("{:.9g}", e.low.value),
                                    fmt::format("{:.9g}", e.high.value)};
    for (const Seconds part : e.parts) row.push_back(fmt::format("{:.9g}", part.value));
    table.add(std::move(row));
  }
  return table.csv();
}

}  // namespace flopcast
