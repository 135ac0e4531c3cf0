// More or fewer replicas of a run that is not understood well enough to be put together anew: what
// was recorded runs again, with the transfers of data parallelism as the new group would take them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "flopcast/whatif/model.h"
#include "whatif/change/changed_run.h"

namespace flopcast::whatif::structure {

/// Changes the transfers of `run` in place; the recorded ranks stand for all of them. Nothing was
/// changed where it gives back what is missing: a run without replicas, or collectives over the
/// same ranks of which nobody knows how they grow with them.
/// @param dp replicas of the run after
/// @param missing why the run itself is not written out: the answer says it
std::optional<std::string> scale_replicas(const TraceModel& model, std::uint32_t dp,
                                          std::string_view missing, ChangedRun& run);

}  // namespace flopcast::whatif::structure
