// Semaphores, which are Python's locks too. One carries the time of its last post; who takes it goes on no
// earlier, whether it had to wait or not. Of those that processes share, each post's token carries its own time, and a
// token that is given back by who took it the time that it had: mutual exclusion carries nothing.
#include <fcntl.h>
#include <semaphore.h>

#include <cerrno>
#include <cstdarg>
#include <cstring>

#include "live/standin/clock/channels.h"
#include "live/standin/clock/clocks.h"
#include "live/standin/clock/real.h"
#include "live/standin/clock/stamps.h"
#include "live/standin/clock/still.h"
#include "live/standin/clock/watching.h"

namespace flopcast::live {
namespace {

constinit Real<int(sem_t*, int, unsigned)> real_init{"sem_init"};
constinit Real<sem_t*(const char*, int, unsigned, unsigned)> real_open{"sem_open"};
constinit Real<int(sem_t*)> real_post{"sem_post"};
constinit Real<int(sem_t*)> real_sem_wait{"sem_wait"};
constinit Real<int(sem_t*)> real_trywait{"sem_trywait"};
constinit Real<int(sem_t*, const timespec*)> real_sem_timedwait{"sem_timedwait"};
constinit Real<int(sem_t*, clockid_t, const timespec*)> real_sem_clockwait{"sem_clockwait"};

/// glibc keeps behind the value whether it is shared between processes.
bool is_shared(const sem_t* semaphore) {
  int shared = 0;
  std::memcpy(&shared, reinterpret_cast<const char*>(semaphore) + 8, sizeof shared);
  return shared != 0;
}

/// This thread among all of the run's.
std::uint64_t own_holder() {
  return static_cast<std::uint64_t>(::getpid()) << 32 | (own_speaker->index + 1);
}

/// This thread has taken a token. @param stood it has stood still for it, so time may have passed it by
void taken(const ChannelPlace& at, std::int64_t ns, bool stood) {
  at.channel->holder.store(own_holder(), std::memory_order_relaxed);
  at.channel->held_ns.store(ns, std::memory_order_relaxed);
  Link::get().go_on_from(stood ? std::max(ns, at.channel->put_ns()) : ns);
}

/// Gives a token; `call` does so really.
template <typename Call>
int give(const ChannelPlace& at, std::int64_t ns, Call call) {
  const Putting putting(at, 1, ns);
  return call();
}

/// Where the engine follows this thread and the semaphore is its process's own.
Speaker* follower(const sem_t* semaphore) {
  Speaker* const me = followed();
  return me && !is_shared(semaphore) ? me : nullptr;
}

/// ETIMEDOUT, another errno, or 0.
int result(int returned) { return returned == 0 ? 0 : errno; }

int fail(int error) {
  errno = error;
  return -1;
}

/// @param ns until the time that the caller has set
int timed_take(sem_t* semaphore, std::int64_t ns) {
  const std::int64_t until = own_speaker->now_ns() + ns;
  int status = ETIMEDOUT;
  const bool woken = stand_still_for(ns, semaphore, [&](const timespec* real) {
    return status = result(real_sem_clockwait(semaphore, CLOCK_MONOTONIC, real));
  });
  if (status == 0 && !woken && stamped_ns(semaphore) > until) {
    real_post(semaphore);  // it was posted later than the caller waited
    return fail(ETIMEDOUT);
  }
  if (status == 0) take_stamp(semaphore);
  if (status == 0) Link::get().take_turn();
  return status == 0 ? 0 : fail(status);
}

/// A token of a semaphore that processes share. @param ns negative: as long as it takes
int take_shared(const ChannelPlace& at, sem_t* semaphore, std::int64_t ns) {
  const auto take = [semaphore](std::int64_t ms) {
    const timespec until = real_in(ms * 1'000'000);
    const int status = result(ms == 0 ? real_trywait(semaphore)
                                      : real_sem_clockwait(semaphore, CLOCK_MONOTONIC, &until));
    return status == EAGAIN || status == ETIMEDOUT ? 0 : status == 0 ? 1 : -status;
  };
  // Who holds a lock lets go of it soon.
  int ready = take(0);
  if (ready == 0 && at.channel->holder.load() != 0) {
    Link::get().block(Standing::kForLock, semaphore);
    ready = take(kLongNs / 1'000'000);
    Link::get().unblock();
  }
  if (ready != 0) {
    if (ready > 0) taken(at, at.channel->take(1), false);
    return ready > 0 ? 0 : fail(-ready);
  }
  AtChannel one{at.channel, at.key};
  std::int64_t token = Channel::kNoTime;
  int last = 0;
  const Found found = stand_at(
      {&one, 1}, ns,
      [&](std::int64_t ms) {
        // What was taken is still there.
        if (last <= 0) last = take(ms);
        if (last > 0 && !std::exchange(ready, 1)) token = at.channel->take(1);
        return last;
      },
      [&] { return ready > 0 ? std::max(token, at.channel->put_ns()) : token; });
  if (found.ready > 0) {
    taken(at, token, found.stood);
    return 0;
  }
  if (ready > 0) give(at, token, [&] { return real_post(semaphore); });
  return fail(found.ready < 0 ? -found.ready : ETIMEDOUT);
}

/// Shared with others that carry no time: the wait takes real time, and if it is in vain virtual time.
int timed_take_alone(sem_t* semaphore, std::int64_t ns) {
  const timespec until = real_in(ns);
  const int status = result(real_sem_clockwait(semaphore, CLOCK_MONOTONIC, &until));
  if (status == ETIMEDOUT && ns > 0) sleep_ns(ns);
  return status == 0 ? 0 : fail(status);
}

}  // namespace
}  // namespace flopcast::live

