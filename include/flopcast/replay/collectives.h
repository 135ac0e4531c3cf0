// Which GPU tasks of different ranks are one collective, and what each waited for.
#pragma once

#include <vector>

#include "flopcast/replay/rank_model.h"

namespace flopcast::replaying {

struct CollectiveMember {
  std::uint32_t rank = 0;  ///< index into the run's rank models
  std::uint32_t task = 0;  ///< index into RankModel::gpu
  /// Members 0 .. contributors-1 (ordered by start) must have arrived before this one transfers.
  /// All of them in a true rendezvous; fewer if this member ended before a later one began.
  std::uint32_t contributors = 0;
  Time latest_arrival;  ///< recorded start of the last contributor
};

struct Collective {
  std::uint32_t name = 0;  ///< string id
  std::uint32_t group = 0;
  std::int64_t bytes = 0;
  std::vector<CollectiveMember> members;  ///< by recorded start, then rank
  bool rendezvous() const;
};

/// Matches collectives launched inside the window: by process group and sequence number where the
/// trace has them, else by order per group; where the counts differ (window edges) by overlap in
/// time. Counts collectives left without partners.
std::vector<Collective> match_collectives(const TraceSet& set, std::vector<RankModel>& ranks,
                                          Anomalies& anomalies);

/// Recomputes order, contributors and latest arrivals from the models' times (after a clock shift).
void update_arrivals(const std::vector<RankModel>& ranks, std::vector<Collective>& collectives);

}  // namespace flopcast::replaying
