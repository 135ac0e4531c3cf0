#include "flopcast/engine.h"
#include "flopcast/engine/times.h"

#include <algorithm>
#include <deque>
#include <queue>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/numeric/clock.h"
#include "base/text/format.h"

namespace flopcast {
namespace {

/// A wait that has been reached but not resolved.
struct Reached {
  Time time;
  TaskId task;
  bool operator>(const Reached& o) const { return time != o.time ? time > o.time : task > o.task; }
};

/// A resolved wait whose source has not ended yet.
struct Waiting {
  TaskId source;
  std::uint32_t wait;  // index into Graph::waits
};

/// Who fills a room until when.
class RoomState {
 public:
  struct Filled {
    Reached by;
    Time until;
  };
  /// The last that was let in before `comer` could start; nothing if there was none.
  const Filled* before(const Reached& comer) const {
    for (auto it = filled_.rbegin(); it != filled_.rend(); ++it) {
      if (comer > it->by) return &*it;
    }
    return nullptr;
  }
  void fill(const Reached& by, Time until) {
    if (!filled_.empty() && until <= filled_.back().until) return;
    // Those that come are nearly in order: no more than this many may have been let in since.
    constexpr std::size_t kRemembered = 64;
    if (filled_.size() == kRemembered) filled_.pop_front();
    filled_.push_back({by, until});
  }

 private:
  std::deque<Filled> filled_;  // by time until
};

/// @tparam kCauses whether Run::cause is wanted
template <bool kCauses>
class SimulatorOf {
 public:
  SimulatorOf(const Graph& graph, const TimesInUse& times, const std::vector<Time>& release)
      : g_(graph),
        duration_(*times.duration),
        gap_(*times.gap),
        edge_lag_(*times.edge_lag),
        fills_(*times.fills) {
    const std::size_t n = g_.task_count();
    run_.start = release;
    run_.start.resize(n, Time{});
    run_.end.assign(n, kUnsettled);
    if constexpr (kCauses) run_.cause.assign(n, kNoTask);
    pending_ = g_.pending;
    cursor_.reserve(g_.processors.size());
    for (const Processor& p : g_.processors) cursor_.push_back(p.first);
    waiting_.resize(g_.processors.size());
    open_sources_.assign(g_.waits.size(), 0);
    for (const std::uint32_t room : g_.room) {
      if (room != kNoRoom && room >= rooms_.size()) rooms_.resize(room + 1);
    }
  }

  void run() {
    for (TaskId t = 0; t < g_.task_count(); ++t) {
      if (g_.pending[t] != 0) continue;
      ready(t);
      drain();
    }
    while (!reached_.empty()) {
      const TaskId task = reached_.top().task;
      reached_.pop();
      needs_room(task) ? enter(task) : resolve(task);
      drain();
    }
  }

  bool settled(TaskId t) const { return run_.end[t] != kUnsettled; }
  std::size_t settled_count() const { return settled_; }
  Run take() {
    for (const Time end : run_.end) run_.makespan = std::max(run_.makespan, end);
    return std::move(run_);
  }
  const std::vector<std::vector<Waiting>>& waiting() const { return waiting_; }

 private:
  static constexpr Time kUnsettled = Time::min();

  /// @return whether nothing else holds the target back.
  bool relax(TaskId target, Time at, TaskId source) {
    Time& start = run_.start[target];
    if constexpr (kCauses) {
      // Among equals the lowest task is the cause, so that the visiting order does not show.
      if (at > start || (at == start && source < run_.cause[target])) run_.cause[target] = source;
    }
    start = std::max(start, at);
    return --pending_[target] == 0;
  }
  void set_cause(TaskId task, TaskId cause) {
    if constexpr (kCauses) run_.cause[task] = cause;
  }

