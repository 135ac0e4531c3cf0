#include "whatif/durations/straggler.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "base/numeric/median.h"
#include "base/numeric/mix.h"
#include "whatif/change/stretch.h"
#include "whatif/durations/equals.h"

namespace flopcast::whatif {

using namespace replaying;

namespace {

/// By what it is of, the time that each rank's own work takes.
using Sums = std::unordered_map<Positions::Key, std::vector<std::pair<std::uint32_t, Time>>>;

void add_sums(Sums& sums, std::uint32_t rank, const Positions& positions) {
  positions.each([&](Positions::Key key, const std::vector<Time>& times) {
    sums[mix(key) ^ times.size()].emplace_back(rank,
                                               std::accumulate(times.begin(), times.end(), Time{}));
  });
}

/// How much longer each rank's work takes than the middle of those that do the same as often.
std::vector<Time> excess_of(const Sums& sums, std::size_t ranks) {
  std::vector<Time> excess(ranks);
  std::vector<Time> times;
  for (const auto& [key, found] : sums) {
    if (found.size() < 2) continue;
    times.clear();
    for (const auto& [rank, time] : found) times.push_back(time);
    // Of two, the quicker one is what the other could be.
    const auto half = times.begin() + static_cast<std::ptrdiff_t>((times.size() - 1) / 2);
    std::nth_element(times.begin(), half, times.end());
    const Time middle = *half;
    for (const auto& [rank, time] : found) excess[rank] += time - middle;
  }
  return excess;
}

void add_slowest(const std::vector<Time>& excess, std::size_t most,
                 std::vector<std::uint32_t>& ranks) {
  std::vector<std::uint32_t> order(excess.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](auto a, auto b) { return excess[a] > excess[b]; });
  order.resize(std::min(most, order.size()));
  for (const std::uint32_t rank : order) {
    if (excess[rank] > Time{} && std::ranges::find(ranks, rank) == ranks.end())
      ranks.push_back(rank);
  }
}

/// Gives one rank's tasks the time of their equals.
class Levelling {
 public:
  Levelling(ChangedRun& run, const std::vector<RankPositions>& positions, std::uint32_t rank)
      : run_(run),
        rank_(rank),
        all_(positions),
        own_(positions[rank]),
        equals_(equals_of(positions, rank)) {}

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

  /// Its equals are not all as fast as their median: the fastest and the slowest of them.
  void doubt() {
    if (equals_.size() < 2) return;
    const auto [fast, slow] = speeds();
    Doubt doubt{fmt::format("which of {} equals rank {} would be like", equals_.size(),
                            run_.recording->ranks[rank_].rank),
                run_.durations, run_.durations};
    stretch(doubt.low, fast);
    stretch(doubt.high, slow);
    run_.doubts.push_back(std::move(doubt));
  }

 private:
  Durations::Rank& durations() { return run_.durations.ranks[rank_]; }

  /// How long the kernels of the fastest and of the slowest equal take, to those of the middle one.
  std::pair<double, double> speeds() const {
    std::vector<Time> sums;
    for (const std::uint32_t r : equals_) {
      Time sum;
      own_.kernels.each([&](Positions::Key key, const std::vector<Time>&) {
        const std::vector<Time>* times = all_[r].kernels.find(key);
        if (times != nullptr) sum = std::accumulate(times->begin(), times->end(), sum);
      });
      sums.push_back(sum);
    }
    const auto [least, most] = std::minmax_element(sums.begin(), sums.end());
    const double middle = upper_median(sums).seconds();
    if (middle <= 0) return {1, 1};
    return {least->seconds() / middle, most->seconds() / middle};
  }

  void stretch(Durations& all, double k) const {
    Durations::Rank& times = all.ranks[rank_];
    const auto& tasks = run_.recording->ranks[rank_].gpu;
    for (std::uint32_t t = 0; t < tasks.size(); ++t) {
      if (own_.kernel_key[t] != 0)
        set_gpu_time(times, tasks[t], t, stretched(gpu_time(times, t), k));
    }
    stretch_host(*run_.recording, rank_, k, all);
  }

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
  const std::vector<RankPositions>& all_;
  const RankPositions& own_;
  std::vector<std::uint32_t> equals_;
};

}  // namespace

std::vector<std::uint32_t> slower_ranks(const std::vector<RankPositions>& positions,
                                        std::size_t most) {
  Sums kernels, host;
  for (std::uint32_t r = 0; r < positions.size(); ++r) {
    add_sums(kernels, r, positions[r].kernels);
    add_sums(host, r, positions[r].pieces);
  }
  std::vector<std::uint32_t> ranks;
  add_slowest(excess_of(kernels, positions.size()), most, ranks);
  add_slowest(excess_of(host, positions.size()), most, ranks);
  return ranks;
}

Levelled level_rank(ChangedRun& run, const std::vector<RankPositions>& positions,
                    std::uint32_t rank) {
  Levelling levelling(run, positions, rank);
  Levelled levelled{levelling.equals(), 0, 0};
  if (levelled.equals == 0) return levelled;
  levelled.kernels = levelling.kernels();
  levelled.host = levelling.host();
  levelling.doubt();
  return levelled;
}

}  // namespace flopcast::whatif
