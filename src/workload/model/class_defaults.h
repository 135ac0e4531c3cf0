// What Hugging Face leaves out of a nested config because it equals the default of the class.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace flopcast::workload {

/// Fields of the class of this model_type that decide sizes; an empty object where it is not known.
nlohmann::json class_defaults(std::string_view type);

/// model_type of the language model inside a model of several modalities, where its nested config
/// does not say; empty: not known.
std::string_view text_type_of(std::string_view type);

}  // namespace flopcast::workload
