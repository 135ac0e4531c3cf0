// What no model may be, whatever its config says: the last look before anybody computes with it.
#pragma once

#include <optional>
#include <string>

#include "flopcast/workload.h"

namespace flopcast::workload {

/// The first number that is out of its range, in words: "attention has 32 heads and 5 of keys". Nothing where the
/// model can be computed with.
std::optional<std::string> model_flaw(const Model& model);

}  // namespace flopcast::workload
