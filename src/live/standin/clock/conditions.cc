// Mutexes and condition variables. Mutual exclusion hands nothing over: who comes first is up to the real scheduler. What
// hands time over is the announcement of a change: a notification stamps the mutex that the notifying
// thread locked last, and whoever locks that mutex afterwards goes on no earlier, whether it had to wait or not. Whoever comes
// between another's letting go and its notification waits for that (stamps.h).
#include <pthread.h>

#include <cerrno>
#include <utility>

#include "live/standin/clock/clocks.h"
#include "live/standin/clock/real.h"
#include "live/standin/clock/stamps.h"
#include "live/standin/clock/still.h"
#include "live/standin/clock/watching.h"
#include "live/standin/clock/who.h"

namespace flopcast::live {
namespace {

constinit Real<int(pthread_mutex_t*)> real_lock{"pthread_mutex_lock"};
constinit Real<int(pthread_mutex_t*)> real_trylock{"pthread_mutex_trylock"};
constinit Real<int(pthread_mutex_t*, const timespec*)> real_timedlock{"pthread_mutex_timedlock"};
constinit Real<int(pthread_mutex_t*, clockid_t, const timespec*)> real_clocklock{
    "pthread_mutex_clocklock"};
constinit Real<int(pthread_mutex_t*, const pthread_mutexattr_t*)> real_mutex_init{
    "pthread_mutex_init"};
constinit Real<int(pthread_cond_t*, pthread_mutex_t*)> real_wait{"pthread_cond_wait"};
constinit Real<int(pthread_cond_t*, pthread_mutex_t*, const timespec*)> real_timedwait{
    "pthread_cond_timedwait"};
constinit Real<int(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*)> real_clockwait{
    "pthread_cond_clockwait"};
constinit Real<int(pthread_cond_t*)> real_signal{"pthread_cond_signal"};
constinit Real<int(pthread_cond_t*)> real_broadcast{"pthread_cond_broadcast"};

/// A wait of this thread, until a point of CLOCK_MONOTONIC. Of a condition that was notified since `before` it does not say that
/// the time has come: the notification may have fallen between two such waits.
int wait_on(const Speaker& me, std::uint32_t before, pthread_cond_t* condition,
            pthread_mutex_t* mutex, const timespec* until) {
  const int status = real_clockwait(condition, mutex, CLOCK_MONOTONIC, until);
  return status == ETIMEDOUT && me.notified.load(std::memory_order_acquire) != before ? 0 : status;
}

/// The mutex is this thread's. Those of Python's interpreter announce nothing.
void locked(Speaker& me, pthread_mutex_t* mutex, const void* caller) {
  me.last_lock = mutex;
  if (!is_python(caller)) wait_for_last_locker(mutex);
  take_stamp(mutex);
}

/// So long a thread that the engine takes for standing still waits for the interpreter before it asks for it again.
constexpr std::int64_t kAskAgainNs = 250'000'000;

/// Python's interpreter uses conditions for its own lock alone, which excludes and announces nothing. It looks again every 5 ms.
/// Who has the lock may itself wait for the run, which goes on when all stand still who wait for the lock: at once, so those that
/// the engine has been told of stay so, and tell it again themselves.
int wait_for_interpreter(pthread_cond_t* condition, pthread_mutex_t* mutex, std::int64_t ns) {
  refund_look();  // how often it looks at the clock is up to the real scheduler
  Speaker& me = *own_speaker;
  const auto wait = [&](std::int64_t so_long) {
    const timespec until = real_in(so_long);
    return real_clockwait(condition, mutex, CLOCK_MONOTONIC, &until);
  };
  const auto is_told = [&me] {
    return me.standing.load(std::memory_order_relaxed) == Standing::kIdle;
  };
  Link& link = Link::get();
  link.block(Standing::kForLock, condition);
  if (std::exchange(me.told, false)) link.tell_own();
  int status = wait(ns);
  if (status == ETIMEDOUT && is_told()) status = wait(kAskAgainNs);
  me.again = status == ETIMEDOUT;
  me.told = me.again && is_told();
  link.unblock();
  return status;
}

int wait_until(Speaker& me, pthread_cond_t* condition, pthread_mutex_t* mutex, std::int64_t ns) {
  const std::uint32_t before = me.notified.load(std::memory_order_acquire);
  int status = ETIMEDOUT;
  const auto wait = [&](const timespec* until) {
    return status = wait_on(me, before, condition, mutex, until);
  };
  if (ns <= 0) {
    const timespec now = real_in(0);
    status = wait(&now);
  } else if (!stand_still_for(ns, condition, wait)) {
    status = ETIMEDOUT;
  }
  locked(me, mutex, nullptr);
  return status;
}

/// In a child of a rank there is nobody to ask: a wait for a time takes it really, and virtually.
int wait_alone(pthread_cond_t* condition, pthread_mutex_t* mutex, std::int64_t ns) {
  const timespec until = real_in(ns);
  const int status = real_clockwait(condition, mutex, CLOCK_MONOTONIC, &until);
  if (status == ETIMEDOUT && ns > 0) own_speaker->clock_ns += ns;
  return status;
}

int timed_wait(pthread_cond_t* condition, pthread_mutex_t* mutex, std::int64_t ns,
               const void* caller) {
  if (!own_speaker) {
    const bool looks = ns <= kSecondNs && !is_python(caller);
    return watch(condition, mutex, ns, looks);
  }
  Speaker& me = *own_speaker;
  if (!me.ring) return wait_alone(condition, mutex, ns);
  return is_python(caller) ? wait_for_interpreter(condition, mutex, ns)
                           : wait_until(me, condition, mutex, ns);
}

/// So long may whoever holds a lock really work. After that it may be a thread of the run that asks the engine, which waits for
/// this thread's look: PyTorch's threads ask for events with the lock on what the watchdog looks at.
constexpr std::int64_t kLockIsBusyNs = 100'000'000;

int lock_watched(pthread_mutex_t* mutex) {
  for (;;) {
    const timespec until = real_in(kLockIsBusyNs);
    const int status = real_clocklock(mutex, CLOCK_MONOTONIC, &until);
    if (status != ETIMEDOUT) return status;
    give_up_look();
  }
}

void notify(const pthread_cond_t* condition, bool all, const void* caller) {
  if (any_watchers()) wake_watchers(condition);
  if (Link* const link = Link::opened()) link->note(condition);
  if (Link* const link = of_helper()) link->wake_from_outside(condition, all);
  Speaker* const me = followed();
  if (!me) return;
  if (me->last_lock && !is_python(caller)) stamp(me->last_lock, Link::moment());
  me->move();  // whoever waits for it finds the stamp
  Link::get().wake(condition, all);
}

}  // namespace
}  // namespace flopcast::live