  /// @return whether it runs at once; else its turn comes.
  bool begin(TaskId t) {
    if (needs_room(t) || (g_.kind[t] == TaskKind::kSync && wait_of(t) != kNoWait)) {
      reached_.push({run_.start[t], t});
      return false;
    }
    run_.end[t] = sum_on_clock(run_.start[t], duration_[t]);
    return true;
  }
  void ready(TaskId t) {
    if (begin(t)) worklist_.push_back(t);
  }

  bool needs_room(TaskId t) const { return !g_.room.empty() && g_.room[t] != kNoRoom; }

  /// Starts a task in its room, as soon as that is free.
  void enter(TaskId t) {
    RoomState& room = rooms_[g_.room[t]];
    const Reached comer{run_.start[t], t};
    const RoomState::Filled* filled = room.before(comer);
    if (filled != nullptr && filled->until > run_.start[t]) {
      run_.start[t] = filled->until;
      set_cause(t, filled->by.task);
    }
    if (fills_[t] > Time{}) room.fill(comer, sum_on_clock(run_.start[t], fills_[t]));
    run_.end[t] = sum_on_clock(run_.start[t], duration_[t]);
    worklist_.push_back(t);
  }

  void drain() {
    while (!worklist_.empty()) {
      const TaskId t = worklist_.back();
      worklist_.pop_back();
      settle(t);
    }
  }

  /// Tells everything that depends on t, whose end is set; then the same of those after it on its
  /// processor, as long as nothing else holds them back.
  void settle(TaskId t) {
    const std::uint32_t p = g_.processor[t];
    const Processor& processor = g_.processors[p];
    const TaskId last = processor.kind == Processor::Kind::kHub ? t + 1 : processor.last;
    for (;; ++t) {
      ++settled_;
      const Time start = run_.start[t];
      const Time end = run_.end[t];
      const std::uint32_t past = g_.edge_begin[t + 1];
      for (std::uint32_t e = g_.edge_begin[t]; e < past; ++e) {
        const TaskId target = g_.edge_target[e];
        const Time from = g_.edge_from_start(e) ? start : end;
        if (relax(target, sum_on_clock(from, edge_lag_[e]), t)) ready(target);
      }
      if (!waiting_[p].empty()) wake(p, t);
      if (t + 1 >= last || !relax(t + 1, sum_on_clock(end, gap_[t + 1]), t) || !begin(t + 1))
        return;
    }
  }

  static constexpr std::uint32_t kNoWait = 0xffffffffu;
  std::uint32_t wait_of(TaskId t) const {
    const auto it =
        std::lower_bound(g_.waits.begin(), g_.waits.end(), t,
                         [](const RuntimeWait& w, TaskId task) { return w.task < task; });
    return it != g_.waits.end() && it->task == t ? static_cast<std::uint32_t>(it - g_.waits.begin())
                                                 : kNoWait;
  }

  /// The last work put on a stream before `now`, or kNoTask. `now` never decreases between calls.
  TaskId last_put(std::uint32_t stream, Time now) {
    TaskId& next = cursor_[stream];
    const Processor& p = g_.processors[stream];
    while (next < p.last) {
      const TaskId launcher = g_.launcher[next];
      if (launcher != kNoTask && (!settled(launcher) || run_.start[launcher] > now)) break;
      ++next;
    }
    return next == p.first ? kNoTask : next - 1;
  }

  void resolve(TaskId task) {
    const std::uint32_t w = wait_of(task);
    const RuntimeWait& wait = g_.waits[w];
    const Time now = run_.start[task];
    run_.end[task] = sum_on_clock(now, duration_[task]);
    for (std::uint32_t s = wait.first_source; s < wait.last_source; ++s) {
      const std::uint32_t source = g_.wait_sources[s];
      const bool fixed = (source & kFixedSource) != 0;
      const TaskId last = fixed ? source & ~kFixedSource : last_put(source, now);
      if (last == kNoTask) continue;
      if (settled(last)) {
        hold(task, last, wait.lag);
      } else {
        ++open_sources_[w];
        waiting_[g_.processor[last]].push_back({last, w});
      }
    }
    if (open_sources_[w] == 0) {
      worklist_.push_back(task);
    } else {
      held_end_.push_back({w, run_.end[task]});
      run_.end[task] = kUnsettled;
    }
  }

