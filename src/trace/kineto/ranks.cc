#include "trace/kineto/ranks.h"

#include <filesystem>
#include <limits>
#include <set>

#include "trace/kineto/files.h"

namespace flopcast::trace {

namespace fs = std::filesystem;

void take_rank_from_name(TraceFacts& trace) {
  const auto rank = rank_in_name(fs::path(trace.path).filename().string());
  if (!rank) return;
  trace.rank = rank;
  trace.anomalies.add("rank_from_file_name", [&] {
    return trace.path + ": no rank in distributedInfo, " + std::to_string(*rank) + " from the name";
  });
}

void make_ranks_unique(const std::vector<TraceFacts*>& traces, Anomalies& anomalies) {
  std::set<std::int32_t> taken;
  std::vector<TraceFacts*> again;
  for (TraceFacts* trace : traces) {
    if (trace->rank && !taken.insert(*trace->rank).second) again.push_back(trace);
  }
  std::int32_t next = 0;
  for (TraceFacts* trace : again) {
    while (taken.contains(next)) ++next;
    taken.insert(next);
    anomalies.add("duplicate_rank", [&] {
      return trace->path + ": rank " + std::to_string(*trace->rank) +
             " is taken, counted as rank " + std::to_string(next);
    });
    trace->rank = next;
  }
}

bool by_rank(const TraceFacts& a, const TraceFacts& b) {
  constexpr auto kLast = std::numeric_limits<std::int64_t>::max();
  const auto rank = [](const TraceFacts& t) { return t.rank ? std::int64_t{*t.rank} : kLast; };
  return rank(a) != rank(b) ? rank(a) < rank(b) : a.path < b.path;
}

void check_world(const std::vector<TraceFacts*>& traces, Anomalies& anomalies) {
  std::set<std::int32_t> sizes;
  std::size_t ranked = 0;
  for (const TraceFacts* trace : traces) {
    if (trace->world_size) sizes.insert(*trace->world_size);
    ranked += trace->rank ? 1 : 0;
  }
  if (traces.size() > 1 && ranked < traces.size()) {
    anomalies.add(
        "trace_without_rank", [] { return "several traces, not all say their rank"; },
        traces.size() - ranked);
  }
  if (sizes.size() > 1) {
    anomalies.add("world_sizes_differ", [&] {
      return "from " + std::to_string(*sizes.begin()) + " to " + std::to_string(*sizes.rbegin());
    });
  } else if (sizes.size() == 1 && static_cast<std::size_t>(*sizes.begin()) > traces.size()) {
    anomalies.add(
        "ranks_missing",
        [&] {
          return "a world of " + std::to_string(*sizes.begin()) + ", traces of " +
                 std::to_string(traces.size());
        },
        static_cast<std::uint64_t>(*sizes.begin()) - traces.size());
  }
}

}  // namespace flopcast::trace
