// Calls of the kernel that libraries make themselves: futexes (std::future, latches, atomics that wait), and rings of calls.
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>

#include "live/standin/clock/clocks.h"
#include "live/standin/clock/real.h"
#include "live/standin/clock/stamps.h"
#include "live/standin/clock/still.h"
#include "live/standin/clock/watching.h"

namespace flopcast::live {
namespace {

constinit Real<long(long, long, long, long, long, long, long)> real_syscall{"syscall"};

/// The arguments of a futex call.
struct FutexCall {
  std::uint32_t* word;
  int operation;
  std::uint32_t value;
  long timeout, second, third;

  int command() const { return operation & FUTEX_CMD_MASK; }
  bool waits() const { return command() == FUTEX_WAIT || command() == FUTEX_WAIT_BITSET; }
  bool wakes() const { return command() == FUTEX_WAKE || command() == FUTEX_WAKE_BITSET; }
  /// Until the caller's time; none if it has set none.
  std::optional<std::int64_t> left_ns() const {
    if (timeout == 0) return std::nullopt;
    const std::int64_t time = to_ns(*reinterpret_cast<const timespec*>(timeout));
    if (command() == FUTEX_WAIT) return time;
    const bool realtime = (operation & FUTEX_CLOCK_REALTIME) != 0;
    return until_ns(realtime ? CLOCK_REALTIME : CLOCK_MONOTONIC, time);
  }
  /// Waits, until a point of CLOCK_MONOTONIC if any. @return an errno, ETIMEDOUT if that came
  int wait_until(const timespec* until) const {
    const int absolute = FUTEX_WAIT_BITSET | (operation & FUTEX_PRIVATE_FLAG);
    const long mask = command() == FUTEX_WAIT ? FUTEX_BITSET_MATCH_ANY : third;
    const long returned = real_syscall(SYS_futex, reinterpret_cast<long>(word), absolute, value,
                                       reinterpret_cast<long>(until), 0, mask);
    return returned == 0 ? 0 : errno;
  }
};

long wait_for(const FutexCall& call) {
  const std::optional<std::int64_t> left = call.left_ns();
  const auto wait = [&call](const timespec* until) { return call.wait_until(until); };
  int status = ETIMEDOUT;
  if (!left) {
    status = stand_still(Standing::kBlocked, call.word, wait);
  } else if (*left > 0 && stand_still_for(*left, call.word, [&](const timespec* until) {
                            return status = wait(until);
                          }) == false) {
    status = ETIMEDOUT;
  }
  if (status == 0) take_stamp(call.word);
  if (status == 0) return 0;
  errno = status;
  return -1;
}

/// A watchdog's, whose time is the run's: as long, but really.
long wait_really(const FutexCall& call) {
  const timespec until = real_in(*call.left_ns());
  const int status = call.wait_until(&until);
  if (status == 0) return 0;
  errno = status;
  return -1;
}

}  // namespace
}  // namespace flopcast::live

using namespace flopcast::live;

FLOPCAST_INTERPOSED long syscall(long number, ...) noexcept {
  std::va_list list;
  va_start(list, number);
  long a[6];
  for (long& argument : a) argument = va_arg(list, long);
  va_end(list);
  const auto real = [&] { return real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]); };
  // What goes by such a ring nobody sees; who asks for one does without where the kernel has none.
  if (number == SYS_io_uring_setup && followed()) {
    errno = ENOSYS;
    return -1;
  }
  if (number != SYS_futex || (!followed() && !of_helper())) return real();
  const FutexCall call{reinterpret_cast<std::uint32_t*>(a[0]),
                       static_cast<int>(a[1]),
                       static_cast<std::uint32_t>(a[2]),
                       a[3],
                       a[4],
                       a[5]};
  // The line to the engine waits by futexes, too.
  if (Link::get().is_own(call.word)) return real();
  if (Link* const link = of_helper()) {
    if (call.wakes()) link->wake_from_outside(call.word, call.value > 1);
    return watched_ns() && call.waits() && call.timeout != 0 ? wait_really(call) : real();
  }
  if (call.wakes()) {
    stamp(call.word, Link::moment());
    Link::get().wake(call.word, call.value > 1);
  }
  return call.waits() ? wait_for(call) : real();
}
