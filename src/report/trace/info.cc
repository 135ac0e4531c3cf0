#include "flopcast/report/trace.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <numeric>
#include <tuple>

#include "base/text/format.h"
#include "base/text/json_writer.h"
#include "base/text/shown.h"
#include "base/text/utf8.h"
#include "report/render/table.h"

namespace flopcast {

using namespace report;  // the room's own names

namespace {

using Align::kLeft;
using Layout = JsonWriter::Layout;

struct StepInfo {
  std::string name;
  std::vector<Time> lengths;  // one per rank that has it, sorted
  Time median() const { return lengths[lengths.size() / 2]; }
};

std::int32_t rank_of(const RunSummary& run, std::size_t trace) {
  return run.traces[trace].rank.value_or(static_cast<std::int32_t>(trace));
}

std::string file_of(const TraceSummary& trace) {
  return std::filesystem::path(trace.path).filename().string();
}

std::uint64_t rows_of(const TraceSummary& trace) {
  return std::accumulate(std::begin(trace.row_counts), std::end(trace.row_counts),
                         std::uint64_t{0});
}

std::uint64_t steps_of(const TraceSummary& trace) {
  return trace.has_steps ? trace.steps.size() : 0;
}

/// Steps in the order the first rank that has them met them.
std::vector<StepInfo> step_infos(const RunSummary& run) {
  std::vector<StepInfo> list;
  std::map<std::string, std::size_t> places;
  for (const TraceSummary& trace : run.traces) {
    for (const StepLength& step : trace.steps) {
      const auto [known, fresh] = places.try_emplace(step.name, list.size());
      if (fresh) list.push_back({step.name, {}});
      list[known->second].lengths.push_back(step.length);
    }
  }
  for (StepInfo& step : list) std::sort(step.lengths.begin(), step.lengths.end());
  return list;
}

/// Those of all ranks, ordered by name, description and ranks.
std::vector<GroupSummary> group_infos(const RunSummary& run) {
  std::map<std::tuple<std::string, std::string, std::string>, GroupSummary> groups;
  for (const TraceSummary& trace : run.traces) {
    for (const GroupSummary& of_rank : trace.groups) {
      GroupSummary& group = groups[{of_rank.name, of_rank.description, of_rank.ranks}];
      const std::uint64_t before = group.rows;
      group = of_rank;
      group.rows += before;
    }
  }
  std::vector<GroupSummary> list;
  list.reserve(groups.size());
  for (auto& [key, group] : groups) list.push_back(std::move(group));
  return list;
}

std::string when(std::int64_t unix_ns) {
  const std::time_t seconds = unix_ns / 1'000'000'000;
  std::tm utc{};
  if (unix_ns < 0 || ::gmtime_r(&seconds, &utc) == nullptr) return "unknown";
  return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", utc);
}

std::string devices(const TraceFacts& trace) {
  std::map<std::string, std::uint64_t> counts;
  for (const Device& d : trace.devices) {
    std::string name = d.name.empty() ? "unnamed" : d.name;
    if (d.sm_count > 0) name += fmt::format(" ({} SMs)", d.sm_count);
    if (d.memory_bytes > 0) name += ", " + short_bytes(d.memory_bytes);
    ++counts[name];
  }
  std::string text;
  for (const auto& [name, count] : counts) {
    text += fmt::format("{}{} x {}", text.empty() ? "" : ", ", count, name);
  }
  return text.empty() ? "not named in the file" : text;
}

std::string head_text(const RunSummary& run) {
  const TraceSummary& first = run.traces.front();
  std::uint64_t bytes = 0;
  for (const TraceSummary& trace : run.traces) bytes += trace.bytes_read;
  std::string text = fmt::format("{}: {}", escaped(run.label), counted(run.traces.size(), "rank"));
  if (first.world_size) text += fmt::format(" of a world of {}", *first.world_size);
  if (!first.backend.empty()) text += fmt::format(", {}", first.backend);
  text += fmt::format("\n  recorded   {}\n", when(first.origin_ns));
  text += fmt::format("  JSON       {}\n", short_bytes(static_cast<std::int64_t>(bytes)));
  text += fmt::format("  clock      steps of {}\n", short_time(first.clock_step));
  text += fmt::format("  GPUs seen  {} (by the first rank)\n", devices(first));
  return text;
}

std::string ranks_text(const RunSummary& run) {
  Table table({{"rank"},
               {"span ms"},
               {"rows"},
               {"GPU rows"},
               {"communication"},
               {"threads"},
               {"streams"},
               {"steps"},
               {"file", kLeft}});
  for (std::size_t t = 0; t < run.traces.size(); ++t) {
    const TraceSummary& r = run.traces[t];
    table.add({std::to_string(rank_of(run, t)), in_ms(r.span), grouped(rows_of(r)),
               grouped(r.gpu_rows), grouped(r.communication_rows), std::to_string(r.threads),
               std::to_string(r.streams), std::to_string(steps_of(r)), file_of(r)});
  }
  return "\nRanks\n" + table.text();
}

std::string categories_text(const RunSummary& run) {
  Table table({{"category", kLeft}, {"rows"}});
  std::uint64_t others = 0;
  for (const TraceSummary& trace : run.traces) others += trace.other_rows;
  for (int c = 0; c < kCategoryCount; ++c) {
    std::uint64_t rows = 0;
    for (const TraceSummary& trace : run.traces) rows += trace.row_counts[c];
    if (rows > 0) table.add({category_name(static_cast<Category>(c)), grouped(rows)});
  }
  if (others > 0) table.add({"flows, instants, metadata", grouped(others)});
  return "\nRows\n" + table.text();
}

std::string steps_text(const RunSummary& run) {
  Table table({{"step", kLeft}, {"ranks"}, {"shortest ms"}, {"median"}, {"longest"}});
  for (const StepInfo& s : step_infos(run)) {
    table.add({s.name, std::to_string(s.lengths.size()), in_ms(s.lengths.front()),
               in_ms(s.median()), in_ms(s.lengths.back())});
  }
  return table.empty() ? "" : "\nSteps, on the host\n" + table.text();
}

std::string groups_text(const RunSummary& run) {
  Table table({{"group", kLeft}, {"description", kLeft}, {"size"}, {"rows"}, {"ranks", kLeft}});
  for (const GroupSummary& g : group_infos(run)) {
    table.add(
        {g.name, g.description, std::to_string(g.size), grouped(g.rows), shortened(g.ranks, 40)});
  }
  return table.empty() ? "" : "\nProcess groups\n" + table.text();
}

std::string features_text(const RunSummary& run) {
  Table table({{"holds", kLeft}, {"", kLeft}, {"", kLeft}});
  for (const RecordingFeature& f : recording_features(run)) {
    table.add({f.present ? "yes" : "no", f.what,
               f.present ? "" : std::string("to have it: ") + f.advice});
  }
  return "\nThe recording\n" + table.text();
}

void write_rank(JsonWriter& w, std::int32_t rank, const TraceSummary& r) {
  w.begin_object({}, Layout::kLine);
  w.integer("rank", rank);
  w.text("file", file_of(r));
  w.seconds("span_s", r.span);
  w.count("rows", rows_of(r));
  w.count("gpu_rows", r.gpu_rows);
  w.count("communication_rows", r.communication_rows);
  w.count("threads", r.threads);
  w.count("streams", r.streams);
  w.count("steps", steps_of(r));
  w.end_object();
}

void write_categories(JsonWriter& w, const RunSummary& run) {
  w.begin_object("rows");
  for (int c = 0; c < kCategoryCount; ++c) {
    std::uint64_t rows = 0;
    for (const TraceSummary& trace : run.traces) rows += trace.row_counts[c];
    w.count(category_name(static_cast<Category>(c)), rows);
  }
  w.end_object();
}

void write_steps(JsonWriter& w, const RunSummary& run) {
  w.begin_array("steps");
  for (const StepInfo& s : step_infos(run)) {
    w.begin_object({}, Layout::kLine);
    w.text("name", s.name);
    w.count("ranks", s.lengths.size());
    w.seconds("shortest_s", s.lengths.front());
    w.seconds("median_s", s.median());
    w.seconds("longest_s", s.lengths.back());
    w.end_object();
  }
  w.end_array();
}

void write_groups(JsonWriter& w, const RunSummary& run) {
  w.begin_array("groups");
  for (const GroupSummary& g : group_infos(run)) {
    w.begin_object({}, Layout::kLine);
    w.text("name", g.name);
    w.text("description", g.description);
    w.integer("size", g.size);
    w.count("rows", g.rows);
    w.text("ranks", g.ranks);
    w.end_object();
  }
  w.end_array();
}

void write_features(JsonWriter& w, const RunSummary& run) {
  w.begin_object("holds", Layout::kLine);
  for (const RecordingFeature& f : recording_features(run)) w.boolean(f.name, f.present);
  w.end_object();
}

}  // namespace

std::string trace_info_text(const RunSummary& run) {
  if (run.traces.empty()) return run.label + ": no trace\n";
  return head_text(run) + ranks_text(run) + categories_text(run) + steps_text(run) +
         groups_text(run) + features_text(run);
}

std::string trace_info_json(const RunSummary& run) {
  JsonWriter w;
  w.begin_object();
  w.text("name", run.label);
  if (!run.traces.empty()) {
    const TraceSummary& first = run.traces.front();
    w.text("recorded_at", when(first.origin_ns));
    w.text("backend", first.backend);
    w.integer("world_size",
              first.world_size.value_or(static_cast<std::int32_t>(run.traces.size())));
    w.seconds("clock_step_s", first.clock_step);
    w.text("gpus", devices(first));
  }
  w.begin_array("ranks");
  for (std::size_t t = 0; t < run.traces.size(); ++t) write_rank(w, rank_of(run, t), run.traces[t]);
  w.end_array();
  write_categories(w, run);
  write_steps(w, run);
  write_groups(w, run);
  write_features(w, run);
  w.end_object();
  return std::move(w).take();
}

}  // namespace flopcast
