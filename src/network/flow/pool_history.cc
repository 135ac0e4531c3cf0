// What pools did, told flow by flow: as undo and repair read it.
//
// Backwards from when the pools were closed, event by event, their levels and flows are brought to
// what they were, and each flow whose level was another one before the event gets its change. Then
// the log is written again from where the pools were opened, with these changes in it.
#include <algorithm>

#include "network/flow/engine.h"

namespace flopcast::network::flow {

/// The walk backwards.
class PoolHistory {
 public:
  struct Made {  // a change of a flow's level
    Ps time;
    Level before;
    std::uint32_t flow;
  };

  PoolHistory(Pools& pools, const Ring<PoolChange>& pool_log)
      : pools_(pools), log_(pool_log), next_(pool_log.last()) {}

  /// @param changes of other kinds at `time`.
  void step(Ps time, std::span<const Change> changes) {
    const std::uint64_t end = next_;
    while (next_ > log_.first() && log_[next_ - 1].time == time) --next_;
    take_out_arrivals(end, changes);
    for (std::uint64_t i = next_; i < end; ++i) {
      const PoolChange& change = log_[i];
      if (change.from != kNone) continue;
      for (const std::uint32_t flow : pools_.pool(change.what)) {
        made_.push_back({time, change.level, flow});
      }
      pools_.set_level(change.what, change.level);
    }
    put_back(end, changes, time);
  }
  /// Latest first.
  const std::vector<Made>& made() const { return made_; }

 private:
  /// Who came into a pool by this event; then all others in it have been there before.
  void take_out_arrivals(std::uint64_t end, std::span<const Change> changes) {
    levels_.clear();
    for (std::uint64_t i = next_; i < end; ++i) {
      if (log_[i].from == kNone) continue;
      levels_.push_back(pools_.rate(log_[i].what));
      pools_.unseat(log_[i].what);
    }
    for (const Change& change : changes) {
      if (change.kind() == ChangeKind::kStart) pools_.unseat(change.flow);
    }
  }
  void put_back(std::uint64_t end, std::span<const Change> changes, Ps time) {
    std::size_t moved = 0;
    for (std::uint64_t i = next_; i < end; ++i) {
      const PoolChange& change = log_[i];
      if (change.from == kNone) continue;
      pools_.seat(change.what, change.from);
      const Level before = pools_.rate(change.what);
      if (before != levels_[moved++]) made_.push_back({time, before, change.what});
    }
    for (const Change& change : changes) {
      if (leaves_links(change.kind())) pools_.seat(change.flow, pools_.pool_of(change.flow));
    }
  }

  Pools& pools_;
  const Ring<PoolChange>& log_;
  std::uint64_t next_;
  std::vector<Level> levels_;
  std::vector<Made> made_;
};

void Engine::open_pools(Ps time) {
  pools_.open(active_flows_, dense_fill_);
  for (const std::uint32_t flow : active_flows_) schedule(flow);
  pooled_since_ = time;
  pooled_changes_ = log_.changes.last();
}

void Engine::close_pools() {
  if (!pools_.is_open()) return;
  for (std::uint32_t link = 0; link < links_.size(); ++link) {
    const bool active = links_[link].active != 0;
    links_[link].used = active ? pools_.used(link) : 0;
    links_[link].level = active ? pools_.link_level(link) : kUnbounded;
  }
  pools_.close(active_flows_);
  for (const std::uint32_t flow : active_flows_) schedule(flow);
  tell_flow_by_flow();
}

void Engine::tell_flow_by_flow() {
  const std::uint64_t first = std::max(pooled_changes_, log_.changes.first());
  std::vector<Change> others;  // starts and ends
  for (std::uint64_t c = first; c < log_.changes.last(); ++c) others.push_back(log_.changes[c]);
  for (std::size_t i = others.size(); i > 0; --i) {
    flows_[others[i - 1].flow].latest = others[i - 1].previous;
  }
  const std::uint64_t first_mark = log_.mark_at(pooled_since_ + 1);
  const auto changes_of = [&](std::uint64_t mark) {
    const bool latest = mark + 1 == log_.marks.last();
    const std::uint64_t end = latest ? first + others.size() : log_.marks[mark + 1].first;
    const std::uint64_t begin = std::max(log_.marks[mark].first, first);
    return std::span(others).subspan(begin - first, end - begin);
  };
  PoolHistory history(pools_, pool_log_);
  for (std::uint64_t m = log_.marks.last(); m > first_mark; --m) {
    history.step(log_.marks[m - 1].time, changes_of(m - 1));
  }
  log_.changes.truncate(first);
  const auto append = [&](Change change) {
    Flow& flow = flows_[change.flow];
    change.previous = flow.latest;
    flow.latest = log_.changes.last();
    log_.changes.push() = change;
  };
  std::size_t left = history.made().size();
  for (std::uint64_t m = first_mark; m < log_.marks.last(); ++m) {
    const auto own = changes_of(m);
    log_.marks[m].first = log_.changes.last();
    for (const Change& change : own) append(change);
    for (; left > 0 && history.made()[left - 1].time == log_.marks[m].time; --left) {
      const PoolHistory::Made& made = history.made()[left - 1];
      append(
          {made.time, made.before, kNoChange, made.flow, Change::pack(kWhole, ChangeKind::kRate)});
    }
  }
  pool_log_.truncate(pool_log_.first());
}

void Engine::solve_pools(Ps time) {
  for (const auto& [flow, alone] : starting_) {
    record(flow, time, ChangeKind::kStart);
    pools_.start(flow);
  }
  if (!pools_.solve()) {
    work_.flows_solved += active_flows_.size();
    dense_fill_.solve(links_, flows_, active_flows_, false);
    pools_.adopt(active_flows_, dense_fill_);
  }
  pools_.finish(time, pool_log_);
  work_.rate_changes += pools_.rates_changed();
  work_.flows_solved += pools_.rates_changed();
  for (const auto& start : starting_) schedule(start.flow);
  const bool few = 2 * active_flows_.size() < kWorthSplitting;
  if (few && options_.solver != FlowSimulator::Solver::kPools) close_pools();
}

}  // namespace flopcast::network::flow
