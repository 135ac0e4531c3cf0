#include "whatif/slowest_rank.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text/format.h"
#include "whatif/caution.h"
#include "whatif/change/stretch.h"

namespace flopcast::whatif {
namespace {

/// So many of the ranks whose kernels take longest, and of those whose host does, are tried.
constexpr std::size_t kTried = 4;
/// A gain below this part of the step is none: kernels vary by more.
constexpr double kNoGain = 1e-4;

/// What a run takes: a step of it, and all steps together.
struct Lengths {
  Time step, whole;
};
Lengths lengths_of(const ChangedRun& run, const TimedRun& timed) {
  const Judged judged = judge(*run.steps, timed.steps, run.judged);
  return {judged.gpu.value_or(judged.host), whole_run(judged)};
}

std::vector<RankPositions> positions_of_all(const ChangedRun& run) {
  std::vector<RankPositions> all;
  const auto count = static_cast<std::uint32_t>(run.recording->ranks.size());
  for (std::uint32_t r = 0; r < count; ++r) all.push_back(positions_of(run, r));
  return all;
}

LikeEquals like_equals_at(const ChangedRun& run, const std::vector<RankPositions>& positions,
                          std::uint32_t rank) {
  LikeEquals like{rank, {}, run, std::nullopt};
  like.levelled = level_rank(like.run, positions, rank);
  if (like.levelled.equals == 0) return like;
  Result<TimedRun> timed = time_run(like.run, *like.run.lags);
  if (timed) like.timed = std::move(*timed);
  return like;
}

/// Less than kNoGain of it is no gain.
bool gains(Time before, Time after) {
  return (before - after).seconds() > kNoGain * before.seconds();
}

/// @param before what each rank did before it was made like its equals
void note_levelled(ChangedRun& run, std::uint32_t rank, const Levelled& levelled,
                   const replaying::Durations& before) {
  const std::int32_t number = run.recording->ranks[rank].rank;
  run.notes.push_back(
      {fmt::format("kernels of rank {}: the median of {} equals", number, levelled.equals),
       "copied", levelled.kernels, 0});
  run.notes.push_back({fmt::format("host of rank {}: the median of its equals", number), "copied",
                       levelled.host, 0});
  const Time was = work_of_rank(*run.recording, rank, before);
  const Time is = work_of_rank(*run.recording, rank, run.durations);
  if (is <= was) return;
  run.caution = fmt::format(
      "rank {} is quicker than its equals: like them it works {} longer in all steps together",
      number, short_time(is - was));
}

void remove_slowest(ChangedRun& run) {
  std::optional<LikeEquals> best = find_straggler(run);
  if (!best) {
    run.notes.push_back(
        {"no rank is a straggler: made like its equals, none makes both the step and all steps "
         "together shorter by a "
         "ten-thousandth; name one to see what it does: straggler:RANK",
         "assumed", 0, 0});
    return;
  }
  const replaying::Durations before = std::move(run.durations);
  run = std::move(best->run);
  run.notes.push_back({fmt::format("rank {} is the straggler: of no other rank does the step gain "
                                   "more if it is like its equals",
                                   run.recording->ranks[best->rank].rank),
                       "assumed", 0, 0});
  note_levelled(run, best->rank, best->levelled, before);
}

}  // namespace

LikeEquals like_equals(const ChangedRun& run, std::uint32_t rank) {
  return like_equals_at(run, positions_of_all(run), rank);
}

std::optional<LikeEquals> find_straggler(const ChangedRun& run) {
  const Result<TimedRun> recorded = time_run(run, *run.lags);
  if (!recorded) return std::nullopt;
  const Lengths before = lengths_of(run, *recorded);
  std::optional<LikeEquals> best;
  Time shortest = before.step;
  const std::vector<RankPositions> positions = positions_of_all(run);
  for (const std::uint32_t rank : slower_ranks(positions, kTried)) {
    LikeEquals like = like_equals_at(run, positions, rank);
    if (!like.timed) continue;
    const Lengths after = lengths_of(like.run, *like.timed);
    // What only moves from one step to another is no gain.
    if (after.step >= shortest || !gains(before.step, after.step)) continue;
    if (before.whole > Time{} && !gains(before.whole, after.whole)) continue;
    shortest = after.step;
    best = std::move(like);
  }
  return best;
}

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
  const replaying::Durations before = run.durations;
  const Levelled levelled = level_rank(run, positions_of_all(run), rank);
  if (levelled.equals == 0) {
    return refuse(fmt::format("no other recorded rank runs what rank {} runs", *asked.rank));
  }
  note_levelled(run, rank, levelled, before);
  return std::nullopt;
}

}  // namespace flopcast::whatif
