// Explicit graphs of chips and switches: what they must fulfil.
#pragma once

#include <optional>
#include <string>

#include "base/text/toml_file.h"
#include "flopcast/hardware.h"

namespace flopcast::hardware {

/// Ranks 0 .. n-1 each once, edges between vertices that exist with a bandwidth, every chip joined
/// with every other one in both directions.
std::optional<Diagnostic> check_graph(const FabricGraph& graph, const std::string& where);

/// The [graph] of a cluster file:
///   chips = 4
///   switches = ["leaf0", "leaf1"]
///   links = ["0 leaf0 50GB/s 1us", ...]     both directions; "0 > leaf0 ..." one
Result<FabricGraph> read_graph_table(const TomlFile& file, const toml::node& node);

/// The graph as one switch, for closed forms: the narrowest chip's links, the longest way's latency.
Level level_of(const FabricGraph& graph);

}  // namespace flopcast::hardware
