// Forecasts of measured training runs: tables, JSON, CSV.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "base/text/json_writer.h"
#include "flopcast/parallel/fields.h"
#include "flopcast/report/training.h"
#include "report/render/table.h"

namespace flopcast {

using namespace report;  // the room's own names

namespace {

using Forecasts = std::vector<const RunForecast*>;

constexpr std::string_view kDefinitions =
    "\nerror: forecast / measured - 1; bias: its mean; p90, worst: of its size; in band: measured "
    "between the\n10 and 90 % quantiles; rank: Spearman's correlation of throughput per chip; "
    "memory: mean |error| of the peak;\nopen: runs of quality C, whose plan is partly filled in\n";

std::string percent_number(double share) { return fmt::format("{:.1f}", 100 * share); }
std::string rank(double rho) { return std::isnan(rho) ? "" : fmt::format("{:.2f}", rho); }

/// Whether so much of its plan was filled in that its error is no evidence.
bool is_open(const RunForecast* f) { return f->run->quality == 'C'; }

/// Sets in the order of their names; where one holds both kinds of models, those with experts apart, and open runs always.
std::map<std::string, Forecasts> by_set(const Forecasts& forecasts) {
  std::set<std::string> dense;
  for (const RunForecast* f : forecasts) {
    if (!f->run->experts) dense.insert(f->run->set);
  }
  std::map<std::string, Forecasts> sets;
  for (const RunForecast* f : forecasts) {
    const bool apart = f->run->experts && dense.contains(f->run->set);
    const std::string_view part = is_open(f) ? " (open)" : apart ? " (experts)" : "";
    sets[f->run->set + std::string(part)].push_back(f);
  }
  return sets;
}

Forecasts where(const Forecasts& forecasts, const std::function<bool(const RunForecast*)>& takes) {
  Forecasts some;
  std::ranges::copy_if(forecasts, std::back_inserter(some), takes);
  return some;
}

/// Models with experts, or without, of runs that tell their plan.
Forecasts only(const Forecasts& forecasts, bool experts) {
  return where(forecasts,
               [&](const RunForecast* f) { return !is_open(f) && f->run->experts == experts; });
}

/// A text and the runs it is said of.
struct Said {
  std::string what;
  std::vector<std::string> runs;
};
/// Texts in the order of how many runs they are said of, the most first.
class SaidOf {
 public:
  void add(const std::string& what, const TrainingRun& run) { runs_[what].push_back(run.id); }
  std::vector<Said> list() && {
    std::vector<Said> said;
    for (auto& [what, runs] : runs_) said.push_back({what, std::move(runs)});
    std::ranges::stable_sort(said, std::greater<>{}, [](const Said& s) { return s.runs.size(); });
    return said;
  }

 private:
  std::map<std::string, std::vector<std::string>> runs_;
};

/// What runs have in such a list.
std::vector<Said> said_in(const TrainingReport& report,
                          std::vector<std::string> TrainingRun::*list) {
  SaidOf said;
  for (const RunForecast* f : report.forecasts) {
    for (const std::string& what : f->run->*list) said.add(what, *f->run);
  }
  return std::move(said).list();
}

std::vector<Said> left_out(const TrainingReport& report) {
  SaidOf said;
  for (const TrainingRun* run : report.incomplete) said.add(run->incomplete, *run);
  for (const RunForecast* f : report.forecasts) {
    if (f->failure) said.add(f->failure->text(), *f->run);
  }
  return std::move(said).list();
}

/// The first few of the runs by name.
std::string names(const std::vector<std::string>& runs) {
  constexpr std::size_t kMost = 3;
  const auto shown = std::vector(runs.begin(), runs.begin() + std::min(runs.size(), kMost));
  return fmt::format("{}{}", fmt::join(shown, ", "), runs.size() > kMost ? ", ..." : "");
}

std::string said_text(std::string_view title, const std::vector<Said>& list, bool with_names) {
  std::string text = list.empty() ? "" : fmt::format("\n{}, runs:\n", title);
  for (const Said& said : list) {
    text += fmt::format("  {:4}  {}\n", said.runs.size(), said.what);
    if (with_names) text += fmt::format("        {}\n", names(said.runs));
  }
  return text;
}

void add_row(Table& table, const std::string& name, const Forecasts& forecasts) {
  const RunErrors e = run_errors(forecasts);
  if (e.n == 0) return;
  table.add({name, std::to_string(e.n), percent_number(e.mape), percent_number(e.bias),
             percent_number(e.p90), percent_number(e.worst), percent_number(e.band),
             rank(e.spearman), e.memory_n == 0 ? "" : percent_number(e.memory_mape)});
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
  add_row(table, "all open", where(forecasts, is_open));
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
               fmt::format("{:.4g}", f->estimate.step.value), percent_number(f->error()), assumed});
  }
  return table.text();
}

