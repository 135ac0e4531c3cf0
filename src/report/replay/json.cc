// The JSON document of `replay --json` and `validate replay --json`. Its field names are a
// contract: docs/reference/json.md describes each, and json_reference_test compares the two.
#include <cmath>
#include <utility>

#include "base/text/json_writer.h"
#include "flopcast/report/sets.h"
#include "flopcast/version.h"
#include "report/replay/anomaly_list.h"
#include "report/replay/summary.h"
#include "report/replay/verdict.h"

namespace flopcast {

using namespace report;  // the room's own names

namespace {

using Layout = JsonWriter::Layout;

void write_parts(JsonWriter& w, std::string_view key, const Breakdown& parts) {
  w.begin_object(key, Layout::kLine);
  w.seconds("exposed_compute", parts.exposed_compute);
  w.seconds("exposed_communication", parts.exposed_communication);
  w.seconds("transfer", parts.transfer());
  w.seconds("waiting", parts.waiting);
  w.seconds("waiting_for_rank", parts.waiting_for_rank());
  w.seconds("waiting_for_host", parts.waiting_for_host);
  w.seconds("waiting_for_stage", parts.waiting_for_stage);
  w.seconds("overlapped", parts.overlapped);
  w.seconds("other", parts.other);
  w.seconds("idle", parts.idle);
  w.end_object();
}

void write_breakdown(JsonWriter& w, const Pair<Breakdown>& parts) {
  w.begin_object("breakdown_s");
  write_parts(w, "measured", parts.measured);
  write_parts(w, "replayed", parts.replayed);
  w.end_object();
}

void write_step(JsonWriter& w, const SetResult& set, const StepSummary& step) {
  w.begin_object();
  w.text("name", step.name);
  w.text("mode", lag_mode_name(set.lags));
  w.seconds("measured_s", step.host.measured);
  w.seconds("replayed_s", step.host.replayed);
  w.ratio("error", step.error);
  if (step.gpu) {
    w.seconds("gpu_measured_s", step.gpu->measured);
    w.seconds("gpu_replayed_s", step.gpu->replayed);
  } else {
    w.null("gpu_measured_s");
    w.null("gpu_replayed_s");
  }
  w.ratio("gpu_step_error", step.gpu_error);
  w.ratio("start_error_median_s", step.start_error_median_s);
  write_breakdown(w, step.parts);
  w.end_object();
}

void write_window(JsonWriter& w, const RankSummary& rank) {
  const auto known = [](double v) { return v < 0 ? std::nullopt : std::optional(v); };
  w.begin_object("window");
  w.seconds("measured_s", rank.window.measured);
  w.seconds("replayed_s", rank.window.replayed);
  write_breakdown(w, rank.parts);
  w.begin_object("sm_time_used", Layout::kLine);
  w.ratio("measured", known(rank.sms_used.measured));
  w.ratio("replayed", known(rank.sms_used.replayed));
  w.end_object();
  w.end_object();
}

void write_curve(JsonWriter& w, std::string_view key, const std::vector<float>& fractions) {
  w.begin_array(key, Layout::kLine);
  for (const float f : fractions) w.ratio({}, std::round(static_cast<double>(f) * 1e4) / 1e4);
  w.end_array();
}

void write_utilisation(JsonWriter& w, const Pair<Utilisation>& pair) {
  w.begin_object("utilisation");
  for (const auto& [key, run] :
       {std::pair("measured", &pair.measured), std::pair("replayed", &pair.replayed)}) {
    w.begin_object(key);
    w.seconds("interval_s", run->interval);
    write_curve(w, "active", run->active);
    write_curve(w, "sms_used", run->sms_used);
    w.end_object();
  }
  w.end_object();
}

void write_ranks(JsonWriter& w, const SetResult& set) {
  w.begin_array("ranks");
  for (const RankSummary& rank : set.summary.ranks) {
    w.begin_object();
    w.integer("rank", rank.rank);
    w.text("file", rank.file);
    w.begin_array("steps");
    for (const StepSummary& step : rank.steps) write_step(w, set, step);
    w.end_array();
    write_window(w, rank);
    if (set.with_curves) write_utilisation(w, rank.utilisation);
    w.end_object();
  }
  w.end_array();
}

void write_edges(JsonWriter& w, const SetResult& set) {
  w.begin_object("edges");
  for (const EdgeCount& edge : set.edges) {
    w.begin_object(edge_kind_name(edge.kind), Layout::kLine);
    w.count("count", edge.count);
    w.count("contradicted", edge.contradicted);
    if (!edge.example.empty()) w.text("example", edge.example);
    w.end_object();
  }
  w.end_object();
}

void write_rests_on(JsonWriter& w, const SetResult& set) {
  w.begin_array("pinned");
  for (const Pin& pin : set.pinned) {
    w.begin_object({}, Layout::kLine);
    w.text("what", pin.what);
    w.count("tasks", pin.tasks);
    w.seconds("late_s", pin.late);
    w.end_object();
  }
  w.end_array();
  w.begin_array("lags");
  for (const Lag& lag : set.lag_table) {
    w.begin_object({}, Layout::kLine);
    w.integer("rank", lag.rank);
    w.text("edge", edge_kind_name(lag.kind));
    w.count("samples", lag.samples);
    w.seconds("typical_s", lag.typical);
    w.seconds("smallest_s", lag.smallest);
    w.end_object();
  }
  w.end_array();
}

void write_clocks(JsonWriter& w, const SetResult& set) {
  w.begin_array("clocks");
  for (const RankClock& clock : set.clocks) {
    w.begin_object({}, Layout::kLine);
    w.integer("rank", clock.rank);
    w.seconds("rank_offset_s", clock.rank_offset);
    w.seconds("gpu_offset_s", clock.gpu_offset);
    w.end_object();
  }
  w.end_array();
  w.seconds("clock_residual_s", set.clock_residual);
}

void write_pair(JsonWriter& w, std::string_view key, const Pair<Time>& pair) {
  w.begin_object(key, Layout::kLine);
  w.seconds("measured", pair.measured);
  w.seconds("replayed", pair.replayed);
  w.end_object();
}

void write_collectives(JsonWriter& w, const SetResult& set) {
  w.begin_array("collectives");
  for (const CollectiveSummary& c : set.summary.collectives) {
    w.begin_object();
    w.text("name", c.name);
    w.text("group", c.group);
    w.count("count", c.count);
    w.count("ranks", c.ranks);
    w.integer("bytes", c.bytes);
    w.count("not_rendezvous", c.not_rendezvous);
    write_pair(w, "wait_s", c.wait);
    write_pair(w, "transfer_s", c.transfer);
    w.end_object();
  }
  w.end_array();
}

void write_shares(JsonWriter& w, std::string_view key, const std::vector<PathShare>& shares) {
  w.begin_object(key);
  for (const PathShare& share : shares) {
    w.begin_object(share.name, Layout::kLine);
    w.count("pieces", share.pieces);
    w.seconds("time_s", share.time);
    w.end_object();
  }
  w.end_object();
}

void write_path(JsonWriter& w, const PathSummary& path) {
  w.begin_object("critical_path");
  w.seconds("length_s", path.length);
  w.count("pieces", path.pieces);
  w.count("rank_changes", path.rank_changes);
  w.integer("last_rank", path.last_rank);
  w.seconds("window_s", path.window);
  w.count("pinned_starts", path.pinned_starts);
  w.seconds("pinned_s", path.pinned);
  write_shares(w, "classes", path.classes);
  write_shares(w, "ranks", path.ranks);
  w.end_object();
}

void write_straggler(JsonWriter& w, const std::optional<Straggler>& straggler) {
  if (!straggler) {
    w.null("straggler");
    return;
  }
  w.begin_object("straggler", Layout::kLine);
  w.integer("rank", straggler->rank);
  w.ratio("share_of_path", straggler->share_of_path);
  w.count("last", straggler->last);
  w.count("collectives", straggler->collectives);
  w.seconds("waited_s", straggler->waited);
  w.seconds("waited_for_host_s", straggler->for_host);
  w.ratio("share_of_waiting", straggler->share_of_waiting);
  w.end_object();
}

void write_late_ranks(JsonWriter& w, const std::vector<LateRank>& ranks) {
  w.begin_array("late");
  for (const LateRank& late : ranks) {
    w.begin_object({}, Layout::kLine);
    w.integer("rank", late.rank);
    w.count("last", late.last);
    w.seconds("waited_s", late.waited);
    w.seconds("waited_for_host_s", late.for_host);
    w.end_object();
  }
  w.end_array();
}

void write_step_then(JsonWriter& w, std::string_view key, const std::optional<Time>& step) {
  if (step) {
    w.seconds(key, *step);
  } else {
    w.null(key);
  }
}

void write_like_equals(JsonWriter& w, std::string_view key, const SensitivityTable& table,
                       const std::optional<RankLikeEquals>& like) {
  if (!like) return w.null(key);
  w.begin_object(key, Layout::kLine);
  w.integer("rank", like->rank);
  write_step_then(w, "gpu_step_s", like->gpu_step);
  w.ratio("change", table.change(like->gpu_step));
  if (like->next) {
    w.integer("next", *like->next);
  } else {
    w.null("next");
  }
  w.seconds("next_waited_s", like->next_waited);
  w.end_object();
}

void write_sensitivity(JsonWriter& w, const std::optional<SensitivityTable>& table) {
  if (!table) {
    w.null("sensitivity");
    return;
  }
  w.begin_object("sensitivity");
  w.ratio("less_time", SensitivityTable::kLessTime);
  w.seconds("gpu_step_s", table->gpu_step);
  w.begin_array("parts");
  for (const WorkSensitivity& s : table->parts) {
    w.begin_object({}, Layout::kLine);
    w.text("part", s.part);
    w.text("title", work_part_title(s.part));
    w.seconds("work_s", s.work);
    write_step_then(w, "gpu_step_s", s.gpu_step);
    w.ratio("change", table->change(s.gpu_step));
    write_step_then(w, "limit_s", s.limit);
    w.ratio("limit_change", table->change(s.limit));
    w.end_object();
  }
  w.end_array();
  write_like_equals(w, "late", *table, table->late);
  write_like_equals(w, "straggler", *table, table->straggler);
  w.end_object();
}

void write_late_starts(JsonWriter& w, const SetResult& set) {
  w.begin_object("late_starts");
  w.count("count", set.late_starts.size());
  w.seconds("total_s", set.summary.quality.late);
  w.ratio("share_of_windows", set.summary.quality.late_share);
  w.begin_array("tasks");
  for (const SetResult::Late& late : set.late_starts) {
    w.begin_object({}, Layout::kLine);
    w.integer("rank", late.rank);
    w.text("name", late.name);
    w.seconds("recorded_start_s", late.recorded_start);
    w.seconds("late_s", late.late);
    w.end_object();
  }
  w.end_array();
  w.end_object();
}

void write_network(JsonWriter& w, const NetworkUse& network) {
  w.begin_object("network");
  w.text("cluster", network.cluster);
  w.begin_array("operations");
  for (const NetworkUse::Operation& o : network.operations) {
    w.begin_object({}, Layout::kLine);
    w.text("name", o.name);
    w.count("collectives", o.collectives);
    w.count("kept", o.kept);
    w.text("kept_because", o.kept_because);
    w.seconds("recorded_s", o.recorded);
    w.seconds("modelled_s", o.modelled);
    w.text("source", o.source);
    w.end_object();
  }
  w.end_array();
  w.end_object();
}

void write_top_kernels(JsonWriter& w, const SetResult& set) {
  w.begin_array("top_kernels");
  for (const KernelTotal& kernel : set.top_kernels) {
    w.begin_object({}, Layout::kLine);
    w.text("name", kernel.name);
    w.count("count", kernel.count);
    w.seconds("measured_s", kernel.recorded);
    w.seconds("replayed_s", kernel.replayed);
    w.end_object();
  }
  w.end_array();
}

void write_diagnostic(JsonWriter& w, std::string_view key, const Diagnostic& d) {
  w.begin_object(key, Layout::kLine);
  w.integer("code", static_cast<int>(d.code));
  w.text("where", d.where);
  w.text("what", d.what);
  w.text("hint", d.hint);
  w.end_object();
}

void write_unreadable(JsonWriter& w, const SetResult& set) {
  w.begin_array("unreadable");
  for (const Diagnostic& d : set.unreadable) write_diagnostic(w, {}, d);
  w.end_array();
}

/// An error of nothing is no error of 0.
std::optional<double> measured(std::uint64_t count, double error) {
  return count > 0 ? std::optional(error) : std::nullopt;
}

void write_quality(JsonWriter& w, const Quality& q) {
  w.begin_object("summary");
  w.count("steps", q.steps);
  w.ratio("mean_abs_error", measured(q.steps, q.mean_abs_error));
  w.ratio("max_abs_error", measured(q.steps, q.max_abs_error));
  w.count("gpu_steps", q.gpu_steps);
  w.ratio("mean_abs_gpu_step_error", measured(q.gpu_steps, q.mean_abs_gpu_error));
  w.ratio("max_abs_gpu_step_error", measured(q.gpu_steps, q.max_abs_gpu_error));
  w.ratio("start_error_median_of_window", measured(q.gpu_steps, q.start_error_median));
  w.begin_object("max_share_difference", Layout::kLine);
  w.ratio("exposed_compute", q.exposed_compute);
  w.ratio("exposed_communication", q.exposed_communication);
  w.ratio("overlapped", q.overlapped);
  w.ratio("idle", q.idle);
  w.end_object();
  w.end_object();
}

void write_head(JsonWriter& w, const SetResult& set) {
  w.text("name", set.name);
  w.text("mode", lag_mode_name(set.lags));
  w.text("baseline", baseline_name(set.baseline));
  if (!set.structure_from.empty()) w.text("structure_from", set.structure_from);
  if (!set.durations_from.empty()) w.text("durations_from", set.durations_from);
  w.boolean("forecast", set.damage.empty());
  w.begin_array("damage");
  for (const std::string& why : set.damage) w.text({}, why);
  w.end_array();
  w.begin_array("truncated");
  for (const std::string& file : set.truncated) w.text({}, file);
  w.end_array();
}

void write_set(JsonWriter& w, const SetResult& set) {
  w.begin_object();
  if (set.failure) {
    w.text("name", set.name);
    write_diagnostic(w, "failure", *set.failure);
    w.end_object();
    return;
  }
  write_head(w, set);
  w.begin_array("verdict");
  for (const std::string& line : verdict_of(set)) w.text({}, line);
  w.end_array();
  w.count("tasks", set.task_count);
  w.count("task_edges", set.edge_count);
  write_ranks(w, set);
  write_edges(w, set);
  write_rests_on(w, set);
  write_clocks(w, set);
  write_collectives(w, set);
  if (set.network) write_network(w, *set.network);
  write_path(w, set.summary.path);
  write_straggler(w, set.summary.straggler);
  write_late_ranks(w, set.summary.late);
  write_sensitivity(w, set.sensitivity);
  write_late_starts(w, set);
  write_top_kernels(w, set);
  write_anomalies(w, set.anomalies);
  write_unreadable(w, set);
  write_quality(w, set.summary.quality);
  w.end_object();
}

void write_overall(JsonWriter& w, const Overall& all) {
  w.begin_object("summary");
  w.count("sets", all.sets);
  w.count("damaged_sets", all.damaged);
  w.count("failed_sets", all.failed);
  w.ratio("mean_abs_error", measured(all.host_sets, all.mean_abs_error));
  w.ratio("max_abs_error", measured(all.host_sets, all.max_abs_error));
  w.ratio("mean_abs_gpu_step_error", measured(all.gpu_sets, all.mean_abs_gpu_error));
  w.ratio("max_abs_gpu_step_error", measured(all.gpu_sets, all.max_abs_gpu_error));
  w.end_object();
}

}  // namespace

std::string sets_json(const std::vector<SetResult>& sets) {
  JsonWriter w;
  w.begin_object();
  w.text("flopcast", kVersion);
  w.begin_array("sets");
  for (const SetResult& set : sets) write_set(w, set);
  w.end_array();
  write_overall(w, summarise_sets(sets));
  w.end_object();
  return std::move(w).take();
}

std::string replay_json(const TraceSet& set, const Replay& replay) {
  SetResult result = make_set_result(set, replay);
  result.with_curves = true;
  return sets_json({std::move(result)});
}

}  // namespace flopcast
