#include "hardware/cluster/builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "hardware/cluster/file.h"
#include "hardware/cluster/levels.h"

namespace flopcast::hardware {
namespace {

constexpr int kDeepest = 4;

/// What to write for a number of chips that leaves a node part empty.
std::string filling_hint(unsigned chips, unsigned inside, const std::string& node) {
  const unsigned below = chips / inside * inside;
  std::string hint =
      fmt::format("use {}{} chips", below > 0 ? fmt::format("{} or ", below) : "", below + inside);
  unsigned part = inside;
  while (part > inside / 2 && chips % part != 0) --part;
  if (part > inside / 2 && chips > inside) {
    hint +=
        fmt::format(", or part of each node: '{} x {}, node.size {}'", chips / part, node, part);
  }
  return hint;
}

}  // namespace

std::string ClusterBuilder::where(const Part& part) const {
  return fmt::format("{}{}cluster '{}', column {}", place_, place_.empty() ? "" : ": ", line_,
                     part.column);
}

Diagnostic ClusterBuilder::error(const Part& part, std::string what, std::string hint) const {
  return {ErrorCode::kBadInput, where(part), std::move(what), std::move(hint)};
}

const CatalogNode* ClusterBuilder::find_node(std::string_view name) const {
  return find_entry(catalog_.nodes_, name, kPointee);
}

std::vector<std::string> ClusterBuilder::all_names() const {
  std::vector<std::string> names = catalog_.node_names();
  const std::vector<std::string> clusters = catalog_.cluster_names();
  names.insert(names.end(), clusters.begin(), clusters.end());
  const auto add = [&names](const auto& entry) {
    names.push_back(entry.name);
    names.insert(names.end(), entry.aliases.begin(), entry.aliases.end());
  };
  for (const Chip& chip : catalog_.chips_) add(chip);
  for (const auto& node : catalog_.nodes_) add(*node);
  return names;
}

Diagnostic ClusterBuilder::unknown_name(const Part& part) const {
  const auto spoken = spoken_machine(part.text);
  const std::string_view name = spoken && !spoken->name.empty() ? spoken->name : part.text;
  return error(part, fmt::format("no node, chip or cluster is called '{}'", name),
               did_you_mean(name, all_names(), "flopcast hw list names them all"));
}

Result<ClusterBuilder::Head> ClusterBuilder::parse_head(const Part& part) const {
  const Result<CountedName> counted = catalog_.counted(part.text);
  if (!counted) return error(part, counted.error().what, counted.error().hint);
  Head head;
  head.counted = counted->count > 0;
  head.count = std::max(counted->count, 1U);
  head.chips = counted->chips;
  const std::string_view name = counted->name;
  head.whole = part;
  head.name = {name, part.column + static_cast<std::size_t>(name.data() - part.text.data())};
  if (name.empty()) {
    return error(part, "the name of a node, chip or cluster is missing",
                 "write it like 8 x dgx-h100");
  }
  return head;
}

/// What measurements hold for is the machine without the numbers that were put in place of its own. Where it is none
/// without them, as where a bandwidth is nowhere else, they are its own.
template <typename Make>
Result<Cluster> ClusterBuilder::with_nominal(Make&& make) {
  if (auto failure = make(*this)) return *failure;
  if (nominal_ || !overrides_) return std::move(cluster_);
  ClusterBuilder plain(catalog_, depth_);
  plain.nominal_ = true;
  if (!make(plain)) cluster_.nominal = std::make_shared<const Cluster>(std::move(plain.cluster_));
  return std::move(cluster_);
}

Result<Cluster> ClusterBuilder::from_text(std::string_view text) {
  return with_nominal([text](ClusterBuilder& builder) { return builder.build_text(text); });
}

Result<Cluster> ClusterBuilder::from_toml(const TomlFile& file) {
  return with_nominal([&file](ClusterBuilder& builder) { return builder.build_toml(file); });
}

ClusterBuilder::Failure ClusterBuilder::build_text(std::string_view text) {
  if (auto failure = read_line(text)) return failure;
  return finish(fmt::format("cluster '{}'", text));
}

ClusterBuilder::Failure ClusterBuilder::read_line(std::string_view text) {
  line_ = text;
  std::vector<Part> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view piece = trim(text.substr(begin, end - begin));
    if (!piece.empty()) {
      parts.push_back({piece, 1 + static_cast<std::size_t>(piece.data() - text.data())});
    }
    begin = end + 1;
  }
  if (parts.empty()) return error({text, 1}, "the text is empty", "write it like 8 x dgx-h100");
  put_head_first(parts);
  const Result<Head> head = parse_head(parts.front());
  if (!head) return head.error();
  for (const Part& part : parts) {
    const bool names_chip = part.text.starts_with("chip ") || part.text.starts_with("chip=");
    if (names_chip) named_chip_ = trim(part.text.substr(5));
  }
  if (auto failure = start(*head)) return failure;
  if (parts.size() > 1 || cluster_.name.empty()) cluster_.name = text;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (auto failure = apply(parts[i])) return failure;
  }
  return std::nullopt;
}

