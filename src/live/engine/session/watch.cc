// Collective calls whose time may be up. How long a call may take is known to the program alone, whose watchdogs look at
// all calls again and again. So before anything happens that is later than a time at which some call's may be up, the
// watchdogs of that call's process look at it in just that time. Time-outs are whole seconds, long ones
// tens of seconds or minutes: those ages of a call are looked at.
//
// A program learns what its watchdogs have seen: PyTorch's Work::wait() leaves out the stream's wait once they have seen
// the call's end. They look in real time, so what they see must not hang on when: it is how far the run was when a thread
// of the process last stood still until a time, and then they are waited for. A process that never stands still, or that stands
// still for what they see, has them see more, later.
#include <algorithm>

#include "live/engine/session/record_check.h"
#include "live/engine/session/state.h"

namespace flopcast::live {
namespace {

constexpr std::int64_t kSecondPs = 1'000'000'000'000;

/// The first age after this one at which to look. A watchdog may count from where it first saw that a call has begun, so
/// it sees that early, and is let look a little later than a time-out has passed since.
constexpr Time next_age(Time age) {
  constexpr Time kFirst{kSecondPs / 2}, kLater{kSecondPs * 6 / 10};
  if (age < kFirst) return kFirst;
  const std::int64_t seconds = std::max<std::int64_t>((age - kLater).ps, 0) / kSecondPs;
  std::int64_t step = 1;
  if (seconds >= 60) step = 10;
  if (seconds >= 600) step = 60;
  if (seconds >= 3600) step = 600;
  return Time{(seconds / step + 1) * step * kSecondPs} + kLater;
}

/// So long a process's watchdogs do not look at calls of one communicator again.
constexpr Time kBetweenLooks{kSecondPs / 2};
/// PyTorch's look every tenth of a second.
constexpr Time kBetweenSights{kSecondPs / 10};
/// So far behind the run they are at most while a thread runs; while none does.
constexpr Time kFarBehind{2 * kSecondPs}, kBehind = kBetweenSights;

/// Whether a thread of the process goes on without being told to.
bool runs(const Process& process) {
  return std::any_of(process.threads.begin(), process.threads.end(), [](const auto& one) {
    const Thread& thread = one.second;
    return !thread.helper && thread.doing != Doing::kIdles && thread.doing != Doing::kEnded;
  });
}

}  // namespace

void Session::State::will_be_watched(const Meeting& meeting, const Comer& comer) {
  look_at = std::min(look_at, comer.called + next_age(Time()));
  under_way[{meeting.key.group, comer.process}].insert(comer.called);
}

void Session::State::is_not_watched(const Meeting& meeting, const Comer& comer) {
  const auto calls = under_way.find({meeting.key.group, comer.process});
  calls->second.erase(calls->second.find(comer.called));
  if (calls->second.empty()) under_way.erase(calls);
}

/// The next look that has to be; at the end of time if none.
Session::State::Look Session::State::next_look() const {
  Look first;
  for (const auto& [who, calls] : under_way) {
    // Calls of a communicator have one time-out, so only the oldest of each process counts.
    const Time called = *calls.begin();
    const auto before = looked.find(who);
    Time from = called;
    if (before != looked.end()) from = std::max(from, before->second + kBetweenLooks);
    const Time next = called + next_age(from - called);
    if (next < first.at) first = {next, who};
  }
  return first;
}

/// @return whether the process's watchdogs have looked, at that time
bool Session::State::let_look(Process& process, Time at) {
  process.shown = std::max(process.shown, at);
  return look(process.number, at);
}

/// @return whether all calls under way have been looked at that may be up until then
bool Session::State::watched_until(Time at) {
  while (look && look_at <= at) {
    // Whose look it is, is asked once, not each time that somebody asks whether it is over.
    if (!awaited || awaited->at != look_at) awaited = next_look();
    look_at = awaited->at;
    looking = look_at <= at && !let_look(processes[awaited->whose.second], look_at);
    if (looking) return false;
    if (look_at <= at) looked[awaited->whose] = look_at;
    awaited.reset();
  }
  return true;
}

/// A thread of the process stands still until this time, at which the run is known.
/// @return whether its watchdogs have seen what there was to see
bool Session::State::watchdogs_see(Process& process, Time at) {
  if (!look || out_of_turn || at < process.seen + kBetweenSights) return true;
  const std::optional<Time> end = work.next_end();
  if ((end && *end <= at) || threads_until(nullptr, false) < at) return false;
  if (!let_look(process, at)) return false;
  process.seen = at;
  return true;
}

/// How far the run is for a process whose threads stand still: something outside (a socket's message) may still wake one of them
/// before a time until which somebody sleeps or waits. What is on its streams ends, whoever wakes.
Time Session::State::stands_at(const Process& process) const {
  Time latest = passed;
  for (const auto& [number, thread] : process.threads) {
    if (thread.doing != Doing::kSleeps) latest = std::max(latest, thread.clock);
  }
  for (const auto& [at, stream] : process.streams) {
    const GrowingTask last = stream.last;
    if (last != kNoGrowingTask && run.settled(last)) latest = std::max(latest, run.end(last));
  }
  return latest;
}

/// How far all have come, and whether somebody waits for a time.
Session::State::Come Session::State::come() const {
  if (unchanged && known_come) return *known_come;
  const bool leaps = std::any_of(actors.begin(), actors.end(), [](const Thread* thread) {
    const bool idles = thread->doing == Doing::kIdles && thread->until < kNotInThisRun;
    return idles || thread->doing == Doing::kSleeps;
  });
  known_come = {come_to(), leaps};
  return *known_come;
}

/// The same for watchdogs of a process, and no further than a call's time-out may be.
Time Session::State::come_for(const Process& process, const Come& come) const {
  return come.leaps ? std::min({come.to, look_at, stands_at(process)}) : come.to;
}

/// How far watchdogs of this process see the run, which has come so far.
Time Session::State::seen_by_watchdogs(const Process& process, const Come& come) const {
  const Time behind = runs(process) ? kFarBehind : kBehind;
  return std::max(process.shown, std::min(come_for(process, come), look_at) - behind);
}

/// Whether watchdogs of this process are told that what ends then has ended: the program may learn of it, at any moment.
bool Session::State::is_seen(const Process& process, Time end) const {
  return end <= process.shown || end <= seen_by_watchdogs(process, come());
}

/// Nobody runs: who stands still may wait for what watchdogs see.
void Session::State::show_who_stands() {
  if (looking || anybody_runs()) return;
  const Come so_far = come();
  for (Process& process : processes) {
    if (!runs(process)) process.shown = std::max(process.shown, come_for(process, so_far));
  }
}

}  // namespace flopcast::live
