// Forwards: starts, completions and cancellations, time by time.
#include <algorithm>

#include "network/flow/engine.h"

namespace flopcast::network::flow {
namespace {

constexpr std::uint32_t kLongestDenseRun = 126;  // solves
constexpr int kFewDependents = 4;                // to be looked up ahead

}  // namespace

Ps Engine::completion(std::uint32_t flow) const {
  if (flows_[flow].phase != FlowPhase::kDone) return kNever;
  return plans_[flow].ended + plans_[flow].latency;
}

Ps Engine::completion_of(const Outcome& outcome) const {
  if (outcome.flow != kNone) return completion(outcome.flow);
  return outcome.phase == FlowPhase::kDone ? outcome.end : kNever;
}

Ps Engine::ready_time(std::uint32_t flow) const {
  const Plan& plan = plans_[flow];
  if (plan.after == kNone) return plan.start;
  if (plan.pending != 0) return kNever;
  Ps latest = plan.latest;
  if (!plan.latest_known) {
    latest = 0;
    for_each_before(flow, [&](FlowId id) { latest = std::max(latest, completion_of(id)); });
  }
  return std::max(plan.start, latest + plan.delay);
}

Ps Engine::next_event(std::uint32_t id) const {
  const Flow& flow = flows_[id];
  const Ps cancel = flow.cancels ? plans_[id].cancel : kNever;
  switch (flow.phase) {
    case FlowPhase::kWaiting:
      return std::min(cancel, ready_time(id));
    case FlowPhase::kActive:
      // The work left is counted from time 0, where rate x time is 0.
      if (flow.background || pools_.is_open()) return cancel;
      return std::min(cancel, end_of(flow.offset, flow.rate, 0));
    default:
      return kNever;
  }
}

Time Engine::advance(Time until) {
  catch_up();
  if (until.ps != kNever) {
    run_until(until.ps);
    now_ = std::max(now_, until.ps);
  } else {
    run_until(kNever - 1);
    processed_ = now_ = std::max(now_, latest_completion());
  }
  return {now_};
}

Ps Engine::next_time() const {
  const Ps next = heap_.empty() ? kNever : heap_.top_time();
  return pools_.is_open() ? std::min(next, pools_.next_time()) : next;
}

void Engine::run_until(Ps limit) {
  for (Ps time = next_time(); time != kNever && time <= limit; time = next_time()) {
    log_.marks.push() = {time, log_.changes.last()};
    ++work_.events;
    fire_all(time);
    solve(time);
  }
  processed_ = std::max(processed_, limit);
}

void Engine::fire_all(Ps time) {
  while (pools_.is_open() && pools_.next_time() == time) {
    const std::uint32_t flow = pools_.next_flow();
    heap_.set(flow, kNever);  // it may be there to be cancelled later
    fire(flow, time);
  }
  for (; !heap_.empty() && heap_.top_time() == time; heap_.pop()) due_.push_back(heap_.top());
  // What these release is due at once goes to the end.
  for (std::size_t i = 0, end = 0; i < due_.size(); ++i) {
    if (i == end) {
      end = due_.size();
      prefetch(std::span(due_).subspan(i));
    }
    fire(due_[i], time);
  }
  due_.clear();
}

/// What happens to flows at one time reaches them all over the memory.
void Engine::prefetch(std::span<const std::uint32_t> flows) const {
  for (const std::uint32_t flow : flows) {
    __builtin_prefetch(&flows_[flow], 1);
    __builtin_prefetch(&plans_[flow], 1);
  }
  for (const std::uint32_t flow : flows) {
    links_.prefetch_hops(flows_[flow].path);
    dependencies_.prefetch(plans_[flow].dependents);
  }
  for (const std::uint32_t flow : flows) {
    links_.prefetch_path(flows_[flow].path, flows_[flow].path_size);
    dependencies_.for_first(plans_[flow].dependents, kFewDependents, [&](std::uint32_t dependent) {
      __builtin_prefetch(&flows_[dependent], 1);
      __builtin_prefetch(&plans_[dependent], 1);
    });
  }
}

void Engine::fire(std::uint32_t id, Ps time) {
  Flow& flow = flows_[id];
  if (flow.phase == FlowPhase::kActive) {
    if (pools_.is_open()) pools_.settle(id);
    const bool done = !flow.background && flow.left(time) <= 0;
    stop(id, time, done ? ChangeKind::kFinish : ChangeKind::kAbort);
  } else if (flow.phase != FlowPhase::kWaiting) {
    return;  // it was due twice: to be cancelled, and released
  } else if (plans_[id].cancel <= time) {
    record(id, time, ChangeKind::kDrop);
    flow.phase = FlowPhase::kCancelled;
    plans_[id].ended = time;
  } else {
    start(id, time);
  }
}

void Engine::start(std::uint32_t id, Ps time) {
  Flow& flow = flows_[id];
  plans_[id].started = time;
  if (flow.path_size == 0 || (flow.offset == 0 && !flow.background)) {
    record(id, time, ChangeKind::kInstant);
    flow.phase = FlowPhase::kDone;
    plans_[id].ended = time;
    note(id);
    release_dependents(id, time);
    return;
  }
  flow.phase = FlowPhase::kActive;
  const Level alone = activate(id);
  crowded_ = crowded_ || alone == kInactive;
  starting_.push_back({id, alone});
}

void Engine::stop(std::uint32_t id, Ps time, ChangeKind kind) {
  Flow& flow = flows_[id];
  record(id, time, kind);
  deactivate(id, flow.rate);
  set_offset(flow, 0, time);
  flow.level = kInactive;
  plans_[id].ended = time;
  if (pools_.is_open()) pools_.stop(id);
  if (kind == ChangeKind::kFinish) {
    flow.phase = FlowPhase::kDone;
    note(id);
    release_dependents(id, time);
  } else {
    flow.phase = FlowPhase::kCancelled;
  }
}

void Engine::release_dependents(std::uint32_t id, Ps now) {
  const Ps complete = completion(id);
  dependencies_.for_each(plans_[id].dependents, [&](std::uint32_t dependent) {
    Plan& plan = plans_[dependent];
    plan.latest = std::max(plan.latest, complete);
    if (--plan.pending != 0) return;
    const Ps next = next_event(dependent);
    const bool due = next == now;
    if (due) due_.push_back(dependent);
    heap_.set(dependent, due ? kNever : next);
  });
}

Level Engine::activate(std::uint32_t id) {
  const Flow& flow = flows_[id];
  plans_[id].active_slot = static_cast<std::uint32_t>(active_flows_.size());
  active_flows_.push_back(id);
  if (flow.grouped) changed_groups_.push_back(path(id).back().link);
  return links_.enter(id, flow.path, flow.path_size);
}

void Engine::reactivate(std::uint32_t id) {
  links_.reenter(flows_[id].path, flows_[id].path_size);
  plans_[id].active_slot = static_cast<std::uint32_t>(active_flows_.size());
  active_flows_.push_back(id);
}

void Engine::deactivate(std::uint32_t id, std::int64_t rate) {
  const Flow& flow = flows_[id];
  links_.leave(flow.path, flow.path_size, rate, [&](std::uint32_t link) { region_.touch(link); });
  const std::uint32_t slot = plans_[id].active_slot;
  active_flows_[slot] = active_flows_.back();
  plans_[active_flows_[slot]].active_slot = slot;
  active_flows_.pop_back();
  if (flow.grouped) changed_groups_.push_back(path(id).back().link);
}

void Engine::solve(Ps time) {
  regroup(time);
  if (region_.empty() && starting_.empty() && pools_.are_settled()) return;
  ++work_.solves;
  if (pools_.is_open()) {
    solve_pools(time);
  } else {
    solve_flows(time);
  }
  starting_.clear();
  crowded_ = false;
  region_.clear();
}

void Engine::solve_flows(Ps time) {
  const bool full = options_.solver == FlowSimulator::Solver::kFull;
  const bool plain = group_links_.empty();
  bool pools = plain && options_.solver == FlowSimulator::Solver::kPools;
  if (dense_left_ > 0) {
    --dense_left_;
  } else if (!full && !pools && (all_start_alone() || !too_large(starting_.size()))) {
    if (solve_region(time)) {
      dense_run_ = 0;
      return;
    }
    pools = plain;
    if (!plain) dense_left_ = dense_run_ = std::min(2 * dense_run_ + 2, kLongestDenseRun);
  }
  solve_all(time);
  if (pools) open_pools(time);
}

/// Nobody else is on its links: what they have is its own.
/// @param level of the flow there.
void Engine::start_alone(std::uint32_t id, Level level, Ps time) {
  Flow& flow = flows_[id];
  record(id, time, ChangeKind::kStart);
  flow.level = level;
  set_offset(flow, level, time);
  links_.carry_alone(flow.path, flow.path_size, level);
  ++work_.flows_solved;
  ++work_.rate_changes;
  schedule(id);
}

bool Engine::solve_region(Ps time) {
  for (const auto& [flow, met] : starting_) {
    // Where some met others on their links, others may have come to theirs since, or gone.
    const bool plain = !flows_[flow].grouped;
    const Level alone =
        crowded_ && plain ? links_.level_alone(flows_[flow].path, flows_[flow].path_size) : met;
    if (alone != kInactive) {
      start_alone(flow, alone, time);
      continue;
    }
    for (const Hop& hop : path(flow)) region_.touch(hop.link);
    region_.add(flow);
  }
  if (region_.empty()) return true;
  if (!region_.solve()) return false;
  work_.flows_solved += region_.flows();
  for (std::size_t i = 0; i < region_.flows(); ++i) {
    commit(region_.flow(i), region_.level(i), time);
  }
  for (std::size_t i = 0; i < region_.links(); ++i) {
    links_[region_.link(i)].level = region_.link_level(i);
  }
  return true;
}

void Engine::solve_all(Ps time) {
  work_.flows_solved += active_flows_.size();
  dense_fill_.solve(links_, flows_, active_flows_, !group_links_.empty());
  for (const std::uint32_t flow : dense_fill_.changed()) {
    commit(flow, dense_fill_.level(flow), time);
  }
  for (std::uint32_t link = 0; link < links_.size(); ++link) {
    links_[link].level = dense_fill_.frozen_at(link);
  }
}

/// The share of a plain flow goes to all active flows of a group together.
void Engine::regroup(Ps time) {
  for (const std::uint32_t link : changed_groups_) {
    for (const Member& member : links_[link].active_members()) {
      Flow& flow = flows_[member.flow];
      const std::uint32_t fraction = std::max(kWhole / links_[link].active, 1U);
      if (flow.fraction != fraction) {
        if (flow.level != kInactive) record(member.flow, time, ChangeKind::kRate);
        flow.fraction = fraction;
        for (const Hop& hop : path(member.flow)) region_.touch(hop.link);
      }
      region_.add(member.flow);
    }
  }
  changed_groups_.clear();
}

void Engine::commit(std::uint32_t id, Level level, Ps time) {
  Flow& flow = flows_[id];
  const std::int64_t rate = rate_at(level, flow.fraction);
  if (level == flow.level && rate == flow.rate) return;
  record(id, time, flow.level == kInactive ? ChangeKind::kStart : ChangeKind::kRate);
  flow.level = level;
  if (rate != flow.rate) set_rate(flow, rate, time);
  ++work_.rate_changes;
  schedule(id);
}

void Engine::record(std::uint32_t id, Ps time, ChangeKind kind) {
  Flow& flow = flows_[id];
  Change& change = log_.changes.push();
  change.time = time;
  change.level = flow.level;
  change.previous = flow.latest;
  change.flow = id;
  change.fraction_and_kind = Change::pack(flow.fraction, kind);
  flow.latest = log_.changes.last() - 1;
}

void Engine::set_offset(Flow& flow, std::int64_t rate, Ps time) {
  flow.offset += static_cast<Work>(rate - flow.rate) * time;
  flow.rate = rate;
}

void Engine::set_rate(Flow& flow, std::int64_t rate, Ps time) {
  links_.carry(flow.path, flow.path_size, rate - flow.rate);
  set_offset(flow, rate, time);
}

void Engine::note(std::uint32_t id) {
  if (flows_[id].noted) return;
  flows_[id].noted = true;
  noted_.push_back({plans_[id].id, plans_[id].reported});
}

Ps Engine::latest_completion() const {
  Ps latest = std::max<Ps>(forgotten_completion_, 0);
  for (std::uint64_t m = log_.marks.last(); m > log_.marks.first(); --m) {
    const UndoLog::Mark& mark = log_.marks[m - 1];
    if (mark.time + longest_latency_ <= latest) break;
    const std::uint64_t end = m < log_.marks.last() ? log_.marks[m].first : log_.changes.last();
    for (std::uint64_t c = mark.first; c < end; ++c) {
      const Change& change = log_.changes[c];
      latest = std::max(latest, change.time);
      const Ps complete = completion(change.flow);
      if (complete != kNever) latest = std::max(latest, complete);
    }
  }
  return latest;
}

}  // namespace flopcast::network::flow
