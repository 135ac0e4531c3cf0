// What settings of catalogue files, cluster files and one-line clusters change.
//
// All of these texts come down to settings, so that a number means the same, has the same name and is
// refused in the same words wherever it is written.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/setting.h"
#include "flopcast/hardware.h"

namespace flopcast {

/// Changes one property; facts are kept with it. @return what is wrong with the setting.
std::optional<Diagnostic> set_chip(Chip& chip, const Setting& setting);
std::optional<Diagnostic> set_link(Link& link, const Setting& setting);
std::optional<Diagnostic> set_memory(MemoryTechnology& memory, const Setting& setting);
std::optional<Diagnostic> set_interconnect(InterconnectTechnology& made, const Setting& setting);
/// Facts go to `facts` under "<level's name>.<key>". A link's name brings its bandwidth, latency and
/// efficiency, so it comes before settings that override them.
std::optional<Diagnostic> set_level(Level& level, const Setting& setting, const Catalog& catalog,
                                    std::vector<Fact>& facts);

/// Whether it changes how fast a level is, and not what it is made of.
bool is_override(const Setting& setting);
/// Finds the bandwidth of the chip's host link where none was given. @return an unknown link's error.
std::optional<Diagnostic> find_host_bandwidth(Chip& chip, const Catalog& catalog);

std::vector<std::string> level_keys();
std::vector<std::string> chip_keys();

/// "rail", "rail-optimised", "fat tree", "torus3d", ...
std::optional<FabricKind> parse_fabric(std::string_view text);
std::vector<std::string> fabric_names();

}  // namespace flopcast
