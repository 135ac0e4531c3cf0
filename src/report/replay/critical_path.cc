// What the critical path consists of. The classes add up to its length: stretches between pieces
// are lags, and where a piece begins before the one before it has ended only what lies after
// counts.
#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "report/replay/summary.h"

namespace flopcast::report {
namespace {

bool is_host(TaskKind kind) {
  return kind == TaskKind::kOperator || kind == TaskKind::kHostCall || kind == TaskKind::kLaunch ||
         kind == TaskKind::kSync;
}

bool is_communication(const TraceSet& set, const PathPiece& piece) {
  if (piece.kind == TaskKind::kTransfer || piece.kind == TaskKind::kArrival) return true;
  const Events& events = set.traces[piece.trace].events;
  return piece.kind == TaskKind::kCompute &&
         is_communication_kernel(set.strings[events.name[piece.row]]);
}

class Shares {
 public:
  void add(std::string_view name, Time time, bool piece) {
    PathShare& share = shares_[std::string(name)];
    share.name = name;
    share.time += time;
    if (piece) ++share.pieces;
  }
  std::vector<PathShare> largest_first() const {
    std::vector<PathShare> list;
    for (const auto& [name, share] : shares_) list.push_back(share);
    std::stable_sort(list.begin(), list.end(),
                     [](const PathShare& a, const PathShare& b) { return a.time > b.time; });
    return list;
  }

 private:
  std::map<std::string, PathShare> shares_;
};

}  // namespace

const char* path_class(const TraceSet& set, const PathPiece& piece) {
  if (piece.pinned) return "pinned";
  if (piece.row == kNoDetail) return is_host(piece.kind) ? "host_gap" : "lag";
  if (is_communication(set, piece)) return "communication";
  return task_kind_name(piece.kind);
}

std::string path_class_title(const std::string& name) {
  static const std::map<std::string, std::string> titles = {
      {"operator", "host: operators"},
      {"host_call", "host: other calls"},
      {"launch", "host: launches"},
      {"sync", "host: waiting for the GPU"},
      {"host_gap", "host: between operators"},
      {"compute", "GPU: compute"},
      {"copy", "GPU: copies and sets"},
      {"communication", "GPU: communication"},
      {"lag", "lag after a dependency"},
      {"pinned", "pinned: as recorded"},
  };
  const auto found = titles.find(name);
  return found == titles.end() ? name : found->second;
}

PathSummary summarise_path(const TraceSet& set, const Replay& replay) {
  PathSummary summary;
  const CriticalPath& path = replay.critical_path;
  if (path.pieces.empty()) return summary;
  Shares classes;
  std::map<std::int32_t, PathShare> ranks;
  const Time first = path.pieces.front().start;
  Time reached = first;
  std::uint32_t last_trace = path.pieces.front().trace;
  for (const PathPiece& piece : path.pieces) {
    const Time lag = std::max(Time{}, piece.start - reached);
    const Time time = std::max(Time{}, piece.end - std::max(piece.start, reached));
    reached = std::max(reached, piece.end);
    if (lag.ps > 0) classes.add("lag", lag, false);
    classes.add(path_class(set, piece), time, true);
    PathShare& rank = ranks[rank_of(set, piece.trace)];
    rank.time += lag + time;
    ++rank.pieces;
    if (piece.trace != last_trace) ++summary.rank_changes;
    last_trace = piece.trace;
    if (piece.pinned) {
      ++summary.pinned_starts;
      summary.pinned = reached - first;
    }
  }
  summary.length = reached - first;
  summary.last_rank = rank_of(set, path.last_trace);
  summary.window = reached - path.window_start;
  summary.pieces = path.pieces.size();
  summary.classes = classes.largest_first();
  for (auto& [rank, share] : ranks) {
    share.name = std::to_string(rank);
    summary.ranks.push_back(share);
  }
  return summary;
}

}  // namespace flopcast::report
