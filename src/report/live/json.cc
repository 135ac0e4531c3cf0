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

}  // namespace

std::string live_json(const LiveReport& r) {
  JsonWriter w;
  w.begin_object();
  w.text("flopcast", kVersion);
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
  write_coverage(w, "coverage", r.coverage);
  write_coverage(w, "kernels", r.kernels);
  write_unknown(w, r);
  w.ratio("host_spread", r.host_spread);
  w.count("tainted_reads", r.tainted_reads);
  w.texts("tainted_where", r.tainted_where, Layout::kLine);
  w.count("assumed_values", r.assumed);
  w.texts("unsupported", r.unsupported, Layout::kLine);
  w.end_object();
  return std::move(w).take();
}

}  // namespace flopcast
