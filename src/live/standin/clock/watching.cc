#include "live/standin/clock/watching.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "live/standin/clock/real.h"

namespace flopcast::live {
namespace {

/// Of this thread among the process's; -1: it is none of them.
constinit thread_local std::int32_t watch_place = -1;
/// Looks that were wanted when its last wait ended.
constinit thread_local std::uint32_t watch_seen = 0;
/// How long a wait was that has just ended by its time. Whoever waits looks at the clock then, and waits on if it
/// shows less; only that look shows it, because the run's time need not have gone on.
constinit thread_local std::int64_t watch_late_ns = 0;

/// What they wait for, by place, and how often it was notified.
constinit std::array<std::atomic<const void*>, Watch::kPlaces> watched_conditions{};
constinit std::array<std::atomic<std::uint32_t>, Watch::kPlaces> notifications{};
constinit std::atomic<int> watchers{0};
/// No place from here on was ever taken: every notification of the process looks through those before.
constinit std::atomic<std::uint32_t> watch_places_end{0};

}  // namespace

void begin_watching() {
  Link* const link = Link::opened();
  if (!link) return;
  Watch& watch = link->watch();
  watch_seen = watch.wanted.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < Watch::kPlaces; ++i) {
    std::uint32_t nobody = 0;
    if (!watch.places[i].looked.compare_exchange_strong(nobody, watch_seen + 1)) continue;
    watch.places[i].thread.store(static_cast<std::int32_t>(syscall(SYS_gettid)));
    watch_place = static_cast<std::int32_t>(i);
    std::uint32_t end = watch_places_end.load();
    while (end < i + 1 && !watch_places_end.compare_exchange_weak(end, i + 1)) {
    }
    watchers.fetch_add(1, std::memory_order_relaxed);
    return;
  }
}

void end_watching() {
  if (watch_place < 0) return;
  watchers.fetch_sub(1, std::memory_order_relaxed);
  Watch::Place& place = Link::get().watch().places[std::exchange(watch_place, -1)];
  place.thread.store(0);
  place.looked.store(0, std::memory_order_release);
}

std::optional<std::int64_t> watched_ns() {
  if (watch_place < 0) return std::nullopt;
  return Link::get().watch().now_ns.load(std::memory_order_acquire) + watch_late_ns;
}

std::optional<std::int64_t> look_at_watched(clockid_t clock) {
  const auto now = watched_ns();
  // Where the C library has no wait by CLOCK_MONOTONIC, the other clock is looked at first.
  if (now && clock == CLOCK_MONOTONIC) watch_late_ns = 0;
  return now;
}

int watch(const pthread_cond_t* condition, pthread_mutex_t* mutex, std::int64_t ns, bool looks) {
  Link& link = Link::get();
  Watch& watch = link.watch();
  const auto place = static_cast<std::size_t>(watch_place);
  std::atomic<std::uint32_t>& looked = watch.places[place].looked;
  if (looks && looked.load(std::memory_order_relaxed) != watch_seen + 1) {
    looked.store(watch_seen + 1, std::memory_order_seq_cst);
    link.shared().bell.ring_if_asleep();
  }
  const std::uint32_t before = notifications[place].load(std::memory_order_acquire);
  watched_conditions[place].store(condition, std::memory_order_seq_cst);
  ::pthread_mutex_unlock(mutex);
  const std::int64_t end = real_ns(CLOCK_MONOTONIC) + ns;
  bool notified = false;
  for (;;) {
    notified = notifications[place].load(std::memory_order_acquire) != before;
    const std::int64_t left = end - real_ns(CLOCK_MONOTONIC);
    if (notified || left <= 0 || watch.wanted.load(std::memory_order_acquire) != watch_seen) break;
    futex_wait(watch.wanted, watch_seen, std::min(left, kAnswerLookNs));
  }
  watched_conditions[place].store(nullptr, std::memory_order_relaxed);
  ::pthread_mutex_lock(mutex);
  watch_seen = watch.wanted.load(std::memory_order_acquire);
  watch_late_ns = notified ? 0 : std::max<std::int64_t>(ns, 0);
  return notified ? 0 : ETIMEDOUT;
}

void give_up_look() {
  Link& link = Link::get();
  Watch& watch = link.watch();
  watch_seen = watch.wanted.load(std::memory_order_acquire);
  watch.places[static_cast<std::size_t>(watch_place)].looked.store(watch_seen + 1,
                                                                   std::memory_order_seq_cst);
  link.shared().bell.ring_if_asleep();
}

bool any_watchers() { return watchers.load(std::memory_order_relaxed) > 0; }

void wake_watchers(const pthread_cond_t* condition) {
  const std::uint32_t end = watch_places_end.load(std::memory_order_seq_cst);
  for (std::uint32_t i = 0; i < end; ++i) {
    if (watched_conditions[i].load(std::memory_order_seq_cst) != condition) continue;
    notifications[i].fetch_add(1, std::memory_order_seq_cst);
    futex_wake(Link::get().watch().wanted);
  }
}

}  // namespace flopcast::live
