// Floor 8: what the catalogue knows as tables and JSON, every number with its unit and source.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "flopcast/hardware.h"

namespace flopcast {

/// All entries by name. @param section "chips", "links", "memories", "interconnects", "nodes" or
/// "clusters"; empty: all of them
std::string catalog_text(const Catalog& catalog, std::string_view section = {});
/// The same as one document; docs/reference/json.md names every field.
std::string catalog_json(const Catalog& catalog, std::string_view section = {});

/// One entry, or any cluster.
using HardwareEntry = std::variant<Chip, Link, MemoryTechnology, InterconnectTechnology, Cluster>;
/// Every number of it.
std::string hardware_text(const HardwareEntry& entry);
/// The same as one document; docs/reference/json.md names every field.
std::string hardware_json(const HardwareEntry& entry);

}  // namespace flopcast
