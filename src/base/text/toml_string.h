// Texts in the TOML files that are written here.
#pragma once

#include <string>
#include <string_view>

#include "base/text/json_writer.h"

namespace flopcast {

/// In quotes, as a basic string: TOML escapes what JSON does, in the same way.
inline std::string toml_string(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

}  // namespace flopcast
