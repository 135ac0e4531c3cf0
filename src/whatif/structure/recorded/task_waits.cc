#include "whatif/structure/recorded/task_waits.h"

#include <algorithm>
#include <set>

#include "base/numeric/median.h"

namespace flopcast::whatif::structure {

using replaying::GpuEdge;
using replaying::kNoIndex;
using replaying::RankModel;

TaskWaits::TaskWaits(const replaying::Recording& recording, const RecordedCuts& at,
                     const std::vector<Stretch>& stretches,
                     const std::vector<std::uint32_t>& stretch_of)
    : at_(at), stretches_(stretches), stretch_of_(stretch_of), targets_(recording.ranks.size()) {
  for (std::uint32_t r = 0; r < recording.ranks.size(); ++r) {
    targets_[r].resize(recording.ranks[r].gpu.size());
    for (const auto& list : at_.places[r].edges) {
      for (const GpuEdge* e : list) targets_[r][e->source].push_back(e);
    }
  }
}

/// A wait is kept if half of the copies have one for the same stream; of several the latest.
void TaskWaits::add(Stretch& stretch, const std::vector<std::uint32_t>& copies) const {
  for (std::uint32_t i = 0; i < stretch.tasks.size(); ++i) {
    std::map<StreamKey, std::vector<std::pair<std::uint32_t, EdgeKind>>> found;
    for (const std::uint32_t c : copies) {
      for (const auto& [stream, wait] : waits_in(c, at_.cuts[c].tasks[i])) {
        found[stream].push_back(wait);
      }
    }
    for (auto& [stream, list] : found) {
      if (2 * list.size() < copies.size()) continue;
      const auto usual = upper_median(list);
      stretch.tasks[i].in.push_back({stream, usual.first, usual.second});
    }
  }
  Out out;
  for (const std::uint32_t c : copies) count_waits_out(c, out);
  for (const auto& [at, found] : out) {
    if (2 * found.first >= copies.size()) {
      stretch.tasks[at.first].out.push_back({at.second, found.second});
    }
  }
}

bool TaskWaits::brings_waits(std::uint32_t cut) const {
  const StretchKey& key = stretches_[stretch_of_[cut]].key;
  return key.bucket || key.part == UnitPart::kExchange || key.part == UnitPart::kRest;
}

/// By stream: the latest task that this one waits for, and brings the wait for itself.
TaskWaits::In TaskWaits::waits_in(std::uint32_t index, std::uint32_t target) const {
  const Cut& cut = at_.cuts[index];
  In waits;
  const RankModel& rank = at_.rank(cut);
  const RankPlaces& places = at_.places[cut.rank];
  const std::uint32_t launch = rank.gpu[target].call;
  if (launch == kNoIndex) return waits;
  for (const GpuEdge* e : places.edges[target]) {
    if (rank.gpu[e->source].call == kNoIndex || brought_by_source(index, e->source)) continue;
    // A collective's launch records the stream of the computation as it is: all that was put
    // there, by whatever thread.
    const bool all = rank.gpu[target].communication && !rank.gpu[e->source].communication;
    const std::pair wait{all ? 0 : at_.back(cut.rank, e->source, rank.calls[launch].start),
                         e->kind};
    const StreamKey stream = stream_key(rank.streams[rank.gpu[e->source].stream]);
    const auto [it, fresh] = waits.try_emplace(stream, wait);
    if (!fresh) it->second = std::min(it->second, wait);
  }
  return waits;
}

bool TaskWaits::brought_by_source(std::uint32_t target_cut, std::uint32_t source) const {
  const std::uint32_t from = at_.places[at_.cuts[target_cut].rank].cut_of[source];
  return !brings_waits(target_cut) && from != kNoIndex && brings_waits(from);
}

void TaskWaits::count_waits_out(std::uint32_t index, Out& out) const {
  const Cut& cut = at_.cuts[index];
  const RankPlaces& places = at_.places[cut.rank];
  if (!brings_waits(index)) return;
  for (std::uint32_t i = 0; i < cut.tasks.size(); ++i) {
    std::set<StreamKey> seen;
    for (const GpuEdge* e : targets_[cut.rank][cut.tasks[i]]) {
      const std::uint32_t to = places.cut_of[e->target];
      if (to == kNoIndex || brings_waits(to)) continue;
      const StreamKey stream =
          stream_key(at_.rank(cut).streams[at_.rank(cut).gpu[e->target].stream]);
      if (!seen.insert(stream).second) continue;
      auto& count = out[{i, stream}];
      ++count.first;
      count.second = e->kind;
    }
  }
}

}  // namespace flopcast::whatif::structure
