#include "whatif/change/longest.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/numeric/clock.h"
#include "base/text/format.h"

namespace flopcast::whatif {

using namespace replaying;

namespace {

/// The sum of times, in a double: which does not wrap round.
double seconds_of(const std::vector<Time>& times) {
  double sum = 0;
  for (const Time time : times) sum += time > Time{} ? time.seconds() : 0;
  return sum;
}

bool fits(const Durations::Rank& rank) {
  double sum = seconds_of(rank.gpu) + seconds_of(rank.after_sync);
  for (const auto* threads : {&rank.piece, &rank.gap}) {
    for (const std::vector<Time>& thread : *threads) sum += seconds_of(thread);
  }
  return std::max(sum, seconds_of(rank.transfer)) <= kLongestTime.seconds();
}

bool all_fit(const Durations& durations) {
  return std::all_of(durations.ranks.begin(), durations.ranks.end(), fits);
}

/// Rank and GPU task that takes longest, in words.
std::string longest_task(const ChangedRun& run, const Durations& durations) {
  Time longest;
  std::string_view name = "work of the host";
  std::int32_t on = 0;
  for (std::size_t r = 0; r < durations.ranks.size() && r < run.recording->ranks.size(); ++r) {
    const RankModel& rank = run.recording->ranks[r];
    const std::vector<Time>& times = durations.ranks[r].transfer;
    for (std::size_t t = 0; t < times.size() && t < rank.gpu.size(); ++t) {
      if (times[t] <= longest) continue;
      longest = times[t];
      name = run.set->strings[rank.trace->events.name[rank.gpu[t].row]];
      on = rank.rank;
    }
  }
  return fmt::format("on rank {} {} takes {}", on, name, short_time(Seconds{longest.seconds()}));
}

}  // namespace

std::optional<std::string> beyond_any_run(const ChangedRun& run) {
  const auto problem = [&](const Durations& durations) {
    return fmt::format("the run is longer than the 53 days that a time may be: {}",
                       longest_task(run, durations));
  };
  if (!all_fit(run.durations)) return problem(run.durations);
  for (const Doubt& doubt : run.doubts) {
    for (const Durations* end : {&doubt.low, &doubt.high}) {
      if (!all_fit(*end)) return problem(*end);
    }
  }
  return std::nullopt;
}

}  // namespace flopcast::whatif
