#include "serving/fleet/transfers.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace flopcast::serving {
namespace {

/// Chips of an attention rank: they hold different layers, or parts of heads.
unsigned rank_chips(const ServingLayout& layout) { return layout.tp * layout.pp; }

/// The chip of a replica that is the `index`-th of an attention rank.
unsigned chip_of(const ServingLayout& layout, unsigned rank, unsigned index) {
  const unsigned stage = index / layout.tp;
  return stage * layout.tp * layout.dp + rank * layout.tp + index % layout.tp;
}

}  // namespace

KvTransfers::KvTransfers(const TransferPlan& plan)
    : plan_(plan),
      pieces_(std::lcm(rank_chips(plan.from), rank_chips(plan.to))),
      simulator_(*plan.topology, FlowSimulator::Options{}) {}

void KvTransfers::find_path(std::uint32_t request, std::size_t from, std::size_t to) {
  const auto base = [](unsigned first, std::size_t replica, const ServingLayout& layout) {
    return first + static_cast<unsigned>(replica) * layout.chips();
  };
  const unsigned source = base(plan_.first_from, from, plan_.from);
  const unsigned target = base(plan_.first_to, to, plan_.to);
  // Engines deal requests out over their attention ranks; so do we.
  const unsigned source_rank = request % plan_.from.dp, target_rank = request % plan_.to.dp;
  links_.clear();
  latency_ = {};
  for (unsigned i = 0; i < pieces_; ++i) {
    const unsigned out = chip_of(plan_.from, source_rank, i * rank_chips(plan_.from) / pieces_);
    const unsigned in = chip_of(plan_.to, target_rank, i * rank_chips(plan_.to) / pieces_);
    const std::size_t begin = links_.size();
    plan_.topology->route(source + out, target + in, i, links_);
    latency_ = std::max(latency_, plan_.topology->latency(std::span(links_).subspan(begin)));
  }
  std::sort(links_.begin(), links_.end());
  path_.clear();
  for (const LinkId link : links_) {
    if (path_.empty() || path_.back().link != link) path_.push_back({link, 0});
    ++path_.back().weight;
  }
}

std::optional<Diagnostic> KvTransfers::start(std::uint32_t request, std::size_t from,
                                             std::size_t to, std::int64_t tokens, Time now) {
  find_path(request, from, to);
  const double of_chip =
      plan_.bytes_per_token * static_cast<double>(tokens) + plan_.bytes_per_request;
  FlowSpec spec;
  spec.path = path_;
  spec.bytes = std::llround(std::ceil(of_chip * rank_chips(plan_.to) / pieces_));
  spec.latency = latency_;
  simulator_.set_horizon(now);
  const Result<FlowId> flow = simulator_.submit(spec, now);
  if (!flow) return flow.error();
  request_of_.resize(*flow + std::size_t{1}, request);
  arrival_of_.resize(*flow + std::size_t{1}, Time::max());
  flow_of_[request] = *flow;
  settle();
  return std::nullopt;
}

// Runs to the end as if nothing else came: what comes later changes it by time travel.
void KvTransfers::settle() {
  simulator_.advance();
  for (const CompletionChange& change : simulator_.take_changes()) {
    const auto known = flow_of_.find(request_of_[change.flow]);
    if (known == flow_of_.end() || known->second != change.flow) continue;
    arrivals_.erase({arrival_of_[change.flow], change.flow});
    arrival_of_[change.flow] = change.after;
    arrivals_.emplace(change.after, change.flow);
  }
}

Time KvTransfers::next() const {
  return arrivals_.empty() ? Time::max() : arrivals_.begin()->first;
}

std::uint32_t KvTransfers::take() {
  const std::uint32_t request = request_of_[arrivals_.begin()->second];
  arrivals_.erase(arrivals_.begin());
  flow_of_.erase(request);
  return request;
}

void KvTransfers::drop(std::uint32_t request, Time now) {
  const auto known = flow_of_.find(request);
  if (known == flow_of_.end()) return;
  arrivals_.erase({arrival_of_[known->second], known->second});
  simulator_.set_horizon(now);
  simulator_.cancel(known->second, now);
  flow_of_.erase(known);
  settle();
}

}  // namespace flopcast::serving