/// Whether the text, count and all, is of something that a cluster is made of.
bool ClusterBuilder::names_machine(std::string_view text) const {
  const Result<CountedName> counted = catalog_.counted(text);
  if (!counted) return true;  // a count that cannot be, which is told where it is read
  const std::string_view name = counted->name;
  if (find_node(name) != nullptr || find_entry(catalog_.chips_, name, kItself) != nullptr ||
      find_entry(catalog_.clusters_, name, kPointee) != nullptr) {
    return true;
  }
  const auto spoken = spoken_machine(text);
  const bool counts = spoken && (spoken->nodes > 0 || spoken->named > 0 || spoken->per_node > 0);
  return counts &&
         (find_node(spoken->name) != nullptr || spoken_chip(catalog_, spoken->name) != nullptr);
}

/// People may name the network first, and say in two parts what the head holds: "400G InfiniBand, 64 nodes of 8 H100",
/// "8 H100 per node, 64 nodes".
void ClusterBuilder::put_head_first(std::vector<Part>& parts) {
  const auto head =
      std::ranges::find_if(parts, [&](const Part& part) { return names_machine(part.text); });
  if (head != parts.end()) std::rotate(parts.begin(), head, head + 1);
  for (auto part = parts.begin() + 1; part != parts.end();) {
    const auto counts = spoken_machine(part->text);
    const bool only = counts && counts->name.empty() && (counts->nodes > 0 || counts->per_node > 0);
    if (!only) {
      ++part;
      continue;
    }
    parts.front().text = spoken_.emplace_back(fmt::format("{} {}", parts.front().text, part->text));
    part = parts.erase(part);
  }
}

ClusterBuilder::Failure ClusterBuilder::start(const Head& head) {
  const std::string_view name = head.name.text;
  const CatalogCluster* cluster = find_entry(catalog_.clusters_, name, kPointee);
  if (cluster != nullptr && !head.counted) return start_cluster(head, *cluster);
  if (const CatalogNode* node = find_node(name)) return start_node(head, *node);
  const Chip* chip = find_entry(catalog_.chips_, name, kItself);
  const auto spoken = spoken_machine(head.whole.text);
  const bool of_nodes = spoken && (spoken->nodes > 0 || spoken->per_node > 0);
  if (chip != nullptr && !of_nodes) return start_chip(head, *chip);
  if (looks_like_file(name)) return start_file(head, std::string(name));
  if (spoken &&
      (find_node(spoken->name) != nullptr || spoken_chip(catalog_, spoken->name) != nullptr)) {
    return start_spoken(head, *spoken);
  }
  if (cluster != nullptr) {
    return error(head.name, fmt::format("'{}' is a whole cluster", name),
                 fmt::format("write '{}' alone, or count its nodes: {}", name, cluster->text));
  }
  return unknown_name(head.name);
}

