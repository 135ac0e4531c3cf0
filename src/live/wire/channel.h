// What processes of a run hand each other through pipes, sockets, counters and shared semaphores: when it was put there. It lies in
// the file that all of them share, behind the directory of mail.h. The engine looks at none of it.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "live/wire/mail.h"

namespace flopcast::live {

/// Bytes or tokens on their way, oldest first, each with the time at which it was put there. What comes out is what
/// went in first, so whoever takes so many knows when they were there.
///
/// A process may be killed wherever it is, so nobody waits for another one's lock for long.
class Channel {
 public:
  static constexpr std::uint32_t kParts = 1024;
  /// Nobody in virtual time put it there.
  static constexpr std::int64_t kNoTime = -1;
  /// Who is at the other end of a connection.
  enum class Meets : std::uint32_t {
    kRun,
    kNobodyYet,  ///< it was not accepted
    kNotKnown,   ///< it was not for long: time is carried until a thread in real time accepts
    kStranger,  ///< a thread in real time: it carries none. So does no other of an address where one has accepted
    kConnections,  ///< it is an address where threads in virtual time listen; each connection is one of its amount
  };

  struct Part {
    std::uint64_t amount = 0;
    std::int64_t ns = kNoTime;
  };

  /// Where there is no room left, what comes last shares its time with what came before it. @return its number
  std::uint32_t put(std::uint64_t amount, std::int64_t ns) {
    lock();
    if (end_ - begin_ < kParts) parts_[end_++ % kParts] = {};
    const std::uint32_t number = end_ - 1;
    Part& last = parts_[number % kParts];
    last.amount += amount;
    last.ns = std::max(last.ns, ns);
    put_ns_ = std::max(put_ns_, ns);
    unlock();
    return number;
  }
  /// Less has been put than said.
  void put_less(std::uint32_t number, std::uint64_t amount) {
    lock();
    Part& part = parts_[number % kParts];
    if (number - begin_ < end_ - begin_) part.amount -= std::min(part.amount, amount);
    unlock();
  }
  /// @return when the last of it was put there; kNoTime if that is not known
  std::int64_t take(std::uint64_t amount) {
    lock();
    std::int64_t ns = kNoTime;
    while (amount > 0 && begin_ != end_) {
      Part& part = parts_[begin_ % kParts];
      const std::uint64_t taken = std::min(amount, part.amount);
      if (taken > 0) ns = std::max(ns, part.ns);
      part.amount -= taken;
      amount -= taken;
      if (part.amount == 0) ++begin_;
    }
    unlock();
    return ns;
  }
  /// When what is to be taken next was put there; if there is nothing, when the channel was closed.
  std::int64_t next_ns() {
    lock();
    std::uint32_t at = begin_;
    while (at != end_ && parts_[at % kParts].amount == 0) ++at;
    const std::int64_t ns = at == end_ ? closed_ns_ : parts_[at % kParts].ns;
    unlock();
    return ns;
  }
  /// No more comes from one that has put things there.
  void close(std::int64_t ns) {
    lock();
    closed_ns_ = std::max(closed_ns_, ns);
    unlock();
  }
  /// The last time at which anything was put there.
  std::int64_t put_ns() {
    lock();
    const std::int64_t ns = put_ns_;
    unlock();
    return ns;
  }
  void begin(std::uint64_t name) {
    lock();
    begin_ = end_ = 0;
    closed_ns_ = put_ns_ = kNoTime;
    peer.store(0);
    holder.store(0);
    held_ns.store(kNoTime);
    waiters.store(0);
    writers.store(0);
    meets.store(Meets::kRun);
    unlock();
    key.store(name, std::memory_order_release);
  }

  std::atomic<std::uint64_t> key{0};           ///< 0: the channel is nobody's yet
  std::atomic<std::uint64_t> peer{0};          ///< key of a socket's other end
  std::atomic<std::uint64_t> holder{0};        ///< of a semaphore: the thread that took it last
  std::atomic<std::int64_t> held_ns{kNoTime};  ///< and the time of what it took
  std::atomic<std::uint32_t> waiters{0};       ///< threads that stand still here, or are about to
  std::atomic<std::uint32_t> writers{
      0};  ///< threads that have said that they put something, and have not yet
  std::atomic<std::uint32_t> wakes{0};  ///< records kWakes
  std::atomic<Meets> meets{Meets::kRun};

 private:
  static constexpr int kPatience = 10'000;
  void lock() {
    for (int i = 0; locked_.exchange(1, std::memory_order_acquire) != 0 && i < kPatience; ++i)
      ::syscall(SYS_sched_yield);
  }
  void unlock() { locked_.store(0, std::memory_order_release); }

  std::atomic<std::uint32_t> locked_{0};
  std::uint32_t begin_ = 0, end_ = 0;  ///< numbers of parts
  std::int64_t closed_ns_ = kNoTime, put_ns_ = kNoTime;
  Part parts_[kParts];
};

/// All channels of a run, by key. The kernel's zeroes are its beginning.
struct Channels {
  static constexpr std::size_t kCount = 1 << 14;
  static constexpr std::size_t kProbes = 64;
  Channel all[kCount];

  static std::size_t place(std::uint64_t key, std::size_t step) {
    return ((key * 0x9e3779b97f4a7c15u >> 50) + step) % kCount;
  }
  /// Null if there is none of this key.
  Channel* find(std::uint64_t key) {
    for (std::size_t i = 0; i < kProbes; ++i) {
      Channel& channel = all[place(key, i)];
      const std::uint64_t there = channel.key.load(std::memory_order_acquire);
      if (there == key) return &channel;
      if (there == 0) return nullptr;
    }
    return nullptr;
  }
  /// Made where there is none. Where all places are taken, one where nobody waits is let go.
  Channel& make(std::uint64_t key) {
    if (Channel* const known = find(key)) return *known;
    Channel* spare = &all[place(key, kProbes - 1)];
    for (std::size_t i = 0; i < kProbes; ++i) {
      Channel& channel = all[place(key, i)];
      std::uint64_t there = 0;
      if (channel.key.compare_exchange_strong(there, kBeingMade)) {
        channel.begin(key);
        return channel;
      }
      for (int look = 0; there == kBeingMade && look < kPatience; ++look) {
        ::syscall(SYS_sched_yield);
        there = channel.key.load(std::memory_order_acquire);
      }
      if (there == key) return channel;
      if (channel.waiters.load() == 0) spare = &channel;
    }
    spare->begin(key);
    return *spare;
  }

 private:
  static constexpr std::uint64_t kBeingMade = ~std::uint64_t{0};
  static constexpr int kPatience = 10'000;
};

inline constexpr std::uint64_t kChannelsBegin = std::uint64_t{1} << 26;
static_assert(kDirectoryBegin + sizeof(Directory) <= kChannelsBegin);
static_assert(kChannelsBegin + sizeof(Channels) <= kOutboxBytes);

}  // namespace flopcast::live
