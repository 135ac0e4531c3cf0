// A plan and where its groups lie, as JSON. The names of the fields are those of visit_plan.
#pragma once

#include <string_view>

#include "base/text/json_writer.h"
#include "flopcast/parallel.h"

namespace flopcast::report {

void write_plan_fields(JsonWriter& w, std::string_view key, const Plan& plan);
/// {"tiers": [8, 128], "inside": [[8, 1, 1, 1, 1], ...]} under the key "placement".
void write_placement(JsonWriter& w, const Placement& placement);

}  // namespace flopcast::report
