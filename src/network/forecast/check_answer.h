// What must hold of every time of a collective, whatever it rests on.
#pragma once

#include <optional>

#include "flopcast/network/collectives.h"

namespace flopcast::network {

/// Why the time cannot be told: no time at all, or less than its bytes take to leave or reach a chip at the nominal
/// bandwidth of all its links. Nothing where it holds.
std::optional<Diagnostic> check_answer(const CollectiveTime& answer, const CollectiveQuery& query,
                                       const Cluster& cluster, unsigned ranks);
std::optional<Diagnostic> check_answer(const CollectiveEstimate& answer,
                                       const CollectiveQuery& query, const Cluster& cluster,
                                       unsigned ranks);

}  // namespace flopcast::network
