#include "whatif/durations/straggler.h"

#include <fmt/format.h>

#include <algorithm>

#include "flopcast/replay/network_times.h"
#include "whatif/change/stretch.h"
#include "whatif/durations/equals.h"

namespace flopcast::whatif {

using namespace replaying;

namespace {

/// How long the others waited for each rank, as the last to come to collectives that all its
/// members come to at the same point of the program.
std::vector<Time> waited_for(const ChangedRun& run) {
  std::vector<Time> waited(run.recording->ranks.size());
  for (const Collective& c : run.recording->collectives) {
    if (c.members.size() < 2 || !c.rendezvous()) continue;
    if (operation_of(run.set->strings[c.name]) == CollectiveOp::kSendRecv) continue;
    const auto start = [&](const CollectiveMember& m) {
      return run.recording->ranks[m.rank].gpu[m.task].start;
    };
    const CollectiveMember& last = c.members.back();
    waited[last.rank] += start(last) - start(c.members[c.members.size() - 2]);
  }
  return waited;
}

struct Found {
  std::uint32_t rank = kNoIndex;
  std::string note, missing;
};
Found find_straggler(const ChangedRun& run, std::optional<std::int64_t> named) {
  const auto& ranks = run.recording->ranks;
  if (ranks.size() < 2) return {kNoIndex, "", "only one rank was recorded"};
  if (named) {
    for (std::uint32_t r = 0; r < ranks.size(); ++r) {
      if (ranks[r].rank == *named) return {r, "", ""};
    }
    return {kNoIndex, "", fmt::format("rank {} was not recorded", *named)};
  }
  const std::vector<Time> waited = waited_for(run);
  const auto most = std::max_element(waited.begin(), waited.end());
  if (*most <= Time{}) {
    return {kNoIndex, "",
            "no collective was matched across ranks, so that nothing tells who is waited for; name "
            "the rank: straggler:RANK"};
  }
  const auto r = static_cast<std::uint32_t>(most - waited.begin());
  return {r,
          fmt::format("rank {} is the straggler: the others waited {:.3f} ms for it", ranks[r].rank,
                      most->seconds() * 1e3),
          ""};
}

/// Gives one rank's tasks the time of their equals.
class Levelling {
 public:
  Levelling(ChangedRun& run, std::uint32_t rank)
      : run_(run), rank_(rank), own_(positions_of(run, rank)) {
    for (std::uint32_t r = 0; r < run.recording->ranks.size(); ++r)
      all_.push_back(r == rank ? own_ : positions_of(run, r));
    equals_ = equals_of(all_, rank);
  }

  std::size_t equals() const { return equals_.size(); }

  std::uint64_t kernels() {
    Positions seen;
    std::uint64_t count = 0;
    const std::vector<const Positions*> theirs = of_equals(&RankPositions::kernels);
    const auto& tasks = run_.recording->ranks[rank_].gpu;
    for (std::uint32_t t = 0; t < tasks.size(); ++t) {
      const Positions::Key key = own_.kernel_key[t];
      if (key == 0) continue;
      const std::optional<Time> time = next(theirs, own_.kernels, key, seen);
      if (!time) continue;
      set_gpu_time(durations(), tasks[t], t, *time);
      ++count;
    }
    return count;
  }

  std::uint64_t host() {
    return level(&RankPositions::pieces, durations().piece) +
           level(&RankPositions::gaps, durations().gap);
  }

 private:
  Durations::Rank& durations() { return run_.durations.ranks[rank_]; }

  std::vector<const Positions*> of_equals(Positions RankPositions::*which) const {
    std::vector<const Positions*> theirs;
    for (const std::uint32_t r : equals_) theirs.push_back(&(all_[r].*which));
    return theirs;
  }

  /// What the next one under a key takes; `seen` counts them.
  static std::optional<Time> next(const std::vector<const Positions*>& theirs, const Positions& own,
                                  Positions::Key key, Positions& seen) {
    const std::vector<Time>* before = seen.find(key);
    const std::size_t n = before ? before->size() : 0;
    seen.add(key, {});
    return time_of_equals(theirs, key, n, own.find(key)->size());
  }

  std::uint64_t level(Positions RankPositions::*which, std::vector<std::vector<Time>>& times) {
    Positions seen;
    std::uint64_t count = 0;
    const std::vector<const Positions*> theirs = of_equals(which);
    for (std::size_t t = 0; t < times.size(); ++t) {
      for (std::size_t p = 0; p < times[t].size(); ++p) {
        const std::optional<Time> time = next(theirs, own_.*which, own_.piece_key[t][p], seen);
        if (!time) continue;
        times[t][p] = *time;
        ++count;
      }
    }
    return count;
  }

  ChangedRun& run_;
  std::uint32_t rank_;
  RankPositions own_;
  std::vector<RankPositions> all_;
  std::vector<std::uint32_t> equals_;
};

}  // namespace

std::optional<Diagnostic> remove_straggler(ChangedRun& run, const Change& change,
                                           const RemoveStraggler& asked) {
  const Found found = find_straggler(run, asked.rank);
  if (found.rank == kNoIndex) {
    run.refused.push_back(refusal(change, found.missing));
    return std::nullopt;
  }
  const std::int32_t number = run.recording->ranks[found.rank].rank;
  Levelling levelling(run, found.rank);
  if (levelling.equals() == 0) {
    run.refused.push_back(
        refusal(change, fmt::format("no other recorded rank runs what rank {} runs", number)));
    return std::nullopt;
  }
  if (!found.note.empty()) run.notes.push_back({found.note, "assumed", 0, 0});
  run.notes.push_back(
      {fmt::format("kernels of rank {}: the median of {} equals", number, levelling.equals()),
       "copied", levelling.kernels(), 0});
  run.notes.push_back({fmt::format("host of rank {}: the median of its equals", number), "copied",
                       levelling.host(), 0});
  return std::nullopt;
}

}  // namespace flopcast::whatif
