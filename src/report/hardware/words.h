// What texts and JSON of the catalogue call things.
#pragma once

#include <string_view>

#include "flopcast/hardware.h"

namespace flopcast::report {

inline constexpr std::string_view kMemory = "memory", kInterconnect = "interconnect";

/// Catalogue numbers are what makers publish, unless they say otherwise.
inline std::string_view basis_text(Basis basis) {
  return basis == Basis::kRoofline ? std::string_view("published") : name(basis);
}

inline std::string_view link_kind(LinkKind kind) {
  constexpr std::string_view kNames[] = {"scale-up", "host", "scale-out"};
  return kNames[static_cast<int>(kind)];
}

/// Whether a list of `section` (empty: of all) has this one.
inline bool has_section(std::string_view section, std::string_view one) {
  return section.empty() || section == one;
}

}  // namespace flopcast::report
