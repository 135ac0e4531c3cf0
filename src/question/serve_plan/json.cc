// Reports of searches for fleets as JSON. Numbers are exact: read.cc gives back what was written.
#include <cmath>

#include "base/text/json_writer.h"
#include "question/serve_plan/fields.h"

namespace flopcast {

using namespace question;  // the room's own names

namespace {

using Layout = JsonWriter::Layout;

/// One field, by its type.
struct ServeFieldWriter {
  JsonWriter& w;
  void operator()(std::string_view key, const std::string& value) { w.text(key, value); }
  void operator()(std::string_view key, double value) { w.exact(key, value); }
  void operator()(std::string_view key, Seconds value) { w.exact(key, value.value); }
  void operator()(std::string_view key, bool value) { w.boolean(key, value); }
  void operator()(std::string_view key, std::int64_t value) { w.integer(key, value); }
  void operator()(std::string_view key, unsigned value) { w.count(key, value); }
  void operator()(std::string_view key, std::uint64_t value) { w.count(key, value); }
  void operator()(std::string_view key, ServingEngine value) { w.text(key, name(value)); }
  void operator()(std::string_view key, ServingRole value) { w.text(key, name(value)); }
};

void write_pool(JsonWriter& w, std::string_view key, const PoolChoice& pool) {
  w.begin_object(key, Layout::kLine);
  visit_pool(pool, ServeFieldWriter{w});
  w.end_object();
}

void write_percentiles(JsonWriter& w, std::string_view key, const ServingPercentiles& all) {
  w.begin_object(key, Layout::kLine);
  visit_percentiles(all, ServeFieldWriter{w});
  w.end_object();
}

void write_choice(JsonWriter& w, const FleetChoice& choice) {
  w.text("words", fleet_words(choice));
  w.count("chips", choice.chips());
  visit_choice(choice, ServeFieldWriter{w});
  write_pool(w, "pool", choice.pool);
  if (choice.decode) write_pool(w, "decode", *choice.decode);
}

void write_fleet(JsonWriter& w, std::string_view key, const FleetCandidate& candidate) {
  w.begin_object(key);
  write_choice(w, candidate.choice);
  w.begin_array("same");
  for (const FleetTwin& twin : candidate.same) {
    w.begin_object({}, Layout::kLine);
    write_choice(w, twin.choice);
    w.count("number", twin.number);
    w.end_object();
  }
  w.end_array();
  visit_result(candidate, ServeFieldWriter{w});
  write_percentiles(w, "ttft", candidate.ttft);
  write_percentiles(w, "tpot", candidate.tpot);
  write_percentiles(w, "inter_token", candidate.inter_token);
  write_percentiles(w, "latency", candidate.latency);
  w.end_object();
}

void write_fleets(JsonWriter& w, std::string_view key, const std::vector<FleetCandidate>& list) {
  w.begin_array(key);
  for (const FleetCandidate& candidate : list) write_fleet(w, {}, candidate);
  w.end_array();
}

void write_asked(JsonWriter& w, const ServePlanReport& report) {
  w.begin_object("asked");
  visit_asked(report, ServeFieldWriter{w});
  w.begin_array("limits", Layout::kLine);
  for (const ServiceLimit& limit : report.limits) w.text({}, name(limit));
  w.end_array();
  w.begin_array("limits_s", Layout::kLine);
  for (const ServiceLimit& limit : report.limits) w.ratio({}, limit.below.value);
  w.end_array();
  w.begin_array("settings");
  for (const auto& [key, value] : report.settings) {
    w.begin_object({}, Layout::kLine);
    w.text("name", key);
    w.text("value", value);
    w.end_object();
  }
  w.end_array();
  w.end_object();
}

void write_launches(JsonWriter& w, const std::vector<ServingLaunch>& launches) {
  w.begin_array("launch");
  for (const ServingLaunch& launch : launches) {
    w.begin_object();
    visit_launch(launch, ServeFieldWriter{w});
    w.begin_array("lacks");
    for (const std::string& text : launch.lacks) w.text({}, text);
    w.end_array();
    w.end_object();
  }
  w.end_array();
}

void write_problem(JsonWriter& w, const FleetAnswer& answer) {
  if (!answer.problem) return w.null("problem");
  w.begin_object("problem");
  w.count("number", answer.problem_number);
  w.count("code", static_cast<unsigned>(answer.problem->code));
  w.text("where", answer.problem->where);
  w.text("what", answer.problem->what);
  w.text("hint", answer.problem->hint);
  w.end_object();
}

void write_report(JsonWriter& w, const ServePlanReport& report, Layout layout) {
  w.begin_object({}, layout);
  write_asked(w, report);
  if (report.shards > 1) {
    w.begin_object("shard", Layout::kLine);
    w.count("index", report.shard);
    w.count("of", report.shards);
    w.end_object();
  }
  w.boolean("found", report.found());
  w.begin_object("search", Layout::kLine);
  visit_counts(report.answer.counts, ServeFieldWriter{w});
  w.exact("least_ratio", report.answer.least_ratio);
  w.count("least_chips", report.answer.least_chips);
  w.end_object();
  write_problem(w, report.answer);
  write_fleets(w, "best", report.answer.best);
  write_fleets(w, "pareto", report.answer.pareto);
  if (report.answer.nearest) {
    write_fleet(w, "nearest", *report.answer.nearest);
  } else {
    w.null("nearest");
  }
  write_launches(w, report.launches);
  w.begin_array("assumed");
  for (const std::string& text : report.assumed) w.text({}, text);
  w.end_array();
  w.end_object();
}

std::string serve_plan_document(const ServePlanReport& report, Layout layout) {
  JsonWriter w;
  write_report(w, report, layout);
  return std::move(w).take();
}

void write_place(JsonWriter& w, std::string_view key, const std::optional<std::size_t>& place) {
  place ? w.count(key, *place) : w.null(key);
}

}  // namespace

std::string serve_plan_json(const ServePlanReport& report) {
  return serve_plan_document(report, Layout::kBlock);
}

std::string serve_plan_json_line(const ServePlanReport& report) {
  return serve_plan_document(report, Layout::kLine);
}

std::string serve_plans_json(const ServePlanComparison& comparison) {
  JsonWriter w;
  w.begin_object();
  w.boolean("found", comparison.found());
  write_place(w, "fewest_chips", comparison.fewest);
  write_place(w, "cheapest", comparison.cheapest);
  write_place(w, "largest", comparison.largest);
  w.begin_array("pareto");
  for (const auto& [report, fleet] : comparison.pareto) {
    w.begin_object({}, Layout::kLine);
    w.count("cluster", report);
    w.count("fleet", fleet);
    w.end_object();
  }
  w.end_array();
  w.begin_array("clusters");
  for (const ServePlanReport& report : comparison.reports) write_report(w, report, Layout::kBlock);
  w.end_array();
  w.end_object();
  return std::move(w).take();
}

std::string question_key(const ServePlanReport& report) {
  JsonWriter w;
  w.begin_object();
  write_asked(w, report);
  w.end_object();
  return std::move(w).take();
}

}  // namespace flopcast
