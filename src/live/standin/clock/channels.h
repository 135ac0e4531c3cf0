// What this process hands others of the run, and gets from them: by pipes, sockets, counters (eventfd), semaphores that they share,
// and its end. Who takes something goes on no earlier than it was put there.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <cerrno>
#include <cstdint>
#include <span>

#include "live/standin/clock/clocks.h"
#include "live/standin/clock/real.h"

namespace flopcast::live {

/// A channel of the run, or none.
struct ChannelPlace {
  Channel* channel = nullptr;
  std::uint64_t key = 0;
  bool serves = false;  ///< of a connection or a counter
  explicit operator bool() const { return channel != nullptr; }
};

/// What is read at a descriptor.
ChannelPlace read_at(int descriptor);
/// What is written at it, if this process is of the run. A pipe's becomes one.
ChannelPlace written_at(int descriptor);
/// Where those wait that have found no room in a channel.
ChannelPlace room_of(std::uint64_t key, bool make);
/// Where those wait that wait for a process's end; `children_of`: of any child of it.
ChannelPlace end_of(pid_t process, bool make);
ChannelPlace end_of_children_of(pid_t process, bool make);
/// A semaphore that processes share.
ChannelPlace semaphore_at(const void* semaphore);

/// Two sockets are each other's ends.
void join_sockets(int one, int other);
/// A socket listens, in virtual time.
void open_listener(int descriptor);
/// A socket is about to connect. @return where who accepts waits, if that is a thread in virtual time of a process of the run
ChannelPlace begin_connection(int descriptor, const sockaddr* to, socklen_t size);
/// A connection was accepted, in virtual time or by a thread that serves a library, in real time.
void meet_connection(int descriptor, bool in_the_run);
/// No more is written at it.
void end_written(int descriptor);
/// A semaphore has a name, under which others may find it.
void name_semaphore(const void* semaphore, const char* name, bool is_new, unsigned value);
/// What is written to the standard outputs as they are now goes to no process of the run.
void leave_outputs();
/// What this process has open is another one's, too, that it has started: those are channels from now on, before either reads.
void share_pipes();
/// The same for a process that was started, whose end others may wait for.
void share_descriptors();
/// What is written at a descriptor ends now, as far as this process is concerned.
void close_channel(int descriptor);
/// The same for all descriptors. @param of_program those that another program would not have
void close_channels(bool of_program);

/// The moment as others take it over: whole nanoseconds, and none too early. kNoTime in real time.
std::int64_t put_time();

/// Something is being put into a channel: who waits there is woken before it is there.
class Putting {
 public:
  /// @param ns when it is there for others
  Putting(const ChannelPlace& at, std::uint64_t amount, std::int64_t ns);
  Putting(const Putting&) = delete;
  Putting& operator=(const Putting&) = delete;
  ~Putting();
  /// So much was put in truth.
  void has_put(std::int64_t amount);

 private:
  ChannelPlace at_;
  std::uint64_t amount_;
  std::uint32_t number_;
};

/// What comes of a stand at channels.
struct Found {
  int ready = 0;       ///< as `look` says it; 0: the time came
  bool stood = false;  ///< the engine knew of it
};

/// How long a thread waits for others of the run before it looks whether someone else took what it waits for.
inline constexpr std::int64_t kLongestLookMs = 16;

/// Stands still at channels until there is something, or for so long (negative: as long as it takes).
/// @param look waits really for so many ms. Positive: there is something; negative: it failed, as errno says
/// @param since when that has been there
template <typename Look, typename Since>
Found stand_at(std::span<AtChannel> at, std::int64_t ns, Look look, Since since) {
  Link& link = Link::get();
  const std::int64_t until = own_speaker->now_ns() + ns;
  for (const AtChannel& one : at) one.channel->waiters.fetch_add(1, std::memory_order_seq_cst);
  // Who has not seen this thread wait is about to put something there, but may have been killed meanwhile.
  const auto settled = [&] {
    constexpr int kMostMs = 20;
    for (int waited = 0;; ++waited) {
      bool busy = false;
      for (AtChannel& one : at) {
        one.wakes = one.channel->wakes.load(std::memory_order_seq_cst);
        busy = busy || one.channel->writers.load(std::memory_order_seq_cst) != 0;
      }
      if (const int ready = look(busy && waited < kMostMs ? 1 : 0)) return ready;
      if (!busy || waited == kMostMs) return 0;
    }
  };
  const auto taken_by_others = [&] {
    for (const AtChannel& one : at) {
      if (one.channel->wakes.load(std::memory_order_seq_cst) != one.wakes) return true;
    }
    return false;
  };
  Found found{.ready = settled()};
  int error = errno;
  while (found.ready == 0) {
    const std::int64_t left = ns < 0 ? 0 : until - own_speaker->now_ns();
    if (ns >= 0 && left <= 0) break;
    found.stood = true;
    link.block_at(at, left);
    link.tell_blocked(Tell::kAll);
    std::int64_t slice = 1;
    do {
      found.ready = look(slice);
      error = errno;
      slice = std::min(2 * slice, kLongestLookMs);
      if (found.ready == 0) link.tell_blocked(Tell::kLongSince);
      link.end_if_cut(true);
    } while (found.ready == 0 && !(ns >= 0 && link.expired()) && !taken_by_others());
    const std::int64_t there = found.ready <= 0 ? own_speaker->now_ns() : since();
    const bool later = ns >= 0 && found.ready > 0 && there != Channel::kNoTime && there >= until;
    const bool woken = link.unblock_at(later ? own_speaker->now_ns() : there);
    if (later && woken) sleep_ns(until - own_speaker->now_ns());
    if (!woken || later) {
      found.ready = later ? 0 : found.ready;
      break;
    }
    if (found.ready != 0) break;
    found.ready = settled();
    error = errno;
  }
  for (const AtChannel& one : at) one.channel->waiters.fetch_sub(1, std::memory_order_relaxed);
  errno = error;
  return found;
}

}  // namespace flopcast::live
