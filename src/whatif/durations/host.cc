#include "whatif/durations/host.h"

#include <algorithm>

#include "whatif/change/stretch.h"

namespace flopcast::whatif {

using namespace replaying;

namespace {

std::uint64_t pieces_of(const ChangedRun& run) {
  std::uint64_t pieces = 0;
  for (const RankModel& rank : run.recording->ranks) {
    for (const HostThread& thread : rank.threads) pieces += thread.pieces.size();
  }
  return pieces;
}

/// From the end of the first launch of a step to the end of its last one.
struct Launching {
  Time from = Time::max(), to = Time::min();
  void take(const Call& call) {
    from = std::min(from, call.end);
    to = std::max(to, call.end);
  }
};
Launching launching(const RankModel& rank, const StepTasks& step) {
  Launching span;
  for (const std::uint32_t t : step.gpu) {
    const std::uint32_t call = rank.gpu[t].call;
    if (call != kNoIndex) span.take(rank.calls[call]);
  }
  return span;
}

/// Pieces of all threads in between take no time, nor does what lies before each of them.
std::uint64_t free_pieces(const RankModel& rank, const Launching& span,
                          Durations::Rank& durations) {
  std::uint64_t freed = 0;
  for (std::size_t t = 0; t < rank.threads.size(); ++t) {
    const std::vector<Piece>& pieces = rank.threads[t].pieces;
    auto piece = std::lower_bound(pieces.begin(), pieces.end(), span.from,
                                  [](const Piece& p, Time at) { return p.start < at; });
    for (; piece != pieces.end() && piece->start < span.to; ++piece, ++freed) {
      const auto p = static_cast<std::size_t>(piece - pieces.begin());
      durations.piece[t][p] = durations.gap[t][p] = Time{};
    }
  }
  return freed;
}

}  // namespace

std::optional<Diagnostic> remove_host(ChangedRun& run, const Change& change) {
  const std::uint64_t pieces = pieces_of(run);
  if (pieces == 0) {
    run.refused.push_back(refusal(change, "no row of the host was recorded"));
    return std::nullopt;
  }
  for (std::uint32_t r = 0; r < run.recording->ranks.size(); ++r)
    stretch_host(*run.recording, r, 0, run.durations);
  run.notes.push_back({"the host takes no time; it still waits for the GPU", "assumed", pieces, 0});
  return std::nullopt;
}

std::optional<Diagnostic> remove_launches(ChangedRun& run, const Change& change) {
  std::uint64_t freed = 0, steps = 0;
  for (std::size_t r = 0; r < run.recording->ranks.size(); ++r) {
    for (const StepTasks& step : (*run.steps)[r]) {
      const Launching span = launching(run.recording->ranks[r], step);
      if (!step.annotated || span.from > span.to) continue;
      freed += free_pieces(run.recording->ranks[r], span, run.durations.ranks[r]);
      ++steps;
    }
  }
  if (steps == 0) {
    run.refused.push_back(
        refusal(change, pieces_of(run) == 0
                            ? "no row of the host was recorded"
                            : "no annotation tells where a step begins (ProfilerStep#N): call "
                              "profiler.step() in the training loop"));
    return std::nullopt;
  }
  run.notes.push_back({"the host's work between a step's first and last launch takes no time",
                       "assumed", freed, 0});
  return std::nullopt;
}

}  // namespace flopcast::whatif
