// The JSON of `serve --json`. Its field names are a contract: docs/reference/json.md describes each.
#include <fmt/format.h>

#include <algorithm>

#include "base/text/json_writer.h"
#include "flopcast/report/serve.h"
#include "flopcast/version.h"
#include "report/serve/json.h"
#include "report/serve/words.h"

namespace flopcast {

namespace report {
namespace {

using Layout = JsonWriter::Layout;

void write_percentiles(JsonWriter& w, std::string_view key, const ServingPercentiles& p) {
  w.begin_object(key, Layout::kLine);
  w.exact("mean", p.mean.value);
  w.exact("p50", p.p50.value);
  w.exact("p90", p.p90.value);
  w.exact("p95", p.p95.value);
  w.exact("p99", p.p99.value);
  w.exact("max", p.max.value);
  w.count("count", p.count);
  w.end_object();
}

/// Members of a summary; the object is open.
void write_serve_summary(JsonWriter& w, const ServeSummary& s) {
  w.count("chips", s.chips);
  write_percentiles(w, "ttft_s", s.ttft);
  write_percentiles(w, "tpot_s", s.tpot);
  write_percentiles(w, "inter_token_s", s.inter_token);
  write_percentiles(w, "latency_s", s.latency);
  w.exact("output_tokens_per_s", s.output_tokens_per_s);
  w.exact("total_tokens_per_s", s.total_tokens_per_s);
  w.exact("requests_per_s", s.requests_per_s);
  w.exact("within", s.within);
  w.exact("goodput_requests_per_s", s.goodput_requests_per_s);
  w.boolean("meets", s.meets);
  if (s.usd_per_million_tokens > 0) {
    w.exact("usd_per_million_tokens", s.usd_per_million_tokens);
  } else {
    w.null("usd_per_million_tokens");
  }
  w.count("answered", s.answered);
  w.count("lost", s.lost);
  w.count("unanswered", s.unanswered);
  w.integer("preemptions", s.preemptions);
}

void write_summary_object(JsonWriter& w, std::string_view key,
                          const std::optional<ServeSummary>& summary) {
  if (!summary) return w.null(key);
  w.begin_object(key, Layout::kLine);
  write_serve_summary(w, *summary);
  w.end_object();
}

/// The four kinds of flags of a launch.
void write_launch(JsonWriter& w, const std::optional<LaunchedFlags>& flags) {
  if (!flags) return w.null("launch");
  w.begin_object("launch");
  w.texts("used", flags->used);
  w.texts("without_meaning", flags->without_meaning);
  w.texts("unmodelled", flags->unmodelled);
  w.texts("unknown", flags->unknown);
  w.end_object();
}

/// What parse_serve_file reads back: settings by name, those that repeat as lists.
void write_question(JsonWriter& w, const ServeQuestion& question) {
  w.begin_object("question");
  w.text("model", question.model);
  w.text("on", question.cluster);
  for (const ServeSetting& setting : serve_settings()) {
    std::vector<std::string> values;
    for (const auto& [name, value] : question.settings) {
      std::string key = name;
      std::ranges::replace(key, '-', '_');
      if (key == setting.name) values.push_back(value);
    }
    if (values.empty()) continue;
    if (!setting.repeats) {
      w.text(setting.name, values.back());
      continue;
    }
    w.begin_array(setting.name, Layout::kLine);
    for (const std::string& value : values) w.text({}, value);
    w.end_array();
  }
  w.end_object();
}

void write_iteration(JsonWriter& w, std::string_view key, Time time,
                     const std::vector<IterationPart>& parts) {
  if (parts.empty()) return w.null(key);
  w.begin_object(key);
  w.seconds("time_s", time);
  w.begin_array("parts");
  for (const IterationPart& part : parts) {
    w.begin_object({}, Layout::kLine);
    w.text("name", part.name);
    w.exact("time_s", part.time.value);
    w.text("bound", part.bound);
    w.text("basis", name(part.basis));
    w.end_object();
  }
  w.end_array();
  w.end_object();
}

void write_memory(JsonWriter& w, const ServingMemory& memory) {
  w.begin_object("memory_bytes", Layout::kLine);
  w.exact("capacity", memory.capacity.value);
  w.exact("usable", memory.usable.value);
  w.exact("weights", memory.weights.value);
  w.exact("activations", memory.activations.value);
  w.exact("graphs", memory.graphs.value);
  w.exact("drafts", memory.drafts.value);
  w.exact("kv", memory.kv.value);
  w.end_object();
}

void write_pool(JsonWriter& w, const ServePool& pool) {
  const Deployment& d = pool.deployment;
  w.begin_object();
  w.text("role", pool.role);
  w.count("replicas", pool.replicas);
  w.text("engine", name(d.settings.engine));
  w.text("engine_version", d.settings.version);
  w.begin_object("layout", Layout::kLine);
  w.count("tp", d.layout.tp);
  w.count("dp", d.layout.dp);
  w.count("ep", d.layout.ep);
  w.count("pp", d.layout.pp);
  w.end_object();
  w.integer("batch_tokens", d.settings.batch_tokens);
  w.integer("max_requests", d.settings.max_requests);
  write_memory(w, pool.memory);
  w.integer("kv_tokens", pool.memory.tokens * d.layout.dp);
  w.exact("kv_mean", pool.kv_mean);
  w.exact("kv_peak", pool.kv_peak);
  w.exact("busy", pool.busy);
  w.integer("iterations", pool.iterations);
  w.exact("decodes", pool.decodes);
  w.exact("waiting", pool.waiting);
  w.exact("prompt_tokens", pool.prefill_tokens);
  w.exact("prompt_share", pool.prefill_share);
  w.exact("context", pool.context);
  write_iteration(w, "iteration", pool.iteration, pool.parts);
  write_iteration(w, "prompt_iteration", pool.prompt_iteration, pool.prompt_parts);
  w.text("basis", name(pool.basis));
  w.text("source", pool.source);
  w.end_object();
}

void write_windows(JsonWriter& w, const std::vector<ServeWindow>& windows) {
  w.begin_array("windows");
  for (const ServeWindow& window : windows) {
    w.begin_object({}, Layout::kLine);
    w.seconds("from_s", window.from);
    w.seconds("to_s", window.to);
    w.count("sent", window.sent);
    w.exact("output_tokens_per_s", window.output_tokens_per_s);
    write_percentiles(w, "ttft_s", window.ttft);
    write_percentiles(w, "tpot_s", window.tpot);
    w.end_object();
  }
  w.end_array();
}

void write_variants(JsonWriter& w, std::string_view key, const std::vector<ServeVariant>& list) {
  w.begin_array(key);
  for (const ServeVariant& variant : list) {
    w.begin_object({}, Layout::kLine);
    w.text("change", variant.change);
    w.text("refused", variant.refused);
    if (variant.refused.empty()) write_serve_summary(w, variant.summary);
    w.end_object();
  }
  w.end_array();
}

void write_curve(JsonWriter& w, const ServeAnswer& answer) {
  w.text("curve_of", answer.load_unit);
  w.begin_array("curve");
  for (const ServeCurvePoint& point : answer.curve) {
    w.begin_object({}, Layout::kLine);
    w.exact("load", point.load);
    write_serve_summary(w, point.summary);
    w.end_object();
  }
  w.end_array();
}

void write_tried(JsonWriter& w, std::string_view key, const std::vector<TriedLoad>& list) {
  w.begin_array(key);
  for (const TriedLoad& one : list) {
    w.begin_object({}, Layout::kLine);
    w.exact("load", one.load);
    w.boolean("holds", one.holds);
    w.exact("limit_ratio", one.ratio);
    w.end_object();
  }
  w.end_array();
}

void write_largest(JsonWriter& w, const ServeAnswer& answer) {
  if (!answer.largest) return w.null("largest");
  const LoadMargin& margin = answer.largest->margin;
  w.begin_object("largest");
  w.text("load_unit", answer.load_unit);
  w.exact("load", margin.load);
  w.exact("next_load", margin.next);
  w.exact("slow_load", margin.slow);
  w.exact("fast_load", margin.fast);
  write_tried(w, "tried", answer.largest->tried);
  write_tried(w, "tried_slow", answer.largest->tried_slow);
  write_tried(w, "tried_fast", answer.largest->tried_fast);
  w.end_object();
}

void write_numbers(JsonWriter& w, std::string_view key, const std::vector<double>& values) {
  w.begin_array(key, Layout::kLine);
  for (const double value : values) w.ratio({}, value);
  w.end_array();
}

void write_timeline(JsonWriter& w, const ServeTimeline& timeline) {
  w.begin_object("timeline");
  w.exact("interval_s", timeline.interval_s);
  write_numbers(w, "decodes", timeline.decodes);
  write_numbers(w, "waiting", timeline.waiting);
  write_numbers(w, "prompt_tokens_per_s", timeline.prompt_tokens_per_s);
  write_numbers(w, "kv", timeline.kv);
  w.begin_array("replica_kv");
  for (const auto& values : timeline.replica_kv) write_numbers(w, {}, values);
  w.end_array();
  w.end_object();
}

}  // namespace

void write_serve_answer(JsonWriter& w, const ServeAnswer& answer) {
  write_question(w, answer.question);
  w.text("words", serve_line(answer.question));
  w.texts("assumed", answer.question.assumed);
  write_launch(w, answer.question.launch);
  write_serve_summary(w, answer.summary);
  if (answer.verdict) {
    w.text("holds", name(*answer.verdict));
  } else {
    w.null("holds");
  }
  write_largest(w, answer);
  write_summary_object(w, "fast", answer.low);
  write_summary_object(w, "slow", answer.high);
  w.begin_array("pools");
  for (const ServePool& pool : answer.pools) write_pool(w, pool);
  w.end_array();
  w.texts("limits", answer.limits);
  write_variants(w, "next", answer.next);
  write_variants(w, "sensitivity", answer.sensitivity);
  write_curve(w, answer);
  write_windows(w, answer.windows);
  write_timeline(w, serve_timeline(answer));
  w.begin_array("anomalies");
  for (const Anomaly& anomaly : answer.question.workload.trace.anomalies.list()) {
    w.begin_object({}, Layout::kLine);
    w.text("kind", anomaly.kind);
    w.count("count", anomaly.count);
    w.text("first", anomaly.first);
    w.end_object();
  }
  w.end_array();
}

}  // namespace report

std::string serve_json(const ServeAnswer& answer) {
  JsonWriter w;
  w.begin_object();
  w.text("flopcast", kVersion);
  report::write_serve_answer(w, answer);
  w.end_object();
  return std::move(w).take();
}

}  // namespace flopcast
