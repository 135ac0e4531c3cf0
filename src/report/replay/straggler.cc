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

/// How long others wait for one rank, in collectives it comes last to; by plan or not.
void add_waiting(const Replay& replay, const HostWaits& for_hosts, std::size_t trace,
                 Straggler& straggler) {
  Time all;
  for (std::size_t c = 0; c < replay.collectives.size(); ++c) {
    const CollectiveInstance& collective = replay.collectives[c];
    if (collective.members.size() < 2) continue;
    ++straggler.collectives;
    Time waited;
    for (const CollectiveInstance::Member& m : collective.members) waited += m.replayed_wait;
    all += waited;
    const CollectiveInstance::Member& last = collective.members[collective.last()];
    if (last.trace != trace) continue;
    ++straggler.last;
    straggler.waited += waited - last.replayed_wait;
    for (const Pair<Time>& wait : for_hosts[c]) straggler.for_host += wait.replayed;
  }
  straggler.share_of_waiting = share(straggler.waited, all);
}

/// The stage of a pipeline that has most to do holds the path as well, and is nobody's fault: the rank's equals wait
/// for it, or the step gains if it is like them. Where that was not asked, nothing speaks against it.
bool is_slower_than_equals(const Replay& replay, std::int32_t rank,
                           const std::vector<LateRank>& late, Time windows) {
  if (replay.stages.empty() || !replay.sensitivity) return true;
  const std::optional<RankLikeEquals>& found = replay.sensitivity->straggler;
  if (found && found->rank == rank) return true;
  return std::ranges::any_of(late, [&](const LateRank& one) {
    return one.rank == rank && share(one.waited, windows) > kShareOfRun;
  });
}

}  // namespace

std::vector<LateRank> late_ranks(const TraceSet& set, const Replay& replay,
                                 const HostWaits& for_hosts) {
  std::vector<Time> for_host(set.traces.size());
  for (std::size_t c = 0; c < replay.collectives.size(); ++c) {
    const CollectiveInstance& collective = replay.collectives[c];
    if (collective.members.size() < 2) continue;
    Time& sum = for_host[collective.members[collective.last()].trace];
    for (std::size_t m = 0; m < for_hosts[c].size(); ++m) {
      if (!waits_by_plan(collective, m, replay.stages)) sum += for_hosts[c][m].replayed;
    }
  }
  std::vector<LateRank> list;
  for (const WaitedFor& late : waited_for(replay.collectives, replay.stages)) {
    if (late.waited > Time{})
      list.push_back({rank_of(set, late.trace), late.last, late.waited, for_host[late.trace]});
  }
  return list;
}

std::optional<Straggler> find_straggler(const TraceSet& set, const Replay& replay,
                                        const std::vector<RankSummary>& ranks,
                                        const HostWaits& for_hosts,
                                        const std::vector<LateRank>& late) {
  const std::vector<Time> times = path_by_trace(set, replay.critical_path);
  const auto most = std::max_element(times.begin(), times.end());
  if (most == times.end()) return std::nullopt;
  const auto trace = static_cast<std::size_t>(most - times.begin());
  Straggler straggler;
  straggler.rank = rank_of(set, trace);
  straggler.share_of_path = share(*most, std::accumulate(times.begin(), times.end(), Time{}));
  add_waiting(replay, for_hosts, trace, straggler);
  Time windows;
  for (const RankSummary& rank : ranks) windows += rank.window.replayed;
  if (straggler.share_of_path <= kMostOfPath || share(straggler.waited, windows) <= kShareOfRun)
    return std::nullopt;
  if (!is_slower_than_equals(replay, straggler.rank, late, windows)) return std::nullopt;
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
