#include "whatif/durations/equals.h"

#include <algorithm>

#include "base/numeric/median.h"
#include "base/numeric/mix.h"

namespace flopcast::whatif {

using namespace replaying;

namespace {

constexpr double kSameProgram = 0.7;
/// Ranks that are less alike than the most alike by more than this run another part of the model:
/// stages of a pipeline share most of their kernels.
constexpr double kLessAlike = 0.05;

/// Names of steps as numbers that all ranks share, and the step of a time.
class StepsOfRank {
 public:
  explicit StepsOfRank(const std::vector<StepTasks>& steps) : steps_(steps) {}
  std::uint64_t at(Time time) const {
    const auto next =
        std::upper_bound(steps_.begin(), steps_.end(), time,
                         [](Time t, const StepTasks& step) { return t < step.measured_start; });
    return next == steps_.begin() ? 0 : std::hash<std::string>()(std::prev(next)->name);
  }

 private:
  const std::vector<StepTasks>& steps_;
};

Positions::Key key_of(std::uint64_t step, std::uint64_t what) { return mix(mix(step) ^ what) | 1; }

}  // namespace

double Positions::overlap(const Positions& other) const {
  std::uint64_t both = 0, either = 0;
  for (const auto& [key, times] : times_) {
    const std::vector<Time>* theirs = other.find(key);
    both += std::min(times.size(), theirs ? theirs->size() : 0);
    either += std::max(times.size(), theirs ? theirs->size() : 0);
  }
  for (const auto& [key, times] : other.times_) {
    if (find(key) == nullptr) either += times.size();
  }
  return either == 0 ? 0 : static_cast<double>(both) / static_cast<double>(either);
}

RankPositions positions_of(const ChangedRun& run, std::uint32_t r) {
  const RankModel& rank = run.recording->ranks[r];
  const Durations::Rank& durations = run.durations.ranks[r];
  const Events& events = rank.trace->events;
  const StepsOfRank steps((*run.steps)[r]);
  RankPositions out;
  for (std::uint32_t t = 0; t < rank.gpu.size(); ++t) {
    const GpuTask& task = rank.gpu[t];
    const Time put = task.call == kNoIndex ? task.start : rank.calls[task.call].start;
    const Positions::Key key =
        task.communication ? 0 : key_of(steps.at(put), launch_shape(rank, task));
    out.kernel_key.push_back(key);
    if (key != 0) out.kernels.add(key, durations.gpu[t]);
  }
  for (std::uint32_t t = 0; t < rank.threads.size(); ++t) {
    const auto& pieces = rank.threads[t].pieces;
    out.piece_key.emplace_back();
    for (std::uint32_t p = 0; p < pieces.size(); ++p) {
      const Positions::Key key = key_of(steps.at(pieces[p].start), events.name[pieces[p].row]);
      out.piece_key.back().push_back(key);
      out.pieces.add(key, durations.piece[t][p]);
      out.gaps.add(key, durations.gap[t][p]);
    }
  }
  return out;
}

std::vector<std::uint32_t> equals_of(const std::vector<RankPositions>& ranks, std::uint32_t rank) {
  std::vector<double> alike(ranks.size(), 0);
  for (std::uint32_t r = 0; r < ranks.size(); ++r) {
    if (r != rank) alike[r] = ranks[r].kernels.overlap(ranks[rank].kernels);
  }
  const double most = ranks.empty() ? 0 : *std::max_element(alike.begin(), alike.end());
  std::vector<std::uint32_t> equals;
  for (std::uint32_t r = 0; r < ranks.size(); ++r) {
    if (r != rank && alike[r] >= std::max(kSameProgram, most - kLessAlike)) equals.push_back(r);
  }
  return equals;
}

std::optional<Time> time_of_equals(const std::vector<const Positions*>& equals, Positions::Key key,
                                   std::size_t n, std::size_t count) {
  std::vector<const std::vector<Time>*> lists;
  for (const Positions* positions : equals) {
    if (const std::vector<Time>* times = positions->find(key)) lists.push_back(times);
  }
  if (lists.empty()) return std::nullopt;
  const bool aligned = std::all_of(lists.begin(), lists.end(),
                                   [&](const auto* list) { return list->size() == count; });
  std::vector<Time> times;
  for (const std::vector<Time>* list : lists) {
    if (aligned) {
      times.push_back((*list)[n]);
    } else {
      times.insert(times.end(), list->begin(), list->end());
    }
  }
  return upper_median(times);
}

}  // namespace flopcast::whatif
