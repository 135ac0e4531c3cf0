// Waits for descriptors and for child processes. What another process of the run puts into a channel has its time. What is not
// of the run, or of another rank, takes real time, and for a while the thread counts as running, so that nothing passes it by: not for long if it is a
// stream of this machine, whose other end is another rank, and longer if it is a pipe or a child, which is
// something that computes without a time of its own.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "live/standin/clock/awaiting.h"
#include "live/standin/clock/ends.h"
#include "live/standin/clock/real.h"

namespace flopcast::live {
namespace {

constinit Real<int(pollfd*, nfds_t, int)> real_poll{"poll"};
constinit Real<int(pollfd*, nfds_t, const timespec*, const sigset_t*)> real_ppoll{"ppoll"};
constinit Real<int(int, fd_set*, fd_set*, fd_set*, timeval*)> real_select{"select"};
constinit Real<int(int, fd_set*, fd_set*, fd_set*, const timespec*, const sigset_t*)> real_pselect{
    "pselect"};
constinit Real<ssize_t(int, void*, size_t)> real_read{"read"};
constinit Real<ssize_t(int, const iovec*, int)> real_readv{"readv"};
constinit Real<ssize_t(int, void*, size_t, int)> real_recv{"recv"};
constinit Real<ssize_t(int, void*, size_t, int, sockaddr*, socklen_t*)> real_recvfrom{"recvfrom"};
constinit Real<ssize_t(int, msghdr*, int)> real_recvmsg{"recvmsg"};
constinit Real<pid_t(pid_t, int*, int)> real_waitpid{"waitpid"};

/// A stream to a process of this machine, or of another of the run's, or one that listens for them.
bool is_of_ranks(int descriptor) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (::getpeername(descriptor, any, &size) != 0) {
    size = sizeof address;
    return ::getsockname(descriptor, any, &size) == 0 &&
           (address.ss_family == AF_INET || address.ss_family == AF_INET6);
  }
  const Link* const link = Link::opened();
  if (link && is_of_machines(link->common().machines, any, true)) return true;
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    return ntohl(v4.sin_addr.s_addr) >> 24 == 127;
  }
  if (address.ss_family != AF_INET6) return false;
  const in6_addr& v6 = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
  return IN6_IS_ADDR_LOOPBACK(&v6) || (IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr[12] == 127);
}

/// Something was read: this thread does not go on before it was written. Who waits for room may go on.
/// @param counted of a counter, what it had
ssize_t has_read(int descriptor, ssize_t got, bool peeked = false, const void* counted = nullptr) {
  if (got < 0 || !Link::opened()) return got;
  const int error = errno;
  const ChannelPlace at = read_at(descriptor);
  if (at) {
    auto amount = static_cast<std::uint64_t>(got);
    if (counted && got == sizeof amount && ends_of(descriptor).kind == EndKeys::Kind::kCounter)
      std::memcpy(&amount, counted, sizeof amount);
    const std::int64_t ns = got == 0 || peeked ? at.channel->next_ns() : at.channel->take(amount);
    if (followed()) Link::get().go_on_from(ns);
    const ChannelPlace room = room_of(at.key, false);
    if (room && !peeked && followed()) {
      room.channel->close(put_time());
      Link::get().wake_at(*room.channel, room.key);
    }
  }
  errno = error;
  return got;
}

/// Until the descriptor can be read. @param descriptor blocks
/// @return false if a signal came before
bool wait_readable(int descriptor) {
  const bool is_channel = static_cast<bool>(read_at(descriptor));
  const bool of_ranks = !is_channel && is_of_ranks(descriptor);
  if (of_ranks) own_speaker->polls = Outside::kPeer;
  pollfd wanted{descriptor, POLLIN, 0};
  if (real_poll(&wanted, 1, 0) != 0) return true;
  const int flags = ::fcntl(descriptor, F_GETFL);
  if (flags < 0 || (flags & O_NONBLOCK) != 0) return true;
  const auto look = [&](std::int64_t ms) { return real_poll(&wanted, 1, static_cast<int>(ms)); };
  if (is_channel) {
    Awaited awaited;
    awaited.add(descriptor, 0, true, false, true);
    if (const int ready = awaited.meet(look)) return ready > 0;
    const auto since = [&] { return awaited.first([](std::uint64_t) { return true; }); };
    if (!awaited.empty()) return stand_at(awaited.channels(), -1, look, since).ready > 0;
  }
  outside([&] {
    if (const int ready = look(patience_ms(of_ranks))) return ready;
    Link::get().tell_own();
    // A socket's own time-out holds.
    timeval most{};
    socklen_t size = sizeof most;
    ::getsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &most, &size);
    const std::int64_t ms = most.tv_sec * 1000 + most.tv_usec / 1000;
    return real_poll(&wanted, 1, ms > 0 ? static_cast<int>(ms) : -1);
  });
  return true;
}

}  // namespace

