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
  simulator_.set_horizon(now);
  const Result<FlowId> flow = simulator_.submit(spec, now);
  if (!flow) return flow.error();
  moving_.push_back({*flow, request, latency_});
  now_ = now;
  settled_ = false;
  return std::nullopt;
}

/// What was sent by now arrives soon; when the next one is sent, if nothing changes until then.
void KvTransfers::settle() {
  if (settled_) return;
  settled_ = true;
  simulator_.advance(now_);
  sent_ = Time::max();
  std::erase_if(moving_, [&](const Moving& one) {
    const FlowStatus status = simulator_.query(one.flow);
    const bool sent = status.end <= now_;
    if (sent) {
      arrivals_.emplace(status.end + one.latency, one.request);
    } else {
      sent_ = std::min(sent_, status.end);
    }
    return sent;
  });
}

Time KvTransfers::next() {
  settle();
  return arrivals_.empty() ? sent_ : std::min(sent_, arrivals_.begin()->first);
}

std::optional<std::uint32_t> KvTransfers::take(Time now) {
  now_ = now;
  if (sent_ <= now) settled_ = false;
  settle();
  if (arrivals_.empty() || arrivals_.begin()->first > now) return std::nullopt;
  const std::uint32_t request = arrivals_.begin()->second;
  arrivals_.erase(arrivals_.begin());
  return request;
}

void KvTransfers::drop(std::uint32_t request, Time now) {
  std::erase_if(arrivals_, [&](const auto& one) { return one.second == request; });
  const auto found = std::find_if(moving_.begin(), moving_.end(),
                                  [&](const Moving& one) { return one.request == request; });
  if (found == moving_.end()) return;
  simulator_.set_horizon(now);
  simulator_.cancel(found->flow, now);
  moving_.erase(found);
  now_ = now;
  settled_ = false;
}

}  // namespace flopcast::serving
