// What the readers of a file of measurements share.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "flopcast/measured/serving.h"

namespace flopcast::measured {

/// A JSON object or list, or the error that says it is none.
Result<nlohmann::json> document_of(std::string_view text, const std::string& where);

}  // namespace flopcast::measured