bool before_read(int descriptor, bool blocks) {
  Speaker* const me = followed();
  if (!me) return true;
  me->looks = 0;
  return !blocks || wait_readable(descriptor);
}

namespace {

bool any_of_ranks(const pollfd* wanted, nfds_t count) {
  for (nfds_t i = 0; i < count; ++i) {
    if (is_of_ranks(wanted[i].fd)) return true;
  }
  return false;
}

/// poll and ppoll.
int poll_for(pollfd* wanted, nfds_t count, std::int64_t ns, const sigset_t* mask) {
  if (count == 0 && ns >= 0) {
    sleep_ns(ns);
    return 0;
  }
  if (!followed()) {
    const timespec most = to_timespec(ns);
    return real_ppoll(wanted, count, ns < 0 ? nullptr : &most, mask);
  }
  Awaited awaited;
  for (nfds_t i = 0; i < count; ++i) {
    const bool writes = (wanted[i].events & POLLOUT) != 0;
    const bool reads = (wanted[i].events & ~POLLOUT) != 0 || !writes;
    if (wanted[i].fd >= 0) awaited.add(wanted[i].fd, i, reads, writes, true);
  }
  const bool for_ranks = awaited.empty() && any_of_ranks(wanted, count);
  const auto look = [&](std::int64_t ms) {
    const timespec most = to_timespec(ms * kNsOfMs);
    return real_ppoll(wanted, count, ms < 0 ? nullptr : &most, mask);
  };
  return wait_for_any(
      ns, for_ranks, awaited, look, [&](std::uint64_t i) { return wanted[i].revents != 0; },
      [&](std::uint64_t i) { return std::exchange(wanted[i].revents, 0) != 0 ? 1 : 0; });
}

/// select and pselect.
int select_for(int count, fd_set* in, fd_set* out, fd_set* other, std::int64_t ns,
               const sigset_t* mask) {
  if (!in && !out && !other && ns >= 0) {
    sleep_ns(ns);
    return 0;
  }
  if (!followed()) {
    const timespec most = to_timespec(ns);
    return real_pselect(count, in, out, other, ns < 0 ? nullptr : &most, mask);
  }
  const auto copy = [](const fd_set* set) { return set ? *set : fd_set{}; };
  const fd_set ins = copy(in), outs = copy(out), others = copy(other);
  Awaited awaited;
  for (int each = 0; each < count; ++each) {
    const bool reads = (in && FD_ISSET(each, in)) || (other && FD_ISSET(each, other));
    const bool writes = out && FD_ISSET(each, out);
    if (reads || writes) awaited.add(each, static_cast<std::uint64_t>(each), reads, writes, true);
  }
  const auto look = [&](std::int64_t ms) {
    if (in) *in = ins;
    if (out) *out = outs;
    if (other) *other = others;
    const timespec most = to_timespec(ms * kNsOfMs);
    return real_pselect(count, in, out, other, ms < 0 ? nullptr : &most, mask);
  };
  const auto is_set = [](std::uint64_t each, const fd_set* set) {
    return set && FD_ISSET(static_cast<int>(each), set);
  };
  return wait_for_any(
      ns, false, awaited, look,
      [&](std::uint64_t each) {
        return is_set(each, in) || is_set(each, out) || is_set(each, other);
      },
      [&](std::uint64_t each) {
        int dropped = 0;
        for (fd_set* const set : {in, out, other}) {
          dropped += is_set(each, set) ? 1 : 0;
          if (set) FD_CLR(static_cast<int>(each), set);
        }
        return dropped;
      });
}

// --- children -----------------------------------------------------------------------------------

/// Where this process waits for a child's end; none if the child is not of the run.
ChannelPlace end_of_child(pid_t child) {
  return child > 0 ? end_of(child, false) : end_of_children_of(::getpid(), false);
}

/// Nothing tells of a child and of a time at once. @return 0: it has not ended
pid_t look_for(pid_t child, int* status, int options, std::int64_t ms) {
  for (std::int64_t waited = 0;; ++waited) {
    const pid_t ended = real_waitpid(child, status, options | WNOHANG);
    if (ended != 0 || waited == ms) return ended;
    real_poll(nullptr, 0, 1);
  }
}

/// Of a child that computes without a time of its own. @return 0: it is of the run after all
pid_t wait_for_stranger(pid_t child, int* status, int options) {
  return outside([&]() -> pid_t {
    for (std::int64_t waited = 0; waited < kTooLongNs; waited += kNsOfMs) {
      const pid_t ended = look_for(child, status, options, 1);
      if (ended != 0 || end_of_child(child)) return ended;
    }
    Link::get().tell_own();
    return real_waitpid(child, status, options);
  });
}

pid_t wait_for_child(pid_t child, int* status, int options) {
  const ChannelPlace end = end_of_child(child);
  AtChannel one{end.channel, end.key};
  int error = 0;
  const Found found = stand_at(
      {&one, 1}, -1,
      [&](std::int64_t ms) {
        const pid_t ended = look_for(child, status, options, ms);
        error = errno;
        return static_cast<int>(ended);
      },
      [&] { return end.channel->next_ns(); });
  errno = error;
  return found.ready;
}

}  // namespace
}  // namespace flopcast::live

