// Collective calls whose time may be up. How long a call may take is known to the program alone, whose watchdogs look at
// all calls again and again. So before anything happens that is later than a time at which some call's may be up, the
// watchdogs of that call's process look at it in just that time. Time-outs are whole seconds, long ones
// tens of seconds or minutes: those ages of a call are looked at.
#include <algorithm>

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

}  // namespace

void Session::State::will_be_watched(Time called) {
  look_at = std::min(look_at, called + next_age(Time()));
}

/// The next look that has to be; at the end of time if none.
Session::State::Look Session::State::next_look() const {
  // Calls of a communicator have one time-out, so only the oldest of each process counts.
  std::map<std::pair<std::uint32_t, std::uint32_t>, Time> oldest;
  const auto add = [&oldest](const Meeting& meeting) {
    for (const Comer& comer : meeting.come) {
      const auto [known, is_new] =
          oldest.try_emplace({meeting.key.group, comer.process}, comer.called);
      if (!is_new) known->second = std::min(known->second, comer.called);
    }
  };
  for (const auto& [key, meeting] : meetings) add(meeting);
  for (const auto& [transfer, meeting] : to_begin) add(meeting);
  Look first;
  for (const auto& [who, called] : oldest) {
    const auto before = looked.find(who);
    Time from = called;
    if (before != looked.end()) from = std::max(from, before->second + kBetweenLooks);
    const Time next = called + next_age(from - called);
    if (next < first.at) first = {next, who};
  }
  return first;
}

/// @return whether all calls under way have been looked at that may be up until then
bool Session::State::watched_until(Time at) {
  while (look && look_at <= at) {
    // Whose look it is, is asked once, not each time that somebody asks whether it is over.
    if (!awaited || awaited->at != look_at) awaited = next_look();
    look_at = awaited->at;
    looking = look_at <= at && !look(awaited->whose.second, look_at);
    if (looking) return false;
    if (look_at <= at) looked[awaited->whose] = look_at;
    awaited.reset();
  }
  return true;
}

}  // namespace flopcast::live