void write_errors(JsonWriter& json, const RunErrors& e) {
  const auto share = [&](std::string_view key, double value, bool known) {
    json.ratio(key, known ? std::optional(value) : std::nullopt);
  };
  json.count("n", e.n);
  share("mape", e.mape, e.n > 0);
  share("bias", e.bias, e.n > 0);
  share("median", e.median, e.n > 0);
  share("p90", e.p90, e.n > 0);
  share("worst", e.worst, e.n > 0);
  share("band_coverage", e.band, e.n > 0);
  share("spearman", e.spearman, !std::isnan(e.spearman));
  json.count("memory_n", e.memory_n);
  share("memory_mape", e.memory_mape, e.memory_n > 0);
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

void write_said(JsonWriter& json, std::string_view key, const std::vector<Said>& list) {
  json.begin_array(key);
  for (const Said& said : list) {
    json.begin_object({}, JsonWriter::Layout::kLine);
    json.text("what", said.what);
    json.count("runs", said.runs.size());
    json.end_object();
  }
  json.end_array();
}

void write_memory_classes(JsonWriter& json, const StageMemory& memory) {
  json.begin_object("memory_by_class_bytes", JsonWriter::Layout::kLine);
  json.ratio("weights", memory.weights.value);
  json.ratio("gradients", memory.gradients.value);
  json.ratio("optimizer", memory.optimizer.value);
  json.ratio("activations", memory.activations.value);
  json.ratio("working", memory.working.value);
  json.ratio("buffers", memory.buffers.value);
  json.ratio("allocator", memory.allocator.value);
  json.end_object();
}

void write_forecast(JsonWriter& json, const RunForecast& f) {
  const TrainingEstimate& e = f.estimate;
  json.ratio("forecast_s", e.step.value);
  json.ratio("low_s", e.low.value);
  json.ratio("high_s", e.high.value);
  json.ratio("error", f.error());
  json.boolean("in_band", f.in_band());
  json.ratio("mfu", e.mfu);
  json.ratio("hfu", e.hfu);
  json.ratio("memory_bytes", f.memory().value);
  if (f.run->memory.value <= 0) return;
  json.ratio("measured_memory_bytes", f.run->memory.value);
  write_memory_classes(json, e.memory());
}

/// The first run of the same problem, of those told so far; this one where there is none.
std::string_view first_alike(std::vector<const TrainingRun*>& firsts, const TrainingRun& run) {
  const auto known = std::ranges::find_if(
      firsts, [&](const TrainingRun* first) { return same_problem(*first, run); });
  if (known != firsts.end()) return (*known)->id;
  firsts.push_back(&run);
  return run.id;
}

void write_case(JsonWriter& json, const RunForecast& f, std::string_view problem) {
  const TrainingRun& run = *f.run;
  json.begin_object({}, JsonWriter::Layout::kLine);
  json.text("id", run.id);
  json.text("set", run.set);
  json.text("group", run.group);
  json.text("problem", problem);
  json.text("quality", std::string(1, run.quality));
  json.boolean("experts", run.experts);
  json.text("cluster", run.cluster);
  json.text("software", run.software);
  json.count("chips", run.chips);
  json.text("precision", name(f.plan.precision));
  json.text("plan", plan_words(f.plan));
  json.ratio("measured_s", run.measured_s);
  if (f.failure) {
    json.text("failure", f.failure->text());
  } else {
    write_forecast(json, f);
  }
  write_strings(json, "assumed", run.assumed);
  write_strings(json, "unmodelled", run.unmodelled);
  write_strings(json, "unknown", run.unknown);
  json.end_object();
}

}  // namespace

