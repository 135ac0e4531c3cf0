// Clocks that are read.
#include <sys/time.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <utility>

#include "live/standin/clock/clocks.h"
#include "live/standin/clock/real.h"
#include "live/standin/clock/watching.h"

namespace flopcast::live {
namespace {

constinit Real<int(clockid_t, timespec*)> real_clock_gettime{"clock_gettime"};
constinit Real<int(timeval*, void*)> real_gettimeofday{"gettimeofday"};
constinit Real<time_t(time_t*)> real_time{"time"};
constinit Real<int(timespec*, int)> real_timespec_get{"timespec_get"};

/// Where CLOCK_MONOTONIC begins for threads in virtual time. It is later than on any machine that has been up for less
/// than three years, and therefore later than helpers in real time see it: what they take for the age of
/// something that a thread in virtual time began is never too great.
constexpr std::int64_t kMonotonicStart = 100'000'000 * kSecondNs;
/// Looks are free: how often a program looks may be up to the real scheduler. But a loop that does nothing but
/// look (it reads nothing, waits for nobody, and asks nothing of a GPU) until some time has come would never see it come.
/// Python looks whenever it takes a lock, as it does thousands of times to import a package.
constexpr std::uint32_t kFreeLooksAlone = 20'000;
/// Who looks for what others may do in between, or lets them run, waits.
constexpr std::uint32_t kFreeLooks = 1000;
/// Host time of a look from then on. It doubles after as many looks again and again, but to no more than what a round of
/// an interpreter's loop takes: a program that computes and looks in between (a progress bar, cProfile) is one, too.
constexpr std::int64_t kLookNs = 100;
constexpr std::uint32_t kLooksToDouble = 10'000;
constexpr std::uint32_t kMostDoublingsAlone = 4;
/// Who waits does not compute: such a loop over seconds would take minutes. Its end is known to a ten-thousandth.
constexpr std::uint32_t kMostDoublings = 20;
/// Host time after which the engine hears of such a thread. It doubles, too. A loop that looks for what other processes may do
/// besides (a child's end, something to read) then sleeps, so that it does not pass by those who have not come as far.
/// Where threads act in turn it waits for its turn instead, which costs less, and so more often.
constexpr std::int64_t kTurnAfterNs = 10'000;
constexpr std::int64_t kTellAfterNs = 1'000'000;
constexpr std::uint32_t kDoublingsBefore = 5;
/// Host time of a round of a loop that lets others run in between: assumed.
constexpr std::int64_t kRoundNs = 1000;

/// By how much what so many looks take has doubled.
std::uint32_t doublings_after(std::uint32_t looks) {
  return std::min(looks / kLooksToDouble, kMostDoublings);
}
/// The same of how long it is before others hear of it.
std::uint32_t rarer_after(std::uint32_t doublings) {
  return std::max(doublings, kDoublingsBefore) - kDoublingsBefore;
}

void take_turn_as_it_looks(Speaker& me) {
  const std::uint32_t looks = me.looks;
  Link::get().take_turn();
  me.looks = looks;
}

void look(Speaker& me) {
  const std::uint32_t free = me.looks_for_others ? kFreeLooks : kFreeLooksAlone;
  const std::uint32_t most = me.looks_for_others ? kMostDoublings : kMostDoublingsAlone;
  if (++me.looks <= free) return;
  const std::uint32_t doublings = std::min(doublings_after(me.looks - free), most);
  me.gap_ns += kLookNs << doublings;
  const std::uint32_t longer = rarer_after(doublings);
  const bool in_turn = me.ring && me.looks_for_others && Link::get().acts_in_turn();
  if (!me.ring || me.gap_ns < (in_turn ? kTurnAfterNs : kTellAfterNs) << longer) return;
  const std::uint32_t looks = me.looks;
  if (in_turn) {
    take_turn_as_it_looks(me);
  } else if (me.looks_for_others) {
    sleep_ns(1);
  } else {
    Record record;
    record.act = Act::kSleep;
    Link::get().say(record);
  }
  me.looks = looks;
  me.looks_for_others = false;
}

/// Where virtual time begins on a clock that shows it.
std::optional<std::int64_t> beginning_of(clockid_t clock) {
  switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
    case CLOCK_TAI:
      return Link::start_ns();
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_RAW:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_BOOTTIME:
      return kMonotonicStart;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<std::int64_t> virtual_ns(clockid_t clock) {
  Speaker* const me = own_speaker;
  if (!me) {
    const auto beginning = beginning_of(clock);
    const auto watched = beginning ? look_at_watched(clock) : std::nullopt;
    return watched ? std::optional(*beginning + *watched) : std::nullopt;
  }
  Link::measure();
  if (const auto beginning = beginning_of(clock)) {
    look(*me);
    return *beginning + me->now_ns();
  }
  if (clock == CLOCK_PROCESS_CPUTIME_ID && me->ring) return Link::get().host_ns();
  if (clock == CLOCK_THREAD_CPUTIME_ID || clock == CLOCK_PROCESS_CPUTIME_ID)
    return me->host_ns + me->gap_ns;
  return std::nullopt;
}

void take_round() {
  Speaker& me = *own_speaker;
  ++me.looks;
  const std::uint32_t doublings = doublings_after(me.looks);
  me.gap_ns += kRoundNs << doublings;
  if (me.gap_ns >= kTurnAfterNs << rarer_after(doublings)) take_turn_as_it_looks(me);
}

bool shows_virtual_time(clockid_t clock) { return beginning_of(clock).has_value(); }

void refund_look() {
  if (own_speaker->looks > 0) --own_speaker->looks;
}

std::int64_t until_ns(clockid_t clock, std::int64_t point_ns) {
  const auto beginning = beginning_of(clock);
  const std::int64_t now = own_speaker ? own_speaker->now_ns() : watched_ns().value_or(0);
  return beginning ? point_ns - *beginning - now : 0;
}

std::int64_t until_ns(std::int64_t point_ns) {
  const std::int64_t monotonic = until_ns(CLOCK_MONOTONIC, point_ns);
  const std::int64_t realtime = until_ns(CLOCK_REALTIME, point_ns);
  return std::abs(monotonic) < std::abs(realtime) ? monotonic : realtime;
}

}  // namespace flopcast::live

using namespace flopcast::live;

FLOPCAST_INTERPOSED int clock_gettime(clockid_t clock, timespec* time) noexcept {
  if (const auto now = virtual_ns(clock)) {
    *time = to_timespec(*now);
    return 0;
  }
  return real_clock_gettime(clock, time);
}

FLOPCAST_INTERPOSED int gettimeofday(timeval* time, void* zone) noexcept {
  const auto now = virtual_ns(CLOCK_REALTIME);
  if (!now) return real_gettimeofday(time, zone);
  *time = {*now / kSecondNs, *now % kSecondNs / 1000};
  return 0;
}

FLOPCAST_INTERPOSED time_t time(time_t* out) noexcept {
  const auto now = virtual_ns(CLOCK_REALTIME);
  if (!now) return real_time(out);
  const time_t seconds = *now / kSecondNs;
  if (out) *out = seconds;
  return seconds;
}

FLOPCAST_INTERPOSED int timespec_get(timespec* out, int base) noexcept {
  const auto now = base == TIME_UTC ? virtual_ns(CLOCK_REALTIME) : std::nullopt;
  if (!now) return real_timespec_get(out, base);
  *out = to_timespec(*now);
  return base;
}
