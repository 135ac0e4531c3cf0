// What a caller asks of a flow: checked, then turned into a plan and events.
#include <algorithm>
#include <string>
#include <utility>

#include "network/flow/engine.h"
#include "network/flow/repair.h"

namespace flopcast::network::flow {
namespace {

constexpr std::uint32_t kMaxWeight = 1U << 20;
constexpr std::int64_t kMaxRate = std::int64_t{1} << 53;  // 8.8 TB/s: levels of groups have room
// No flow holds a link of a group back.
constexpr std::int64_t kGroupCapacity = 1;
constexpr std::size_t kFewLinks = 6;  // of a path, which are compared with each other

bool is_weight(std::uint32_t weight) { return weight - 1 < kMaxWeight; }

Diagnostic refuse(std::string where, std::string what, std::string hint) {
  return {ErrorCode::kBadInput, std::move(where), std::move(what), std::move(hint)};
}
bool is_limited(const FlowSpec& spec) { return spec.limit.value != 0; }
bool is_grouped(const FlowSpec& spec) {
  return spec.group != 0 && (is_limited(spec) || !spec.path.empty());
}
std::string text(Ps time) { return std::to_string(time) + " ps"; }
std::string named(std::size_t flow) { return "flow " + std::to_string(flow); }

}  // namespace

Engine::Engine(std::span<const Rate> capacities, const FlowSimulator::Options& options)
    : options_(options), real_links_(capacities.size()) {
  links_.reserve(capacities.size());
  for (const Rate capacity : capacities)
    links_.add(std::clamp<std::int64_t>(capacity.value, 0, kMaxRate));
  seen_links_.assign(capacities.size(), kNone);
}

Engine::~Engine() = default;

/// What is wrong with a path that lay_path() refused.
Diagnostic Engine::path_fault(const FlowSpec& spec) {
  const auto id = static_cast<FlowId>(outcomes_.size());
  std::fill(seen_links_.begin(), seen_links_.end(), kNone);  // the id is not used up
  std::size_t at = 0;
  for (; at + 1 < spec.path.size(); ++at) {
    const LinkUse& use = spec.path[at];
    if (use.link >= real_links_ || !is_weight(use.weight) || seen_links_[use.link] == id) break;
    seen_links_[use.link] = id;
  }
  const LinkUse& use = spec.path[at];
  std::fill(seen_links_.begin(), seen_links_.end(), kNone);
  if (use.link >= real_links_) {
    return refuse(named(id), "link " + std::to_string(use.link) + " of its path does not exist",
                  "links are 0 to " + std::to_string(real_links_) + " - 1");
  }
  if (!is_weight(use.weight)) {
    return refuse(named(id),
                  "weight " + std::to_string(use.weight) + " on link " + std::to_string(use.link),
                  "a weight lies between 1 and " + std::to_string(kMaxWeight));
  }
  return refuse(named(id), "link " + std::to_string(use.link) + " twice in its path",
                "name each link once, with the sum of the weights");
}

/// @return false: a link or weight that cannot be, or a link twice.
bool Engine::lay_path(std::span<const LinkUse> path, std::uint32_t first) {
  const auto id = static_cast<FlowId>(outcomes_.size());
  const bool few = path.size() <= kFewLinks;
  std::uint32_t hop = first;
  for (const LinkUse& use : path) {
    if (use.link >= real_links_ || !is_weight(use.weight)) return false;
    if (few) {
      for (const Hop& before : links_.path(first, hop - first)) {
        if (before.link == use.link) return false;
      }
    } else if (std::exchange(seen_links_[use.link], id) == id) {
      return false;
    }
    links_.set_hop(hop++, use.link, use.weight);
  }
  return true;
}

std::optional<Diagnostic> Engine::check(const FlowSpec& spec, Time start) {
  const std::size_t id = outcomes_.size();
  if (start.ps < horizon_) {
    return refuse(named(id),
                  "starts at " + text(start.ps) + ", before the horizon " + text(horizon_),
                  "submit it earlier, or set the horizon later");
  }
  if (spec.bytes < 0 || spec.latency.ps < 0 || spec.delay.ps < 0 || spec.limit.value < 0) {
    return refuse(named(id), "negative size, latency, delay or limit", "give 0 or more");
  }
  for (const FlowId before : spec.after) {
    if (before >= id) {
      return refuse(named(id),
                    "waits for flow " + std::to_string(before) + ", which does not exist",
                    "submit flows in the order of their dependencies");
    }
  }
  return std::nullopt;
}

std::uint32_t Engine::group_link(std::uint32_t group) {
  close_pools();  // of plain flows only
  const auto [at, added] = group_links_.try_emplace(group, 0);
  if (added) at->second = links_.add(kGroupCapacity);
  return at->second;
}

std::uint32_t Engine::new_flow() {
  if (free_flows_.empty()) {
    flows_.emplace_back();
    plans_.emplace_back();
    return static_cast<std::uint32_t>(flows_.size() - 1);
  }
  const std::uint32_t flow = free_flows_.back();
  free_flows_.pop_back();
  flows_[flow] = {};
  plans_[flow] = {};
  return flow;
}

/// @param first hop of the path that was laid, with room for the flow's own links.
void Engine::add_path(Flow& flow, const FlowSpec& spec, std::uint32_t first, std::uint32_t size) {
  flow.path = first;
  flow.path_size = size;
  flow.limited = is_limited(spec);
  flow.grouped = is_grouped(spec);
  std::uint32_t hop = first + static_cast<std::uint32_t>(spec.path.size());
  if (flow.limited) links_.set_hop(hop++, links_.add(std::min(spec.limit.value, kMaxRate)), 1);
  if (flow.grouped) links_.set_hop(hop, group_link(spec.group), 0);
}

void Engine::add_dependencies(std::uint32_t flow, std::span<const FlowId> after) {
  if (after.empty()) return;
  Plan& plan = plans_[flow];
  plan.after_size = static_cast<std::uint32_t>(after.size());
  plan.after = dependencies_.take(plan.after_size);
  std::uint32_t edge = plan.after;
  for (const FlowId id : after) {
    const Outcome& outcome = outcomes_[id];
    dependencies_[edge] = {id, flow, kNone};
    if (outcome.flow != kNone) dependencies_.enlist(plans_[outcome.flow].dependents, edge);
    ++edge;
    const Ps complete = completion_of(outcome);
    if (complete == kNever) {
      ++plan.pending;
    } else {
      plan.latest = std::max(plan.latest, complete);
    }
  }
}

Result<FlowId> Engine::submit(const FlowSpec& spec, Time start) {
  if (auto wrong = check(spec, start)) return *wrong;
  const std::uint32_t size =
      static_cast<std::uint32_t>(spec.path.size()) + is_limited(spec) + is_grouped(spec);
  const std::uint32_t first = links_.take_path(size);
  if (!lay_path(spec.path, first)) {
    links_.free_path(first, size);
    return path_fault(spec);
  }
  const std::uint32_t number = new_flow();
  Flow& flow = flows_[number];
  Plan& plan = plans_[number];
  plan.id = static_cast<FlowId>(outcomes_.size());
  outcomes_.emplace_back().flow = number;
  add_path(flow, spec, first, size);
  flow.background = spec.background;
  flow.offset = spec.background ? 0 : kWorkPerByte * spec.bytes;
  plan.start = start.ps;
  plan.delay = spec.delay.ps;
  plan.latency = spec.latency.ps;
  plan.bytes = spec.background ? 0 : spec.bytes;
  longest_latency_ = std::max(longest_latency_, plan.latency);
  add_dependencies(number, spec.after);
  edited(number, ready_time(number));
  return plan.id;
}

void Engine::edited(std::uint32_t flow, Ps time) {
  if (time > processed_) {
    schedule(flow);
    return;
  }
  edited_.push_back(flow);
  edited_from_ = std::min(edited_from_, time);
}

std::optional<Diagnostic> Engine::update_start(FlowId id, Time start) {
  if (id >= outcomes_.size()) return refuse(named(id), "does not exist", "submit it first");
  const std::uint32_t flow = outcomes_[id].flow;
  Ps before = outcomes_[id].start;
  if (flow != kNone) {
    const Plan& plan = plans_[flow];
    before = std::min(plan.started != kNever ? plan.started : ready_time(flow), plan.ended);
  }
  if (std::min(before, start.ps) < horizon_ || flow == kNone) {
    return refuse(
        named(id),
        "start " + text(std::min(before, start.ps)) + " lies before the horizon " + text(horizon_),
        "change starts at or after the horizon only");
  }
  plans_[flow].start = start.ps;
  edited(flow, std::min(before, ready_time(flow)));
  return std::nullopt;
}

std::optional<Diagnostic> Engine::cancel(FlowId id, Time at) {
  if (id >= outcomes_.size()) return refuse(named(id), "does not exist", "submit it first");
  const std::uint32_t flow = outcomes_[id].flow;
  const FlowPhase phase = flow == kNone ? outcomes_[id].phase : flows_[flow].phase;
  const Ps ended = flow == kNone ? outcomes_[id].end : plans_[flow].ended;
  const bool cancelled = phase == FlowPhase::kCancelled && ended < horizon_;
  if (cancelled || at.ps < horizon_) {
    return refuse(named(id),
                  "cancelled at " + text(cancelled ? ended : at.ps) + ", before the horizon " +
                      text(horizon_),
                  "cancel at or after the horizon only");
  }
  if (flow == kNone) return std::nullopt;  // done before the horizon
  Plan& plan = plans_[flow];
  const Ps first = std::min(plan.cancel, at.ps);
  const bool too_late = phase == FlowPhase::kDone && plan.started < first && ended <= first;
  plan.cancel = at.ps;
  flows_[flow].cancels = at.ps != kNever;
  if (!too_late) edited(flow, first);
  return std::nullopt;
}

}  // namespace flopcast::network::flow