using namespace flopcast::live;

FLOPCAST_INTERPOSED int pthread_mutex_init(pthread_mutex_t* mutex,
                                           const pthread_mutexattr_t* attributes) noexcept {
  if (own_speaker) clear_stamp(mutex);
  return real_mutex_init(mutex, attributes);
}

FLOPCAST_INTERPOSED int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  Speaker* const me = followed();
  if (!me) return watched_ns() ? lock_watched(mutex) : real_lock(mutex);
  int status = real_trylock(mutex);
  if (status == EBUSY) {
    Link::get().block(Standing::kForLock, mutex);
    status = real_lock(mutex);
    Link::get().unblock();
  }
  if (status == 0) locked(*me, mutex, __builtin_return_address(0));
  return status;
}

FLOPCAST_INTERPOSED int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept {
  const int status = real_trylock(mutex);
  Speaker* const me = followed();
  if (me && status == 0) locked(*me, mutex, __builtin_return_address(0));
  return status;
}

FLOPCAST_INTERPOSED int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock,
                                                const timespec* until) noexcept {
  if (!own_speaker) {
    if (!watched_ns()) return real_clocklock(mutex, clock, until);
    const timespec real = real_in(until_ns(clock, to_ns(*until)));
    return real_clocklock(mutex, CLOCK_MONOTONIC, &real);
  }
  int status = ::pthread_mutex_trylock(mutex);
  if (status != EBUSY) return status;
  // Whoever holds the lock works, which takes real time.
  const timespec real = real_in(until_ns(clock, to_ns(*until)));
  Link::get().block(Standing::kForLock, mutex);
  status = real_clocklock(mutex, CLOCK_MONOTONIC, &real);
  Link::get().unblock();
  Speaker* const me = followed();
  if (me && status == 0) locked(*me, mutex, __builtin_return_address(0));
  return status;
}

FLOPCAST_INTERPOSED int pthread_mutex_timedlock(pthread_mutex_t* mutex,
                                                const timespec* until) noexcept {
  if (!own_speaker && !watched_ns()) return real_timedlock(mutex, until);
  return ::pthread_mutex_clocklock(mutex, CLOCK_REALTIME, until);
}

FLOPCAST_INTERPOSED int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  Speaker* const me = followed();
  if (!me) return real_wait(condition, mutex);
  const std::uint32_t before = me->notified.load(std::memory_order_acquire);
  const bool interpreter = is_python(__builtin_return_address(0));
  const Standing why = interpreter ? Standing::kForLock : Standing::kBlocked;
  const int status = stand_still(why, condition, [&](const timespec* until) {
    return wait_on(*me, before, condition, mutex, until);
  });
  if (!interpreter) locked(*me, mutex, nullptr);
  return status;
}

FLOPCAST_INTERPOSED int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                               const timespec* until) {
  if (!own_speaker && !watched_ns()) return real_timedwait(condition, mutex, until);
  return timed_wait(condition, mutex, until_ns(to_ns(*until)), __builtin_return_address(0));
}

FLOPCAST_INTERPOSED int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                               clockid_t clock, const timespec* until) {
  if (!own_speaker && !watched_ns()) return real_clockwait(condition, mutex, clock, until);
  return timed_wait(condition, mutex, until_ns(clock, to_ns(*until)), __builtin_return_address(0));
}

FLOPCAST_INTERPOSED int pthread_cond_signal(pthread_cond_t* condition) noexcept {
  notify(condition, false, __builtin_return_address(0));
  return real_signal(condition);
}

FLOPCAST_INTERPOSED int pthread_cond_broadcast(pthread_cond_t* condition) noexcept {
  notify(condition, true, __builtin_return_address(0));
  return real_broadcast(condition);
}
