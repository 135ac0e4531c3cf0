// The pieces of a summary, each in a file of its own, and what its readers share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "flopcast/report/summary.h"
#include "report/replay/host_waits.h"

namespace flopcast::report {

std::vector<RankSummary> summarise_ranks(const TraceSet& set, const Replay& replay,
                                         const HostWaits& for_hosts, unsigned threads);
std::vector<CollectiveSummary> summarise_collectives(const TraceSet& set, const Replay& replay);
PathSummary summarise_path(const TraceSet& set, const Replay& replay);
std::optional<Straggler> find_straggler(const TraceSet& set, const Replay& replay,
                                        const std::vector<RankSummary>& ranks,
                                        const HostWaits& for_hosts,
                                        const std::vector<LateRank>& late);
std::vector<LateRank> late_ranks(const TraceSet& set, const Replay& replay,
                                 const HostWaits& for_hosts);
Quality summarise_quality(const TraceSet& set, const Replay& replay,
                          const std::vector<RankSummary>& ranks);

/// The rank a trace belongs to: its own, or its place in the set.
std::int32_t rank_of(const TraceSet& set, std::size_t trace);
/// "compute", "transfer", ...: the class of a piece of the critical path. Stable names.
const char* path_class(const TraceSet& set, const PathPiece& piece);
/// The same for people.
std::string path_class_title(const std::string& name);
/// A part of the work, for people: WorkSensitivity::part.
std::string work_part_title(const std::string& name);

}  // namespace flopcast::report
