// The new past replaces the recorded one.
#include "network/flow/repair.h"

namespace flopcast::network::flow {
namespace {

enum class Place : std::uint8_t { kNowhere, kOnLinks, kLeft };

}  // namespace

void Repair::commit() {
  replace_changes();
  std::uint64_t deviating = 0;
  for (const Flow& flow : flows_) {
    if (!flow.deviates) continue;
    replace_state(flow);
    ++deviating;
  }
  for (const Flow& flow : flows_) {
    if (flow.deviates) engine_.schedule(flow.flow);
  }
  for (const Link& link : links_) {
    if (link.deviates) engine_.links_[link.link].level = link.level;
  }
  engine_.region_.clear();
  engine_.undone_.clear();
  ++engine_.work_.repairs;
  engine_.work_.flows_repaired += deviating;
}

void Repair::replace_changes() {
  UndoLog& log = engine_.log_;
  for (const Flow& flow : flows_) {
    if (!flow.deviates) continue;
    for (std::uint32_t i = 0; i < flow.replaced; ++i) {
      Change& old = log.changes[recorded_[flow.recorded + i].number];
      old.fraction_and_kind = Change::pack(old.fraction(), ChangeKind::kDead);
      engine_.flows_[flow.flow].latest = old.previous;
    }
  }
  for (const NewChange& made : changes_) {
    const std::uint32_t id = flows_[made.flow].flow;
    const std::uint64_t number = log.changes.last();
    log.changes.push() = {made.time, made.before, engine_.flows_[id].latest, id,
                          Change::pack(kWhole, made.kind)};
    engine_.flows_[id].latest = number;
    if (log.marks.empty() || log.marks[log.marks.last() - 1].time < made.time) {
      log.marks.push() = {made.time, number};
    }
  }
}

void Repair::replace_state(const Flow& made) {
  auto& flow = engine_.flows_[made.flow];
  Plan& plan = engine_.plans_[made.flow];
  const std::int64_t rate = std::max<Level>(made.level, 0);
  for (const flow::Hop& hop : engine_.path(made.flow)) {
    engine_.links_[hop.link].used += (rate - flow.rate) * hop.weight;
  }
  replace_membership(made);
  const bool was_done = flow.phase == FlowPhase::kDone, done = made.phase == FlowPhase::kDone;
  const bool moved = plan.ended != made.ended;
  flow.level = made.level;
  flow.rate = rate;
  flow.offset = made.offset;
  flow.phase = made.phase;
  plan.started = made.started;
  plan.ended = made.ended;
  // Done at another time is undone and done again.
  if (was_done && (!done || moved)) engine_.hold_dependents(made.flow);
  if (done && (!was_done || moved)) engine_.release_dependents(made.flow, Engine::kNotNow);
  engine_.note(made.flow);
}

void Repair::replace_membership(const Flow& made) {
  const auto& flow = engine_.flows_[made.flow];
  const Plan& plan = engine_.plans_[made.flow];
  const auto place = [&](FlowPhase phase, Ps started) {
    if (phase == FlowPhase::kActive) return Place::kOnLinks;
    const bool was_active =
        started != kNever && flow.path_size != 0 && (plan.bytes != 0 || flow.background);
    return was_active ? Place::kLeft : Place::kNowhere;
  };
  const Place before = place(flow.phase, plan.started);
  const Place now = place(made.phase, made.started);
  if (before == now) return;
  if (before == Place::kNowhere) engine_.activate(made.flow);
  if (before == Place::kLeft && now == Place::kOnLinks) engine_.reactivate(made.flow);
  if (before == Place::kOnLinks || (before == Place::kNowhere && now == Place::kLeft)) {
    engine_.deactivate(made.flow, 0);
  }
  if (now == Place::kNowhere) engine_.links_.forget(flow.path, flow.path_size);
}

}  // namespace flopcast::network::flow
