#include "whatif/slowest_rank.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "whatif/durations/straggler.h"
#include "whatif/timed_run.h"

namespace flopcast::whatif {
namespace {

/// So many of the ranks whose kernels take longest, and of those whose host does, are tried.
constexpr std::size_t kTried = 4;
/// A gain below this part of the step is none: kernels vary by more.
constexpr double kNoGain = 1e-4;

/// A rank made like its equals, and what a step then takes.
struct Mended {
  std::uint32_t rank = 0;
  Levelled levelled;
  ChangedRun run;
  Time step;
};

std::optional<Time> step_of(const ChangedRun& run) {
  const Result<TimedRun> timed = time_run(run, *run.lags);
  if (!timed) return std::nullopt;
  const Judged judged = judge(*run.steps, timed->steps, run.judged);
  return judged.gpu ? *judged.gpu : judged.host;
}

std::vector<RankPositions> positions_of_all(const ChangedRun& run) {
  std::vector<RankPositions> all;
  const auto count = static_cast<std::uint32_t>(run.recording->ranks.size());
  for (std::uint32_t r = 0; r < count; ++r) all.push_back(positions_of(run, r));
  return all;
}

/// Of the ranks that are slower than others, the one that a step gains most of.
std::optional<Mended> worth_most(const ChangedRun& run) {
  std::optional<Mended> best;
  const std::vector<RankPositions> positions = positions_of_all(run);
  for (const std::uint32_t rank : slower_ranks(positions, kTried)) {
    ChangedRun mended = run;
    const Levelled levelled = level_rank(mended, positions, rank);
    const std::optional<Time> step = levelled.equals > 0 ? step_of(mended) : std::nullopt;
    if (!step || (best && *step >= best->step)) continue;
    best = Mended{rank, levelled, std::move(mended), *step};
  }
  return best;
}

void note_levelled(ChangedRun& run, std::uint32_t rank, const Levelled& levelled) {
  const std::int32_t number = run.recording->ranks[rank].rank;
  run.notes.push_back(
      {fmt::format("kernels of rank {}: the median of {} equals", number, levelled.equals),
       "copied", levelled.kernels, 0});
  run.notes.push_back({fmt::format("host of rank {}: the median of its equals", number), "copied",
                       levelled.host, 0});
}

void remove_slowest(ChangedRun& run) {
  const std::optional<Time> before = step_of(run);
  std::optional<Mended> best = before ? worth_most(run) : std::nullopt;
  if (!best || (*before - best->step).seconds() <= kNoGain * before->seconds()) {
    run.notes.push_back(
        {"no rank is a straggler: made like its equals, none makes the step shorter by a "
         "ten-thousandth; "
         "name one to see what it does: straggler:RANK",
         "assumed", 0, 0});
    return;
  }
  run = std::move(best->run);
  run.notes.push_back({fmt::format("rank {} is the straggler: of no other rank does the step gain "
                                   "more if it is like its equals",
                                   run.recording->ranks[best->rank].rank),
                       "assumed", 0, 0});
  note_levelled(run, best->rank, best->levelled);
}

}  // namespace

std::optional<Diagnostic> remove_straggler(ChangedRun& run, const Change& change,
                                           const RemoveStraggler& asked) {
  const auto& ranks = run.recording->ranks;
  const auto refuse = [&](std::string why) {
    run.refused.push_back(refusal(change, std::move(why)));
    return std::nullopt;
  };
  if (ranks.size() < 2) return refuse("only one rank was recorded");
  if (!asked.rank) {
    remove_slowest(run);
    return std::nullopt;
  }
  const auto named =
      std::ranges::find_if(ranks, [&](const auto& rank) { return rank.rank == *asked.rank; });
  if (named == ranks.end()) return refuse(fmt::format("rank {} was not recorded", *asked.rank));
  const auto rank = static_cast<std::uint32_t>(named - ranks.begin());
  const Levelled levelled = level_rank(run, positions_of_all(run), rank);
  if (levelled.equals == 0) {
    return refuse(fmt::format("no other recorded rank runs what rank {} runs", *asked.rank));
  }
  note_levelled(run, rank, levelled);
  return std::nullopt;
}

}  // namespace flopcast::whatif
