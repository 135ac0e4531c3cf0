// The input with the times of the replay: what the trace writers turn into files.
#include <algorithm>
#include <limits>
#include <numeric>

#include "flopcast/report/replay.h"

namespace flopcast {
namespace {

/// Ids stay what they were: interning in order gives each text its old number.
StringTable copied(const StringTable& strings) {
  StringTable copy;
  for (std::uint32_t id = 0; id < strings.size(); ++id) copy.intern(strings[id]);
  return copy;
}

/// New position → old row, in the order trace.h promises: start, longer first, then as before.
std::vector<std::uint32_t> order_of(const std::vector<Time>& start, const std::vector<Time>& end) {
  std::vector<std::uint32_t> order(start.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    if (start[a] != start[b]) return start[a] < start[b];
    return end[a] - start[a] > end[b] - start[b];
  });
  return order;
}

template <typename T>
void rearrange(std::vector<T>& column, const std::vector<std::uint32_t>& order) {
  std::vector<T> sorted;
  sorted.reserve(column.size());
  for (const std::uint32_t row : order) sorted.push_back(column[row]);
  column = std::move(sorted);
}

void set_times(Trace& trace, const std::vector<Time>& start, const std::vector<Time>& end) {
  Events& events = trace.events;
  events.start = start;
  for (std::size_t row = 0; row < events.size(); ++row) {
    events.duration[row] = std::max(Time{}, end[row] - start[row]);
  }
  const std::vector<std::uint32_t> order = order_of(start, end);
  rearrange(events.start, order);
  rearrange(events.duration, order);
  rearrange(events.name, order);
  rearrange(events.track, order);
  rearrange(events.category, order);
  rearrange(events.stream, order);
  rearrange(events.device, order);
  rearrange(events.correlation, order);
  rearrange(events.external_id, order);
  rearrange(events.detail, order);
  rearrange(events.collective, order);
}

/// Flow points move with the row they lie in: the last row of their track that starts at or before
/// them.
void move_flows(Trace& moved, const Trace& trace, const std::vector<Time>& start) {
  std::vector<std::vector<std::uint32_t>> rows_of_track(trace.tracks.size());
  for (std::uint32_t row = 0; row < trace.events.size(); ++row) {
    rows_of_track[trace.events.track[row]].push_back(row);
  }
  for (FlowPoint& point : moved.flows) {
    const auto& rows = rows_of_track[point.track];
    const auto after =
        std::upper_bound(rows.begin(), rows.end(), point.time,
                         [&](Time t, std::uint32_t row) { return t < trace.events.start[row]; });
    if (after == rows.begin()) continue;
    const std::uint32_t row = *(after - 1);
    point.time += start[row] - trace.events.start[row];
  }
}

}  // namespace

TraceSet replayed_traces(const TraceSet& set, const Replay& replay) {
  TraceSet result;
  result.label = set.label;
  result.strings = copied(set.strings);
  result.anomalies = set.anomalies;
  result.traces = set.traces;
  // All ranks are on one clock now, that of the earliest.
  std::int64_t origin = std::numeric_limits<std::int64_t>::max();
  for (const Trace& trace : set.traces) origin = std::min(origin, trace.origin_ns);
  for (std::size_t t = 0; t < set.traces.size(); ++t) {
    Trace& moved = result.traces[t];
    move_flows(moved, set.traces[t], replay.replayed.start[t]);
    set_times(moved, replay.replayed.start[t], replay.replayed.end[t]);
    moved.origin_ns = origin;
  }
  return result;
}

}  // namespace flopcast
