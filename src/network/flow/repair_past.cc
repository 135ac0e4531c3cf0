// The recorded run around the time of a repair: flows and links as they are met.
#include <algorithm>
#include <functional>

#include "network/flow/repair.h"

namespace flopcast::network::flow {

std::uint32_t Repair::meet(std::uint32_t engine_flow) {
  if (met_.size() < engine_.flows_.size()) met_.resize(engine_.flows_.size(), kNone);
  if (met_[engine_flow] != kNone) return met_[engine_flow];
  const auto number = static_cast<std::uint32_t>(flows_.size());
  met_[engine_flow] = number;
  const auto first = static_cast<std::uint32_t>(recorded_.size());
  const auto& changes = engine_.log_.changes;
  for (std::uint64_t c = engine_.flows_[engine_flow].latest;
       changes.holds(c) && changes[c].time >= passed_; c = changes[c].previous) {
    recorded_.push_back({changes[c].time, changes[c].level, c});
  }
  const auto size = static_cast<std::uint32_t>(recorded_.size()) - first;
  flows_.push_back({engine_flow, first, size, size});
  return number;
}

std::uint32_t Repair::load(std::uint32_t engine_link) {
  if (loaded_.size() < engine_.links_.size()) loaded_.resize(engine_.links_.size(), kNone);
  if (loaded_[engine_link] != kNone) return loaded_[engine_link];
  const auto number = static_cast<std::uint32_t>(links_.size());
  loaded_[engine_link] = number;
  links_.push_back({engine_link});
  for (const flow::Member& member : engine_.links_[engine_link].members.all()) {
    if (engine_.plans_[member.flow].ended < passed_) continue;
    members_.push_back({meet(member.flow), member.weight, links_[number].members});
    links_[number].members = static_cast<std::uint32_t>(members_.size() - 1);
  }
  return number;
}

/// Puts a flow on a link unless the record has it there.
void Repair::join(std::uint32_t link, std::uint32_t flow, std::uint32_t weight) {
  for (std::uint32_t m = links_[link].members; m != kNone; m = members_[m].next) {
    if (members_[m].flow == flow) return;
  }
  members_.push_back({flow, weight, links_[link].members});
  links_[link].members = static_cast<std::uint32_t>(members_.size() - 1);
}

std::span<const Repair::Hop> Repair::path(std::uint32_t number) {
  const std::uint32_t engine_flow = flows_[number].flow;
  const auto hops = engine_.path(engine_flow);
  if (flows_[number].path == kNone) {
    flows_[number].path = static_cast<std::uint32_t>(hops_.size());
    for (const flow::Hop& hop : hops) {
      const std::uint32_t link = load(hop.link);
      hops_.push_back({link, hop.weight});
    }
  }
  return std::span(hops_).subspan(flows_[number].path, hops.size());
}

Level Repair::recorded_level(std::uint32_t number) {
  Flow& flow = flows_[number];
  const Recorded* changes = recorded_.data() + flow.recorded;
  while (flow.ahead > 0 && changes[flow.ahead - 1].time <= passed_) --flow.ahead;
  return flow.ahead > 0 ? changes[flow.ahead - 1].before : engine_.flows_[flow.flow].level;
}

Level Repair::recorded_link_level(std::uint32_t number) {
  Link& link = links_[number];
  if (link.recorded_at == passed_) return link.recorded_level;
  LinkLevel::Sum sum;
  const auto each_active = [&](auto& into) {
    for (std::uint32_t m = link.members; m != kNone; m = members_[m].next) {
      const Level level = recorded_level(members_[m].flow);
      if (level != kInactive) into.add(level, members_[m].weight, kWhole);
    }
  };
  each_active(sum);
  if (sum.clear_cut(capacity(number))) {
    link.recorded_level = sum.level(capacity(number)).level;
  } else {
    LinkLevel::Sorted sorted;
    each_active(sorted);
    link.recorded_level = sorted.level(capacity(number)).level;
  }
  link.recorded_at = passed_;
  return link.recorded_level;
}

std::int64_t Repair::slack(std::uint32_t link) {
  std::int64_t left = capacity(link);
  for_each_member(link,
                  [&](std::uint32_t flow, std::uint32_t weight) { left -= rate(flow) * weight; });
  return left;
}

std::uint32_t Repair::active(std::uint32_t link) {
  std::uint32_t count = 0;
  for_each_member(link, [&](std::uint32_t, std::uint32_t) { ++count; });
  return count;
}

/// Puts the flow's next recorded change into the queue.
void Repair::watch(std::uint32_t number) {
  recorded_level(number);
  Flow& flow = flows_[number];
  if (flow.watched || flow.ahead == 0) return;
  flow.watched = true;
  push({recorded_[flow.recorded + flow.ahead - 1].time, true, number, 0});
}

/// From `from` on the flow has a trajectory of its own. @return false: it was over before.
bool Repair::deviate(std::uint32_t number, Ps from) {
  recorded_level(number);
  Flow& flow = flows_[number];
  if (flow.deviates) return true;
  const auto& now = engine_.flows_[flow.flow];
  const Plan& plan = engine_.plans_[flow.flow];
  const Recorded* changes = recorded_.data() + flow.recorded;
  std::uint32_t replaced = flow.ahead;
  while (replaced < flow.recorded_size && changes[replaced].time >= from) ++replaced;
  Level level = now.level;
  Work offset = now.offset;
  for (std::uint32_t i = 0; i < replaced; ++i) {
    const Level before = changes[i].before;
    offset +=
        static_cast<Work>(std::max<Level>(before, 0) - std::max<Level>(level, 0)) * changes[i].time;
    level = before;
  }
  if (level == kInactive && plan.ended < from) return false;
  flow.deviates = true;
  flow.replaced = replaced;
  flow.level = level;
  flow.offset = offset;
  flow.phase = level == kInactive ? FlowPhase::kWaiting : FlowPhase::kActive;
  if (flow.phase == FlowPhase::kActive) flow.started = plan.started;
  watch(number);
  return true;
}

/// Links of a flow that deviates: whatever changes on them from now on is looked at.
void Repair::deviate_links(std::uint32_t number) {
  for (const Hop& hop : path(number)) {
    Link& link = links_[hop.link];
    if (link.deviates) continue;
    link.level = recorded_link_level(hop.link);
    link.deviates = true;
    for (std::uint32_t m = link.members; m != kNone; m = members_[m].next) {
      watch(members_[m].flow);
    }
  }
}

void Repair::push(const Event& event) {
  queue_.push_back(event);
  std::push_heap(queue_.begin(), queue_.end(), std::greater<>());
}

Repair::Event Repair::pop() {
  std::pop_heap(queue_.begin(), queue_.end(), std::greater<>());
  const Event event = queue_.back();
  queue_.pop_back();
  return event;
}

void Repair::forget_all() {
  for (const Flow& flow : flows_) met_[flow.flow] = kNone;
  for (const Link& link : links_) loaded_[link.link] = kNone;
  flows_.clear();
  links_.clear();
  members_.clear();
  hops_.clear();
  recorded_.clear();
  changes_.clear();
  starting_.clear();
  queue_.clear();
}

}  // namespace flopcast::network::flow
