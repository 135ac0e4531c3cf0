// The catalogue and its entries as JSON; docs/reference/json.md names every field.
#include <cmath>

#include "base/text/json_writer.h"
#include "flopcast/report/hardware.h"
#include "report/hardware/words.h"

namespace flopcast {

using namespace report;  // the room's own names

namespace {

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

template <typename Technologies>
void write_technologies(JsonWriter& json, std::string_view section, std::string_view kind,
                        const Technologies& technologies) {
  json.begin_array(section);
  for (const auto& technology : technologies) write_technology(json, kind, technology);
  json.end_array();
}

}  // namespace

std::string catalog_json(const Catalog& catalog, std::string_view section) {
  JsonWriter json;
  json.begin_object();
  if (has_section(section, "chips")) {
    json.begin_array("chips");
    for (const Chip& chip : catalog.chips()) write_chip(json, {}, chip);
    json.end_array();
  }
  if (has_section(section, "links")) {
    json.begin_array("links");
    for (const Link& link : catalog.links()) write_link(json, link);
    json.end_array();
  }
  if (has_section(section, "memories")) {
    write_technologies(json, "memories", kMemory, catalog.memories());
  }
  if (has_section(section, "interconnects")) {
    write_technologies(json, "interconnects", kInterconnect, catalog.interconnects());
  }
  const auto write_all = [&](std::string_view plural, std::string_view kind,
                             const std::vector<std::string>& names) {
    if (!has_section(section, plural)) return;
    json.begin_array(plural);
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

std::string hardware_json(const HardwareEntry& entry) {
  struct Writer {
    JsonWriter json;
    void operator()(const Chip& chip) { write_chip(json, {}, chip); }
    void operator()(const Link& link) { write_link(json, link); }
    void operator()(const MemoryTechnology& memory) { write_technology(json, kMemory, memory); }
    void operator()(const InterconnectTechnology& interconnect) {
      write_technology(json, kInterconnect, interconnect);
    }
    void operator()(const Cluster& cluster) { write_cluster(json, "cluster", cluster); }
  } writer;
  std::visit(writer, entry);
  return std::move(writer.json).take();
}

}  // namespace flopcast
