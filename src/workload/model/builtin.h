// Reads the catalogue's model files.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/workload.h"

namespace flopcast::workload {

struct BuiltinModel {
  Model model;
  std::vector<std::string> aliases;
  std::string config;  ///< the entry's, as JSON
};
/// The entries [model.NAME] of one file, in its order.
Result<std::vector<BuiltinModel>> read_model_file(std::string_view text, const std::string& where);

}  // namespace flopcast::workload
