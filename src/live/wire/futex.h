// Waiting for a word in shared memory to change.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>
#include <ctime>

namespace flopcast::live {

/// How long whoever waits does so before it looks whether the other side is still there.
inline constexpr std::int64_t kAnswerLookNs = 100'000'000;

/// Waits, so long at most, while the word is `value`.
/// @param most_ns less than a second
inline void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t value,
                       std::int64_t most_ns = kAnswerLookNs) {
  const timespec most{0, most_ns};
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT, value, &most, nullptr, 0);
}

/// The same, for as long as it takes.
inline void futex_wait_long(std::atomic<std::uint32_t>& word, std::uint32_t value) {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT, value, nullptr, nullptr,
          0);
}

/// Wakes all who wait for it.
inline void futex_wake(std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE, INT_MAX, nullptr, nullptr,
          0);
}

/// Wakes the engine. There is one for all processes of a run.
class Doorbell {
 public:
  /// The engine sleeps if nothing has come since it last looked.
  /// @param nothing_came looks at all rings once more
  /// @param most_ns records that nobody is in a hurry about do not wake it
  template <typename NothingCame>
  void sleep(NothingCame nothing_came, std::int64_t most_ns) {
    const std::uint32_t seen = rings_.load(std::memory_order_relaxed);
    // In one order with the writer's place: a record written before this is seen by
    // `nothing_came`, one written after it rings.
    asleep_.store(1, std::memory_order_seq_cst);
    if (nothing_came()) futex_wait(rings_, seen, most_ns);
    asleep_.store(0, std::memory_order_relaxed);
  }
  void ring() {
    rings_.fetch_add(1, std::memory_order_seq_cst);
    futex_wake(rings_);
  }
  /// After a store in the same order.
  void ring_if_asleep() {
    if (asleep_.load(std::memory_order_seq_cst) != 0) ring();
  }

 private:
  std::atomic<std::uint32_t> rings_{0}, asleep_{0};
};

}  // namespace flopcast::live
