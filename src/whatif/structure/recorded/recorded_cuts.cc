#include "whatif/structure/recorded/recorded_cuts.h"

#include <algorithm>

#include "whatif/change/parent_rows.h"

namespace flopcast::whatif::structure {

using replaying::Call;
using replaying::GpuEdge;
using replaying::GpuTask;
using replaying::kNoIndex;
using replaying::RankModel;

RecordedCuts::RecordedCuts(const replaying::Recording& recording, const TraceModel& model,
                           const RankGrid& grid)
    : rec_(recording), model_(model) {
  for (const ModelStage& stage : model_.stages) {
    for (Cut& cut : cut_rank(rec_, stage)) cuts.push_back(std::move(cut));
  }
  find_groups(grid);
  index_ranks();
}

void RecordedCuts::find_groups(const RankGrid& grid) {
  for (const replaying::Collective& c : rec_.collectives) {
    std::vector<std::uint32_t> ranks;
    for (const auto& m : c.members) {
      ranks.push_back(static_cast<std::uint32_t>(rec_.ranks[m.rank].rank));
    }
    groups_.push_back(grid.differences(ranks));
  }
}

void RecordedCuts::index_ranks() {
  places.resize(rec_.ranks.size());
  for (std::uint32_t r = 0; r < rec_.ranks.size(); ++r) index_rank(r);
  for (std::uint32_t c = 0; c < cuts.size(); ++c) {
    RankPlaces& own = places[cuts[c].rank];
    for (std::uint32_t i = 0; i < cuts[c].tasks.size(); ++i) {
      own.cut_of[cuts[c].tasks[i]] = c;
      own.position[cuts[c].tasks[i]] = i;
    }
  }
  slots.resize(rec_.ranks.size());
  for (const Cut& cut : cuts) slot(cut.rank, cut.thread);
  for (const RankModel& rank : rec_.ranks) parents.push_back(parent_rows(*rank.trace));
}

void RecordedCuts::index_rank(std::uint32_t r) {
  const RankModel& rank = rec_.ranks[r];
  RankPlaces& p = places[r];
  p.cut_of.assign(rank.gpu.size(), kNoIndex);
  p.position.assign(rank.gpu.size(), 0);
  p.launch_index.assign(rank.gpu.size(), 0);
  p.edges.resize(rank.gpu.size());
  p.wait_of.assign(rank.calls.size(), kNoIndex);
  for (std::uint32_t w = 0; w < rec_.sync_waits[r].waits.size(); ++w) {
    p.wait_of[rec_.sync_waits[r].waits[w].call] = w;
  }
  p.launched.resize(rank.streams.size());
  for (const Call& call : rank.calls) {
    for (const std::uint32_t t : call.gpu) {
      p.launch_index[t] = static_cast<std::uint32_t>(p.launched[rank.gpu[t].stream].size());
      p.launched[rank.gpu[t].stream].push_back(t);
    }
  }
  for (const GpuEdge& e : rec_.cross_stream[r].edges) {
    if (e.kind != EdgeKind::kOccupancy) p.edges[e.target].push_back(&e);
  }
  for (const auto& thread : rank.threads) {
    p.hand_over.emplace_back(thread.pieces.size(), Time::min());
    p.hand_over_from.emplace_back(thread.pieces.size(), 0);
  }
  for (const replaying::ThreadEdge& e : rec_.thread_edges[r]) {
    if (!e.hand_over) continue;
    const Time lag = rank.threads[e.to_thread].pieces[e.to_piece].start -
                     rank.threads[e.from_thread].pieces[e.from_piece].end;
    p.hand_over[e.to_thread][e.to_piece] = std::max(lag, Time{});
    p.hand_over_from[e.to_thread][e.to_piece] = e.from_thread;
  }
}

const ModelUnit& RecordedCuts::unit(const Cut& cut) const {
  for (const ModelStage& stage : model_.stages) {
    if (stage.rank == cut.rank) return stage.units[stage.segments[cut.segment].unit];
  }
  const ModelStage& first = model_.stages.front();
  return first.units[first.segments[cut.segment].unit];
}

std::uint32_t RecordedCuts::operation(std::uint32_t r, const GpuTask& task) const {
  const std::uint32_t i = events(r).collective[task.row];
  return i == kNoDetail ? 0 : rec_.ranks[r].trace->collectives[i].name;
}

std::uint32_t RecordedCuts::slot(std::uint32_t r, std::uint32_t thread) {
  if (thread == kNoIndex) return 0;
  std::vector<std::uint32_t>& known = slots[r];
  const auto at = std::find(known.begin(), known.end(), thread);
  if (at != known.end()) return static_cast<std::uint32_t>(at - known.begin());
  known.push_back(thread);
  return static_cast<std::uint32_t>(known.size() - 1);
}

std::uint32_t RecordedCuts::back(std::uint32_t r, std::uint32_t task, Time moment) const {
  const RankModel& rank = rec_.ranks[r];
  const auto& list = places[r].launched[rank.gpu[task].stream];
  const auto end = std::lower_bound(
      list.begin(), list.end(), moment,
      [&](std::uint32_t t, Time time) { return rank.calls[rank.gpu[t].call].start < time; });
  const auto before = static_cast<std::uint32_t>(end - list.begin());
  const std::uint32_t at = places[r].launch_index[task] + 1;
  return before > at ? before - at : 0;
}

std::uint32_t RecordedCuts::call_at(std::uint32_t r, std::uint32_t thread,
                                    std::uint32_t piece) const {
  const RankModel& rank = rec_.ranks[r];
  const auto& calls = rank.threads[thread].calls;
  const auto after = std::upper_bound(
      calls.begin(), calls.end(), piece,
      [&](std::uint32_t p, std::uint32_t c) { return p < rank.calls[c].first_piece; });
  if (after == calls.begin()) return kNoIndex;
  const std::uint32_t c = *std::prev(after);
  return rank.calls[c].last_piece >= piece ? c : kNoIndex;
}
bool RecordedCuts::waits(const Cut& cut, std::uint32_t piece) const {
  const std::uint32_t c = call_at(cut.rank, cut.thread, piece);
  return c != kNoIndex && places[cut.rank].wait_of[c] != kNoIndex;
}

}  // namespace flopcast::whatif::structure
