// Reports of searches as JSON. Numbers are exact: read.cc gives back what was written.
#include "flopcast/question/plan_json.h"

#include "base/text/json_writer.h"

#include "flopcast/parallel/fields.h"
#include "flopcast/parallel/files.h"
#include "flopcast/parallel/names.h"
#include "flopcast/question/plan.h"

namespace flopcast {
namespace {

using Layout = JsonWriter::Layout;

/// One field of a plan, by its type.
struct FieldWriter {
  JsonWriter& w;
  void operator()(std::string_view key, unsigned value) { w.count(key, value); }
  void operator()(std::string_view key, std::uint8_t value) { w.count(key, value); }
  void operator()(std::string_view key, std::int64_t value) { w.integer(key, value); }
  void operator()(std::string_view key, bool value) { w.boolean(key, value); }
  void operator()(std::string_view key, const std::vector<unsigned>& values) {
    w.begin_array(key, Layout::kLine);
    for (const unsigned value : values) w.count({}, value);
    w.end_array();
  }
  template <typename Enum>
  void operator()(std::string_view key, Enum value) requires std::is_enum_v<Enum> {
    w.text(key, name(value));
  }
};

}  // namespace

void write_plan_fields(JsonWriter& w, std::string_view key, const Plan& plan) {
  w.begin_object(key, Layout::kLine);
  visit_plan(plan, FieldWriter{w});
  w.end_object();
}

void write_run(JsonWriter& w, const std::optional<WholeRun>& run) {
  if (!run) return w.null("run");
  w.begin_object("run", Layout::kLine);
  visit_whole_run(*run, [&](std::string_view key, double value) { w.exact(key, value); });
  w.end_object();
}

void write_run_question(JsonWriter& w, std::string_view key,
                        const std::optional<RunQuestion>& asked) {
  if (!asked) return w.null(key);
  w.begin_object(key, Layout::kLine);
  visit_run_question(*asked, [&](std::string_view name, double value) { w.exact(name, value); });
  w.text("price_source", asked->price_source);
  w.end_object();
}

void write_placement(JsonWriter& w, const Placement& placement) {
  w.begin_object("placement", Layout::kLine);
  w.begin_array("tiers");
  for (const unsigned size : placement.tiers) w.count({}, size);
  w.end_array();
  w.begin_array("inside");
  for (const auto& members : placement.inside) {
    w.begin_array();
    for (const unsigned count : members) w.count({}, count);
    w.end_array();
  }
  w.end_array();
  w.end_object();
}

namespace {

/// Members common to everything found; the object is open.
void write_found(JsonWriter& w, const PlanFound& found) {
  w.text("words", plan_words(found.plan));
  w.exact("time_s", found.time.value);
  w.exact("memory_bytes", found.memory.value);
  w.count("number", found.number);
  write_plan_fields(w, "plan", found.plan);
  write_placement(w, found.placement);
}

void write_list(JsonWriter& w, std::string_view key, std::span<const PlanFound> list) {
  w.begin_array(key);
  for (const PlanFound& found : list) {
    w.begin_object({}, Layout::kLine);
    write_found(w, found);
    w.end_object();
  }
  w.end_array();
}

void write_sensitivities(JsonWriter& w, const std::vector<Sensitivity>& list) {
  w.begin_array("sensitivities");
  for (const Sensitivity& sensitivity : list) {
    w.begin_object({}, Layout::kLine);
    w.text("number", sensitivity.number);
    w.exact("change", sensitivity.change);
    w.end_object();
  }
  w.end_array();
}

void write_candidate(JsonWriter& w, const PlanReport& report, const PlanCandidate& candidate) {
  w.begin_object();
  write_found(w, candidate.found);
  w.exact("low_s", candidate.low.value);
  w.exact("high_s", candidate.high.value);
  w.boolean("tie", candidate.tie);
  w.exact("memory_low_bytes", candidate.memory_low.value);
  w.exact("memory_high_bytes", candidate.memory_high.value);
  w.exact("fit_odds", candidate.fit_odds);
  w.exact("tokens_per_second", candidate.tokens_per_second);
  w.exact("mfu", candidate.mfu);
  w.exact("hfu", candidate.hfu);
  w.exact("energy_j", candidate.energy_j);
  w.exact("cost_usd", candidate.cost_usd);
  w.begin_object("parts_s", Layout::kLine);
  for (std::size_t i = 0; i < kTimeParts; ++i) {
    w.exact(name(static_cast<TimePart>(i)), candidate.parts[i].value);
  }
  w.end_object();
  w.begin_object("memory", Layout::kLine);
  visit_memory(candidate.memory,
               [&](std::string_view key, Bytes bytes) { w.exact(key, bytes.value); });
  w.count("in_flight", candidate.memory.in_flight);
  w.end_object();
  w.begin_object("rests_on", Layout::kLine);
  for (std::size_t i = 0; i < candidate.rests_on.size(); ++i) {
    w.exact(name(static_cast<Basis>(i)), candidate.rests_on[i]);
  }
  w.end_object();
  const PlanText megatron =
      write_plan(with_stages(candidate.found.plan, report.layers), PlanFormat::kMegatron);
  w.text("megatron", megatron.text);
  w.texts("megatron_lacks", megatron.lost);
  write_run(w, candidate.run);
  if (report.shards > 1) {
    write_sensitivities(w, candidate.sensitivities);
    w.texts("assumed", candidate.assumed);
  }
  w.end_object();
}

void write_refused(JsonWriter& w,
                   const std::vector<std::pair<std::string, std::uint64_t>>& refused) {
  w.begin_array("refused");
  for (const auto& [reason, count] : refused) {
    w.begin_object({}, Layout::kLine);
    w.text("reason", reason);
    w.count("plans", count);
    w.end_object();
  }
  w.end_array();
}

void write_launch_line(JsonWriter& w, const Launch& launch) {
  w.texts("environment", launch.environment, Layout::kLine);
  w.text("command", launch.command);
  w.begin_array("files");
  for (const LaunchFile& file : launch.files) {
    w.begin_object();
    w.text("name", file.name);
    w.text("text", file.text);
    w.end_object();
  }
  w.end_array();
  w.texts("cannot_run", launch.lost);
  w.begin_array("told_elsewhere");
  for (const PlanElsewhere& other : launch.elsewhere) {
    w.begin_object({}, Layout::kLine);
    w.text("name", other.name);
    w.text("value", other.value);
    w.text("where", other.where);
    w.end_object();
  }
  w.end_array();
  w.texts("notes", launch.notes);
}

void write_launches(JsonWriter& w, const std::vector<PlanLaunch>& launches) {
  w.begin_array("launch");
  for (const PlanLaunch& one : launches) {
    w.begin_object();
    w.text("launcher", name(one.launcher));
    w.text("release", launcher_words(one.launcher));
    w.text("software", one.software);
    if (one.best) {
      w.begin_object("best", Layout::kLine);
      write_found(w, *one.best);
      w.end_object();
      w.exact("low_s", one.low.value);
      w.exact("high_s", one.high.value);
      write_launch_line(w, one.launch);
    } else {
      w.null("best");
      w.text("why", why_none(one));
      w.count("plans", one.plans);
      write_refused(w, one.refused);
    }
    w.texts("assumed", one.assumed);
    w.end_object();
  }
  w.end_array();
}

void write_question(JsonWriter& w, const PlanReport& report) {
  w.begin_object("asked");
  w.text("model", report.model);
  w.integer("parameters", report.parameters);
  w.integer("layers", report.layers);
  w.text("on", report.on);
  w.text("cluster", report.cluster);
  w.text("chip", report.chip);
  w.exact("capacity_bytes", report.capacity.value);
  w.count("chips", report.chips);
  w.integer("global_batch", report.global_batch);
  w.integer("sequence", report.sequence);
  w.begin_array("constraints", Layout::kLine);
  for (const PlanConstraint& one : report.constraints) w.text({}, constraint_text(one));
  w.end_array();
  w.begin_object("sweep", Layout::kLine);
  for (const PlanChange& change : report.changes) w.text(change.name, change.value);
  w.end_object();
  w.text("launchable", report.launchable ? name(*report.launchable) : std::string_view());
  w.texts("named", report.named, Layout::kLine);
  w.boolean("placements", report.placements);
  w.boolean("launches", report.asked_launches);
  w.exact("memory_share", report.memory_share);
  w.exact("fit_odds", report.fit_odds);
  w.exact("usd_per_chip_hour", report.usd_per_chip_hour);
  w.count("best", report.asked_best);
  write_run_question(w, "run", report.run);
  w.text("software", report.software);
  write_fits(w, report.own_fits);
  write_plan_fields(w, "base", report.base);
  w.text("flopcast", report.version);
  w.end_object();
}

void write_counts(JsonWriter& w, const PlanSearch& search) {
  w.begin_object("search", Layout::kLine);
  w.count("plans", search.plans);
  w.count("placed", search.placed);
  w.count("too_big", search.too_big);
  w.end_object();
  write_refused(w, search.refused);
}

void write_rounder(JsonWriter& w, const std::optional<RounderStep>& rounder) {
  if (!rounder) return w.null("rounder");
  w.begin_object("rounder", Layout::kLine);
  w.integer("global_batch", rounder->global_batch);
  w.integer("sequence", rounder->sequence);
  w.exact("time_s", rounder->time.value);
  w.end_object();
}

std::string document(const PlanReport& report, Layout layout) {
  JsonWriter w;
  w.begin_object({}, layout);
  write_question(w, report);
  if (report.shards > 1) {
    w.begin_object("shard", Layout::kLine);
    w.count("index", report.shard);
    w.count("of", report.shards);
    w.end_object();
  }
  w.boolean("fits", report.fits());
  write_counts(w, report.search);
  w.begin_array("best");
  for (const PlanCandidate& candidate : report.best) write_candidate(w, report, candidate);
  w.end_array();
  write_launches(w, report.launches);
  write_list(w, "pareto", report.search.pareto);
  if (report.search.leanest) {
    w.begin_object("leanest", Layout::kLine);
    write_found(w, *report.search.leanest);
    w.end_object();
  } else {
    w.null("leanest");
  }
  write_sensitivities(w, report.sensitivities);
  w.texts("assumed", report.assumed);
  write_rounder(w, report.rounder);
  w.text("hint", report.hint());
  w.end_object();
  return std::move(w).take();
}

}  // namespace

std::string plan_json(const PlanReport& report) { return document(report, Layout::kBlock); }

std::string plan_json_line(const PlanReport& report) { return document(report, Layout::kLine); }

std::string question_key(const PlanReport& report) {
  JsonWriter w;
  w.begin_object();
  write_question(w, report);
  w.end_object();
  return std::move(w).take();
}

}  // namespace flopcast
