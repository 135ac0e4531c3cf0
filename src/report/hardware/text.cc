// The catalogue and its entries for a terminal.
#include <fmt/format.h>

#include "base/text/shown.h"

#include "flopcast/report/hardware.h"
#include "report/hardware/words.h"
#include "report/render/table.h"

namespace flopcast {

using namespace report;  // the room's own names

namespace {

/// A number with its unit, "-" where it is not known.
std::string shown(double value, UnitKind kind) {
  return value > 0 ? quantity_text(value, kind) : "-";
}

UnitKind kind_of(std::string_view unit) {
  for (int i = 0; i <= static_cast<int>(UnitKind::kHertz); ++i) {
    if (unit == unit_name(static_cast<UnitKind>(i))) return static_cast<UnitKind>(i);
  }
  return UnitKind::kNone;
}

std::string also(const std::vector<std::string>& names) {
  return names.empty() ? "" : fmt::format(", also {}", fmt::join(names, ", "));
}

/// The share of its bandwidth a link is known to reach.
std::string reached_text(const Link& link) {
  for (const Fact& fact : link.facts) {
    if (fact.key == "efficiency") return fmt::format("{:.1f} %", 100 * fact.value);
  }
  return "-";
}

std::string level_text(const Level& level) {
  std::string text = fmt::format("{} {}", name(level.fabric), fmt::join(level.shape, "x"));
  if (!level.link.empty()) text += " " + level.link;
  return text + fmt::format(", {} per child", quantity_text(level.child_bandwidth().value,
                                                            UnitKind::kBytesPerSecond));
}

// --- list ---------------------------------------------------------------------------------------

std::string chips_text(const Catalog& catalog) {
  Table table({{"chip", Align::kLeft},
               {"maker", Align::kLeft},
               {"bf16"},
               {"fp8"},
               {"memory"},
               {"bandwidth"},
               {"on chip"},
               {"cores"},
               {"power"}});
  for (const Chip& chip : catalog.chips()) {
    const auto rate = [&chip](DataType type) {
      return shown(chip.matrix_rate(type).value, UnitKind::kFlopsPerSecond);
    };
    const bool half_only = chip.matrix_rate(DataType::kBf16).value <= 0;
    table.add({chip.name, chip.vendor,
               rate(half_only ? DataType::kFp16 : DataType::kBf16) + (half_only ? "*" : ""),
               rate(DataType::kFp8), shown(chip.hbm_capacity.value, UnitKind::kBytes),
               shown(chip.hbm_bandwidth.value, UnitKind::kBytesPerSecond),
               shown(chip.on_chip_memory.value, UnitKind::kBytes),
               chip.cores > 0 ? std::to_string(chip.cores) : "-",
               shown(chip.power_w, UnitKind::kWatts)});
  }
  return "Chips (dense matrix rates; * fp16)\n" + table.text();
}

std::string links_text(const Catalog& catalog) {
  Table table(
      {{"link", Align::kLeft}, {"kind", Align::kLeft}, {"bandwidth"}, {"reached"}, {"latency"}});
  for (const Link& link : catalog.links()) {
    table.add({link.name, std::string(link_kind(link.kind)),
               shown(link.bandwidth.value, UnitKind::kBytesPerSecond), reached_text(link),
               shown(link.latency.value, UnitKind::kSeconds)});
  }
  return "Links (one direction)\n" + table.text();
}

/// Memory or interconnect technologies: prices are per GB/s.
template <typename Technologies>
std::string technologies_text(std::string_view title, const Technologies& technologies) {
  Table table(
      {{"technology", Align::kLeft}, {"bandwidth"}, {"price per GB/s"}, {"power per GB/s"}});
  for (const auto& technology : technologies) {
    table.add({technology.name, shown(technology.bandwidth.value, UnitKind::kBytesPerSecond),
               shown(technology.usd_per_gbps, UnitKind::kDollars),
               shown(technology.w_per_gbps, UnitKind::kWatts)});
  }
  return fmt::format("{}\n{}", title, table.text());
}

std::string levels_text(const Cluster& cluster) {
  std::string text;
  for (const Level& level : cluster.levels) text += (text.empty() ? "" : "; ") + level_text(level);
  return text;
}

/// What joins nodes of this name unless one says otherwise.
std::string network_text(const Catalog& catalog, const std::string& node) {
  const Result<Cluster> two = catalog.cluster("2 x " + node);
  if (!two) return "-";
  const Level& level = two->levels.back();
  return fmt::format("{}, {} x {}", name(level.fabric), level.ports, level.link);
}

std::string nodes_text(const Catalog& catalog) {
  Table table({{"node", Align::kLeft},
               {"chips"},
               {"chip", Align::kLeft},
               {"joined by", Align::kLeft},
               {"network", Align::kLeft}});
  for (const std::string& node : catalog.node_names()) {
    const Result<Cluster> one = catalog.cluster(node);
    if (!one) continue;  // the tests build every one of the built-in catalogue
    table.add({node, std::to_string(one->chips()), one->chip.name, levels_text(*one),
               network_text(catalog, node)});
  }
  return "Nodes\n" + table.text();
}

std::string clusters_text(const Catalog& catalog) {
  Table table(
      {{"cluster", Align::kLeft}, {"chips"}, {"chip", Align::kLeft}, {"joined by", Align::kLeft}});
  for (const std::string& entry : catalog.cluster_names()) {
    const Result<Cluster> cluster = catalog.cluster(entry);
    if (!cluster) continue;
    table.add({entry, std::to_string(cluster->chips()), cluster->chip.name, levels_text(*cluster)});
  }
  return "Clusters\n" + table.text();
}

// --- show ---------------------------------------------------------------------------------------

std::string facts_text(const std::vector<Fact>& facts) {
  Table table({{"", Align::kLeft}, {"value"}, {"basis", Align::kLeft}, {"source", Align::kLeft}});
  for (const Fact& fact : facts) {
    table.add({fact.key, quantity_text(fact.value, kind_of(fact.unit)),
               std::string(basis_text(fact.basis)), fact.source});
  }
  return table.text();
}

std::string entry_text(const Chip& chip) {
  return fmt::format("{}: {} {}{}\n{}", escaped(chip.name), chip.vendor, chip.architecture,
                     also(chip.aliases), facts_text(chip.facts));
}

std::string entry_text(const Link& link) {
  return fmt::format("{}: {} link{}\n{}", link.name, link_kind(link.kind), also(link.aliases),
                     facts_text(link.facts));
}

template <typename Technology>
std::string technology_text(std::string_view kind, const Technology& technology) {
  return fmt::format("{}: {}{}\n{}", technology.name, kind, also(technology.aliases),
                     facts_text(technology.facts));
}

std::string entry_text(const MemoryTechnology& memory) { return technology_text(kMemory, memory); }

std::string entry_text(const InterconnectTechnology& interconnect) {
  return technology_text(kInterconnect, interconnect);
}

std::string entry_text(const Cluster& cluster) {
  std::string text =
      fmt::format("{}: {} x {}, {} x {} per node\n", escaped(cluster.name), cluster.chips(),
                  cluster.chip.name, cluster.nodes(), cluster.chips_per_node());
  Table table({{"level", Align::kLeft},
               {"fabric", Align::kLeft},
               {"size"},
               {"shape"},
               {"ports"},
               {"per port"},
               {"reached"},
               {"latency"},
               {"oversubscribed"},
               {"link", Align::kLeft}});
  for (const Level& level : cluster.levels) {
    table.add({level.name, std::string(name(level.fabric)), std::to_string(level.size),
               fmt::format("{}", fmt::join(level.shape, "x")), std::to_string(level.ports),
               shown(level.port_bandwidth.value, UnitKind::kBytesPerSecond),
               fmt::format("{:.1f} %", 100 * level.efficiency),
               shown(level.latency.value, UnitKind::kSeconds),
               fmt::format("{:g}", level.oversubscription), level.link});
  }
  text += table.text();
  if (cluster.graph) {
    text += fmt::format("Explicit graph: {} vertices, {} links\n", cluster.graph->vertices.size(),
                        cluster.graph->edges.size());
  }
  text += "\n" + facts_text(cluster.facts);
  if (!cluster.chip.facts.empty())
    text += fmt::format("\n{}\n{}", cluster.chip.name, facts_text(cluster.chip.facts));
  return text;
}

}  // namespace

std::string catalog_text(const Catalog& catalog, std::string_view section) {
  std::vector<std::string> sections;
  if (has_section(section, "chips")) sections.push_back(chips_text(catalog));
  if (has_section(section, "links")) sections.push_back(links_text(catalog));
  if (has_section(section, "memories")) {
    sections.push_back(technologies_text("Memory technologies", catalog.memories()));
  }
  if (has_section(section, "interconnects")) {
    sections.push_back(technologies_text("Interconnect technologies", catalog.interconnects()));
  }
  if (has_section(section, "nodes")) sections.push_back(nodes_text(catalog));
  if (has_section(section, "clusters")) sections.push_back(clusters_text(catalog));
  return fmt::format("{}", fmt::join(sections, "\n"));
}

std::string hardware_text(const HardwareEntry& entry) {
  return std::visit([](const auto& one) { return entry_text(one); }, entry);
}

}  // namespace flopcast
