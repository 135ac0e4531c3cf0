// Validation of serving as tables, and as lines of values.
#include <fmt/format.h>

#include <algorithm>

#include "report/render/table.h"
#include "report/serving/groups.h"

namespace flopcast {

using namespace report;

namespace {

constexpr std::string_view kServingWords =
    "\nerror: forecast / measured - 1; mean, median, p90: of its size; factor: exp(mean "
    "|ln(forecast / measured)|); "
    "bias: its\nmean; in band: measured within the 10-90 % band. TTFT, TPOT: means over requests; "
    "tokens/s: of "
    "answers, by Little's law\n";

std::string share_text(double share) { return fmt::format("{:.1f}", 100 * share); }

Table errors_table(const std::string& title) {
  return Table({{title, Align::kLeft},
                {"of", Align::kLeft},
                {"points"},
                {"mean |error| %"},
                {"median %"},
                {"p90 %"},
                {"factor"},
                {"bias %"},
                {"in band %"}});
}

void add_errors(Table& table, const std::string& name, std::string_view of,
                const ServingErrors& e) {
  if (e.n == 0) return;
  table.add({name, std::string(of), std::to_string(e.n), share_text(e.mape), share_text(e.median),
             share_text(e.p90), fmt::format("{:.3f}", e.factor), share_text(e.bias),
             share_text(e.band)});
}

constexpr std::pair<ServingQuantity, std::string_view> kQuantities[] = {
    {ServingQuantity::kTtft, "TTFT"},
    {ServingQuantity::kTpot, "TPOT"},
    {ServingQuantity::kThroughput, "tokens/s"}};

void add_quantities(Table& table, const std::string& name, const ServingForecasts& forecasts,
                    bool tpot_alone = false) {
  for (const auto& [quantity, words] : kQuantities) {
    if (tpot_alone && quantity != ServingQuantity::kTpot) continue;
    add_errors(table, name, words, serving_errors(forecasts, quantity));
  }
}

std::string groups_text(const std::string& title, const ServingForecasts& forecasts,
                        ServingGroup by) {
  Table table = errors_table(title);
  for (const auto& [name, some] : grouped(forecasts, by)) add_quantities(table, name, some);
  return table.empty() ? "" : table.text() + "\n";
}

std::string summary_text(const ServingValidation& v) {
  Table table = errors_table("points");
  const ServingForecasts known = known_forecasts(v);
  add_quantities(table, "clean, known protocol", known);
  add_quantities(table, "with one measured point", pointers_to(v.siblings));
  add_quantities(table, "clean, other clients", unknown_forecasts(v), true);
  add_quantities(table, "disaggregated, workers told", disaggregated_forecasts(v));
  add_errors(table, "offline, dense", "tokens/s", offline_errors(v.offline, false));
  add_errors(table, "offline, experts", "tokens/s", offline_errors(v.offline, true));
  std::string text = table.empty() ? "no point could be forecast\n" : table.text();
  text += kServingWords;
  const LayoutRanks ranks = layout_ranks(known);
  if (ranks.sets == 0) return text;
  return text + fmt::format(
                    "\nlayouts: {} sets of at least three at the same load; mean Spearman of "
                    "tokens/s and chip "
                    "{:.2f}; lost by taking the one forecast best {:.1f} %\n",
                    ranks.sets, ranks.spearman, 100 * ranks.lost);
}

std::string exclusions_text(const ServingValidation& v) {
  std::string text = "\nexcluded, points:\n";
  for (const auto& [rule, n] : exclusions_of(v)) {
    if (n > 0) text += fmt::format("  {:5}  {}: {}\n", n, rule.name, rule.why);
  }
  if (const std::size_t n = repaired_of(v); n > 0) {
    text += fmt::format(
        "  {:5}  of all have a layout whose labels contradict each other; read by rule\n", n);
  }
  std::map<std::string, std::size_t> refused;
  for (const ServingForecast& f : v.forecasts) {
    if (!f.refused.empty()) ++refused[f.refused];
  }
  if (!refused.empty()) text += "\nnot answered, points:\n";
  for (const auto& [why, n] : refused) text += fmt::format("  {:5}  {}\n", n, why);
  return text;
}

std::string point_layout(const ServingLayout& l) {
  std::string words = fmt::format("tp{}", l.tp);
  if (l.dp > 1) words += fmt::format(" dp{}", l.dp);
  if (l.ep > 1) words += fmt::format(" ep{}", l.ep);
  if (l.pp > 1) words += fmt::format(" pp{}", l.pp);
  return words;
}

std::string layout_text(const ServingPoint& p) {
  if (!p.disaggregated) return point_layout(p.layout);
  return fmt::format("{} x {} + {} x {}", p.prefill_workers, point_layout(p.layout),
                     p.decode_workers, point_layout(p.decode));
}

std::string error_text(Seconds forecast, Seconds measured) {
  if (measured.value <= 0 || forecast.value <= 0) return "";
  return share_text(forecast.value / measured.value - 1);
}

std::string cases_text(const ServingValidation& v) {
  Table table({{"point", Align::kLeft},
               {"layout", Align::kLeft},
               {"lengths"},
               {"users"},
               {"TTFT ms"},
               {"forecast"},
               {"error %"},
               {"TPOT ms"},
               {"forecast"},
               {"error %"}});
  for (const ServingForecast& f : v.forecasts) {
    const ServingPoint& p = *f.point;
    table.add({p.id, layout_text(p), fmt::format("{}/{}", p.input, p.output),
               std::to_string(p.users), fmt::format("{:.1f}", p.ttft.value * 1e3),
               fmt::format("{:.1f}", f.ttft.value * 1e3), error_text(f.ttft, p.ttft),
               fmt::format("{:.2f}", p.tpot.value * 1e3), fmt::format("{:.2f}", f.tpot.value * 1e3),
               error_text(f.tpot, p.tpot)});
  }
  return table.text() + "\n";
}

}  // namespace

std::string serving_validation_text(const ServingValidation& validation, bool cases) {
  const ServingForecasts known = known_forecasts(validation);
  std::string text = cases ? cases_text(validation) : "";
  text += groups_text("engine", known, ServingGroup::kEngine);
  text += groups_text("chip", known, ServingGroup::kChip);
  text += groups_text("model", known, ServingGroup::kModel);
  return text + summary_text(validation) + exclusions_text(validation);
}

std::string serving_validation_csv(const ServingValidation& validation) {
  Table table({{"id"},
               {"engine"},
               {"version"},
               {"model"},
               {"chip"},
               {"precision"},
               {"date"},
               {"mode"},
               {"layout"},
               {"input"},
               {"output"},
               {"users"},
               {"known"},
               {"ttft_ms"},
               {"ttft_forecast_ms"},
               {"ttft_low"},
               {"ttft_high"},
               {"tpot_ms"},
               {"tpot_forecast_ms"},
               {"tpot_low"},
               {"tpot_high"},
               {"refused"}});
  for (const ServingForecast& f : validation.forecasts) {
    const ServingPoint& p = *f.point;
    const auto number = [](double value) { return fmt::format("{:.6g}", value); };
    table.add({p.id,
               p.engine,
               p.version,
               p.model,
               p.chip,
               p.precision,
               p.date,
               p.disaggregated ? "disagg" : "agg",
               layout_text(p),
               std::to_string(p.input),
               std::to_string(p.output),
               std::to_string(p.users),
               p.known_protocol ? "1" : "0",
               number(p.ttft.value * 1e3),
               number(f.ttft.value * 1e3),
               number(f.ttft_low),
               number(f.ttft_high),
               number(p.tpot.value * 1e3),
               number(f.tpot.value * 1e3),
               number(f.tpot_low),
               number(f.tpot_high),
               f.refused});
  }
  return table.csv();
}

}  // namespace flopcast
