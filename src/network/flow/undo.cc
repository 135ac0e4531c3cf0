// Backwards: what the log says was changed is changed back, latest first.
#include <algorithm>
#include <utility>

#include "network/flow/engine.h"
#include "network/flow/repair.h"

namespace flopcast::network::flow {
void Engine::catch_up() {
  if (edited_from_ == kNever) return;
  close_pools();
  const Ps target = processed_;
  if (!repair(target)) {
    undo(edited_from_);
    for (const std::uint32_t flow : edited_) schedule(flow);
    run_until(target);
  }
  edited_.clear();
  edited_from_ = kNever;
}

/// Fractions of groups have no history to repair.
bool Engine::repair(Ps until) {
  const std::uint64_t events = log_.events_since(edited_from_);
  if (!options_.repair || events == 0 || !group_links_.empty() ||
      options_.solver == FlowSimulator::Solver::kFull) {
    return false;
  }
  if (!repair_) repair_ = std::make_unique<Repair>(*this);
  return repair_->run(edited_from_, until, events);
}

void Engine::undo(Ps time) {
  const std::uint64_t mark = log_.mark_at(time);
  if (mark != log_.marks.last()) {
    ++work_.rollbacks;
    work_.events_undone += log_.marks.last() - mark;
    const std::uint64_t first = std::max(log_.marks[mark].first, log_.changes.first());
    for (std::uint64_t c = log_.changes.last(); c > first; --c) {
      const Change& change = log_.changes[c - 1];
      if (change.kind() != ChangeKind::kDead && change.time >= time) revert(change);
    }
    log_.marks.truncate(mark);
    compact(first, time);
    settle_undone();
  }
  processed_ = time - 1;
}

/// Repairs put changes of earlier times among those undone: they stay.
void Engine::compact(std::uint64_t first, Ps time) {
  std::uint64_t kept = first;
  Ps latest = -1;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> moved;  // from, to; ascending
  for (std::uint64_t c = first; c < log_.changes.last(); ++c) {
    Change change = log_.changes[c];
    if (change.kind() == ChangeKind::kDead || change.time >= time) continue;
    const auto before = std::lower_bound(
        moved.begin(), moved.end(), std::pair<std::uint64_t, std::uint64_t>{change.previous, 0});
    if (before != moved.end() && before->first == change.previous) change.previous = before->second;
    if (flows_[change.flow].latest == c) flows_[change.flow].latest = kept;
    log_.changes[kept] = change;
    moved.emplace_back(c, kept++);
    latest = std::max(latest, change.time);
  }
  log_.changes.truncate(kept);
  // A later undo must find them behind a mark at their time or before.
  const bool behind = !log_.marks.empty() && log_.marks[log_.marks.last() - 1].time >= latest;
  if (kept > first && !behind) log_.marks.push() = {latest, first};
}

void Engine::revert(const Change& change) {
  Flow& flow = flows_[change.flow];
  Plan& plan = plans_[change.flow];
  const ChangeKind kind = change.kind();
  if (kind == ChangeKind::kFinish || kind == ChangeKind::kInstant) hold_dependents(change.flow);
  if (leaves_links(kind)) {
    reactivate(change.flow);
    flow.phase = FlowPhase::kActive;
  }
  flow.fraction = change.fraction();
  flow.level = change.level;
  set_rate(flow, change.level == kInactive ? 0 : rate_at(change.level, change.fraction()),
           change.time);
  if (kind == ChangeKind::kStart) {
    deactivate(change.flow, 0);
    links_.forget(flow.path, flow.path_size);
  }
  if (kind != ChangeKind::kRate) {
    plan.ended = kNever;
    if (!leaves_links(kind)) {
      flow.phase = FlowPhase::kWaiting;
      plan.started = kNever;
    }
    note(change.flow);
  }
  for (const Hop& hop : path(change.flow)) region_.touch(hop.link);
  flow.latest = change.previous;
  undone_.push_back(change.flow);
}

void Engine::hold_dependents(std::uint32_t id) {
  dependencies_.for_each(plans_[id].dependents, [&](std::uint32_t dependent) {
    plans_[dependent].latest_known = false;
    if (plans_[dependent].pending++ == 0) undone_.push_back(dependent);
  });
}

/// Levels of links and next events follow from the flows.
void Engine::settle_undone() {
  for (std::size_t i = 0; i < region_.links(); ++i) {
    Link& link = links_[region_.link(i)];
    link.level = region_.measured_level(region_.link(i));
  }
  region_.clear();
  changed_groups_.clear();
  for (const std::uint32_t flow : undone_) schedule(flow);
  undone_.clear();
}

void Engine::collect_garbage() {
  const Ps until = std::min(horizon_, processed_ + 1);
  while (!log_.marks.empty() && log_.marks[log_.marks.first()].time < until) {
    log_.marks.pop_first();
  }
  while (!pool_log_.empty() && pool_log_[pool_log_.first()].time < until) pool_log_.pop_first();
  for (; !log_.changes.empty(); log_.changes.pop_first()) {
    const std::uint64_t first = log_.changes.first();
    prefetch_garbage(first);
    const Change& change = log_.changes[first];
    const ChangeKind kind = change.kind();
    if (kind == ChangeKind::kDead) continue;
    if (change.time >= until) break;
    if (leaves_links(kind)) {
      const Flow& flow = flows_[change.flow];
      links_.forget(flow.path, flow.path_size);
    }
    if (kind != ChangeKind::kRate && kind != ChangeKind::kStart) retire(change.flow);
  }
}

/// What the next changes to be dropped are of lies all over the memory.
void Engine::prefetch_garbage(std::uint64_t first) const {
  constexpr std::uint64_t kFlow = 12, kPath = 8, kLinks = 4;  // changes ahead
  if (first + kFlow >= log_.changes.last()) return;
  const auto change = [&](std::uint64_t ahead) -> const Change& {
    return log_.changes[first + ahead];
  };
  __builtin_prefetch(&flows_[change(kFlow).flow], 1);
  if (leaves_links(change(kPath).kind())) {
    __builtin_prefetch(&plans_[change(kPath).flow], 1);
    __builtin_prefetch(&plans_[change(kPath).flow].started, 1);
    links_.prefetch_hops(flows_[change(kPath).flow].path);
  }
  if (leaves_links(change(kLinks).kind())) {
    const Flow& flow = flows_[change(kLinks).flow];
    links_.prefetch_path(flow.path, flow.path_size);
  }
}

/// Nothing can change a flow that ended before the horizon: its place becomes free.
void Engine::retire(std::uint32_t number) {
  Flow& flow = flows_[number];
  Plan& plan = plans_[number];
  const bool done = flow.phase == FlowPhase::kDone;
  const Ps end = plan.ended + (done ? plan.latency : 0);
  if (done) forgotten_completion_ = std::max(forgotten_completion_, end);
  if (plan.started == kNever || repair_) {
    // Dropped: what it was to wait for may end later, or not yet for good. And with repairs, changes
    // may lie in the log behind those of a later time.
    for (std::uint32_t i = 0; i < plan.after_size; ++i) {
      const std::uint32_t before = outcomes_[dependencies_[plan.after + i].before].flow;
      if (before != kNone) dependencies_.strike(plans_[before].dependents, plan.after + i);
    }
  }
  outcomes_[plan.id] = {kNone, flow.phase, plan.started, end, sent(number, plan.ended)};
  if (flow.limited) {
    for (const Hop& hop : path(number)) {
      if (hop.link >= real_links_ && hop.weight != 0) links_.free(hop.link);
    }
  }
  links_.free_path(flow.path, flow.path_size);
  if (plan.after_size != 0) dependencies_.give_back(plan.after, plan.after_size);
  free_flows_.push_back(number);
}

}  // namespace flopcast::network::flow
