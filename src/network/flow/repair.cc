// The sweep of a repair, time by time.
#include "network/flow/repair.h"

#include <algorithm>

namespace flopcast::network::flow {

bool Repair::run(Ps from, Ps until, std::uint64_t events) {
  // A step costs about as much as an event replayed.
  const std::uint64_t limit = events / 2 + 4;
  begin(from);
  for (std::uint64_t steps = 0; !queue_.empty() && queue_.front().time <= until; ++steps) {
    if (steps == limit) {
      forget_all();
      return false;
    }
    step();
  }
  commit();
  forget_all();
  return true;
}

void Repair::begin(Ps from) {
  passed_ = from - 1;
  met_.resize(engine_.flows_.size(), kNone);
  loaded_.resize(engine_.links_.size(), kNone);
  for (const std::uint32_t edited : engine_.edited_) {
    const std::uint32_t number = meet(edited);
    if (flows_[number].deviates || !deviate(number, from)) continue;
    if (flows_[number].phase == FlowPhase::kActive) deviate_links(number);
    schedule(number);
  }
}

void Repair::step() {
  passed_ = queue_.front().time;
  while (!queue_.empty() && queue_.front().time == passed_) {
    const Event event = pop();
    if (event.recorded) {
      pass_recorded(event.flow);
    } else if (event.stamp == flows_[event.flow].stamp) {
      fire(event.flow);
    }
  }
  solve();
}

void Repair::pass_recorded(std::uint32_t number) {
  flows_[number].watched = false;
  look_at_recorded(number);
  watch(number);
}

/// The record has a change of the flow at this time.
void Repair::look_at_recorded(std::uint32_t number) {
  // What the record has a flow that deviates do to its links, it does not do.
  if (flows_[number].deviates) deviate_links(number);
  for (const flow::Hop& hop : engine_.path(flows_[number].flow)) {
    const std::uint32_t link = loaded_[hop.link];
    if (link != kNone && links_[link].deviates) region_.touch(link);
  }
  if (flows_[number].deviates && engine_.plans_[flows_[number].flow].ended == passed_) {
    recorded_end(number);
  }
}

void Repair::fire(std::uint32_t number) {
  Flow& flow = flows_[number];
  if (flow.phase == FlowPhase::kActive) {
    const Work left = flow.offset - static_cast<Work>(flow.level) * passed_;
    const bool done = !engine_.flows_[flow.flow].background && left <= 0;
    stop(number, done ? ChangeKind::kFinish : ChangeKind::kAbort);
  } else if (engine_.plans_[flow.flow].cancel <= passed_) {
    change(number, ChangeKind::kDrop, kInactive);
    flow.phase = FlowPhase::kCancelled;
    flow.ended = passed_;
  } else {
    start(number);
  }
}

void Repair::start(std::uint32_t number) {
  Flow& flow = flows_[number];
  flow.started = passed_;
  const auto& asked = engine_.flows_[flow.flow];
  if (asked.path_size == 0 || (flow.offset == 0 && !asked.background)) {
    change(number, ChangeKind::kInstant, kInactive);
    flow.phase = FlowPhase::kDone;
    flow.ended = passed_;
    ended(number);
    return;
  }
  flow.phase = FlowPhase::kActive;
  starting_.push_back(number);
  deviate_links(number);
  for (const Hop& hop : path(number)) {
    join(hop.link, number, hop.weight);
    region_.touch(hop.link);
  }
}

void Repair::stop(std::uint32_t number, ChangeKind kind) {
  change(number, kind, kInactive);
  flows_[number].ended = passed_;
  for (const Hop& hop : path(number)) region_.touch(hop.link);
  if (kind == ChangeKind::kFinish) {
    flows_[number].phase = FlowPhase::kDone;
    ended(number);
  } else {
    flows_[number].phase = FlowPhase::kCancelled;
  }
}

void Repair::change(std::uint32_t number, ChangeKind kind, Level level) {
  Flow& flow = flows_[number];
  changes_.push_back({passed_, flow.level, number, kind});
  const Level more = std::max<Level>(level, 0) - std::max<Level>(flow.level, 0);
  flow.offset += static_cast<Work>(more) * passed_;
  flow.level = level;
}

void Repair::schedule(std::uint32_t number) {
  Flow& flow = flows_[number];
  const Plan& plan = engine_.plans_[flow.flow];
  Ps next = plan.cancel;
  if (flow.phase == FlowPhase::kWaiting) {
    next = std::min(next, ready_time(flow.flow));
  } else if (!engine_.flows_[flow.flow].background) {
    next = std::min(next, end_of(flow.offset, flow.level, 0));
  }
  ++flow.stamp;
  if (next != kNever) push({next, false, number, flow.stamp});
}

Ps Repair::ready_time(std::uint32_t engine_flow) const {
  const Plan& plan = engine_.plans_[engine_flow];
  Ps ready = plan.start;
  bool all_done = true;
  engine_.for_each_before(engine_flow, [&](FlowId id) {
    Ps complete = engine_.completion_of(id);
    const std::uint32_t before = engine_.outcomes_[id].flow;
    const std::uint32_t number = before == kNone ? kNone : met_[before];
    if (number != kNone && flows_[number].deviates) {
      const Flow& flow = flows_[number];
      const bool done = flow.phase == FlowPhase::kDone;
      complete = done ? flow.ended + engine_.plans_[before].latency : kNever;
    }
    all_done = all_done && complete != kNever;
    if (all_done) ready = std::max(ready, complete + plan.delay);
  });
  return all_done ? ready : kNever;
}

/// A flow that deviates is done. Dependents are concerned if the record has it done another time.
void Repair::ended(std::uint32_t number) {
  const std::uint32_t flow = flows_[number].flow;
  const bool as_recorded =
      engine_.flows_[flow].phase == FlowPhase::kDone && engine_.plans_[flow].ended == passed_;
  reconsider_dependents(number, !as_recorded);
}

/// The record has a flow that deviates ended at this time.
void Repair::recorded_end(std::uint32_t number) {
  const Flow& flow = flows_[number];
  if (engine_.flows_[flow.flow].phase != FlowPhase::kDone) return;
  if (flow.phase == FlowPhase::kDone) return;  // and its dependents know
  const bool ends_now =
      flow.phase == FlowPhase::kActive && !engine_.flows_[flow.flow].background &&
      flow.offset - static_cast<Work>(std::max<Level>(flow.level, 0)) * passed_ <= 0;
  if (!ends_now) reconsider_dependents(number, true);
}

void Repair::reconsider_dependents(std::uint32_t number, bool all) {
  const std::uint32_t flow = flows_[number].flow;
  engine_.dependencies_.for_each(engine_.plans_[flow].dependents, [&](std::uint32_t dependent) {
    if (!all && (met_[dependent] == kNone || !flows_[met_[dependent]].deviates)) return;
    const std::uint32_t met = meet(dependent);
    const bool knew = flows_[met].deviates;
    if (!deviate(met, passed_) || flows_[met].phase != FlowPhase::kWaiting) return;
    schedule(met);
    if (!knew && flows_[met].replaced > flows_[met].ahead) look_at_recorded(met);
  });
}

void Repair::solve() {
  if (region_.empty()) return;
  for (const std::uint32_t flow : starting_) region_.add(flow);
  starting_.clear();
  region_.solve();
  for (std::size_t i = 0; i < region_.flows(); ++i) settle(region_.flow(i), region_.level(i));
  for (std::size_t i = 0; i < region_.links(); ++i) {
    Link& link = links_[region_.link(i)];
    if (link.deviates) link.level = region_.link_level(i);
  }
  region_.clear();
}

void Repair::settle(std::uint32_t number, Level level) {
  if (!flows_[number].deviates) {
    if (level == recorded_level(number) && held_as_recorded(number)) return;
    deviate(number, passed_);
    Flow& flow = flows_[number];
    if (flow.phase == FlowPhase::kWaiting) {
      flow.phase = FlowPhase::kActive;
      flow.started = passed_;
    }
    deviate_links(number);
  } else if (flows_[number].level == level) {
    return;
  }
  Flow& flow = flows_[number];
  if (flow.level != level) {
    change(number, flow.level == kInactive ? ChangeKind::kStart : ChangeKind::kRate, level);
  }
  schedule(number);
}

/// Whether every link that holds the flow back in the recorded run still does.
bool Repair::held_as_recorded(std::uint32_t number) {
  const Level level = recorded_level(number);
  for (const Hop& hop : path(number)) {
    if (recorded_link_level(hop.link) == level &&
        region_.link_level(links_[hop.link].region) != level) {
      return false;
    }
  }
  return true;
}

}  // namespace flopcast::network::flow
