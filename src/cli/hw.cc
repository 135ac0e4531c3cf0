// flopcast hw list|show: the chips, memories, links, nodes and clusters that are known, every number
// with its unit and source.
#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "base/text/json_writer.h"
#include "cli/command.h"
#include "cli/options.h"
#include "flopcast/hardware.h"
#include "report/render/table.h"

namespace flopcast::cli {

using namespace report;

namespace {

using Align = flopcast::report::Align;

constexpr std::string_view kMemory = "memory", kInterconnect = "interconnect";

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

/// Catalogue numbers are what makers publish, unless they say otherwise.
std::string_view basis_text(Basis basis) {
  return basis == Basis::kRoofline ? std::string_view("published") : name(basis);
}

std::string_view link_kind(LinkKind kind) {
  constexpr std::string_view kNames[] = {"scale-up", "host", "scale-out"};
  return kNames[static_cast<int>(kind)];
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

// --- list: text ---------------------------------------------------------------------------------

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

// --- show: text ---------------------------------------------------------------------------------

std::string facts_text(const std::vector<Fact>& facts) {
  Table table({{"", Align::kLeft}, {"value"}, {"basis", Align::kLeft}, {"source", Align::kLeft}});
  for (const Fact& fact : facts) {
    table.add({fact.key, quantity_text(fact.value, kind_of(fact.unit)),
               std::string(basis_text(fact.basis)), fact.source});
  }
  return table.text();
}

std::string chip_text(const Chip& chip) {
  return fmt::format("{}: {} {}{}\n{}", chip.name, chip.vendor, chip.architecture,
                     also(chip.aliases), facts_text(chip.facts));
}

std::string link_text(const Link& link) {
  return fmt::format("{}: {} link{}\n{}", link.name, link_kind(link.kind), also(link.aliases),
                     facts_text(link.facts));
}

template <typename Technology>
std::string technology_text(std::string_view kind, const Technology& technology) {
  return fmt::format("{}: {}{}\n{}", technology.name, kind, also(technology.aliases),
                     facts_text(technology.facts));
}

std::string cluster_text(const Cluster& cluster) {
  std::string text = fmt::format("{}: {} x {}, {} x {} per node\n", cluster.name, cluster.chips(),
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

// --- JSON ---------------------------------------------------------------------------------------

/// Whole numbers keep all their digits.
void write_number(JsonWriter& json, std::string_view key, double value) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (value == std::floor(value) && std::abs(value) <= kExact) {
    json.integer(key, static_cast<std::int64_t>(value));
  } else {
    json.ratio(key, value);
  }
}

void write_names(JsonWriter& json, std::string_view key, const std::vector<std::string>& names) {
  json.begin_array(key, JsonWriter::Layout::kLine);
  for (const std::string& entry : names) json.text({}, entry);
  json.end_array();
}

void write_facts(JsonWriter& json, const std::vector<Fact>& facts) {
  json.begin_array("facts");
  for (const Fact& fact : facts) {
    json.begin_object({}, JsonWriter::Layout::kLine);
    json.text("key", fact.key);
    write_number(json, "value", fact.value);
    json.text("unit", fact.unit);
    json.text("basis", basis_text(fact.basis));
    json.text("source", fact.source);
    json.end_object();
  }
  json.end_array();
}

void write_chip(JsonWriter& json, std::string_view key, const Chip& chip) {
  json.begin_object(key);
  json.text("kind", "chip");
  json.text("name", chip.name);
  json.text("vendor", chip.vendor);
  json.text("architecture", chip.architecture);
  write_names(json, "aliases", chip.aliases);
  write_facts(json, chip.facts);
  json.end_object();
}

void write_link(JsonWriter& json, const Link& link) {
  json.begin_object();
  json.text("kind", "link");
  json.text("name", link.name);
  json.text("use", link_kind(link.kind));
  write_names(json, "aliases", link.aliases);
  write_facts(json, link.facts);
  json.end_object();
}

template <typename Technology>
void write_technology(JsonWriter& json, std::string_view kind, const Technology& technology) {
  json.begin_object();
  json.text("kind", kind);
  json.text("name", technology.name);
  write_names(json, "aliases", technology.aliases);
  write_facts(json, technology.facts);
  json.end_object();
}

void write_levels(JsonWriter& json, const Cluster& cluster) {
  json.begin_array("levels");
  for (const Level& level : cluster.levels) {
    json.begin_object();
    json.text("name", level.name);
    json.text("fabric", name(level.fabric));
    json.count("size", level.size);
    json.begin_array("shape", JsonWriter::Layout::kLine);
    for (const unsigned extent : level.shape) json.count({}, extent);
    json.end_array();
    json.count("ports", level.ports);
    write_number(json, "port_bandwidth_bytes_per_s", level.port_bandwidth.value);
    write_number(json, "latency_s", level.latency.value);
    write_number(json, "efficiency", level.efficiency);
    write_number(json, "oversubscription", level.oversubscription);
    json.boolean("in_network_reduction", level.in_network_reduction);
    json.text("link", level.link);
    json.end_object();
  }
  json.end_array();
}

void write_cluster(JsonWriter& json, std::string_view kind, const Cluster& cluster) {
  json.begin_object();
  json.text("kind", kind);
  json.text("name", cluster.name);
  json.count("chips", cluster.chips());
  json.count("nodes", cluster.nodes());
  json.count("chips_per_node", cluster.chips_per_node());
  write_levels(json, cluster);
  if (cluster.graph) {
    json.begin_object("graph", JsonWriter::Layout::kLine);
    json.count("vertices", cluster.graph->vertices.size());
    json.count("links", cluster.graph->edges.size());
    json.end_object();
  }
  write_facts(json, cluster.facts);
  write_chip(json, "chip", cluster.chip);
  json.end_object();
}

// --- Commands -----------------------------------------------------------------------------------

struct HwCommand {
  std::string what;
  FormatOptions format;
};

bool wanted(const HwCommand& command, std::string_view section) {
  return command.what.empty() || command.what == section;
}

template <typename Technologies>
void write_technologies(JsonWriter& json, std::string_view section, std::string_view kind,
                        const Technologies& technologies) {
  json.begin_array(section);
  for (const auto& technology : technologies) write_technology(json, kind, technology);
  json.end_array();
}

std::string list_json(const Catalog& catalog, const HwCommand& command) {
  JsonWriter json;
  json.begin_object();
  if (wanted(command, "chips")) {
    json.begin_array("chips");
    for (const Chip& chip : catalog.chips()) write_chip(json, {}, chip);
    json.end_array();
  }
  if (wanted(command, "links")) {
    json.begin_array("links");
    for (const Link& link : catalog.links()) write_link(json, link);
    json.end_array();
  }
  if (wanted(command, "memories")) {
    write_technologies(json, "memories", kMemory, catalog.memories());
  }
  if (wanted(command, "interconnects")) {
    write_technologies(json, "interconnects", kInterconnect, catalog.interconnects());
  }
  const auto write_all = [&](std::string_view section, std::string_view kind,
                             const std::vector<std::string>& names) {
    if (!wanted(command, section)) return;
    json.begin_array(section);
    for (const std::string& entry : names) {
      if (const Result<Cluster> cluster = catalog.cluster(entry))
        write_cluster(json, kind, *cluster);
    }
    json.end_array();
  };
  write_all("nodes", "node", catalog.node_names());
  write_all("clusters", "cluster", catalog.cluster_names());
  json.end_object();
  return std::move(json).take();
}

std::string list_text(const Catalog& catalog, const HwCommand& command) {
  std::vector<std::string> sections;
  if (wanted(command, "chips")) sections.push_back(chips_text(catalog));
  if (wanted(command, "links")) sections.push_back(links_text(catalog));
  if (wanted(command, "memories")) {
    sections.push_back(technologies_text("Memory technologies", catalog.memories()));
  }
  if (wanted(command, "interconnects")) {
    sections.push_back(technologies_text("Interconnect technologies", catalog.interconnects()));
  }
  if (wanted(command, "nodes")) sections.push_back(nodes_text(catalog));
  if (wanted(command, "clusters")) sections.push_back(clusters_text(catalog));
  return fmt::format("{}", fmt::join(sections, "\n"));
}

int run_list(Io& io, const HwCommand& command) {
  const Catalog& catalog = Catalog::builtin();
  return print(io, command.format.json ? list_json(catalog, command) : list_text(catalog, command));
}

int run_show(Io& io, const HwCommand& command) {
  const Catalog& catalog = Catalog::builtin();
  JsonWriter json;
  std::string text;
  if (const Result<Chip> chip = catalog.chip(command.what)) {
    text = chip_text(*chip);
    write_chip(json, {}, *chip);
  } else if (const Result<Link> link = catalog.link(command.what)) {
    text = link_text(*link);
    write_link(json, *link);
  } else if (const auto memory = catalog.memory(command.what)) {
    text = technology_text(kMemory, *memory);
    write_technology(json, kMemory, *memory);
  } else if (const auto interconnect = catalog.interconnect(command.what)) {
    text = technology_text(kInterconnect, *interconnect);
    write_technology(json, kInterconnect, *interconnect);
  } else {
    const Result<Cluster> cluster = catalog.cluster(command.what);
    if (!cluster) return fail(io, cluster.error());
    text = cluster_text(*cluster);
    write_cluster(json, "cluster", *cluster);
  }
  return print(io, command.format.json ? std::move(json).take() : text);
}

}  // namespace

void add_hw(CLI::App& app, Action& action) {
  CLI::App* hw =
      app.add_subcommand("hw", "Known chips, memories, links, nodes and clusters, with sources");
  hw->require_subcommand(1);
  set_example(*hw, "flopcast hw show h100");

  CLI::App* list = hw->add_subcommand("list", "Everything the catalogue knows by name");
  const auto listing = std::make_shared<HwCommand>();
  list->add_option("WHAT", listing->what,
                   "chips, links, memories, interconnects, nodes or clusters; all if left out")
      ->check(CLI::IsMember({"chips", "links", "memories", "interconnects", "nodes", "clusters"}))
      ->type_name("");
  add_format(*list, listing->format, false);
  set_example(*list, "flopcast hw list chips");
  list->callback(
      [listing, &action] { action = [listing](Io& io) { return run_list(io, *listing); }; });

  CLI::App* show = hw->add_subcommand(
      "show", "Every number of one entry, or of any cluster, with its unit and source");
  const auto showing = std::make_shared<HwCommand>();
  show->add_option("NAME", showing->what,
                   "A chip, link, memory, node or cluster, a line like \"64 x dgx-h100, rail "
                   "NDR\", or a file")
      ->required()
      ->type_name("");
  add_format(*show, showing->format, false);
  set_example(*show, "flopcast hw show \"64 x dgx-h100, rail NDR\"");
  show->callback(
      [showing, &action] { action = [showing](Io& io) { return run_show(io, *showing); }; });
}

}  // namespace flopcast::cli
