#include "report/replay/host_waits.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace flopcast::report {
namespace {

/// When a GPU has work: any row of it.
class BusyTime {
 public:
  BusyTime() = default;
  BusyTime(const Trace& trace, const std::vector<Time>& start, const std::vector<Time>& end) {
    std::vector<std::pair<Time, Time>> rows;
    for (std::size_t row = 0; row < trace.events.size(); ++row) {
      if (is_gpu_work(trace.events.category[row]) && end[row] > start[row])
        rows.emplace_back(start[row], end[row]);
    }
    std::sort(rows.begin(), rows.end());
    for (const auto& [from, to] : rows) {
      if (!spans_.empty() && from <= spans_.back().to) {
        spans_.back().to = std::max(spans_.back().to, to);
      } else {
        const Time before = spans_.empty() ? Time{} : spans_.back().before + spans_.back().length();
        spans_.push_back({from, to, before});
      }
    }
  }

  Time first() const { return spans_.empty() ? Time{} : spans_.front().from; }
  Time idle(Time from, Time to) const {
    return to <= from ? Time{} : to - from - (until(to) - until(from));
  }

 private:
  struct Span {
    Time from, to;
    Time before;  // work before it
    Time length() const { return to - from; }
  };
  Time until(Time time) const {
    const auto after = std::upper_bound(spans_.begin(), spans_.end(), time,
                                        [](Time t, const Span& s) { return t < s.from; });
    if (after == spans_.begin()) return {};
    const Span& span = *std::prev(after);
    return span.before + std::min(time, span.to) - span.from;
  }

  std::vector<Span> spans_;
};

/// One of the two runs that are compared.
struct RunOfRows {
  const Timeline& times;
  Time CollectiveInstance::Member::*wait;
  Time Pair<Time>::*out;
};

class HostWaitFinder {
 public:
  HostWaitFinder(const TraceSet& set, const Replay& replay, const RunOfRows& run, unsigned threads)
      : replay_(replay), run_(run), busy_(set.traces.size()) {
    parallel_for(set.traces.size(), threads, [&](std::size_t t) {
      busy_[t] = BusyTime(set.traces[t], run.times.start[t], run.times.end[t]);
    });
  }

  void find(HostWaits& waits) const {
    std::map<std::vector<std::uint32_t>, const CollectiveInstance*> before;
    for (std::size_t c = 0; c < replay_.collectives.size(); ++c) {
      const CollectiveInstance& now = replay_.collectives[c];
      if (now.members.size() < 2) continue;
      const CollectiveInstance*& same = before[ranks_of(now)];
      tell(now, same, waits[c]);
      same = &now;
    }
  }

 private:
  static std::vector<std::uint32_t> ranks_of(const CollectiveInstance& c) {
    std::vector<std::uint32_t> ranks = {c.group};
    for (const CollectiveInstance::Member& m : c.members) ranks.push_back(m.trace);
    return ranks;
  }

  /// How long the GPU of a member stood idle since the collective before, or since its first work.
  Time idle_before(const CollectiveInstance& now, const CollectiveInstance* before,
                   std::size_t m) const {
    const CollectiveInstance::Member& member = now.members[m];
    const BusyTime& busy = busy_[member.trace];
    const Time from =
        before == nullptr ? busy.first() : run_.times.end[member.trace][before->members[m].row];
    return busy.idle(from, run_.times.start[member.trace][member.row]);
  }

  void tell(const CollectiveInstance& now, const CollectiveInstance* before,
            std::vector<Pair<Time>>& waits) const {
    const std::size_t last = now.last();
    const Time idle = idle_before(now, before, last);
    for (std::size_t m = 0; m < now.members.size(); ++m) {
      const Time wait = now.members[m].*run_.wait;
      if (m == last || wait <= Time{}) continue;
      waits[m].*run_.out = std::clamp(idle - idle_before(now, before, m), Time{}, wait);
    }
  }

  const Replay& replay_;
  RunOfRows run_;
  std::vector<BusyTime> busy_;
};

}  // namespace

HostWaits waits_for_hosts(const TraceSet& set, const Replay& replay, unsigned threads) {
  HostWaits waits;
  for (const CollectiveInstance& c : replay.collectives) waits.emplace_back(c.members.size());
  using Member = CollectiveInstance::Member;
  for (const RunOfRows& run :
       {RunOfRows{replay.recorded, &Member::recorded_wait, &Pair<Time>::measured},
        RunOfRows{replay.replayed, &Member::replayed_wait, &Pair<Time>::replayed}}) {
    HostWaitFinder(set, replay, run, threads).find(waits);
  }
  return waits;
}

}  // namespace flopcast::report
