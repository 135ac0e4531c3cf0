// What the settings of a system are measured in.
#pragma once

#include <optional>
#include <string_view>

#include "flopcast/base/quantity.h"

namespace flopcast::mapping {

/// Unit of a setting of set_system that is a quantity; nothing for other names.
std::optional<UnitKind> setting_unit(std::string_view setting);

}  // namespace flopcast::mapping
