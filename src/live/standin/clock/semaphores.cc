// Semaphores, which are Python's locks too. One carries the time of its last post; who takes it goes on no
// earlier, whether it had to wait or not. Those that processes share carry nothing.
#include <semaphore.h>

#include <cerrno>
#include <cstring>

#include "live/standin/clock/clocks.h"
#include "live/standin/clock/real.h"
#include "live/standin/clock/stamps.h"
#include "live/standin/clock/still.h"
#include "live/standin/clock/watching.h"

namespace flopcast::live {
namespace {

constinit Real<int(sem_t*, int, unsigned)> real_init{"sem_init"};
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
  return status == 0 ? 0 : fail(status);
}

/// Shared with others, or in a child of a rank: the wait takes real time, and if it is in vain virtual time.
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
  if (follower(semaphore)) {
    stamp(semaphore, Link::moment());
    Link::get().wake(semaphore, false);
  } else if (Link* const link = of_helper()) {
    link->wake_from_outside(semaphore, false);
  }
  return real_post(semaphore);
}

FLOPCAST_INTERPOSED int sem_trywait(sem_t* semaphore) noexcept {
  const int taken = real_trywait(semaphore);
  if (taken == 0 && follower(semaphore)) take_stamp(semaphore);
  return taken;
}

FLOPCAST_INTERPOSED int sem_wait(sem_t* semaphore) {
  if (!follower(semaphore)) return real_sem_wait(semaphore);
  int status = result(real_trywait(semaphore));
  if (status == EAGAIN) {
    status = stand_still(Standing::kBlocked, semaphore, [&](const timespec* until) {
      return result(until ? real_sem_clockwait(semaphore, CLOCK_MONOTONIC, until)
                          : real_sem_wait(semaphore));
    });
  }
  if (status != 0) return fail(status);
  take_stamp(semaphore);
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
  return follower(semaphore) ? timed_take(semaphore, ns) : timed_take_alone(semaphore, ns);
}

FLOPCAST_INTERPOSED int sem_timedwait(sem_t* semaphore, const timespec* until) {
  if (!own_speaker && !watched_ns()) return real_sem_timedwait(semaphore, until);
  return ::sem_clockwait(semaphore, CLOCK_REALTIME, until);
}
