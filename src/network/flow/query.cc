// What callers may ask: the state at a time of the window, changes since they last asked.
#include <algorithm>

#include "network/flow/engine.h"

namespace flopcast::network::flow {

double Engine::sent(std::uint32_t number, Ps time) const {
  const Flow& flow = flows_[number];
  const Plan& plan = plans_[number];
  if (flow.phase == FlowPhase::kDone && plan.ended <= time) return static_cast<double>(plan.bytes);
  const Trajectory then = trajectory(number, time);
  const Work left = then.offset - static_cast<Work>(then.rate) * time;
  const Work total = kWorkPerByte * plan.bytes;
  const Work done = flow.background ? -left : total - std::max<Work>(left, 0);
  return static_cast<double>(done) / static_cast<double>(kWorkPerByte);
}

Engine::Trajectory Engine::trajectory(std::uint32_t number) const {
  const Flow& flow = flows_[number];
  const bool pooled = pools_.is_open() && flow.phase == FlowPhase::kActive;
  if (pooled) return {pools_.rate(number), pools_.offset(number)};
  return {flow.rate, flow.offset};
}

/// Back to `time`, change by change.
Engine::Trajectory Engine::trajectory(std::uint32_t number, Ps time) const {
  const Flow& flow = flows_[number];
  Trajectory then = trajectory(number);
  for (std::uint64_t c = flow.latest; log_.changes.holds(c) && log_.changes[c].time > time;
       c = log_.changes[c].previous) {
    const Change& change = log_.changes[c];
    const std::int64_t rate =
        change.level == kInactive ? 0 : rate_at(change.level, change.fraction());
    then.offset += static_cast<Work>(rate - then.rate) * change.time;
    then.rate = rate;
  }
  return then;
}

FlowStatus Engine::query(FlowId id, Time at) {
  catch_up();
  const Ps time = std::clamp(at.ps, std::min(horizon_, now_), now_);
  if (time < now_) close_pools();  // they know the present only
  const Outcome& outcome = outcomes_[id];
  if (outcome.flow != kNone) return query_live(outcome.flow, time);
  FlowStatus status;
  status.start = {outcome.start};
  status.end = {outcome.end};
  const bool in_flight = outcome.phase == FlowPhase::kDone && outcome.end > time;
  status.phase = in_flight ? FlowPhase::kActive : outcome.phase;
  status.sent = {outcome.sent};
  status.final = outcome.end <= horizon_;
  return status;
}

FlowStatus Engine::query_live(std::uint32_t number, Ps time) const {
  const Flow& flow = flows_[number];
  const Plan& plan = plans_[number];
  const bool cancelled = flow.phase == FlowPhase::kCancelled;
  const bool sending = flow.phase == FlowPhase::kActive && !flow.background;
  const Trajectory now = trajectory(number);
  const Ps done = sending ? end_of(now.offset, now.rate, 0) : plan.ended;
  FlowStatus status;
  status.start = {plan.started != kNever ? plan.started : ready_time(number)};
  status.end = {done == kNever ? kNever : done + (cancelled ? 0 : plan.latency)};
  if (cancelled && plan.ended <= time) {
    status.phase = FlowPhase::kCancelled;
  } else if (plan.started > time) {
    status.phase = FlowPhase::kWaiting;
  } else {
    status.phase = completion(number) <= time ? FlowPhase::kDone : FlowPhase::kActive;
  }
  status.rate = {trajectory(number, time).rate};
  status.sent = {sent(number, time)};
  status.final = plan.ended != kNever && status.end.ps <= horizon_;
  return status;
}

std::vector<LinkUse> Engine::used_links(FlowId id) const {
  std::vector<LinkUse> uses;
  if (outcomes_[id].flow == kNone) return uses;
  for (const Hop& hop : path(outcomes_[id].flow)) {
    if (hop.link < real_links_) uses.push_back({hop.link, hop.weight});
  }
  return uses;
}

Rate Engine::link_rate(LinkId link) {
  catch_up();
  return {pools_.is_open() ? pools_.used(link) : links_[link].used};
}

void Engine::set_horizon(Time time) {
  catch_up();
  horizon_ = std::max(horizon_, time.ps);
  collect_garbage();
}

std::vector<CompletionChange> Engine::take_changes() {
  catch_up();
  std::sort(noted_.begin(), noted_.end(),
            [](const Noted& a, const Noted& b) { return a.id < b.id; });
  std::vector<CompletionChange> changes;
  for (const Noted& noted : noted_) {
    const Ps now = completion_of(noted.id);
    if (now != noted.before) changes.push_back({noted.id, {noted.before}, {now}});
    const std::uint32_t flow = outcomes_[noted.id].flow;
    if (flow == kNone) continue;
    flows_[flow].noted = false;
    plans_[flow].reported = now;
  }
  noted_.clear();
  return changes;
}

FlowSimulator::Work Engine::work() const {
  FlowSimulator::Work work = work_;
  const auto bytes_of = [](const auto& list) {
    return list.capacity() * sizeof(typename std::decay_t<decltype(list)>::value_type);
  };
  work.bytes_held = links_.bytes() + bytes_of(flows_) + bytes_of(plans_) + dependencies_.bytes() +
                    outcomes_.size() * sizeof(Outcome) + bytes_of(active_flows_) +
                    bytes_of(noted_) + heap_.bytes() + log_.changes.bytes() + log_.marks.bytes() +
                    region_.bytes() + pools_.bytes() + pool_log_.bytes() + dense_fill_.bytes();
  return work;
}

}  // namespace flopcast::network::flow
