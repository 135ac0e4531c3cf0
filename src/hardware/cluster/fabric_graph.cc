#include "hardware/cluster/fabric_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "hardware/cluster/text_lines.h"

namespace flopcast::hardware {
namespace {

Diagnostic graph_error(const std::string& where, std::string what, std::string hint) {
  return {ErrorCode::kBadInput, where, std::move(what), std::move(hint)};
}

/// Which vertices a walk from `start` comes to, along the edges or against them.
std::vector<bool> reached(const FabricGraph& graph, std::size_t start, bool forwards) {
  std::vector<std::vector<std::uint32_t>> next(graph.vertices.size());
  for (const FabricGraph::Edge& edge : graph.edges) {
    if (forwards) {
      next[edge.from].push_back(edge.to);
    } else {
      next[edge.to].push_back(edge.from);
    }
  }
  std::vector<bool> seen(graph.vertices.size(), false);
  std::vector<std::uint32_t> queue{static_cast<std::uint32_t>(start)};
  seen[start] = true;
  while (!queue.empty()) {
    const std::uint32_t vertex = queue.back();
    queue.pop_back();
    for (const std::uint32_t other : next[vertex]) {
      if (seen[other]) continue;
      seen[other] = true;
      queue.push_back(other);
    }
  }
  return seen;
}

std::optional<Diagnostic> check_ranks(const FabricGraph& graph, const std::string& where) {
  std::vector<bool> known;
  std::size_t chips = 0;
  for (const FabricGraph::Vertex& vertex : graph.vertices) {
    if (vertex.chip < 0) continue;
    const auto rank = static_cast<std::size_t>(vertex.chip);
    if (rank >= graph.vertices.size()) {
      return graph_error(where, fmt::format("rank {} is beyond the last vertex", vertex.chip),
                         "number the ranks from 0");
    }
    known.resize(std::max(known.size(), rank + 1), false);
    if (known[rank]) {
      return graph_error(where, fmt::format("rank {} is there twice", rank), "give each rank once");
    }
    known[rank] = true;
    ++chips;
  }
  if (chips == 0) return graph_error(where, "there are no chips", "give at least one rank");
  const auto gap = std::find(known.begin(), known.end(), false);
  if (gap == known.end()) return std::nullopt;
  return graph_error(where, fmt::format("rank {} is missing", gap - known.begin()),
                     "number the ranks from 0 without gaps");
}

/// One text of `links`.
struct LinkText {
  std::string from, to;
  bool one_way = false;
  BytesPerSecond bandwidth;
  Seconds latency;
};

Result<LinkText> parse_link(const std::string& where, const std::string& text) {
  TextLines line(text);
  line.next();
  std::vector<std::string_view> words = line.words();
  LinkText link;
  link.one_way = words.size() > 1 && words[1] == ">";
  if (link.one_way) words.erase(words.begin() + 1);
  if (words.size() != 3 && words.size() != 4) {
    return graph_error(where, fmt::format("expected a link, found '{}'", text),
                       "write it like \"0 leaf0 50GB/s 1us\"");
  }
  link.from = words[0];
  link.to = words[1];
  const Result<BytesPerSecond> bandwidth = parse_bandwidth(words[2]);
  if (!bandwidth) return graph_error(where, bandwidth.error().what, bandwidth.error().hint);
  link.bandwidth = *bandwidth;
  if (words.size() == 4) {
    const Result<Seconds> latency = parse_seconds(words[3]);
    if (!latency) return graph_error(where, latency.error().what, latency.error().hint);
    link.latency = *latency;
  }
  return link;
}

}  // namespace

Result<FabricGraph> read_graph_table(const TomlFile& file, const toml::node& node) {
  const std::string where = place(file, node);
  const toml::table* table = node.as_table();
  const toml::array* links = table == nullptr ? nullptr : (*table)["links"].as_array();
  const auto* chips = table == nullptr ? nullptr : (*table)["chips"].as_integer();
  constexpr std::int64_t kMostChips = 1 << 20;
  if (links == nullptr || chips == nullptr || chips->get() < 1 || chips->get() > kMostChips) {
    return graph_error(where, "a graph needs chips and links",
                       "write chips = 4 and links = [\"0 leaf0 50GB/s 1us\", ...]");
  }
  FabricGraph graph;
  std::map<std::string, std::uint32_t, std::less<>> ids;
  const auto add = [&](std::string name, std::int32_t chip) {
    ids.emplace(name, static_cast<std::uint32_t>(graph.vertices.size()));
    graph.vertices.push_back({std::move(name), chip});
  };
  for (std::int32_t rank = 0; rank < chips->get(); ++rank) add(std::to_string(rank), rank);
  std::vector<std::string> names;
  if (const toml::array* switches = (*table)["switches"].as_array()) {
    for (const toml::node& item : *switches) names.push_back(item.value_or(std::string()));
  }
  for (const std::string& name : names) {
    if (name.empty() || ids.contains(name)) {
      return graph_error(where, fmt::format("'{}' cannot name a switch", name),
                         "give every switch its own name, other than a rank's");
    }
    add(name, -1);
  }
  for (const toml::node& item : *links) {
    const Result<LinkText> link = parse_link(place(file, item), item.value_or(std::string()));
    if (!link) return link.error();
    for (const std::string& end : {link->from, link->to}) {
      if (ids.contains(end)) continue;
      return graph_error(
          place(file, item), fmt::format("no chip or switch is called '{}'", end),
          did_you_mean(end, names, fmt::format("ranks go from 0 to {}", chips->get() - 1)));
    }
    const std::uint32_t from = ids.find(link->from)->second, to = ids.find(link->to)->second;
    graph.edges.push_back({from, to, link->bandwidth, link->latency});
    if (!link->one_way) graph.edges.push_back({to, from, link->bandwidth, link->latency});
  }
  if (auto failure = check_graph(graph, where)) return *failure;
  return graph;
}

Level level_of(const FabricGraph& graph) {
  Level level;
  level.name = "node";
  std::vector<BytesPerSecond> sends(graph.vertices.size());
  std::vector<std::vector<const FabricGraph::Edge*>> out(graph.vertices.size());
  for (const FabricGraph::Edge& edge : graph.edges) {
    sends[edge.from] += edge.bandwidth;
    out[edge.from].push_back(&edge);
  }
  std::uint32_t first = 0;
  unsigned chips = 0;
  for (std::uint32_t i = 0; i < graph.vertices.size(); ++i) {
    if (graph.vertices[i].chip < 0) continue;
    if (graph.vertices[i].chip == 0) first = i;
    if (chips++ == 0 || sends[i] < level.port_bandwidth) level.port_bandwidth = sends[i];
  }
  level.size = chips;
  level.shape = {chips};
  // Breadth first from rank 0: the latency of the way with the fewest hops to each chip.
  std::vector<bool> seen(graph.vertices.size(), false);
  std::vector<std::pair<std::uint32_t, Seconds>> queue{{first, Seconds{}}};
  seen[first] = true;
  for (std::size_t next = 0; next < queue.size(); ++next) {
    const auto [vertex, latency] = queue[next];
    if (graph.vertices[vertex].chip >= 0) level.latency = std::max(level.latency, latency);
    for (const FabricGraph::Edge* edge : out[vertex]) {
      if (seen[edge->to]) continue;
      seen[edge->to] = true;
      queue.emplace_back(edge->to, latency + edge->latency);
    }
  }
  return level;
}

std::optional<Diagnostic> check_graph(const FabricGraph& graph, const std::string& where) {
  for (const FabricGraph::Edge& edge : graph.edges) {
    if (edge.from >= graph.vertices.size() || edge.to >= graph.vertices.size()) {
      return graph_error(where, "a link leads to a vertex that is not there", "check its ends");
    }
    const auto what = [&] {
      return fmt::format("the link from {} to {}", graph.vertices[edge.from].name,
                         graph.vertices[edge.to].name);
    };
    if (!(edge.bandwidth.value > 0)) {
      return graph_error(where, what() + " has no bandwidth", "give it one, like 50GB/s");
    }
    if (auto wrong = outside_of_limits(what(), edge.bandwidth, edge.latency)) {
      return graph_error(where, wrong->what, wrong->hint);
    }
  }
  if (auto failure = check_ranks(graph, where)) return failure;
  std::size_t start = 0;
  while (graph.vertices[start].chip != 0) ++start;
  const std::vector<bool> from = reached(graph, start, true), to = reached(graph, start, false);
  for (std::size_t i = 0; i < graph.vertices.size(); ++i) {
    const FabricGraph::Vertex& vertex = graph.vertices[i];
    if (vertex.chip < 0 || (from[i] && to[i])) continue;
    return graph_error(where,
                       fmt::format("rank {} ({}) is disconnected: rank 0 cannot {} it", vertex.chip,
                                   vertex.name, from[i] ? "hear from" : "reach"),
                       fmt::format("add a link {} {}", from[i] ? "from" : "to", vertex.name));
  }
  return std::nullopt;
}

}  // namespace flopcast::hardware