using namespace flopcast::live;

FLOPCAST_INTERPOSED int sem_init(sem_t* semaphore, int shared, unsigned value) noexcept {
  if (own_speaker) clear_stamp(semaphore);
  return real_init(semaphore, shared, value);
}

FLOPCAST_INTERPOSED int sem_post(sem_t* semaphore) noexcept {
  if (const ChannelPlace at = is_shared(semaphore) ? semaphore_at(semaphore) : ChannelPlace()) {
    std::int64_t ns = put_time();
    if (followed() && at.channel->holder.load() == own_holder()) {
      at.channel->holder.store(0);
      ns = at.channel->held_ns.load();
    }
    return give(at, ns, [&] { return real_post(semaphore); });
  }
  if (follower(semaphore)) {
    stamp(semaphore, Link::moment());
    Link::get().wake(semaphore, false);
  } else if (Link* const link = of_helper()) {
    link->wake_from_outside(semaphore, false);
  }
  return real_post(semaphore);
}

FLOPCAST_INTERPOSED int sem_trywait(sem_t* semaphore) noexcept {
  const int got = real_trywait(semaphore);
  if (got != 0) return got;
  if (follower(semaphore)) take_stamp(semaphore);
  if (const ChannelPlace at = is_shared(semaphore) ? semaphore_at(semaphore) : ChannelPlace()) {
    const std::int64_t ns = at.channel->take(1);
    if (followed()) taken(at, ns, false);
  }
  return got;
}

FLOPCAST_INTERPOSED int sem_wait(sem_t* semaphore) {
  if (const ChannelPlace at =
          followed() && is_shared(semaphore) ? semaphore_at(semaphore) : ChannelPlace())
    return take_shared(at, semaphore, -1);
  if (!follower(semaphore)) return real_sem_wait(semaphore);
  int status = result(real_trywait(semaphore));
  const bool waits = status == EAGAIN;
  if (waits) {
    status = stand_still(Standing::kBlocked, semaphore, [&](const timespec* until) {
      return result(real_sem_clockwait(semaphore, CLOCK_MONOTONIC, until));
    });
  }
  if (status != 0) return fail(status);
  take_stamp(semaphore);
  if (waits) Link::get().take_turn();
  return 0;
}

FLOPCAST_INTERPOSED int sem_clockwait(sem_t* semaphore, clockid_t clock, const timespec* until) {
  if (!own_speaker) {
    if (!watched_ns()) return real_sem_clockwait(semaphore, clock, until);
    const timespec real = real_in(until_ns(clock, to_ns(*until)));
    return real_sem_clockwait(semaphore, CLOCK_MONOTONIC, &real);
  }
  if (::sem_trywait(semaphore) == 0) return 0;
  const std::int64_t ns = until_ns(clock, to_ns(*until));
  if (ns <= 0) return fail(ETIMEDOUT);
  if (const ChannelPlace at =
          followed() && is_shared(semaphore) ? semaphore_at(semaphore) : ChannelPlace())
    return take_shared(at, semaphore, ns);
  return follower(semaphore) ? timed_take(semaphore, ns) : timed_take_alone(semaphore, ns);
}

FLOPCAST_INTERPOSED int sem_timedwait(sem_t* semaphore, const timespec* until) {
  if (!own_speaker && !watched_ns()) return real_sem_timedwait(semaphore, until);
  return ::sem_clockwait(semaphore, CLOCK_REALTIME, until);
}

/// The name tells processes of one semaphore.
FLOPCAST_INTERPOSED sem_t* sem_open(const char* name, int flags, ...) noexcept {
  std::va_list more;
  va_start(more, flags);
  const bool makes = (flags & O_CREAT) != 0;
  const auto mode = makes ? va_arg(more, unsigned) : 0;
  const unsigned value = makes ? va_arg(more, unsigned) : 0;
  va_end(more);
  sem_t* const opened = real_open(name, flags, mode, value);
  const int error = errno;
  if (opened != SEM_FAILED) name_semaphore(opened, name, makes && (flags & O_EXCL) != 0, value);
  errno = error;
  return opened;
}