void ClusterBuilder::take_nodes(const CatalogNode& node, unsigned count) {
  node_ = &node;
  cluster_.chip = *catalog_.chip(node.chip);
  cluster_.levels = node.levels;
  cluster_.node_levels = static_cast<unsigned>(node.levels.size());
  cluster_.facts = node.facts;
  current_ = cluster_.levels.size() - 1;
  if (count == 1) return;
  Level fabric;
  fabric.name = "fabric";
  fabric.transport = Transport::kRdma;
  fabric.ports = cluster_.chips_per_node();
  if (node.nic) fabric = *node.nic;
  fabric.size = count;
  cluster_.levels.push_back(std::move(fabric));
  ++current_;
  joinable_ = true;
}

ClusterBuilder::Failure ClusterBuilder::start_node(const Head& head, const CatalogNode& node) {
  take_nodes(node, 1);
  unsigned count = head.count;
  const unsigned inside = cluster_.chips_per_node();
  if (head.chips) {
    if (count % inside != 0) {
      return error(head.name, fmt::format("{} chips do not fill nodes of {}", count, inside),
                   fmt::format("use a multiple of {}", inside));
    }
    count /= inside;
  }
  take_nodes(node, count);
  return std::nullopt;
}

ClusterBuilder::Failure ClusterBuilder::start_chip(const Head& head, const Chip& chip) {
  const auto node = std::find_if(catalog_.nodes_.begin(), catalog_.nodes_.end(),
                                 [&](const auto& entry) { return entry->chip == chip.name; });
  cluster_.chip = chip;
  if (head.count == 1) {
    cluster_.levels = {Level{}};
    cluster_.levels[0].name = "node";
    bare_chip_ = true;
    return std::nullopt;
  }
  if (node == catalog_.nodes_.end()) {
    return error(
        head.name, fmt::format("how {} chips are joined is not known", chip.name),
        fmt::format("say it, like '{0}, torus 4x4x4 LINK' or '{0}, switch 8 LINK'", chip.name));
  }
  take_nodes(**node, 1);
  const unsigned inside = cluster_.chips_per_node();
  if (head.count % inside == 0) {
    take_nodes(**node, head.count / inside);
  } else if (head.count < inside && shrink_levels(cluster_.levels, head.count)) {
    const Level& last = cluster_.levels.back();
    if (last.efficiency < (*node)->levels[cluster_.levels.size() - 1].efficiency) {
      Fact fact{last.name + ".efficiency", last.efficiency, "", "a slice without links around it",
                Basis::kAssumed};
      put_fact(cluster_.facts, std::move(fact));
    }
    cluster_.node_levels = static_cast<unsigned>(cluster_.levels.size());
    current_ = cluster_.levels.size() - 1;
  } else {
    return error(
        head.name,
        fmt::format("{} chips do not fill nodes of {} ({})", head.count, inside, (*node)->name),
        filling_hint(head.count, inside, (*node)->name));
  }
  return std::nullopt;
}

ClusterBuilder::Failure ClusterBuilder::start_spoken(const Head& head,
                                                     const SpokenMachine& spoken) {
  Head said = head;
  said.name = head.whole;
  if (const CatalogNode* node = find_node(spoken.name)) {
    if (spoken.per_node > 0) {
      return error(
          head.whole,
          fmt::format("{} are nodes, and {} of them are said to be in each", node->name,
                      spoken.per_node),
          fmt::format("count the nodes alone: '{} x {}'", std::max(spoken.nodes, 1U), node->name));
    }
    said.count = std::max({spoken.nodes, spoken.named, 1U});
    said.chips = spoken.chips && spoken.nodes == 0;
    return start_node(said, *node);
  }
  const Chip& chip = *spoken_chip(catalog_, spoken.name);
  if (spoken.nodes == 0 && spoken.per_node == 0) {
    said.count = std::max(spoken.named, 1U);
    return start_chip(said, chip);
  }
  return start_nodes_of(said, chip, std::max(spoken.nodes, 1U), spoken.per_node);
}

