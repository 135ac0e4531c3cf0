// The rank that the others wait for, and what the parts of the work are called.
#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/format.h"
#include "report/replay/summary.h"

namespace flopcast::report {
namespace {

/// The straggler holds more than this of the path while ranks wait for each other ...
constexpr double kMostOfPath = 0.5;
/// ... and the others wait for it for more than this share of their time.
constexpr double kShareOfRun = 0.01;

/// Time of the critical path by trace: after the last start that is as recorded, since what comes
/// before it holds nobody up; up to the last communication, after which nobody waits.
std::vector<Time> path_by_trace(const TraceSet& set, const CriticalPath& path) {
  std::size_t first = 0;
  std::size_t last = path.pieces.size();
  for (std::size_t i = 0; i < path.pieces.size(); ++i) {
    if (path.pieces[i].pinned) first = i + 1;
  }
  for (std::size_t i = first; i < path.pieces.size(); ++i) {
    if (std::string_view(path_class(set, path.pieces[i])) == "communication") last = i + 1;
  }
  std::vector<Time> times(set.traces.size());
  for (std::size_t i = first; i < last; ++i) {
    times[path.pieces[i].trace] += path.pieces[i].end - path.pieces[i].start;
  }
  return times;
}

}  // namespace

std::vector<LateRank> late_ranks(const TraceSet& set, const Replay& replay,
                                 const HostWaits& for_hosts) {
  std::vector<Time> for_host(set.traces.size());
  for (std::size_t c = 0; c < replay.collectives.size(); ++c) {
    const CollectiveInstance& collective = replay.collectives[c];
    if (collective.members.size() < 2 || collective.point_to_point) continue;
    Time& sum = for_host[collective.members[collective.last()].trace];
    for (const Pair<Time>& wait : for_hosts[c]) sum += wait.replayed;
  }
  std::vector<LateRank> list;
  for (const WaitedFor& late : waited_for(replay.collectives))
    list.push_back({rank_of(set, late.trace), late.last, late.waited, for_host[late.trace]});
  return list;
}

std::optional<Straggler> find_straggler(const TraceSet& set, const Replay& replay,
                                        const std::vector<RankSummary>& ranks,
                                        const std::vector<LateRank>& late) {
  const std::vector<Time> times = path_by_trace(set, replay.critical_path);
  const auto most = std::max_element(times.begin(), times.end());
  if (most == times.end()) return std::nullopt;
  const auto trace = static_cast<std::size_t>(most - times.begin());
  Straggler straggler;
  straggler.rank = rank_of(set, trace);
  straggler.share_of_path = share(*most, std::accumulate(times.begin(), times.end(), Time{}));
  Time all;
  for (const LateRank& one : late) {
    straggler.collectives += one.last;
    all += one.waited;
    if (one.rank != straggler.rank) continue;
    straggler.last = one.last;
    straggler.waited = one.waited;
    straggler.for_host = one.for_host;
  }
  straggler.share_of_waiting = share(straggler.waited, all);
  Time windows;
  for (const RankSummary& rank : ranks) windows += rank.window.replayed;
  if (straggler.share_of_path <= kMostOfPath || share(straggler.waited, windows) <= kShareOfRun)
    return std::nullopt;
  return straggler;
}

std::string work_part_title(const std::string& name) {
  static const std::map<std::string, std::string> titles = {
      {"host", "host: operators, calls, gaps"},
      {"gemm", "GPU: matrix products"},
      {"attention", "GPU: attention"},
      {"other_kernels", "GPU: other kernels"},
      {"copies", "GPU: copies and sets"},
      {"network", "network: every transfer"},
      {"other_communication", "other communication"},
  };
  const auto found = titles.find(name);
  if (found != titles.end()) return found->second;
  std::string words = name;
  std::replace(words.begin(), words.end(), '_', '-');
  return words;
}

}  // namespace flopcast::report
