// What is wrong or missing in a trace, and which of its steps can stand in for one another.
#include <fmt/format.h>

#include <algorithm>

#include "base/text/format.h"
#include "base/text/json_writer.h"
#include "base/text/shown.h"
#include "base/text/utf8.h"
#include "flopcast/report/trace.h"
#include "report/render/table.h"
#include "report/replay/anomaly_list.h"
#include "report/replay/summary.h"

namespace flopcast {

using namespace report;  // the room's own names

namespace {

using Align::kLeft;

constexpr std::size_t kNameWidth = 64;
constexpr std::size_t kMostGroups = 12;
using Layout = JsonWriter::Layout;

std::string anomalies_text(const TraceSet& set) {
  const std::vector<RankedAnomaly> list = ranked_anomalies(set);
  return list.empty() ? "\nNo oddities.\n" : "\nOddities\n" + anomaly_list(list);
}

/// Kinds of edges that any of the pairs has.
std::vector<EdgeKind> kinds_of(const std::vector<StepMatch>& steps) {
  std::vector<EdgeKind> kinds;
  for (const StepMatch& m : steps) {
    for (const StepMatch::Transfer& t : m.transfer) {
      const bool known = std::find(kinds.begin(), kinds.end(), t.kind) != kinds.end();
      if (t.edges > 0 && !known) kinds.push_back(t.kind);
    }
  }
  std::sort(kinds.begin(), kinds.end());
  return kinds;
}

std::string kept(const StepMatch& match, EdgeKind kind) {
  for (const StepMatch::Transfer& t : match.transfer) {
    if (t.kind == kind && t.edges > 0) return fmt::format("{}/{}", t.kept, t.edges);
  }
  return "-";
}

/// The first names of a group, and how many there are.
std::string names_text(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 4;
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < kShown; ++i) {
    text += (i == 0 ? "" : ", ") + shortened(names[i], kNameWidth);
  }
  return names.size() > kShown ? text + ", ..." : text;
}

std::string groups_text(const std::vector<std::vector<std::string>>& groups) {
  if (groups.empty()) return {};
  Table table({{"steps"}, {"which", kLeft}});
  for (const auto& group : groups) {
    if (table.size() == kMostGroups) break;
    table.add({grouped(group.size()), names_text(group)});
  }
  std::string text = "\nSteps with the same host calls in the same order on every rank\n";
  text += table.text();
  if (groups.size() > table.size()) {
    text += fmt::format("  ... and {} more kinds (--json prints all)\n",
                        grouped(groups.size() - table.size()));
  }
  return text;
}

std::string pairs_text(const std::vector<StepMatch>& steps) {
  if (steps.empty()) return {};
  const std::vector<EdgeKind> kinds = kinds_of(steps);
  std::vector<Table::Column> columns = {
      {"step", kLeft}, {"against", kLeft}, {"found there"}, {"found here"}, {"", kLeft}};
  for (const EdgeKind kind : kinds) columns.push_back({edge_kind_name(kind)});
  Table table(std::move(columns));
  for (const StepMatch& m : steps) {
    std::vector<std::string> row = {shortened(m.from, kNameWidth), shortened(m.to, kNameWidth),
                                    percent(m.matched_from), percent(m.matched_to),
                                    m.same_structure() ? "same structure" : ""};
    for (const EdgeKind kind : kinds) row.push_back(kept(m, kind));
    table.add(std::move(row));
  }
  return "\nSteps compared, of each kind: how many host calls of one are found in the other (the "
         "worst rank counts)\n"
         "and how many dependencies of each kind are dependencies there as well\n" +
         table.text() +
         "  Steps of the same structure can be replayed with each other's durations:\n"
         "  flopcast replay PATH --structure-from STEP --durations-from STEP\n";
}

std::string missing_text(const TraceSet& set) {
  std::string text;
  for (const RecordingFeature& f : recording_features(summary_of(set))) {
    if (!f.present) text += fmt::format("  - {}: {}\n", f.what, f.advice);
  }
  return text.empty() ? text : "\nNot in the recording, and how to have it\n" + text;
}

void write_step(JsonWriter& w, const StepMatch& m) {
  w.begin_object();
  w.text("from", m.from);
  w.text("to", m.to);
  w.ratio("matched_from", m.matched_from);
  w.ratio("matched_to", m.matched_to);
  w.boolean("same_structure", m.same_structure());
  w.begin_object("transfer", Layout::kLine);
  for (const StepMatch::Transfer& t : m.transfer) {
    w.begin_object(edge_kind_name(t.kind));
    w.count("edges", t.edges);
    w.count("kept", t.kept);
    w.end_object();
  }
  w.end_object();
  w.end_object();
}

}  // namespace

std::string trace_check_text(const TraceSet& set, const StepComparison& steps) {
  std::string text =
      fmt::format("{}: {}\n", escaped(set.label), counted(set.traces.size(), "rank"));
  for (const Diagnostic& d : set.unreadable) text += fmt::format("  not read: {}\n", d.text());
  return text + anomalies_text(set) + missing_text(set) + groups_text(steps.groups) +
         pairs_text(steps.pairs);
}

std::string trace_check_json(const TraceSet& set, const StepComparison& steps) {
  JsonWriter w;
  w.begin_object();
  w.text("name", set.label);
  write_anomalies(w, ranked_anomalies(set));
  w.begin_array("missing");
  for (const RecordingFeature& f : recording_features(summary_of(set))) {
    if (!f.present) w.text({}, f.name);
  }
  w.end_array();
  w.begin_array("step_groups");
  for (const auto& group : steps.groups) {
    w.begin_array({}, Layout::kLine);
    for (const std::string& name : group) w.text({}, name);
    w.end_array();
  }
  w.end_array();
  w.begin_array("step_pairs");
  for (const StepMatch& m : steps.pairs) write_step(w, m);
  w.end_array();
  w.begin_array("unreadable");
  for (const Diagnostic& d : set.unreadable) w.text({}, d.text());
  w.end_array();
  w.end_object();
  return std::move(w).take();
}

}  // namespace flopcast
