#include "flopcast/replay/damage.h"

#include <algorithm>

#include <fmt/format.h>

namespace flopcast::replaying {
namespace {

/// Both must be exceeded: a short recording is not damaged by one late kernel.
constexpr double kIdleShare = 0.05;
constexpr Time kIdleAtLeast = Time::from_us(1000);

/// How long no GPU task of a rank ran in (from, to).
Time idle_between(const RankModel& rank, Time from, Time to) {
  Time idle;
  Time covered = from;
  for (const GpuTask& t : rank.gpu) {
    if (t.start >= to) break;
    if (t.end <= covered) continue;
    if (t.start > covered) idle += t.start - covered;
    covered = t.end;
  }
  return covered < to ? idle + (to - covered) : idle;
}

Time window_of(const RankModel& rank) {
  Time last = Time::min();
  for (const GpuTask& t : rank.gpu) last = std::max(last, t.end);
  return rank.gpu.empty() ? Time{} : last - rank.gpu.front().start;
}

std::string idle_damage(const RankModel& rank, const std::vector<LateStart>& late,
                        const std::vector<Time>& start_of_row) {
  Time idle;
  for (const LateStart& l : late) {
    if (l.trace == rank.index)
      idle += idle_between(rank, start_of_row[l.row] - l.late, start_of_row[l.row]);
  }
  const Time window = window_of(rank);
  if (idle < kIdleAtLeast || idle.seconds() < kIdleShare * window.seconds()) return {};
  return fmt::format(
      "rank {}: the GPU is idle for {:.1f} ms ({:.0f} % of its window) while launched work waits "
      "and nothing in the "
      "trace explains it: rows are missing, or another process shares the GPU",
      rank.rank, idle.seconds() * 1e3, 100 * idle.seconds() / window.seconds());
}

std::string graph_damage(const TraceSet& set, const RankModel& rank) {
  std::uint64_t empty = 0;
  std::uint64_t graphs = 0;
  const Time last = rank.gpu.empty() ? Time::min() : rank.gpu.back().start;
  for (const Call& call : rank.calls) {
    if (set.strings[rank.trace->events.name[call.row]].find("GraphLaunch") ==
        std::string_view::npos)
      continue;
    ++graphs;
    if (call.gpu.empty() && call.end < last) ++empty;
  }
  if (graphs == 0 || empty * 2 < graphs) return {};
  return fmt::format(
      "rank {}: {} of {} graph launches have no GPU rows: their kernels were not recorded",
      rank.rank, empty, graphs);
}

std::string loose_damage(const RankModel& rank, const std::vector<Binding>& bindings) {
  const auto loose = static_cast<std::size_t>(
      std::count_if(bindings.begin(), bindings.end(), [](const Binding& b) { return !b.any; }));
  if (loose * 2 <= bindings.size()) return {};
  return fmt::format(
      "rank {}: {} of {} GPU tasks have neither a launch nor a predecessor in the trace and start "
      "when they were recorded to: the host that launched them was not recorded",
      rank.rank, loose, bindings.size());
}

}  // namespace

std::vector<std::string> find_damage(const TraceSet& set, const Recording& recording,
                                     const std::vector<std::vector<Binding>>& bindings,
                                     const std::vector<LateStart>& late) {
  std::vector<std::string> damage;
  for (const RankModel& rank : recording.ranks) {
    std::vector<Time> start_of_row(rank.trace->events.size());
    for (const GpuTask& t : rank.gpu) start_of_row[t.row] = t.start;
    for (std::string text : {idle_damage(rank, late, start_of_row), graph_damage(set, rank),
                             loose_damage(rank, bindings[rank.index])}) {
      if (!text.empty()) damage.push_back(std::move(text));
    }
  }
  return damage;
}

}  // namespace flopcast::replaying
