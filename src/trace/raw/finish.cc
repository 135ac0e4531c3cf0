#include "trace/raw/finish.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "base/numeric/median.h"
#include "base/text/numbers.h"
#include "trace/raw/gather.h"

namespace flopcast::trace {
namespace {

constexpr std::int64_t kDropped = -1;  // as a duration
constexpr std::int64_t kPidsPerRank = 100000000;

void count_row(RawTrace& raw, const char* kind, std::uint32_t row) {
  const Events& events = raw.trace.events;
  raw.trace.anomalies.add(kind, [&] {
    return "row \"" + std::string(raw.strings[events.name[row]].substr(0, 80)) + "\" at " +
           std::to_string(raw.start_ns[row]) + " ns";
  });
}

// --- B and E ---------------------------------------------------------------------------------

struct Mark {
  std::uint32_t track;
  std::int64_t time_ns;
  std::uint64_t order;
  std::uint32_t row;  // of a begin; kNoDetail for an end
};

// Within a track an E closes the last B that is still open.
void pair_begin_end(RawTrace& raw) {
  const Events& events = raw.trace.events;
  std::vector<Mark> marks;
  for (const RawTrace::Begin& b : raw.begins) {
    marks.push_back({events.track[b.row], raw.start_ns[b.row], b.order, b.row});
    raw.duration_ns[b.row] = kDropped;
  }
  for (const RawTrace::End& e : raw.ends) marks.push_back({e.track, e.time_ns, e.order, kNoDetail});
  std::sort(marks.begin(), marks.end(), [](const Mark& a, const Mark& b) {
    return std::tie(a.track, a.time_ns, a.order) < std::tie(b.track, b.time_ns, b.order);
  });
  Rows open;
  for (std::size_t i = 0; i < marks.size(); ++i) {
    if (i > 0 && marks[i].track != marks[i - 1].track) open.clear();
    if (marks[i].row != kNoDetail) {
      open.push_back(marks[i].row);
    } else if (open.empty()) {
      raw.trace.anomalies.add("unmatched_end", [&] {
        return "ph E at " + std::to_string(marks[i].time_ns) + " ns closes nothing";
      });
    } else {
      const std::int64_t begin = raw.start_ns[open.back()], end = marks[i].time_ns;
      if (!far_apart(end, begin)) raw.duration_ns[open.back()] = end - begin;
      open.pop_back();
    }
  }
  for (const RawTrace::Begin& b : raw.begins) {
    if (raw.duration_ns[b.row] != kDropped) continue;
    count_row(raw, "unmatched_begin", b.row);
    --raw.trace.row_counts[static_cast<int>(events.category[b.row])];
  }
}

// --- Rows that have a place in time --------------------------------------------------------------

// A start in the middle of the others: what a lone timestamp far away is measured against.
std::int64_t middle_start(const RawTrace& raw, const Rows& rows) {
  std::vector<std::int64_t> starts;
  starts.reserve(rows.size());
  for (const std::uint32_t row : rows) starts.push_back(raw.start_ns[row]);
  return upper_median(starts);
}

Rows placeable_rows(RawTrace& raw) {
  const Events& events = raw.trace.events;
  Rows rows;
  rows.reserve(raw.events());
  std::int64_t first = std::numeric_limits<std::int64_t>::max(), last = -first;
  for (std::uint32_t row = 0; row < raw.events(); ++row) {
    if (raw.duration_ns[row] == kDropped) continue;
    if (raw.duration_ns[row] > kMostSpanNs) {
      count_row(raw, "huge_number", row);
      --raw.trace.row_counts[static_cast<int>(events.category[row])];
      continue;
    }
    first = std::min(first, raw.start_ns[row]);
    last = std::max(last, raw.start_ns[row]);
    rows.push_back(row);
  }
  if (rows.empty() || !far_apart(first, last)) return rows;
  const std::int64_t middle = middle_start(raw, rows);
  std::erase_if(rows, [&](std::uint32_t row) {
    // A quarter on each side keeps the whole within reach of its first row.
    const bool away = far_apart(raw.start_ns[row], middle) ||
                      std::abs(raw.start_ns[row] - middle) > kMostSpanNs / 2;
    if (away) {
      count_row(raw, "far_from_other_rows", row);
      --raw.trace.row_counts[static_cast<int>(events.category[row])];
    }
    return away;
  });
  return rows;
}

// --- Order -----------------------------------------------------------------------------------

struct Key {
  std::int64_t start_ns;
  std::int64_t duration_ns;
  std::uint32_t row;
};

// Clocks of whole microseconds leave many ties. Ids count up as the program runs, and spans that
// enclose others carry no correlation or a smaller External id, so ids tell more than the order in
// the file.
void sort_rows(const RawTrace& raw, Rows& rows) {
  std::vector<Key> keys;
  keys.reserve(rows.size());
  for (const std::uint32_t row : rows) {
    keys.push_back({raw.start_ns[row], raw.duration_ns[row], row});
  }
  const Events& events = raw.trace.events;
  const auto place = [&raw](std::uint32_t row) { return raw.order.empty() ? row : raw.order[row]; };
  std::sort(keys.begin(), keys.end(), [&](const Key& a, const Key& b) {
    if (a.start_ns != b.start_ns) return a.start_ns < b.start_ns;
    if (a.duration_ns != b.duration_ns) return a.duration_ns > b.duration_ns;
    const auto ids = [&](std::uint32_t row) {
      return std::tuple(events.correlation[row], events.external_id[row], place(row), row);
    };
    return ids(a.row) < ids(b.row);
  });
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = keys[i].row;
}

// --- Beside the rows --------------------------------------------------------------------------

void place_flows(const std::vector<RawTrace::Flow>& flows, std::int64_t first_ns, Trace& out) {
  for (const RawTrace::Flow& flow : flows) {
    if (far_apart(flow.time_ns, first_ns)) continue;
    out.flows.push_back(
        {flow.id, flow.track, Time::from_ns(flow.time_ns - first_ns), flow.is_source});
  }
  std::sort(out.flows.begin(), out.flows.end(), [](const FlowPoint& a, const FlowPoint& b) {
    return std::tuple(a.time, a.id, !a.is_source, a.track) <
           std::tuple(b.time, b.id, !b.is_source, b.track);
  });
}

void name_tracks(RawTrace& raw) {
  std::map<std::uint32_t, std::uint32_t> processes;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> threads;
  for (const RawTrace::NameRow& row : raw.names) {
    if (row.of_process) {
      processes[row.pid] = row.name;
    } else {
      threads[{row.pid, row.tid}] = row.name;
    }
  }
  for (Track& track : raw.trace.tracks) {
    const auto process = processes.find(track.pid);
    if (process != processes.end()) track.process_name = process->second;
    const auto thread = threads.find({track.pid, track.tid});
    if (thread != threads.end()) track.thread_name = thread->second;
  }
}

// --- Merged files ------------------------------------------------------------------------------

/// What the ranks of a merged file are, and which rank each track belongs to.
struct Ranks {
  std::set<std::int32_t> all;          // empty: the rows say nothing
  std::vector<std::int32_t> of_track;  // kNoRank where the pid is text
};

// Merged files write pids as rank * 100,000,000 + pid. Where numeric pids do not agree with
// args.rank the argument means something else and the file is one rank's.
Ranks find_ranks(const RawTrace& raw) {
  Ranks ranks;
  if (raw.row_rank.empty()) return ranks;
  for (const Track& track : raw.trace.tracks) {
    ranks.of_track.push_back(rank_of_pid(raw.strings[track.pid]));
  }
  for (std::size_t row = 0; row < raw.row_rank.size(); ++row) {
    const std::int32_t rank = raw.row_rank[row];
    if (rank == kNoRank) continue;
    const std::int32_t by_pid = ranks.of_track[raw.trace.events.track[row]];
    if (rank < 0 || (by_pid != kNoRank && by_pid != rank)) return {};
    ranks.all.insert(rank);
  }
  return ranks;
}

// "103194583" → "3194583".
void restore_pids(const StringTable& strings, StringTable& to, Trace& trace) {
  for (Track& track : trace.tracks) {
    const auto pid = parse_whole(strings[track.pid]);
    if (pid && *pid >= kPidsPerRank) track.pid = to.intern(std::to_string(*pid % kPidsPerRank));
  }
}

Trace finish_one(RawTrace& raw, Rows rows, const std::vector<RawTrace::Flow>& flows,
                 bool last_use) {
  sort_rows(raw, rows);
  const std::int64_t first_ns =
      rows.empty() ? raw.window_end_ns.value_or(0) : raw.start_ns[rows.front()];
  Trace out;
  set_origin(first_ns, raw.base_ns, out);
  gather_times(raw.start_ns, rows, first_ns, last_use, out.events.start);
  gather_times(raw.duration_ns, rows, 0, last_use, out.events.duration);
  gather_columns(raw.trace.events, rows, last_use, out.events);
  gather_details(raw.trace, out);
  place_flows(flows, first_ns, out);
  if (raw.window_end_ns && !far_apart(*raw.window_end_ns, first_ns)) {
    out.window_end = Time::from_ns(*raw.window_end_ns - first_ns);
  }
  out.clock_step = Time::from_ns(raw.step_ns);
  gather_tracks(raw.trace.tracks, out);
  return out;
}

std::vector<Trace> split_by_rank(RawTrace& raw, const Ranks& ranks, const Rows& rows) {
  std::vector<Trace> out;
  const auto rank_of_row = [&](std::uint32_t row) {
    const std::int32_t by_row = raw.row_rank[row];
    const std::int32_t rank =
        by_row != kNoRank ? by_row : ranks.of_track[raw.trace.events.track[row]];
    return rank == kNoRank ? *ranks.all.begin() : rank;
  };
  std::map<std::int32_t, Rows> parts;
  for (const std::int32_t rank : ranks.all) parts[rank];
  for (const std::uint32_t row : rows) parts[rank_of_row(row)].push_back(row);
  for (auto& [rank, part] : parts) {
    std::vector<RawTrace::Flow> flows;
    for (const RawTrace::Flow& flow : raw.flows) {
      if (ranks.of_track[flow.track] == rank) flows.push_back(flow);
    }
    Trace trace = finish_one(raw, std::move(part), flows, false);
    trace.rank = rank;
    for (const Category category : trace.events.category) {
      ++trace.row_counts[static_cast<int>(category)];
    }
    restore_pids(raw.strings, raw.strings, trace);
    out.push_back(std::move(trace));
  }
  return out;
}

}  // namespace

bool far_apart(std::int64_t a, std::int64_t b) {
  std::int64_t difference = 0;
  if (__builtin_sub_overflow(a, b, &difference)) return true;
  return difference > kMostSpanNs || difference < -kMostSpanNs;
}

void set_origin(std::int64_t first_ns, std::int64_t base_ns, TraceFacts& out) {
  if (__builtin_add_overflow(first_ns, base_ns, &out.origin_ns)) {
    out.origin_ns = first_ns;
    out.anomalies.add("bad_base_time", [&] {
      return "baseTimeNanoseconds " + std::to_string(base_ns) + " and the first row do not add up";
    });
  }
}

std::int32_t rank_of_pid(std::string_view pid) {
  const auto number = parse_whole(pid);
  const bool ours =
      number && *number >= 0 && *number / kPidsPerRank <= std::numeric_limits<std::int32_t>::max();
  return ours ? static_cast<std::int32_t>(*number / kPidsPerRank) : kNoRank;
}

std::vector<Trace> finish_traces(RawTrace& raw) {
  if (!raw.row_rank.empty()) raw.row_rank.resize(raw.events(), kNoRank);
  pair_begin_end(raw);
  Rows rows = placeable_rows(raw);
  name_tracks(raw);
  const Ranks ranks = find_ranks(raw);
  std::vector<Trace> out;
  if (is_merged(ranks.all, raw.trace)) {
    out = split_by_rank(raw, ranks, rows);
  } else {
    out.push_back(finish_one(raw, std::move(rows), raw.flows, true));
    out[0].rank = raw.trace.rank;
    std::copy(std::begin(raw.trace.row_counts), std::end(raw.trace.row_counts), out[0].row_counts);
  }
  share_facts(raw.trace, out);
  return out;
}

void adopt_strings(Trace& trace, const StringTable& from, StringTable& to) {
  std::vector<std::uint32_t> place(from.size(), kNoDetail);
  const auto adopt = [&](std::uint32_t& id) {
    if (place[id] == kNoDetail) place[id] = to.intern(from[id]);
    id = place[id];
  };
  for (std::uint32_t& name : trace.events.name) adopt(name);
  for (Track& track : trace.tracks) {
    adopt(track.pid), adopt(track.tid), adopt(track.process_name), adopt(track.thread_name);
  }
  for (OpDetail& op : trace.ops) {
    adopt(op.input_dims), adopt(op.input_types), adopt(op.concrete_inputs);
  }
  for (CollectiveDetail& c : trace.collectives) {
    adopt(c.name), adopt(c.dtype), adopt(c.group_name), adopt(c.group_desc), adopt(c.group_ranks);
  }
}

}  // namespace flopcast::trace
