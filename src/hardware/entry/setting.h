// One `key = value` of a catalogue file, a cluster file or a one-line cluster, and what it changes.
//
// Both kinds of text come down to settings, so that a number means the same, has the same name and is
// refused in the same words wherever it is written.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/hardware.h"

namespace flopcast {

struct Setting {
  std::string key;                  ///< dotted: "matrix.bf16"
  std::string value;                ///< as text; a list joined by 'x'
  std::vector<std::string> values;  ///< the items of a list, or the one value
  std::string where;                ///< for messages: "cluster.toml:7:3"
  std::string source;               ///< what the number rests on
  Basis basis = Basis::kRoofline;   ///< published, unless the file says otherwise
};

/// A mistake in a setting.
Diagnostic setting_error(const Setting& setting, std::string what, std::string hint);
/// A key that nothing of this kind has; the nearest of `known` are named.
Diagnostic unknown_key(const Setting& setting, std::string_view subject,
                       const std::vector<std::string>& known);

/// The value as a quantity that is at least `least`.
Result<double> setting_number(const Setting& setting, UnitKind kind, double least = 0);
Result<unsigned> setting_count(const Setting& setting);
/// "4x4x4" or [4, 4, 4].
Result<std::vector<unsigned>> setting_counts(const Setting& setting);
Result<bool> setting_flag(const Setting& setting);

/// Adds the fact, or replaces the one with its key.
void put_fact(std::vector<Fact>& facts, Fact fact);

/// Changes one property; facts are kept with it. @return what is wrong with the setting.
std::optional<Diagnostic> set_chip(Chip& chip, const Setting& setting);
std::optional<Diagnostic> set_link(Link& link, const Setting& setting);
std::optional<Diagnostic> set_memory(MemoryTechnology& memory, const Setting& setting);
std::optional<Diagnostic> set_interconnect(InterconnectTechnology& made, const Setting& setting);
/// Facts go to `facts` under "<level's name>.<key>". A link's name brings its bandwidth, latency and
/// efficiency, so it comes before settings that override them.
std::optional<Diagnostic> set_level(Level& level, const Setting& setting, const Catalog& catalog,
                                    std::vector<Fact>& facts);

std::vector<std::string> level_keys();
std::vector<std::string> chip_keys();

/// "rail", "rail-optimised", "fat tree", "torus3d", ...
std::optional<FabricKind> parse_fabric(std::string_view text);
std::vector<std::string> fabric_names();

}  // namespace flopcast