using namespace flopcast::live;

FLOPCAST_INTERPOSED int poll(pollfd* wanted, nfds_t count, int ms) {
  if (!own_speaker) return real_poll(wanted, count, ms);
  return poll_for(wanted, count, ms < 0 ? -1 : ms * kNsOfMs, nullptr);
}

FLOPCAST_INTERPOSED int ppoll(pollfd* wanted, nfds_t count, const timespec* most,
                              const sigset_t* mask) {
  if (!own_speaker) return real_ppoll(wanted, count, most, mask);
  return poll_for(wanted, count, most ? to_ns(*most) : -1, mask);
}

FLOPCAST_INTERPOSED int select(int count, fd_set* in, fd_set* out, fd_set* other, timeval* most) {
  if (!own_speaker) return real_select(count, in, out, other, most);
  const std::int64_t ns = most ? most->tv_sec * kSecondNs + most->tv_usec * 1000 : -1;
  return select_for(count, in, out, other, ns, nullptr);
}

FLOPCAST_INTERPOSED int pselect(int count, fd_set* in, fd_set* out, fd_set* other,
                                const timespec* most, const sigset_t* mask) {
  if (!own_speaker) return real_pselect(count, in, out, other, most, mask);
  return select_for(count, in, out, other, most ? to_ns(*most) : -1, mask);
}

FLOPCAST_INTERPOSED ssize_t read(int descriptor, void* to, size_t bytes) {
  if (!before_read(descriptor)) return -1;
  return has_read(descriptor, real_read(descriptor, to, bytes), false, to);
}

FLOPCAST_INTERPOSED int eventfd_read(int descriptor, eventfd_t* value) {
  return ::read(descriptor, value, sizeof *value) == sizeof *value ? 0 : -1;
}

FLOPCAST_INTERPOSED ssize_t readv(int descriptor, const iovec* parts, int count) {
  if (!before_read(descriptor)) return -1;
  return has_read(descriptor, real_readv(descriptor, parts, count));
}

FLOPCAST_INTERPOSED ssize_t recv(int descriptor, void* to, size_t bytes, int flags) {
  if (!before_read(descriptor, (flags & MSG_DONTWAIT) == 0)) return -1;
  return has_read(descriptor, real_recv(descriptor, to, bytes, flags), (flags & MSG_PEEK) != 0);
}

FLOPCAST_INTERPOSED ssize_t recvfrom(int descriptor, void* to, size_t bytes, int flags,
                                     sockaddr* from, socklen_t* size) {
  if (!before_read(descriptor, (flags & MSG_DONTWAIT) == 0)) return -1;
  return has_read(descriptor, real_recvfrom(descriptor, to, bytes, flags, from, size),
                  (flags & MSG_PEEK) != 0);
}

FLOPCAST_INTERPOSED ssize_t recvmsg(int descriptor, msghdr* message, int flags) {
  if (!before_read(descriptor, (flags & MSG_DONTWAIT) == 0)) return -1;
  return has_read(descriptor, real_recvmsg(descriptor, message, flags), (flags & MSG_PEEK) != 0);
}

FLOPCAST_INTERPOSED pid_t waitpid(pid_t child, int* status, int options) {
  Speaker* const me = followed();
  if (!me) return real_waitpid(child, status, options);
  pid_t found = real_waitpid(child, status, options | WNOHANG);
  if (found == 0 && (options & WNOHANG) == 0) {
    me->polls = Outside::kNothing;
    if (!end_of_child(child)) found = wait_for_stranger(child, status, options);
    if (found == 0) found = wait_for_child(child, status, options);
  } else {
    me->polls = found == 0 && !end_of_child(child) ? Outside::kChild : Outside::kNothing;
    me->looks_for_others = found == 0;
  }
  const ChannelPlace end = found > 0 ? end_of(found, false) : ChannelPlace();
  if (end) Link::get().go_on_from(end.channel->next_ns());
  return found;
}

FLOPCAST_INTERPOSED pid_t wait(int* status) { return ::waitpid(-1, status, 0); }
