#include "base/text/names.h"
#include "flopcast/hardware.h"
#include "hardware/entry/set_entry.h"

namespace flopcast {

std::string_view name(FabricKind kind) {
  constexpr std::string_view kNames[] = {"ring",      "fully-connected", "switch", "torus",
                                         "dragonfly", "fat-tree",        "rail"};
  return kNames[static_cast<int>(kind)];
}

std::vector<std::string> fabric_names() {
  std::vector<std::string> names;
  for (int i = 0; i <= static_cast<int>(FabricKind::kRail); ++i) {
    names.emplace_back(name(static_cast<FabricKind>(i)));
  }
  return names;
}

std::optional<FabricKind> parse_fabric(std::string_view text) {
  constexpr std::pair<std::string_view, FabricKind> kOthers[] = {
      {"full", FabricKind::kFullyConnected},
      {"fc", FabricKind::kFullyConnected},
      {"alltoall", FabricKind::kFullyConnected},
      {"switched", FabricKind::kSwitch},
      {"crossbar", FabricKind::kSwitch},
      {"sw", FabricKind::kSwitch},
      {"torus2d", FabricKind::kTorus},
      {"torus3d", FabricKind::kTorus},
      {"2dtorus", FabricKind::kTorus},
      {"3dtorus", FabricKind::kTorus},
      {"clos", FabricKind::kFatTree},
      {"leafspine", FabricKind::kFatTree},
      {"rails", FabricKind::kRail},
      {"railoptimised", FabricKind::kRail},
      {"railoptimized", FabricKind::kRail},
  };
  const std::string key = name_key(text);
  for (int i = 0; i <= static_cast<int>(FabricKind::kRail); ++i) {
    const auto kind = static_cast<FabricKind>(i);
    if (key == name_key(name(kind))) return kind;
  }
  for (const auto& [other, kind] : kOthers) {
    if (key == other) return kind;
  }
  return std::nullopt;
}

}  // namespace flopcast
