// One `key = value` of a file or of a line of text: its value read, or refused with its place.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/base.h"
#include "flopcast/base/quantity.h"

namespace flopcast {

struct Setting {
  std::string key;                  ///< dotted: "matrix.bf16"
  std::string value;                ///< as text; a list joined by 'x'
  std::vector<std::string> values;  ///< the items of a list, or the one value
  std::string where;                ///< for messages: "cluster.toml:7:3"
  std::string source;               ///< what the number rests on
  Basis basis = Basis::kRoofline;   ///< published, unless the file says otherwise
  bool list = false;                ///< written as one, even of a single item
};

/// A mistake in a setting.
Diagnostic setting_error(const Setting& setting, std::string what, std::string hint);
/// A key that nothing of this kind has; the nearest of `known` are named.
Diagnostic unknown_key(const Setting& setting, std::string_view subject,
                       const std::vector<std::string>& known);

/// The value as a quantity within the limits.
Result<double> setting_number(const Setting& setting, UnitKind kind, const Limits& limits = {});
Result<unsigned> setting_count(const Setting& setting);
/// "4x4x4" or [4, 4, 4].
Result<std::vector<unsigned>> setting_counts(const Setting& setting);
Result<bool> setting_flag(const Setting& setting);

}  // namespace flopcast
