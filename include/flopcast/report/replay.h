// Floor 8: what a replay means: breakdowns, utilisation, tables, JSON, the HTML page.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "flopcast/replay.h"
#include "flopcast/trace.h"

namespace flopcast {

/// GPU time of a window by what ran (Lumos, Fig. 5). The four parts add up to the window.
struct Breakdown {
  Time exposed_compute;        ///< kernels other than communication, no communication beside them
  Time exposed_communication;  ///< communication, no compute beside it
  Time waiting;  ///< part of that: not all ranks of the collective have come, so that nothing moves
  Time waiting_for_host;   ///< part of `waiting`: for a host that is late
  Time waiting_for_stage;  ///< part of `waiting`: for another stage's work (waits_by_plan)
  Time overlapped;         ///< both
  Time other;              ///< neither: copies and sets alone, and idle
  Time idle;               ///< no GPU row at all (part of `other`)
  /// Communication that nothing hides and that moves: what a faster network could win back at most.
  Time transfer() const { return exposed_communication - waiting; }
  /// For another rank's GPU, that comes later to the same work.
  Time waiting_for_rank() const { return waiting - waiting_for_host - waiting_for_stage; }
};

/// SM utilisation per interval (TraceSim): the fraction of each interval with any stream active,
/// and the fraction of SM time used where the launch shapes are known (blocks capped at the SMs
/// there are).
struct Utilisation {
  Time interval;                ///< length of each
  std::vector<float> active;    ///< 0..1 per interval
  std::vector<float> sms_used;  ///< 0..1 per interval; empty where SM count or blocks are unknown
};
/// Of [from, to), by the times of the trace's rows; `interval` > 0.
Utilisation utilisation(const Trace& trace, const std::vector<Time>& start,
                        const std::vector<Time>& end, Time from, Time to,
                        Time interval = Time::from_us(1000));

/// Kernels by total time.
struct KernelTotal {
  std::string name;         ///< of the kernel
  std::uint64_t count = 0;  ///< of launches, all ranks
  Time recorded, replayed;  ///< summed
};
/// The longest of the recording, over all ranks and steps.
std::vector<KernelTotal> top_kernels(const TraceSet& set, const Replay& replay,
                                     std::size_t limit = 20);

/// Documented in docs/reference/json.md; the field names are a contract.
std::string replay_json(const TraceSet& set, const Replay& replay);
/// Aligned tables for a terminal.
std::string replay_text(const TraceSet& set, const Replay& replay);
/// One self-contained page: breakdown bars, utilisation curves, both timelines, tables.
std::string replay_html(const TraceSet& set, const Replay& replay);

/// A copy of `set` with the replayed times, for the writers of flopcast/trace/io.h.
TraceSet replayed_traces(const TraceSet& set, const Replay& replay);

}  // namespace flopcast