bool RunFilter::takes(const TrainingRun& run) const {
  if (!quality.empty() && quality.find(run.quality) == std::string::npos) return false;
  const bool told = run.incomplete.empty() || run.experts;
  if (dense != experts && told && run.experts != experts) return false;
  return sets.empty() || std::ranges::find(sets, run.set) != sets.end();
}

std::optional<Diagnostic> filter_problem(const RunFilter& filter,
                                         const std::vector<TrainingRun>& runs) {
  if (filter.quality.find_first_not_of("ABC") != std::string::npos) {
    return Diagnostic{ErrorCode::kUsage, filter.quality, "is no quality of runs",
                      "A is a whole configuration, B one with one assumption; AB takes both"};
  }
  std::set<std::string> known;
  for (const TrainingRun& run : runs) known.insert(run.set);
  for (const std::string& set : filter.sets) {
    if (known.contains(set)) continue;
    return Diagnostic{ErrorCode::kUsage, set, "no run is of this set",
                      fmt::format("there are {}", fmt::join(known, ", "))};
  }
  return std::nullopt;
}

TrainingReport training_report(const std::vector<TrainingRun>& runs,
                               const std::vector<RunForecast>& forecasts, const RunFilter& filter) {
  TrainingReport report;
  for (const RunForecast& f : forecasts) {
    if (filter.takes(*f.run)) report.forecasts.push_back(&f);
  }
  for (const TrainingRun& run : runs) {
    if (!run.incomplete.empty() && filter.takes(run)) report.incomplete.push_back(&run);
  }
  return report;
}

std::string training_text(const TrainingReport& report, bool cases) {
  std::string text = "no run could be forecast\n";
  if (run_errors(report.forecasts).n > 0) {
    text = cases ? cases_table(report.forecasts) + "\n" : "";
    text += sets_table(report.forecasts).append(kDefinitions);
  }
  text += said_text("assumed", said_in(report, &TrainingRun::assumed), false);
  text += said_text("told and not modelled", said_in(report, &TrainingRun::unmodelled), false);
  text += said_text("fields that are not known", said_in(report, &TrainingRun::unknown), true);
  text += said_text("left out", left_out(report), true);
  return text;
}

std::string training_json(const TrainingReport& report) {
  JsonWriter json;
  json.begin_object();
  write_group(json, "summary",
              where(report.forecasts, [](const RunForecast* f) { return !is_open(f); }));
  write_group(json, "dense", only(report.forecasts, false));
  write_group(json, "moe", only(report.forecasts, true));
  write_group(json, "open", where(report.forecasts, is_open));
  json.begin_object("sets");
  for (const auto& [name, some] : by_set(report.forecasts)) write_group(json, name, some);
  json.end_object();
  write_said(json, "assumed", said_in(report, &TrainingRun::assumed));
  write_said(json, "unmodelled", said_in(report, &TrainingRun::unmodelled));
  write_said(json, "unknown", said_in(report, &TrainingRun::unknown));
  write_said(json, "ignored", said_in(report, &TrainingRun::ignored));
  json.begin_array("cases");
  std::vector<const TrainingRun*> firsts;
  for (const RunForecast* f : report.forecasts) {
    write_case(json, *f, first_alike(firsts, *f->run));
  }
  json.end_array();
  json.begin_array("incomplete");
  for (const TrainingRun* run : report.incomplete) {
    json.begin_object({}, JsonWriter::Layout::kLine);
    json.text("id", run->id);
    json.text("set", run->set);
    json.text("quality", std::string(1, run->quality));
    json.text("why", run->incomplete);
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
