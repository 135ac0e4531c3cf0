#include "flopcast/replay/timeline.h"

#include <algorithm>
#include <unordered_map>

#include "replay/host_warp.h"

namespace flopcast::replaying {
namespace {

void place_host_rows(const RankModel& rank, const TaskMap::Rank& map, const Run& run,
                     std::vector<Time>& start, std::vector<Time>& end) {
  const Events& ev = rank.trace->events;
  std::vector<std::uint32_t> thread_of(rank.trace->tracks.size(), kNoIndex);
  std::vector<HostWarp> warps;
  for (std::uint32_t t = 0; t < rank.threads.size(); ++t) {
    thread_of[rank.threads[t].track] = t;
    warps.emplace_back(rank, t);
  }
  for (std::uint32_t r = 0; r < ev.size(); ++r) {
    if (is_gpu_work(ev.category[r]) || thread_of[ev.track[r]] == kNoIndex) continue;
    HostWarp& warp = warps[thread_of[ev.track[r]]];
    const Time recorded_start = start[r];
    start[r] = warp.start_at(recorded_start).in(map, run);
    const Time ends = ev.duration[r] == Time{} ? start[r] : warp.end_at(end[r]).in(map, run);
    end[r] = std::max(start[r], ends);
  }
}

/// A GPU annotation spans the rows it covered in the recording.
void place_gpu_annotations(const RankModel& rank, const std::vector<Time>& recorded_start,
                           std::vector<Time>& start, std::vector<Time>& end) {
  const Events& ev = rank.trace->events;
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> rows_of;  // by track
  for (const GpuTask& t : rank.gpu) rows_of[ev.track[t.row]].push_back(t.row);
  for (std::uint32_t r = 0; r < ev.size(); ++r) {
    if (ev.category[r] != Category::kGpuUserAnnotation) continue;
    const auto rows = rows_of.find(ev.track[r]);
    if (rows == rows_of.end()) continue;
    const Time from = recorded_start[r] + rank.gpu_offset;
    const auto before = [&](std::uint32_t row, Time t) { return recorded_start[row] < t; };
    const auto first = std::lower_bound(rows->second.begin(), rows->second.end(), from, before);
    const auto last = std::lower_bound(first, rows->second.end(), from + ev.duration[r], before);
    if (first == last) continue;
    start[r] = start[*first];
    end[r] = end[*std::prev(last)];
  }
}

}  // namespace

Timeline recorded_timeline(const TraceSet& set, const Recording& recording, unsigned threads) {
  Timeline out;
  out.start.resize(set.traces.size());
  out.end.resize(set.traces.size());
  parallel_for(set.traces.size(), threads, [&](std::size_t i) {
    const Events& ev = set.traces[i].events;
    const RankModel& rank = recording.ranks[i];
    std::vector<Time> start(ev.size());
    std::vector<Time> end(ev.size());
    for (std::size_t r = 0; r < ev.size(); ++r) {
      const Time offset =
          rank.host_offset + (is_gpu_work(ev.category[r]) ? rank.gpu_offset : Time{});
      start[r] = ev.start[r] + offset;
      end[r] = start[r] + ev.duration[r];
    }
    out.start[i] = std::move(start);
    out.end[i] = std::move(end);
  });
  return out;
}

Timeline replayed_timeline(const Recording& recording, const Timeline& recorded,
                           const Assembly& assembly, const Run& run, unsigned threads) {
  Timeline out;
  out.start.resize(recorded.start.size());
  out.end.resize(recorded.end.size());
  parallel_for(recording.ranks.size(), threads, [&](std::size_t i) {
    const RankModel& rank = recording.ranks[i];
    const TaskMap::Rank& map = assembly.map.ranks[i];
    std::vector<Time> start = recorded.start[i], end = recorded.end[i];
    for (std::uint32_t t = 0; t < rank.gpu.size(); ++t) {
      start[rank.gpu[t].row] = run.start[map.gpu_first[t]];
      end[rank.gpu[t].row] = run.end[map.gpu_last[t]];
    }
    if (!map.piece_first.empty()) place_host_rows(rank, map, run, start, end);
    place_gpu_annotations(rank, recorded.start[i], start, end);
    out.start[i] = std::move(start);
    out.end[i] = std::move(end);
  });
  return out;
}

}  // namespace flopcast::replaying
