#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "base/numeric/clock.h"
#include "base/numeric/rounded.h"
#include "base/text/format.h"
#include "network/topology/state.h"

namespace flopcast {
namespace {

constexpr std::uint64_t kMostLinks = 1U << 26;  // 2 GiB of LinkInfo

std::uint64_t mixed(std::uint64_t x) {  // the finaliser of MurmurHash3
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdULL;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ULL;
  return x ^ (x >> 33);
}

/// A link whose latency is no link's: thousands of them on a way still have a sum on the clock.
std::optional<Diagnostic> slow_link(const Cluster& cluster) {
  constexpr Seconds kMost{1000};
  const auto problem = [&](std::string_view link, Seconds latency) {
    return Diagnostic{ErrorCode::kBadInput, cluster.name,
                      fmt::format("{} has a latency of {}", link, short_time(latency)),
                      "a link's is microseconds, and at most 1000 s here"};
  };
  if (cluster.graph) {
    for (const FabricGraph::Edge& edge : cluster.graph->edges) {
      if (!(edge.latency <= kMost))
        return problem(cluster.graph->vertices[edge.from].name, edge.latency);
    }
    return std::nullopt;
  }
  for (const Level& level : cluster.levels) {
    if (!(level.latency <= kMost)) return problem(level.name, level.latency);
  }
  return std::nullopt;
}

}  // namespace

using namespace network;  // the room's own names

Rate Rate::from(BytesPerSecond rate) { return {rounded_whole(rate.value * 1024)}; }

std::optional<Diagnostic> Topology::State::add_level(const Level& level, std::uint16_t index) {
  LevelNet net;
  net.name = level.name;
  net.child_chips = levels.empty() ? Divisor(1) : levels.back().group_chips;
  net.group_chips = net.child_chips * level.size;
  net.children = level.size;
  net.first_link = static_cast<LinkId>(links.size());
  net.first_vertex = vertices;
  if (level.size > 1) {
    net.fabric = make_fabric(level, net.child_chips, options.balancing);
    net.planes = net.fabric->planes();
    net.shared_ports = net.planes < net.child_chips;
    net.joins_planes = net.fabric->joins_planes();
    const std::uint64_t groups = chips / net.group_chips;
    const std::uint64_t in_group = net.fabric->wire_count() + net.port_links();
    if (in_group > kMostLinks || links.size() + groups * in_group > kMostLinks) {
      return Diagnostic{ErrorCode::kTooLarge, level.name,
                        fmt::format("a {} of {} has more links than fit in memory",
                                    flopcast::name(level.fabric), level.size),
                        "choose a fabric with switches, or fewer chips"};
    }
    net.group_links = static_cast<std::uint32_t>(in_group);
    net.group_vertices = static_cast<std::uint32_t>(
        net.fabric->switches() + (net.shared_ports ? net.fabric->endpoints() : 0));
    add_links(net, level, index);
    vertices += static_cast<std::uint32_t>(groups) * net.group_vertices;
  }
  levels.push_back(std::move(net));
  return std::nullopt;
}

void Topology::State::add_links(const LevelNet& net, const Level& level, std::uint16_t index) {
  const std::vector<LevelFabric::Wire> wires = net.fabric->wires();
  const std::uint32_t endpoints = net.fabric->endpoints();
  const Rate port = Rate::from(net.fabric->endpoint_bandwidth());
  const bool direct = level.fabric == FabricKind::kRing || level.fabric == FabricKind::kTorus ||
                      level.fabric == FabricKind::kFullyConnected;
  const Time whole = on_clock(level.latency);
  for (std::uint32_t group = 0; group * net.group_chips < chips; ++group) {
    const std::uint32_t first_chip = group * net.group_chips;
    const std::uint32_t first_vertex = net.first_vertex + group * net.group_vertices;
    const auto vertex = [&](std::uint32_t v) {
      if (v >= endpoints) return first_vertex + v - (net.shared_ports ? 0 : endpoints);
      return (net.shared_ports ? first_vertex : first_chip) + v;
    };
    for (const int up : {1, 0}) {
      for (std::uint32_t i = 0; i < net.port_links() / 2; ++i) {
        const std::uint32_t chip = first_chip + i, at = vertex(net.endpoint_of(i));
        links.push_back({up ? chip : at, up ? at : chip, port, Time{}, index});
      }
    }
    for (const LevelFabric::Wire& wire : wires) {
      // Up takes the odd picosecond, so that the two halves sum to the whole.
      Time latency = wire.latency == Seconds{} ? Time{} : whole;
      if (!direct && wire.latency != Seconds{}) {
        latency = {wire.from < endpoints ? whole.ps - whole.ps / 2 : whole.ps / 2};
      }
      links.push_back(
          {vertex(wire.from), vertex(wire.to), Rate::from(wire.bandwidth), latency, index});
    }
  }
}

void Topology::State::add_graph(const Cluster& cluster) {
  const FabricGraph& given = *cluster.graph;
  // Chips become the first vertices, by rank.
  std::vector<std::uint32_t> place(given.vertices.size());
  std::uint32_t next = chips;
  graph_names.resize(given.vertices.size());
  for (std::size_t i = 0; i < place.size(); ++i) {
    const std::int32_t chip = given.vertices[i].chip;
    place[i] = chip >= 0 ? static_cast<std::uint32_t>(chip) : next++;
    graph_names[place[i]] = given.vertices[i].name;
  }
  vertices = next;
  std::vector<GraphRouting::Arc> arcs;
  for (const FabricGraph::Edge& edge : given.edges) {
    const std::uint32_t from = place[edge.from], to = place[edge.to];
    arcs.push_back({from, to, edge.bandwidth.value});
    links.push_back({from, to, Rate::from(edge.bandwidth), on_clock(edge.latency), 0});
  }
  graph = std::make_unique<GraphRouting>(vertices, chips, arcs);
  // Links of a vertex that chips of more than one node hang on belong to the fabric.
  constexpr std::uint32_t kNone = ~0U;
  std::vector<std::uint32_t> node(vertices, kNone);
  std::vector<bool> shared(vertices, false);
  for (const LinkInfo& link : links) {
    if (link.from >= chips || link.to < chips) continue;
    const std::uint32_t of_chip = link.from / chips_per_node;
    shared[link.to] = shared[link.to] || (node[link.to] != kNone && node[link.to] != of_chip);
    node[link.to] = of_chip;
  }
  for (std::uint32_t v = 0; v < chips; ++v) node[v] = v / chips_per_node;
  for (LinkInfo& link : links) {
    const bool inside = !shared[link.from] && !shared[link.to] && node[link.from] == node[link.to];
    if (!inside)
      link.level = static_cast<std::uint16_t>(
          cluster.levels.size() > cluster.node_levels ? cluster.node_levels : 0);
  }
}

void Topology::State::classify_latencies() {
  latency_class.reserve(links.size());
  std::size_t at = 0;
  for (const LinkInfo& link : links) {
    if (at == latencies.size() || latencies[at] != link.latency) {
      at = static_cast<std::size_t>(std::ranges::find(latencies, link.latency) - latencies.begin());
    }
    if (at == latencies.size()) latencies.push_back(link.latency);
    if (at > std::numeric_limits<std::uint8_t>::max()) return latency_class.clear();
    latency_class.push_back(static_cast<std::uint8_t>(at));
  }
}

/// Over the levels before `below`: the ends are in one group of the last of them.
void Topology::State::route_over(std::uint32_t src, std::uint32_t dst, const WayChoice& choice,
                                 std::size_t below, std::vector<LinkId>& path) const {
  std::uint32_t from = 0, to = 0;  // children of the level on which they part
  do {
    if (below == 0) return;
    --below;
    from = src / levels[below].child_chips;
    to = dst / levels[below].child_chips;
  } while (from == to);
  const LevelNet& net = levels[below];
  std::uint32_t own = src - from * net.child_chips;
  const std::uint32_t in_child = dst - to * net.child_chips;
  std::uint32_t plane = net.plane_of(own);
  const std::uint32_t goal = net.plane_of(in_child);
  if (plane != goal && (!net.joins_planes || options.pxn)) {
    route_over(src, src - own + in_child, choice, below, path);
    own = in_child;
    plane = goal;
  }
  const std::uint32_t group = from / net.children;
  from -= group * net.children;
  to -= group * net.children;
  const LinkId base = net.first_link + group * net.group_links;
  if (net.shared_ports) path.push_back(base + from * net.child_chips + own);
  net.fabric->route({from, plane}, {to, goal}, choice, base + net.port_links(), path);
  if (net.shared_ports) {
    path.push_back(base + net.group_chips + to * net.child_chips + in_child);
  }
}

std::string Topology::State::level_vertex_name(std::uint32_t vertex) const {
  if (vertex < chips) {
    if (chips == chips_per_node) return fmt::format("chip{}", vertex);
    return fmt::format("node{}.chip{}", vertex / chips_per_node, vertex % chips_per_node);
  }
  auto net = levels.rbegin();
  while (net->first_vertex > vertex || !net->fabric) ++net;
  const std::uint32_t group = (vertex - net->first_vertex) / net->group_vertices;
  const std::uint32_t index = (vertex - net->first_vertex) % net->group_vertices;
  const std::string prefix =
      chips == net->group_chips ? net->name : fmt::format("{}{}", net->name, group);
  const std::uint32_t ports = net->shared_ports ? net->fabric->endpoints() : 0;
  if (index < ports) {
    return fmt::format("{}.child{}.port{}", prefix, index / net->fabric->planes(),
                       index % net->fabric->planes());
  }
  return prefix + "." + net->fabric->switch_name(index - ports);
}

Topology::Topology(std::unique_ptr<State> state) : state_(std::move(state)) {}
Topology::Topology(Topology&&) noexcept = default;
Topology& Topology::operator=(Topology&&) noexcept = default;
Topology::~Topology() = default;

Result<Topology> Topology::build(const Cluster& cluster, const RoutingOptions& options) {
  const Result<Cluster> complete = complete_cluster(cluster);
  if (!complete) return complete.error();
  if (auto slow = slow_link(*complete)) return *slow;
  auto state = std::make_unique<State>();
  state->options = options;
  state->chips = state->vertices = complete->chips();
  state->chips_per_node = complete->chips_per_node();
  if (cluster.graph) {
    state->add_graph(*complete);
    state->classify_latencies();
    return Topology(std::move(state));
  }
  for (std::size_t i = 0; i < complete->levels.size(); ++i) {
    if (auto failure = state->add_level(complete->levels[i], static_cast<std::uint16_t>(i))) {
      failure->where = cluster.name + ": " + failure->where;
      return *failure;
    }
  }
  state->classify_latencies();
  return Topology(std::move(state));
}

std::uint32_t Topology::endpoints() const { return state_->chips; }
std::uint32_t Topology::vertices() const { return state_->vertices; }
std::span<const Topology::LinkInfo> Topology::links() const { return state_->links; }

std::string Topology::vertex_name(std::uint32_t vertex) const {
  return state_->graph ? state_->graph_names[vertex] : state_->level_vertex_name(vertex);
}

std::string Topology::link_name(LinkId link) const {
  const LinkInfo& info = state_->links[link];
  return vertex_name(info.from) + " > " + vertex_name(info.to);
}

void Topology::State::route(std::uint32_t src, std::uint32_t dst, std::uint64_t flow,
                            std::vector<LinkId>& path) const {
  if (src == dst) return;
  WayChoice choice;
  if (options.balancing == Balancing::kEcmp) {
    choice = {true, mixed(mixed(mixed(options.seed + src) + dst) + flow)};
  }
  if (graph) {
    graph->route(src, dst, choice, path);
  } else {
    route_over(src, dst, choice, levels.size(), path);
  }
}

Time Topology::State::latency(std::span<const LinkId> path) const {
  Time sum;
  if (latency_class.empty()) {
    for (const LinkId link : path) sum += links[link].latency;
  } else {
    for (const LinkId link : path) sum += latencies[latency_class[link]];
  }
  return sum;
}

void Topology::route(std::uint32_t src, std::uint32_t dst, std::uint64_t flow,
                     std::vector<LinkId>& path) const {
  state_->route(src, dst, flow, path);
}

Time Topology::latency(std::span<const LinkId> path) const { return state_->latency(path); }

}  // namespace flopcast
