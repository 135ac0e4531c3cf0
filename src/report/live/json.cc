// The JSON document of `flopcast run --json`. Its field names are a contract: docs/reference/json.md describes each.
#include "base/text/json_writer.h"
#include "flopcast/report/live.h"
#include "flopcast/version.h"
#include "report/live/words.h"

namespace flopcast {

using namespace report;  // the room's own names

namespace {

using Layout = JsonWriter::Layout;

void write_times(JsonWriter& w, const LiveTimes& times) {
  w.begin_object("breakdown_s", Layout::kLine);
  for (const TimePart& part : kTimeParts) w.seconds(part.field, times.*part.time);
  w.end_object();
}

void write_rank(JsonWriter& w, const LiveRank& rank) {
  w.begin_object();
  w.integer("rank", rank.rank);
  w.count("kernels", rank.kernels);
  w.count("peak_memory_bytes", rank.most_memory);
  w.seconds("window_s", rank.times.window);
  write_times(w, rank.times);
  w.text("steps_by", name(rank.steps_by));
  w.begin_array("steps", Layout::kLine);
  for (const LiveStep& step : rank.steps) {
    w.begin_array();
    w.seconds({}, step.start);
    w.seconds({}, step.end);
    w.end_array();
  }
  w.end_array();
  w.end_object();
}

void write_coverage(JsonWriter& w, std::string_view key, const std::vector<LiveCoverage>& list) {
  w.begin_array(key);
  for (const LiveCoverage& one : list) {
    w.begin_object({}, Layout::kLine);
    w.text("what", one.what);
    w.count("kernels", one.kernels);
    w.seconds("time_s", one.time);
    w.end_object();
  }
  w.end_array();
}

void write_rests(JsonWriter& w, const LiveReport& r) {
  const std::vector<double> parts = shares(r);
  w.begin_array("coverage");
  for (std::size_t i = 0; i < r.coverage.size(); ++i) {
    w.begin_object({}, Layout::kLine);
    w.text("what", r.coverage[i].what);
    w.count("kernels", r.coverage[i].kernels);
    w.seconds("time_s", r.coverage[i].time);
    w.ratio("share", parts[i]);
    w.end_object();
  }
  w.end_array();
}

/// What may be wrong with the prices because nobody knows what these kernels do.
void write_unknown(JsonWriter& w, const LiveReport& r) {
  w.begin_array("unknown");
  for (const LiveUnknown& one : r.unknown) {
    w.begin_object({}, Layout::kLine);
    w.text("what", one.what);
    w.count("kernels", one.kernels);
    w.seconds("time_s", one.time);
    w.count("bytes", one.bytes);
    w.seconds("floor_s", one.floor);
    w.end_object();
  }
  w.end_array();
  const UnknownWork all = unknown_work(r);
  w.begin_object("unknown_work", Layout::kLine);
  w.count("kernels", all.kernels);
  w.count("unbounded", all.unbounded);
  w.count("bytes", all.bytes);
  w.seconds("time_s", all.time);
  w.seconds("floor_s", all.floor);
  w.ratio("share", all.share);
  w.end_object();
}

void write_resolved(JsonWriter& w, const std::optional<LiveResolved>& resolved) {
  if (!resolved) return w.null("resolved");
  w.begin_object("resolved");
  w.text("cluster", resolved->cluster);
  w.count("asked", resolved->asked);
  w.count("differs", resolved->differs);
  w.text("first", resolved->first);
  w.texts("assumed", resolved->assumed, Layout::kLine);
  w.end_object();
}

/// All but the version.
void write_run(JsonWriter& w, const LiveReport& r) {
  w.text("cluster", r.cluster);
  w.integer("status", r.status);
  if (r.failure) {
    w.begin_object("failure", Layout::kLine);
    w.integer("rank", r.failure->rank);
    w.integer("status", r.failure->status);
    w.text("last_line", r.failure->last_line);
    w.end_object();
  } else {
    w.null("failure");
  }
  w.begin_array("restarts");
  for (const LiveRestart& restart : r.restarts) {
    w.begin_object({}, Layout::kLine);
    w.integer("rank", restart.rank);
    w.seconds("at_s", restart.at);
    w.end_object();
  }
  w.end_array();
  w.seconds("virtual_s", r.virtual_time);
  w.count("tasks", r.tasks);
  w.begin_array("ranks");
  for (const LiveRank& rank : r.ranks) write_rank(w, rank);
  w.end_array();
  w.begin_array("folded");
  for (const LiveAlike& alike : r.folded) {
    w.begin_object({}, Layout::kLine);
    w.text("ranks", alike.ranks);
    w.text("there", alike.there);
    w.end_object();
  }
  w.end_array();
  w.count("other_lengths", r.other_lengths);
  write_rests(w, r);
  write_coverage(w, "kernels", r.kernels);
  write_unknown(w, r);
  w.ratio("host_spread", r.host_spread);
  w.count("tainted_reads", r.tainted_reads);
  w.texts("tainted_where", r.tainted_where, Layout::kLine);
  w.texts("values_end", r.values_end, Layout::kLine);
  w.count("assumed_values", r.assumed);
  w.texts("unmatched_operators", r.unmatched, Layout::kLine);
  w.texts("unsupported", r.unsupported, Layout::kLine);
  write_resolved(w, r.resolved);
}

}  // namespace

std::string live_json(const LiveReport& r) {
  JsonWriter w;
  w.begin_object();
  w.text("flopcast", kVersion);
  write_run(w, r);
  w.end_object();
  return std::move(w).take();
}

std::string resolved_json(std::span<const ResolvedRow> rows) {
  JsonWriter w;
  w.begin_object();
  w.text("flopcast", kVersion);
  w.begin_array("clusters");
  for (const ResolvedRow& row : rows) {
    w.begin_object();
    w.text("cluster", row.cluster);
    if (row.problem) {
      w.text("problem", row.problem->text());
      w.null("run");
    } else {
      w.null("problem");
      w.begin_object("run");
      write_run(w, *row.report);
      w.end_object();
    }
    w.end_object();
  }
  w.end_array();
  w.end_object();
  return std::move(w).take();
}

}  // namespace flopcast
