// Work made k times as long: kernels, collectives, the host, a rank.
#pragma once

#include "whatif/change/changed_run.h"

namespace flopcast::whatif {

/// "gemm", "attention", "other", "copies", a name that kernels' names hold, or /a regular
/// expression/.
std::optional<Diagnostic> scale_kernels(ChangedRun& run, const ChangedRun& recorded,
                                        const Change& change);
/// An operation, "all_reduce": what its collectives take once all ranks are there.
std::optional<Diagnostic> scale_collectives(ChangedRun& run, const ChangedRun& recorded,
                                            const Change& change);
/// Every collective, or those of one tier: "node" within a node, "fabric" between nodes.
std::optional<Diagnostic> scale_network(ChangedRun& run, const ChangedRun& recorded,
                                        const Change& change);
/// All the host does.
std::optional<Diagnostic> scale_host(ChangedRun& run, const ChangedRun& recorded,
                                     const Change& change);
/// Host and kernels of one rank.
std::optional<Diagnostic> scale_rank(ChangedRun& run, const ChangedRun& recorded,
                                     const Change& change);
/// A part by the name that breakdowns and sensitivities give it: "gemm", "all_reduce".
std::optional<Diagnostic> scale_part(ChangedRun& run, const ChangedRun& recorded,
                                     const Change& change);

}  // namespace flopcast::whatif