/// @param per_node 0: as many as the chip's usual node holds
ClusterBuilder::Failure ClusterBuilder::start_nodes_of(const Head& head, const Chip& chip,
                                                       unsigned nodes, unsigned per_node) {
  const CatalogNode* usual = nullptr;
  std::string known;
  for (const auto& node : catalog_.nodes_) {
    if (node->chip != chip.name) continue;
    unsigned inside = 1;
    for (const Level& level : node->levels) inside *= level.size;
    if (usual == nullptr || (inside == per_node && cluster_.chips_per_node() != per_node)) {
      usual = node.get();
      take_nodes(*node, 1);
    }
    known += fmt::format("{}{} ({})", known.empty() ? "" : ", ", inside, node->name);
  }
  if (usual == nullptr) {
    return error(head.name,
                 fmt::format("how {} chips are joined in a node is not known", chip.name),
                 fmt::format("say it, like '{0}, switch 8 pcie4, switch 16 roce-200'", chip.name));
  }
  take_nodes(*usual, nodes);
  const unsigned inside = cluster_.chips_per_node();
  if (per_node == 0 || per_node == inside) return std::nullopt;
  if (per_node > inside || cluster_.node_levels > 1) {
    return error(head.name, fmt::format("no node of {} {} is known", per_node, chip.name),
                 "nodes of it hold " + known);
  }
  Setting size{"size",
               fmt::format("{}", per_node),
               {fmt::format("{}", per_node)},
               where(head.name),
               "given",
               Basis::kAssumed};
  return set_level_of(0, size);
}

ClusterBuilder::Failure ClusterBuilder::start_cluster(const Head& head,
                                                      const CatalogCluster& cluster) {
  ClusterBuilder inner(catalog_, depth_ + 1);
  if (depth_ >= kDeepest) {
    return error(head.name, fmt::format("'{}' leads to itself", cluster.name), "name a node");
  }
  Result<Cluster> known = inner.from_text(cluster.text);
  if (!known) {
    return error(head.name, fmt::format("{}: {}", cluster.name, known.error().text()), "");
  }
  take_whole(std::move(*known));
  cluster_.name.clear();
  current_ = cluster_.levels.size() - 1;
  Fact fact{"cluster", static_cast<double>(cluster_.chips()), "", cluster.source, Basis::kRoofline};
  put_fact(cluster_.facts, std::move(fact));
  joinable_ = cluster_.levels.size() > cluster_.node_levels;
  return std::nullopt;
}

ClusterBuilder::Failure ClusterBuilder::start_file(const Head& head, const std::string& path) {
  if (depth_ >= kDeepest) {
    return error(head.name, fmt::format("'{}' leads to itself", path), "name a node or a chip");
  }
  Result<Cluster> read = read_cluster_file(catalog_, path, head.count, named_chip_, depth_);
  if (!read) {
    Diagnostic failure = read.error();
    if (!place_.empty()) failure.where = fmt::format("{}: {}", place_, failure.where);
    return failure;
  }
  take_whole(std::move(*read));
  current_ = cluster_.levels.size() - 1;
  return std::nullopt;
}

/// A cluster that was described elsewhere, with its overrides or, for what measurements hold, without.
void ClusterBuilder::take_whole(Cluster whole) {
  overrides_ = overrides_ || whole.nominal != nullptr;
  if (nominal_ && whole.nominal) whole = Cluster(*whole.nominal);
  whole.nominal = nullptr;
  cluster_ = std::move(whole);
}

ClusterBuilder::Failure ClusterBuilder::finish(const std::string& place) {
  if (cluster_.graph) {
    std::size_t ranks = 0;
    for (const FabricGraph::Vertex& vertex : cluster_.graph->vertices) ranks += vertex.chip >= 0;
    std::uint64_t chips = 1;
    for (const Level& level : cluster_.levels) chips *= level.size;
    if (chips != ranks) {
      return Diagnostic{ErrorCode::kBadInput, place,
                        fmt::format("the levels hold {} chips, the graph {}", chips, ranks),
                        "make their sizes multiply to the ranks of the graph"};
    }
  }
  for (Level& level : cluster_.levels) {
    if (auto failure = complete_shape(level, place)) return failure;
  }
  return check_levels(cluster_, place);
}

}  // namespace flopcast::hardware
