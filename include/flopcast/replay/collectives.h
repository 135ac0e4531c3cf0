// Which GPU tasks of different ranks are one collective, and what each waited for.
#pragma once

#include <vector>

#include "flopcast/replay/rank_model.h"

namespace flopcast::replaying {

/// One rank's part in a collective.
struct CollectiveMember {
  std::uint32_t rank = 0;  ///< index into the run's rank models
  std::uint32_t task = 0;  ///< index into RankModel::gpu
  /// Members 0 .. contributors-1 (ordered by start) must have arrived before this one transfers.
  /// All of them in a true rendezvous; fewer if this member ended before a later one began. Of
  /// several, 1: it waits for nobody, whatever its place.
  std::uint32_t contributors = 0;
  Time latest_arrival;  ///< recorded start of the last contributor
};

/// GPU tasks of several ranks that communicate with each other.
struct Collective {
  std::uint32_t name = 0;                 ///< string id
  std::uint32_t group = 0;                ///< string id, 0 where unknown
  std::int64_t bytes = 0;                 ///< 0 where unknown
  std::vector<CollectiveMember> members;  ///< by recorded start, then rank
  bool rendezvous() const;                ///< all wait for all
};

/// Matches collectives launched inside the window: by process group and sequence number where the
/// trace has them, else by order per group; where the counts differ (window edges) by overlap in
/// time. Counts collectives left without partners.
std::vector<Collective> match_collectives(const TraceSet& set, std::vector<RankModel>& ranks,
                                          Anomalies& anomalies);

/// Recomputes order, contributors and latest arrivals from the models' times (after a clock shift).
void update_arrivals(const std::vector<RankModel>& ranks, std::vector<Collective>& collectives);

/// Who waits for whom, after update_arrivals: by what the operation is instead of the times, which
/// would not hold once a rank is moved. All wait for all where every result needs every input
/// (all-reduce, ...), or where no clock tells that a member left early: it ended no more than
/// `tolerance` before the last began. Its transfer is then less than nothing, and its end the same.
/// Of two, one that left before the other came waits in no repeat of that collective: a send.
void settle_contributors(const TraceSet& set, const std::vector<RankModel>& ranks, Time tolerance,
                         std::vector<Collective>& collectives);

}  // namespace flopcast::replaying
