#include "network/topology/routing_graph.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>

namespace flopcast::network {
namespace {

// A cost is forwarding chips << 48 | hops << 32 | sum of inverse widths.
constexpr int kHopBits = 32;
constexpr int kForwardBits = 48;
constexpr std::uint32_t kWidest = 16;  ///< inverse width of the widest arc

/// Arc ids sorted by `key`, with where each key's begin.
template <typename Key>
void group_arcs(const std::vector<GraphRouting::Arc>& arcs, std::uint32_t keys, Key key,
                std::vector<std::uint32_t>& offsets, std::vector<std::uint32_t>& grouped) {
  offsets.assign(keys + 1, 0);
  for (const auto& arc : arcs) ++offsets[key(arc) + 1];
  for (std::uint32_t i = 0; i < keys; ++i) offsets[i + 1] += offsets[i];
  grouped.resize(arcs.size());
  std::vector<std::uint32_t> next(offsets.begin(), offsets.end() - 1);
  for (std::uint32_t id = 0; id < arcs.size(); ++id) grouped[next[key(arcs[id])]++] = id;
}

}  // namespace

GraphRouting::~GraphRouting() = default;

GraphRouting::GraphRouting(std::uint32_t vertices, std::uint32_t chips, std::span<const Arc> arcs)
    : vertices_(vertices),
      chips_(chips),
      arcs_(arcs.begin(), arcs.end()),
      towards_(std::make_unique<Towards[]>(chips)) {
  group_arcs(
      arcs_, vertices, [](const Arc& arc) { return arc.from; }, out_offsets_, out_arcs_);
  group_arcs(
      arcs_, vertices, [](const Arc& arc) { return arc.to; }, in_offsets_, in_arcs_);
  double widest = 0;
  for (const Arc& arc : arcs_) widest = std::max(widest, arc.bandwidth);
  for (const Arc& arc : arcs_) {
    // Sums over 2^16 hops of the narrowest arc still fit.
    width_cost_.push_back(static_cast<std::uint32_t>(
        std::min(65535.0, std::round(kWidest * widest / arc.bandwidth))));
  }
  // The place of a chip: its index among the chips of whichever of its switches has the most.
  place_.assign(chips, 0);
  std::vector<std::vector<std::uint32_t>> members(vertices);
  for (const Arc& arc : arcs_) {
    if (arc.from >= chips && arc.to < chips) members[arc.from].push_back(arc.to);
  }
  std::vector<std::size_t> most(chips, 0);
  for (auto& list : members) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (list.size() <= most[list[i]]) continue;
      most[list[i]] = list.size();
      place_[list[i]] = static_cast<std::uint32_t>(i);
    }
  }
}

GraphRouting::Cost GraphRouting::cost_of(std::uint32_t arc, std::uint32_t destination) const {
  const std::uint32_t to = arcs_[arc].to;
  const Cost forwarded = to < chips_ && to != destination ? Cost{1} << kForwardBits : 0;
  return forwarded + (Cost{1} << kHopBits) + width_cost_[arc];
}

/// Dijkstra from the destination, against the arcs.
void GraphRouting::find_costs(std::uint32_t destination, std::vector<Cost>& cost) const {
  cost.assign(vertices_, std::numeric_limits<Cost>::max());
  using Entry = std::pair<Cost, std::uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  cost[destination] = 0;
  queue.emplace(0, destination);
  while (!queue.empty()) {
    const auto [known, vertex] = queue.top();
    queue.pop();
    if (known > cost[vertex]) continue;
    for (std::uint32_t i = in_offsets_[vertex]; i < in_offsets_[vertex + 1]; ++i) {
      const std::uint32_t arc = in_arcs_[i], before = arcs_[arc].from;
      const Cost through = known + cost_of(arc, destination);
      if (through < cost[before]) {
        cost[before] = through;
        queue.emplace(through, before);
      }
    }
  }
}

void GraphRouting::route(std::uint32_t from, std::uint32_t to, const WayChoice& choice,
                         std::vector<LinkId>& path) const {
  Towards& towards = towards_[to];
  std::call_once(towards.once, [&] { find_costs(to, towards.cost); });
  const std::vector<Cost>& cost = towards.cost;
  std::uint64_t key = choice.hashed ? choice.hash : place_[to];
  for (std::uint32_t at = from; at != to;) {
    const auto is_next = [&](std::uint32_t arc) {
      return cost[arcs_[arc].to] != std::numeric_limits<Cost>::max() &&
             cost[arcs_[arc].to] + cost_of(arc, to) == cost[at];
    };
    std::uint32_t ways = 0;
    for (std::uint32_t i = out_offsets_[at]; i < out_offsets_[at + 1]; ++i) {
      ways += is_next(out_arcs_[i]) ? 1 : 0;
    }
    auto skip = static_cast<std::uint32_t>(key % ways);
    if (ways > 1) key /= ways;
    std::uint32_t i = out_offsets_[at];
    while (!is_next(out_arcs_[i]) || skip-- > 0) ++i;
    path.push_back(out_arcs_[i]);
    at = arcs_[out_arcs_[i]].to;
  }
}

}  // namespace flopcast::network
