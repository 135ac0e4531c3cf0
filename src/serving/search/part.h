// What the first part of a run says of the whole: a fleet that is too small need not be run to its end.
#pragma once

#include <cstdint>
#include <span>

#include "flopcast/serving/search.h"

namespace flopcast::serving {

/// The least limit_ratio that a run can come to whose part up to `end` is known. What comes later changes nothing of
/// requests that are done, and requests under way only wait longer. @param requests that count, in the whole run
double least_ratio_of(const FleetRun& part, Time end, std::int64_t requests,
                      std::span<const ServiceLimit> limits);

}  // namespace flopcast::serving
