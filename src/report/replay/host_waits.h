// Of the time that ranks wait for the last one of a collective, how much its host is to blame for.
//
// Since they left the collective before it together, the last rank and one that waits have each had some work and some
// time without any. By as much as the last one's GPU stood idle longer, its host was late with work; by the rest, it had
// more to do, or took longer for it.
//
//   waits   |collective|--work--|wwwwwwww|transfer|
//   last    |collective|.. idle ..|--work--|transfer|      here w is all for the host
#pragma once

#include <vector>

#include "flopcast/report/summary.h"

namespace flopcast::report {

/// [collective][member]: of its recorded and its replayed wait.
using HostWaits = std::vector<std::vector<Pair<Time>>>;
HostWaits waits_for_hosts(const TraceSet& set, const Replay& replay, unsigned threads);

}  // namespace flopcast::report