  /// The call lasts at least until `lag` after its source's end.
  void hold(TaskId task, TaskId source, Time lag) {
    const Time least = sum_on_clock(run_.end[source], lag);
    if (least > run_.end[task]) {
      run_.end[task] = least;
      set_cause(task, source);
    }
  }

  void wake(std::uint32_t processor, TaskId ended) {
    std::vector<Waiting>& list = waiting_[processor];
    for (std::size_t i = 0; i < list.size();) {
      if (list[i].source != ended) {
        ++i;
        continue;
      }
      const std::uint32_t w = list[i].wait;
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
      release(w, ended);
    }
  }

  void release(std::uint32_t w, TaskId ended) {
    const RuntimeWait& wait = g_.waits[w];
    const auto held = std::find_if(held_end_.begin(), held_end_.end(),
                                   [&](const auto& h) { return h.first == w; });
    const Time least = sum_on_clock(run_.end[ended], wait.lag);
    if (least > held->second) {
      held->second = least;
      set_cause(wait.task, ended);
    }
    if (--open_sources_[w] > 0) return;
    run_.end[wait.task] = held->second;
    *held = held_end_.back();
    held_end_.pop_back();
    worklist_.push_back(wait.task);
  }

  const Graph& g_;
  const std::vector<Time>&duration_, &gap_, &edge_lag_, &fills_;
  Run run_;
  std::vector<std::uint32_t> pending_;
  std::vector<TaskId> worklist_;
  std::priority_queue<Reached, std::vector<Reached>, std::greater<>> reached_;
  std::vector<TaskId> cursor_;                 // per stream: first task not yet known to be put
  std::vector<std::vector<Waiting>> waiting_;  // per processor of the source
  std::vector<std::uint32_t> open_sources_;    // per wait
  std::vector<std::pair<std::uint32_t, Time>> held_end_;  // (wait, end so far) of waits in flight
  std::vector<RoomState> rooms_;
  std::size_t settled_ = 0;
};

using Simulator = SimulatorOf<true>;

/// For every unsettled task one unsettled predecessor, where it has one.
std::vector<TaskId> blockers(const Graph& g, const Simulator& sim) {
  std::vector<TaskId> blocked_by(g.task_count(), kNoTask);
  const auto block = [&](TaskId target, TaskId source) {
    if (!sim.settled(target) && blocked_by[target] == kNoTask) blocked_by[target] = source;
  };
  for (TaskId t = 0; t < g.task_count(); ++t) {
    if (sim.settled(t)) continue;
    for (std::uint32_t e = g.edge_begin[t]; e < g.edge_begin[t + 1]; ++e)
      block(g.edge_target[e], t);
  }
  for (const auto& list : sim.waiting()) {
    for (const Waiting& w : list) block(g.waits[w.wait].task, w.source);
  }
  for (const Processor& p : g.processors) {
    if (p.kind == Processor::Kind::kHub) continue;
    for (TaskId t = p.first; t + 1 < p.last; ++t) {
      if (!sim.settled(t)) block(t + 1, t);
    }
  }
  return blocked_by;
}

/// Follows blockers from the first unsettled task until one repeats or has none.
Deadlock find_deadlock(const Graph& g, const Simulator& sim) {
  const std::vector<TaskId> blocked_by = blockers(g, sim);
  Deadlock result;
  result.unfinished = g.task_count() - sim.settled_count();
  TaskId t = 0;
  while (sim.settled(t)) ++t;
  std::vector<bool> seen(g.task_count(), false);
  while (blocked_by[t] != kNoTask && !seen[t]) {
    seen[t] = true;
    t = blocked_by[t];
  }
  const TaskId head = t;
  do {
    result.cycle.push_back({t, g.processors[g.processor[t]].rank, blocked_by[t]});
    t = blocked_by[t];
  } while (t != kNoTask && t != head);
  return result;
}

/// Who has come to a rendezvous so far: "ranks 0, 3 have arrived; ", or nothing.
std::string arrived_at(const Graph& g, const Simulator& sim, TaskId hub) {
  constexpr std::size_t kShown = 16;
  std::vector<std::int32_t> ranks;
  for (TaskId t = 0; t < g.task_count(); ++t) {
    for (std::uint32_t e = g.edge_begin[t]; e < g.edge_begin[t + 1]; ++e) {
      if (g.edge_target[e] == hub && sim.settled(t))
        ranks.push_back(g.processors[g.processor[t]].rank);
    }
  }
  if (ranks.empty()) return {};
  const bool more = ranks.size() > kShown;
  if (more) ranks.resize(kShown);
  return fmt::format("ranks {}{} have arrived; ", fmt::join(ranks, ", "), more ? ", ..." : "");
}

std::string describe(const Graph& g, const Simulator& sim, const Deadlock& deadlock,
                     const StringTable* names) {
  std::string text =
      fmt::format("{} tasks can never run; they wait in a circle:", deadlock.unfinished);
  if (deadlock.cycle.back().waits_for == kNoTask) {
    text = fmt::format("{} tasks can never run; all wait for:", deadlock.unfinished);
  }
  constexpr std::size_t kShown = 12;
  for (std::size_t i = 0; i < deadlock.cycle.size() && i < kShown; ++i) {
    const StuckTask& s = deadlock.cycle[i];
    const std::string_view name = names ? (*names)[g.name[s.task]] : std::string_view();
    text += fmt::format("\n  rank {} {} {} (task {})", s.rank, task_kind_name(g.kind[s.task]), name,
                        s.task);
    text += s.waits_for == kNoTask
                ? fmt::format(": {}a rank never joins", arrived_at(g, sim, s.task))
                : fmt::format(" waits for task {}", s.waits_for);
  }
  if (deadlock.cycle.size() > kShown) {
    text += fmt::format("\n  ... and {} more", deadlock.cycle.size() - kShown);
  }
  return text;
}

/// The run is longer than the clock: what takes longest is what made it so.
Diagnostic too_long(const Graph& g, const std::vector<Time>& duration, const StringTable* names) {
  const auto longest =
      static_cast<TaskId>(std::max_element(duration.begin(), duration.end()) - duration.begin());
  const std::string_view name = names ? (*names)[g.name[longest]] : std::string_view();
  return beyond_clock(
      "execution graph",
      fmt::format("the run; of its tasks rank {} {} {} (task {}) takes longest, {}",
                  g.processors[g.processor[longest]].rank, task_kind_name(g.kind[longest]), name,
                  longest, short_time(duration[longest])),
      "look at what was changed, and at the numbers of the machine");
}

}  // namespace

Result<Run> simulate(const Graph& graph, const std::vector<Time>& release, const StringTable* names,
                     Deadlock* deadlock) {
  return simulate(graph, graph, release, names, deadlock);
}

Result<Run> simulate(const Graph& graph, const TimesInUse& times, const std::vector<Time>& release,
                     const StringTable* names, Deadlock* deadlock) {
  Simulator simulator(graph, times, release);
  simulator.run();
  if (simulator.settled_count() == graph.task_count()) {
    Run run = simulator.take();
    if (fits_clock(run.makespan)) return run;
    return too_long(graph, *times.duration, names);
  }
  const Deadlock found = find_deadlock(graph, simulator);
  if (deadlock) *deadlock = found;
  return Diagnostic{ErrorCode::kNoAnswer, "execution graph",
                    describe(graph, simulator, found, names),
                    "a collective that a rank never joins, or joins in another order, does this"};
}

std::optional<Run> run_times(const Graph& graph, const TimesInUse& times,
                             const std::vector<Time>& release) {
  SimulatorOf<false> simulator(graph, times, release);
  simulator.run();
  if (simulator.settled_count() < graph.task_count()) return std::nullopt;
  return simulator.take();
}

}  // namespace flopcast
