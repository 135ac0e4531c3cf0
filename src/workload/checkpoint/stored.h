// What a checkpoint's weights are stored in, from what it says of that.
#pragma once

#include <nlohmann/json.hpp>

#include "flopcast/workload.h"

namespace flopcast::workload {

/// From the config.json: its quantization_config, there or in the part for the language model. Never fails: what is
/// not understood is told in `unread`.
StoredPrecision read_stored(const nlohmann::json& config, const Model& model);
/// From ModelOpt's hf_quant_config.json.
StoredPrecision read_modelopt(const nlohmann::json& document, const Model& model);

}  // namespace flopcast::workload
