// Sleeps: a thread in virtual time takes no real time to sleep.
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <utility>

#include "live/standin/clock/clocks.h"
#include "live/standin/clock/real.h"
#include "live/standin/clock/watching.h"

namespace flopcast::live {
namespace {

constinit Real<int(clockid_t, int, const timespec*, timespec*)> real_clock_nanosleep{
    "clock_nanosleep"};
constinit Real<int(const timespec*, timespec*)> real_nanosleep{"nanosleep"};
constinit Real<int(useconds_t)> real_usleep{"usleep"};
constinit Real<unsigned(unsigned)> real_sleep{"sleep"};
constinit Real<int()> real_sched_yield{"sched_yield"};

/// A sleep up to this, right after another rank has said something, is one between two looks.
constexpr std::int64_t kLongestPollNs = 100'000'000;

bool is_time(const timespec* time) {
  return time && time->tv_sec >= 0 && time->tv_nsec >= 0 && time->tv_nsec < kSecondNs;
}

/// A watchdog that has found a call too late sleeps before it ends its process, so that others can write down what they
/// know. The run stands still meanwhile, and they have done so in less time.
constexpr std::int64_t kLongestOfWatchdogNs = kSecondNs;

int sleep_as_watchdog(std::int64_t ns) {
  const timespec real = to_timespec(std::min(ns, kLongestOfWatchdogNs));
  return real_nanosleep(&real, nullptr);
}

/// Others go on meanwhile: what it looks for may need that.
void sleep_really(const Speaker& me, std::int64_t ns) {
  const timespec real = to_timespec(ns);
  if (!me.ring) {
    real_nanosleep(&real, nullptr);
    return;
  }
  Link& link = Link::get();
  link.block(Standing::kOutside, nullptr);
  link.tell_own();
  real_nanosleep(&real, nullptr);
  link.unblock();
}

}  // namespace

void sleep_ns(std::int64_t ns) {
  Speaker& me = *own_speaker;
  if (ns <= 0) {
    ::sched_yield();
    return;
  }
  // Whoever looks again and again for something that takes real time sleeps really. How often it has to look
  // for another process is up to the real scheduler, and takes no virtual time.
  const Outside polls = std::exchange(me.polls, Outside::kNothing);
  if (polls == Outside::kServer || (polls == Outside::kPeer && ns <= kLongestPollNs))
    return sleep_really(me, ns);
  const timespec real = to_timespec(ns);
  if (polls == Outside::kChild) real_nanosleep(&real, nullptr);
  if (!me.ring) {
    me.clock_ns += ns;
    return;
  }
  Record record;
  record.act = Act::kSleep;
  record.word[0] = static_cast<std::uint64_t>(ns);
  Link::get().ask(record);
}

}  // namespace flopcast::live

using namespace flopcast::live;

FLOPCAST_INTERPOSED int clock_nanosleep(clockid_t clock, int flags, const timespec* time,
                                        timespec* left) {
  if (watched_ns() && flags == 0 && is_time(time)) return sleep_as_watchdog(to_ns(*time));
  if (!own_speaker || !shows_virtual_time(clock))
    return real_clock_nanosleep(clock, flags, time, left);
  if (!is_time(time)) return EINVAL;
  const bool absolute = (flags & TIMER_ABSTIME) != 0;
  const std::int64_t ns = absolute ? until_ns(clock, to_ns(*time)) : to_ns(*time);
  if (!absolute || ns > 0) sleep_ns(ns);
  return 0;
}

FLOPCAST_INTERPOSED int nanosleep(const timespec* time, timespec* left) {
  if (watched_ns() && is_time(time)) return sleep_as_watchdog(to_ns(*time));
  if (!own_speaker || !is_time(time)) return real_nanosleep(time, left);
  sleep_ns(to_ns(*time));
  return 0;
}

FLOPCAST_INTERPOSED int usleep(useconds_t microseconds) {
  if (!own_speaker) return real_usleep(microseconds);
  sleep_ns(std::int64_t{microseconds} * 1000);
  return 0;
}

FLOPCAST_INTERPOSED unsigned sleep(unsigned seconds) {
  if (!own_speaker) return real_sleep(seconds);
  sleep_ns(seconds * kSecondNs);
  return 0;
}

/// Who lets others run looks for what they do: at a flag in memory that processes share, as a rule.
FLOPCAST_INTERPOSED int sched_yield() noexcept {
  Speaker* const me = followed();
  if (!me) return real_sched_yield();
  me->looks_for_others = true;
  if (!Link::get().acts_in_turn()) return real_sched_yield();
  take_round();
  return 0;
}
