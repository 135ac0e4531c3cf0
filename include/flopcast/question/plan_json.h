// Floor 7: a plan and where its groups lie, as JSON. The names of the fields are those of visit_plan.
#pragma once

#include <optional>
#include <string_view>

#include "flopcast/analytic/whole_run.h"
#include "flopcast/parallel.h"

namespace flopcast {

class JsonWriter;  // src/base/text/json_writer.h

/// A plan as an object under `key`, its fields by the names of visit_plan.
void write_plan_fields(JsonWriter& w, std::string_view key, const Plan& plan);
/// {"tiers": [8, 128], "inside": [[8, 1, 1, 1, 1], ...]} under the key "placement".
void write_placement(JsonWriter& w, const Placement& placement);

/// A run to its end as an object under the key "run"; null where nobody asked.
void write_run(JsonWriter& w, const std::optional<WholeRun>& run);
/// What was asked of it, under `key`; null where nothing was.
void write_run_question(JsonWriter& w, std::string_view key,
                        const std::optional<RunQuestion>& asked);

}  // namespace flopcast
