#include "whatif/breakdown.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/numeric/clock.h"

namespace flopcast::whatif {

using namespace replaying;

namespace {

constexpr std::size_t kTransfer = 4;
constexpr std::size_t kWaiting = 5;
constexpr std::size_t kIdle = 6;

/// Row of kBreakdownParts of each of a run's parts; what is none of them is communication.
std::vector<std::size_t> rows_of_parts(const Parts& parts) {
  std::vector<std::size_t> rows;
  for (const std::string& part : parts.names()) {
    const auto row = std::find(kBreakdownParts.begin(), kBreakdownParts.begin() + kTransfer, part);
    rows.push_back(static_cast<std::size_t>(row - kBreakdownParts.begin()));
  }
  return rows;
}

/// A part of the work begins (+1) or ends (-1).
struct Turn {
  Time at;
  std::size_t row;
  int by;
};

/// One rank between two times.
Breakdown sweep(std::vector<Turn> turns, Time from, Time to) {
  std::sort(turns.begin(), turns.end(), [](const Turn& a, const Turn& b) { return a.at < b.at; });
  Breakdown out{};
  std::array<int, kIdle> running{};
  Time now = from;
  const auto advance = [&](Time until) {
    const auto row = static_cast<std::size_t>(
        std::find_if(running.begin(), running.end(), [](int n) { return n > 0; }) -
        running.begin());
    out[row] += until - now;
    now = until;
  };
  for (const Turn& turn : turns) {
    if (turn.at > now) advance(std::min(turn.at, to));
    running[turn.row] += turn.by;
  }
  if (now < to) advance(to);
  return out;
}

class Breaker {
 public:
  Breaker(const ChangedRun& run, const TimedRun& timed)
      : run_(run), timed_(timed), rows_(rows_of_parts(*run.parts)) {}

  /// Mean over the ranks that have GPU work in the step.
  Breakdown step(const JudgedStep& step) const {
    std::array<WidePs, std::tuple_size_v<Breakdown>> sum{};
    std::int64_t ranks = 0;
    for (std::uint32_t r = 0; r < run_.steps->size(); ++r) {
      const auto& steps = (*run_.steps)[r];
      for (std::size_t s = 0; s < steps.size(); ++s) {
        const StepTime& time = timed_.steps[r][s];
        if (steps[s].name != step.name || !time.gpu()) continue;
        const Breakdown one = of_rank(r, *time.gpu_from, *time.gpu_to);
        for (std::size_t p = 0; p < sum.size(); ++p) sum[p] += one[p].ps;
        ++ranks;
      }
    }
    Breakdown mean{};
    for (std::size_t p = 0; p < sum.size(); ++p)
      mean[p] = Time{static_cast<std::int64_t>(sum[p] / std::max<std::int64_t>(ranks, 1))};
    return mean;
  }

 private:
  Breakdown of_rank(std::uint32_t r, Time from, Time to) const {
    const TaskMap::Rank& map = timed_.assembly.map.ranks[r];
    std::vector<Turn> turns;
    for (std::uint32_t t = 0; t < run_.recording->ranks[r].gpu.size(); ++t) {
      const Time start = std::max(from, timed_.run.start[map.gpu_first[t]]);
      const Time end = std::min(to, timed_.run.end[map.gpu_last[t]]);
      if (start >= end || waits_for_message(r, t)) continue;
      // A collective's kernel waits for the last rank, then transfers.
      const Time come = std::clamp(timed_.run.start[map.gpu_last[t]], start, end);
      add(turns, kWaiting, start, come);
      add(turns, rows_[run_.parts->of_gpu(r, t)], come, end);
    }
    return sweep(std::move(turns), from, to);
  }

  static void add(std::vector<Turn>& turns, std::size_t row, Time from, Time to) {
    if (from >= to) return;
    turns.push_back({from, row, 1});
    turns.push_back({to, row, -1});
  }

  /// Of a planned step: nothing runs there until the message has come.
  bool waits_for_message(std::uint32_t r, std::uint32_t t) const {
    const RankModel& rank = run_.recording->ranks[r];
    const std::uint32_t name = rank.trace->events.name[rank.gpu[t].row];
    return run_.set->strings[name].starts_with("receive ");
  }

  const ChangedRun& run_;
  const TimedRun& timed_;
  std::vector<std::size_t> rows_;
};

}  // namespace

Breakdown break_down(const ChangedRun& run, const TimedRun& timed, const Judged& judged) {
  Breakdown out{};
  if (!judged.gpu) return out;
  const Breaker breaker(run, timed);
  double sum = 0;
  std::array<double, out.size()> parts{};
  for (const JudgedStep& step : judged.steps) {
    if (!step.counts) continue;
    const Breakdown one = breaker.step(step);
    for (std::size_t p = 0; p < one.size(); ++p) {
      parts[p] += one[p].seconds();
      sum += one[p].seconds();
    }
  }
  // Their shares of the step; what rounding leaves over is idle.
  Time left = *judged.gpu;
  for (std::size_t p = 0; p < kIdle; ++p) {
    out[p] = Time{std::llround(static_cast<double>(judged.gpu->ps) * (parts[p] / sum))};
    left -= out[p];
  }
  out[kIdle] = left;
  return out;
}

}  // namespace flopcast::whatif
