// What can be swept besides the settings of a system.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "flopcast/base/quantity.h"
#include "flopcast/mapping/explore.h"

namespace flopcast::mapping {

enum class SweepKind : std::uint8_t {
  kQuantity,  ///< a setting of a system: a value or a factor
  kCount,     ///< a whole number from 1
  kShare,     ///< from 0 to 1
  kWord,      ///< a name
};

struct SweepName {
  std::string name;
  SweepKind kind = SweepKind::kWord;
  UnitKind unit = UnitKind::kNone;
};
/// Also by other spellings: "model" is "mode", "batch" "global-batch".
std::optional<SweepName> find_sweep_name(std::string_view name);

std::optional<MappingOverlap> parse_overlap(std::string_view text);
/// "full" or "paper".
std::optional<MappingModel> parse_mode(std::string_view text);
/// A value as mapping_system takes it: '+' back to ','.
std::string with_commas(std::string_view value);

}  // namespace flopcast::mapping
