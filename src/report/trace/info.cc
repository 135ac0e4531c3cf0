#include "flopcast/report/trace.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <set>
#include <tuple>

#include "base/text/format.h"
#include "base/text/json_writer.h"
#include "base/text/shown.h"
#include "base/text/utf8.h"
#include "report/render/table.h"
#include "report/replay/summary.h"

namespace flopcast {

using namespace report;  // the room's own names

namespace {

using Align::kLeft;
using Layout = JsonWriter::Layout;

struct RankInfo {
  std::int32_t rank = 0;
  std::string file;
  Time span;
  std::uint64_t rows = 0, gpu_rows = 0, threads = 0, streams = 0, collectives = 0, steps = 0;
};

struct StepInfo {
  std::string name;
  std::vector<Time> lengths;  // one per rank that has it, sorted
  Time median() const { return lengths[lengths.size() / 2]; }
};

struct GroupInfo {
  std::string name, description, ranks;
  std::int32_t size = 0;
  std::uint64_t rows = 0;
};

RankInfo rank_info(const TraceSet& set, std::size_t t) {
  const Trace& trace = set.traces[t];
  const Events& events = trace.events;
  RankInfo info;
  info.rank = rank_of(set, t);
  info.file = std::filesystem::path(trace.path).filename().string();
  std::set<std::uint32_t> threads;
  std::set<std::pair<std::int32_t, std::int32_t>> streams;
  Time first = Time::max();
  Time last = Time::min();
  for (std::size_t row = 0; row < events.size(); ++row) {
    first = std::min(first, events.start[row]);
    last = std::max(last, events.end(row));
    if (is_gpu_work(events.category[row])) {
      ++info.gpu_rows;
      streams.insert({events.device[row], events.stream[row]});
      if (is_communication_kernel(set.strings[events.name[row]])) ++info.collectives;
    } else if (is_host_call(events.category[row]) || events.category[row] == Category::kCpuOp) {
      threads.insert(events.track[row]);
    }
  }
  for (const std::uint64_t count : trace.row_counts) info.rows += count;
  if (events.size() > 0) info.span = last - first;
  info.threads = threads.size();
  info.streams = streams.size();
  for (const Step& step : find_steps(set, trace)) info.steps += step.event != kNoDetail ? 1 : 0;
  return info;
}

/// Steps in the order the first rank that has them met them.
std::vector<StepInfo> step_infos(const TraceSet& set) {
  std::vector<StepInfo> list;
  for (const Trace& trace : set.traces) {
    for (const Step& step : find_steps(set, trace)) {
      auto known = std::find_if(list.begin(), list.end(),
                                [&](const StepInfo& s) { return s.name == step.name; });
      if (known == list.end()) known = list.insert(list.end(), {step.name, {}});
      known->lengths.push_back(step.end - step.start);
    }
  }
  for (StepInfo& step : list) std::sort(step.lengths.begin(), step.lengths.end());
  return list;
}

std::vector<GroupInfo> group_infos(const TraceSet& set) {
  std::map<std::tuple<std::string, std::string, std::string>, GroupInfo> groups;
  for (const Trace& trace : set.traces) {
    for (const CollectiveDetail& c : trace.collectives) {
      if (c.is_wait || (c.group_name == 0 && c.group_ranks == 0)) continue;
      const std::string name(set.strings[c.group_name]);
      const std::string description(set.strings[c.group_desc]);
      const std::string ranks(set.strings[c.group_ranks]);
      GroupInfo& group = groups[{name, description, ranks}];
      group = {name, description, ranks, c.group_size, group.rows + 1};
    }
  }
  std::vector<GroupInfo> list;
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

std::string devices(const Trace& trace) {
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

std::string head_text(const TraceSet& set) {
  const Trace& first = set.traces.front();
  std::uint64_t bytes = 0;
  for (const Trace& trace : set.traces) bytes += trace.bytes_read;
  std::string text = fmt::format("{}: {}", escaped(set.label), counted(set.traces.size(), "rank"));
  if (first.world_size) text += fmt::format(" of a world of {}", *first.world_size);
  if (!first.backend.empty()) text += fmt::format(", {}", first.backend);
  text += fmt::format("\n  recorded   {}\n", when(first.origin_ns));
  text += fmt::format("  JSON       {}\n", short_bytes(static_cast<std::int64_t>(bytes)));
  text += fmt::format("  clock      steps of {}\n", short_time(first.clock_step));
  text += fmt::format("  GPUs seen  {} (by the first rank)\n", devices(first));
  return text;
}

std::string ranks_text(const TraceSet& set) {
  Table table({{"rank"},
               {"span ms"},
               {"rows"},
               {"GPU rows"},
               {"communication"},
               {"threads"},
               {"streams"},
               {"steps"},
               {"file", kLeft}});
  for (std::size_t t = 0; t < set.traces.size(); ++t) {
    const RankInfo r = rank_info(set, t);
    table.add({std::to_string(r.rank), in_ms(r.span), grouped(r.rows), grouped(r.gpu_rows),
               grouped(r.collectives), std::to_string(r.threads), std::to_string(r.streams),
               std::to_string(r.steps), r.file});
  }
  return "\nRanks\n" + table.text();
}

std::string categories_text(const TraceSet& set) {
  Table table({{"category", kLeft}, {"rows"}});
  std::uint64_t others = 0;
  for (const Trace& trace : set.traces) others += trace.other_rows;
  for (int c = 0; c < kCategoryCount; ++c) {
    std::uint64_t rows = 0;
    for (const Trace& trace : set.traces) rows += trace.row_counts[c];
    if (rows > 0) table.add({category_name(static_cast<Category>(c)), grouped(rows)});
  }
  if (others > 0) table.add({"flows, instants, metadata", grouped(others)});
  return "\nRows\n" + table.text();
}

std::string steps_text(const TraceSet& set) {
  Table table({{"step", kLeft}, {"ranks"}, {"shortest ms"}, {"median"}, {"longest"}});
  for (const StepInfo& s : step_infos(set)) {
    table.add({s.name, std::to_string(s.lengths.size()), in_ms(s.lengths.front()),
               in_ms(s.median()), in_ms(s.lengths.back())});
  }
  return table.empty() ? "" : "\nSteps, on the host\n" + table.text();
}

std::string groups_text(const TraceSet& set) {
  Table table({{"group", kLeft}, {"description", kLeft}, {"size"}, {"rows"}, {"ranks", kLeft}});
  for (const GroupInfo& g : group_infos(set)) {
    table.add(
        {g.name, g.description, std::to_string(g.size), grouped(g.rows), shortened(g.ranks, 40)});
  }
  return table.empty() ? "" : "\nProcess groups\n" + table.text();
}

std::string features_text(const TraceSet& set) {
  Table table({{"holds", kLeft}, {"", kLeft}, {"", kLeft}});
  for (const RecordingFeature& f : recording_features(set)) {
    table.add({f.present ? "yes" : "no", f.what,
               f.present ? "" : std::string("to have it: ") + f.advice});
  }
  return "\nThe recording\n" + table.text();
}

void write_rank(JsonWriter& w, const RankInfo& r) {
  w.begin_object({}, Layout::kLine);
  w.integer("rank", r.rank);
  w.text("file", r.file);
  w.seconds("span_s", r.span);
  w.count("rows", r.rows);
  w.count("gpu_rows", r.gpu_rows);
  w.count("communication_rows", r.collectives);
  w.count("threads", r.threads);
  w.count("streams", r.streams);
  w.count("steps", r.steps);
  w.end_object();
}

void write_categories(JsonWriter& w, const TraceSet& set) {
  w.begin_object("rows");
  for (int c = 0; c < kCategoryCount; ++c) {
    std::uint64_t rows = 0;
    for (const Trace& trace : set.traces) rows += trace.row_counts[c];
    w.count(category_name(static_cast<Category>(c)), rows);
  }
  w.end_object();
}

void write_steps(JsonWriter& w, const TraceSet& set) {
  w.begin_array("steps");
  for (const StepInfo& s : step_infos(set)) {
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

void write_groups(JsonWriter& w, const TraceSet& set) {
  w.begin_array("groups");
  for (const GroupInfo& g : group_infos(set)) {
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

void write_features(JsonWriter& w, const TraceSet& set) {
  w.begin_object("holds", Layout::kLine);
  for (const RecordingFeature& f : recording_features(set)) w.boolean(f.name, f.present);
  w.end_object();
}

}  // namespace

std::string trace_info_text(const TraceSet& set) {
  if (set.traces.empty()) return set.label + ": no trace\n";
  return head_text(set) + ranks_text(set) + categories_text(set) + steps_text(set) +
         groups_text(set) + features_text(set);
}

std::string trace_info_json(const TraceSet& set) {
  JsonWriter w;
  w.begin_object();
  w.text("name", set.label);
  if (!set.traces.empty()) {
    const Trace& first = set.traces.front();
    w.text("recorded_at", when(first.origin_ns));
    w.text("backend", first.backend);
    w.integer("world_size",
              first.world_size.value_or(static_cast<std::int32_t>(set.traces.size())));
    w.seconds("clock_step_s", first.clock_step);
    w.text("gpus", devices(first));
  }
  w.begin_array("ranks");
  for (std::size_t t = 0; t < set.traces.size(); ++t) write_rank(w, rank_info(set, t));
  w.end_array();
  write_categories(w, set);
  write_steps(w, set);
  write_groups(w, set);
  write_features(w, set);
  w.end_object();
  return std::move(w).take();
}

}  // namespace flopcast
