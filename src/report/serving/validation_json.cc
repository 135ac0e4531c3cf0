// Validation of serving as JSON: docs/reference/serving.md.
#include <map>

#include "base/text/json_writer.h"
#include "report/serving/groups.h"

namespace flopcast {

using namespace report;

namespace {

using Layout = JsonWriter::Layout;

void write_serving_errors(JsonWriter& json, std::string_view key, const ServingErrors& e,
                          bool band = true) {
  const auto share = [&](std::string_view name, double value) {
    json.ratio(name, e.n > 0 ? std::optional(value) : std::nullopt);
  };
  json.begin_object(key, Layout::kLine);
  json.count("n", e.n);
  share("mape", e.mape);
  share("median", e.median);
  share("p90", e.p90);
  share("factor", e.factor);
  share("bias", e.bias);
  if (band) share("band_coverage", e.band);
  json.end_object();
}

void write_quantities(JsonWriter& json, const ServingForecasts& forecasts) {
  write_serving_errors(json, "ttft", serving_errors(forecasts, ServingQuantity::kTtft));
  write_serving_errors(json, "tpot", serving_errors(forecasts, ServingQuantity::kTpot));
  write_serving_errors(json, "throughput", serving_errors(forecasts, ServingQuantity::kThroughput));
}

void write_part(JsonWriter& json, std::string_view key, const ServingForecasts& forecasts) {
  json.begin_object(key);
  write_quantities(json, forecasts);
  json.end_object();
}

void write_groups(JsonWriter& json, std::string_view key, const ServingForecasts& forecasts,
                  ServingGroup by) {
  json.begin_object(key);
  for (const auto& [name, some] : grouped(forecasts, by)) write_part(json, name, some);
  json.end_object();
}

void write_ranks(JsonWriter& json, const LayoutRanks& ranks) {
  const auto known = [&](double value) {
    return ranks.sets > 0 ? std::optional(value) : std::nullopt;
  };
  json.begin_object("layouts", Layout::kLine);
  json.count("sets", ranks.sets);
  json.ratio("spearman", known(ranks.spearman));
  json.ratio("lost", known(ranks.lost));
  json.end_object();
}

void write_exclusions(JsonWriter& json, const ServingValidation& v) {
  json.begin_array("exclusions");
  for (const auto& [rule, n] : exclusions_of(v)) {
    json.begin_object({}, Layout::kLine);
    json.text("rule", rule.name);
    json.count("points", n);
    json.text("why", rule.why);
    json.end_object();
  }
  json.end_array();
}

void write_layout(JsonWriter& json, std::string_view key, const ServingLayout& layout) {
  json.begin_object(key, Layout::kLine);
  json.count("tp", layout.tp);
  json.count("dp", layout.dp);
  json.count("ep", layout.ep);
  json.count("pp", layout.pp);
  json.end_object();
}

void write_point(JsonWriter& json, const ServingPoint& p) {
  json.text("id", p.id);
  json.text("engine", p.engine);
  json.text("version", p.version);
  json.text("model", p.model);
  json.text("chip", p.chip);
  json.text("precision", p.precision);
  json.text("date", p.date);
  json.boolean("known_protocol", p.known_protocol);
  json.boolean("disaggregated", p.disaggregated);
  json.integer("input", p.input);
  json.integer("output", p.output);
  json.integer("users", p.users);
  write_layout(json, "layout", p.layout);
  if (p.disaggregated) {
    write_layout(json, "decode_layout", p.decode);
    json.count("prefill_workers", p.prefill_workers);
    json.count("decode_workers", p.decode_workers);
  }
  json.ratio("measured_ttft_s", p.ttft.value);
  json.ratio("measured_tpot_s", p.tpot.value);
}

void write_serving_case(JsonWriter& json, const ServingForecast& f) {
  json.begin_object({}, Layout::kLine);
  write_point(json, *f.point);
  if (!f.refused.empty()) {
    json.text("refused", f.refused);
  } else {
    json.ratio("ttft_s", f.ttft.value);
    json.ratio("ttft_low_s", f.ttft.value * f.ttft_low);
    json.ratio("ttft_high_s", f.ttft.value * f.ttft_high);
    json.ratio("tpot_s", f.tpot.value);
    json.ratio("tpot_low_s", f.tpot.value * f.tpot_low);
    json.ratio("tpot_high_s", f.tpot.value * f.tpot_high);
    json.text("basis", name(f.basis));
  }
  json.end_object();
}

void write_offline(JsonWriter& json, const ServingValidation& v) {
  json.begin_object("offline");
  write_serving_errors(json, "dense", offline_errors(v.offline, false), false);
  write_serving_errors(json, "experts", offline_errors(v.offline, true), false);
  json.begin_array("cases");
  for (const OfflinePoint& p : v.offline) {
    json.begin_object({}, Layout::kLine);
    json.text("model", p.model);
    json.text("chip", p.chip);
    json.text("precision", p.precision);
    json.count("tp", p.layout.tp);
    json.integer("input", p.input);
    json.integer("output", p.output);
    json.ratio("measured_tokens_per_s", p.tokens_per_s);
    if (p.refused.empty()) json.ratio("tokens_per_s", p.forecast);
    if (!p.refused.empty()) json.text("refused", p.refused);
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

void write_counts(JsonWriter& json, const ServingValidation& v) {
  std::size_t answered = 0;
  for (const ServingForecast& f : v.forecasts) answered += f.refused.empty() ? 1 : 0;
  json.count("points", v.points.size());
  json.count("clean", v.forecasts.size());
  json.count("answered", answered);
  json.count("repaired_layouts", repaired_of(v));
}

}  // namespace

std::string serving_validation_json(const ServingValidation& validation) {
  const ServingForecasts known = known_forecasts(validation);
  JsonWriter json;
  json.begin_object();
  json.begin_object("summary");
  write_counts(json, validation);
  write_quantities(json, known);
  json.end_object();
  write_ranks(json, layout_ranks(known));
  write_part(json, "with_one_point", pointers_to(validation.siblings));
  write_part(json, "other_clients", unknown_forecasts(validation));
  write_part(json, "disaggregated", disaggregated_forecasts(validation));
  write_offline(json, validation);
  write_groups(json, "engines", known, ServingGroup::kEngine);
  write_groups(json, "chips", known, ServingGroup::kChip);
  write_groups(json, "models", known, ServingGroup::kModel);
  write_groups(json, "pairs", known, ServingGroup::kPair);
  write_exclusions(json, validation);
  json.begin_array("cases");
  for (const ServingForecast& f : validation.forecasts) write_serving_case(json, f);
  json.end_array();
  json.end_object();
  return std::move(json).take();
}

}  // namespace flopcast
