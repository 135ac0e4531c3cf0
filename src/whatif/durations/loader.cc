#include "whatif/durations/loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <unordered_map>

#include "whatif/change/stretch.h"
#include "whatif/durations/host_slots.h"

namespace flopcast::whatif {

using namespace replaying;

namespace {

/// Workers of the loader share the machine with the host that they no longer hold up: how much
/// slower they may make it. Four of them made launches take a third longer in the one pair of
/// recordings there is (resnet50_1xv100).
constexpr double kWorkersSlowHost = 1.2;

/// "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"; Lightning's
/// "[pl][profile][_TrainingEpochLoop].train_dataloader_next"; and Python's own frame,
/// "torch/utils/data/dataloader.py(521): __next__".
bool is_loader(std::string_view name) {
  return name.starts_with("enumerate(DataLoader)") || name.ends_with("train_dataloader_next") ||
         (name.find("torch/utils/data/dataloader.py") != std::string_view::npos &&
          name.ends_with("__next__"));
}

/// A stretch in which a thread gets its data.
struct Loading {
  std::uint32_t thread = 0;
  Time from, to;
};

/// Those of a rank, in time order.
std::vector<Loading> find_loading(const TraceSet& set, const RankModel& rank) {
  const Events& events = rank.trace->events;
  std::unordered_map<std::uint32_t, std::uint32_t> thread_of;
  for (std::uint32_t t = 0; t < rank.threads.size(); ++t) thread_of[rank.threads[t].track] = t;
  std::unordered_map<std::uint32_t, bool> known;
  std::vector<Loading> found;
  for (std::uint32_t row = 0; row < events.size(); ++row) {
    if (is_gpu_work(events.category[row]) || events.category[row] == Category::kGpuUserAnnotation)
      continue;
    const auto [name, fresh] = known.try_emplace(events.name[row], false);
    if (fresh) name->second = is_loader(set.strings[events.name[row]]);
    const auto thread = name->second ? thread_of.find(events.track[row]) : thread_of.end();
    if (thread == thread_of.end()) continue;
    const Time start = events.start[row] + rank.host_offset;
    found.push_back({thread->second, start, start + events.duration[row]});
  }
  return found;
}

/// Whether a thread stood still for its data before a piece.
bool waited_for_data(const RankModel& rank, const ThreadEdge& edge,
                     const std::vector<Loading>& loading) {
  if (!edge.hand_over || edge.to_piece == 0) return false;
  const auto& pieces = rank.threads[edge.to_thread].pieces;
  const Time from = pieces[edge.to_piece - 1].end;
  const Time to = pieces[edge.to_piece].start;
  return std::any_of(loading.begin(), loading.end(), [&](const Loading& l) {
    return l.thread == edge.to_thread &&
           2 * (std::min(l.to, to) - std::max(l.from, from)).ps > (to - from).ps;
  });
}

/// The run without hand-overs from the threads that bring the data.
void drop_hand_overs(ChangedRun& run, const std::vector<std::vector<Loading>>& loading) {
  auto changed = std::make_shared<Recording>(*run.recording);
  bool any = false;
  for (std::size_t r = 0; r < changed->ranks.size(); ++r) {
    any |= std::erase_if(changed->thread_edges[r], [&](const ThreadEdge& edge) {
             return waited_for_data(changed->ranks[r], edge, loading[r]);
           }) > 0;
  }
  if (!any) return;
  run.recording = std::move(changed);
}

}  // namespace

std::optional<Diagnostic> remove_data_loading(ChangedRun& run, const Change& change) {
  std::vector<std::vector<Loading>> loading;
  std::uint64_t rows = 0;
  for (const RankModel& rank : run.recording->ranks) {
    loading.push_back(find_loading(*run.set, rank));
    rows += loading.back().size();
  }
  if (rows == 0) {
    run.refused.push_back(refusal(
        change,
        "no row of a data loader was recorded (\"enumerate(DataLoader)...\", as torch.utils."
        "data writes it), so that the time it takes is unknown"));
    return std::nullopt;
  }
  drop_hand_overs(run, loading);
  Time taken;
  for (std::uint32_t r = 0; r < run.recording->ranks.size(); ++r) {
    std::vector<HostSlots> slots;
    for (std::uint32_t t = 0; t < run.recording->ranks[r].threads.size(); ++t)
      slots.emplace_back(*run.recording, r, t, run.durations.ranks[r]);
    for (const Loading& l : loading[r]) taken += slots[l.thread].take_between(l.from, l.to);
  }
  Doubt doubt{"loader workers beside the host", run.durations, run.durations};
  for (std::uint32_t r = 0; r < run.recording->ranks.size(); ++r)
    stretch_host(*run.recording, r, kWorkersSlowHost, doubt.high);
  run.doubts.push_back(std::move(doubt));
  run.notes.push_back({fmt::format("{:.1f} ms of waiting for data: it is there when asked for",
                                   taken.seconds() * 1e3),
                       "assumed", rows, 0});
  return std::nullopt;
}

}  // namespace flopcast::whatif
