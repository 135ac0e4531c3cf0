// A ring of records in shared memory: one thread writes, one reads, and neither takes a lock. Only
// a full ring or an awaited answer makes a thread enter the kernel.
#pragma once

#include <atomic>
#include <cstdint>

#include "live/wire/futex.h"
#include "live/wire/record.h"

namespace flopcast::live {

/// The engine's answer to a record that wants one.
struct Answer {
  std::atomic<std::uint32_t> count{0};  ///< answers given so far: the futex
  std::uint32_t status = 0;             ///< 0: as asked; else an errno
  std::int64_t time_ps = 0;             ///< virtual time at which the thread goes on
  std::uint64_t value = 0;              ///< by act
};

/// Written by its thread, read by the engine. All zero is a ring that nobody has used yet.
class Ring {
 public:
  static constexpr std::uint32_t kRecords = 4096;
  static_assert((kRecords & (kRecords - 1)) == 0);

  /// The writer's side. Waits while the ring is full. `bell` wakes the reader where it sleeps.
  /// @param look called from time to time while it waits: the reader may be gone
  template <typename Look>
  void write(const Record& record, Doorbell& bell, Look look) {
    const std::uint32_t at = written_.load(std::memory_order_relaxed);
    // The reader's place is read only when the last known one says that the ring is full.
    while (at - known_read_ == kRecords) {
      known_read_ = read_.load(std::memory_order_acquire);
      if (at - known_read_ < kRecords) break;
      bell.ring();
      futex_wait(read_, known_read_);
      look();
    }
    records_[at % kRecords] = record;
    written_.store(at + 1, std::memory_order_seq_cst);  // see Doorbell
    if (!can_wait(record) || (at + 1) % (kRecords / 4) == 0) bell.ring_if_asleep();
  }

  void write(const Record& record, Doorbell& bell) {
    write(record, bell, [] {});
  }

  /// The reader's side: the oldest record that was not taken yet, or null.
  const Record* front() const {
    const std::uint32_t at = read_.load(std::memory_order_relaxed);
    const std::uint32_t waiting = written_.load(std::memory_order_seq_cst) - at;
    return waiting == 0 || waiting > kRecords ? nullptr : &records_[at % kRecords];
  }
  /// Whether it holds no more than it has room for. Else something else has written over its counts.
  bool makes_sense() const {
    return written_.load(std::memory_order_acquire) - read_.load(std::memory_order_relaxed) <=
           kRecords;
  }
  /// Takes it. A writer that waits for room goes on when half of the ring is free.
  void pop() {
    const std::uint32_t at = read_.load(std::memory_order_relaxed) + 1;
    read_.store(at, std::memory_order_release);
    if (written_.load(std::memory_order_relaxed) - at == kRecords / 2) futex_wake(read_);
  }
  /// Whether there is room for another record, as the writer's side sees it.
  bool has_room() const {
    return written_.load(std::memory_order_relaxed) - read_.load(std::memory_order_acquire) <
           kRecords;
  }
  /// The reader's answer to its thread.
  void give(std::uint32_t status, std::int64_t time_ps, std::uint64_t value) {
    answer.status = status;
    answer.time_ps = time_ps;
    answer.value = value;
    answer.count.fetch_add(1, std::memory_order_release);
    futex_wake(answer.count);
  }
  /// Records written so far, modulo 2^32: hand-overs name them.
  std::uint32_t written() const { return written_.load(std::memory_order_acquire); }

  Answer answer;
  /// Its thread, as the system numbers it, while it stands still until a time of the run or at channels; else 0.
  std::atomic<std::int32_t> clocked{0};
  /// 1: the run has gone on without its thread, which has not said that it stood still; it takes the run's time next.
  std::atomic<std::uint32_t> left_behind{0};
  std::atomic<std::int32_t> thread{0};   ///< its thread, as the system numbers it
  std::atomic<std::uint64_t> handle{0};  ///< the same, as the C library does

 private:
  alignas(64) std::atomic<std::uint32_t> written_{0};
  std::uint32_t known_read_ = 0;  ///< the writer's own
  alignas(64) std::atomic<std::uint32_t> read_{0};
  alignas(64) Record records_[kRecords];
};

}  // namespace flopcast::live
