// Waits for descriptors and for child processes. What another process of the run puts into a channel has its time. What is not
// of the run, or of another rank, takes real time, and for a while the thread counts as running, so that nothing passes it by: not for long if it is a
// stream of this machine, whose other end is another rank, and longer if it is a pipe or a child, which is
// something that computes without a time of its own.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "live/standin/clock/channels.h"
#include "live/standin/clock/clocks.h"
#include "live/standin/clock/real.h"

namespace flopcast::live {
namespace {

constinit Real<int(pollfd*, nfds_t, int)> real_poll{"poll"};
constinit Real<int(pollfd*, nfds_t, const timespec*, const sigset_t*)> real_ppoll{"ppoll"};
constinit Real<int(int, fd_set*, fd_set*, fd_set*, timeval*)> real_select{"select"};
constinit Real<int(int, fd_set*, fd_set*, fd_set*, const timespec*, const sigset_t*)> real_pselect{
    "pselect"};
constinit Real<int(int, epoll_event*, int, int)> real_epoll_wait{"epoll_wait"};
constinit Real<int(int, epoll_event*, int, int, const sigset_t*)> real_epoll_pwait{"epoll_pwait"};
constinit Real<ssize_t(int, void*, size_t)> real_read{"read"};
constinit Real<ssize_t(int, const iovec*, int)> real_readv{"readv"};
constinit Real<ssize_t(int, void*, size_t, int)> real_recv{"recv"};
constinit Real<ssize_t(int, void*, size_t, int, sockaddr*, socklen_t*)> real_recvfrom{"recvfrom"};
constinit Real<ssize_t(int, msghdr*, int)> real_recvmsg{"recvmsg"};
constinit Real<int(int, sockaddr*, socklen_t*)> real_accept{"accept"};
constinit Real<int(int, sockaddr*, socklen_t*, int)> real_accept4{"accept4"};
constinit Real<int(int, const sockaddr*, socklen_t)> real_connect{"connect"};
constinit Real<int(int, int, int, void*, socklen_t*)> real_getsockopt{"getsockopt"};
constinit Real<pid_t(pid_t, int*, int)> real_waitpid{"waitpid"};

/// A stream to a process of this machine, or one that listens for them.
bool is_of_ranks(int descriptor) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (::getpeername(descriptor, any, &size) != 0) {
    size = sizeof address;
    return ::getsockname(descriptor, any, &size) == 0 &&
           (address.ss_family == AF_INET || address.ss_family == AF_INET6);
  }
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    return ntohl(v4.sin_addr.s_addr) >> 24 == 127;
  }
  if (address.ss_family != AF_INET6) return false;
  const in6_addr& v6 = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
  return IN6_IS_ADDR_LOOPBACK(&v6) || (IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr[12] == 127);
}

constexpr std::int64_t kNsOfMs = 1'000'000;

/// How long a thread counts as running. Answers of another rank that come at once are waited for, so that
/// nothing passes the thread by; but that rank may itself need that something passes.
std::int64_t patience_ms(bool for_ranks) { return (for_ranks ? kLongNs : kTooLongNs) / kNsOfMs; }

/// This thread stands still until `wait`, which takes real time, is over.
template <typename Wait>
auto outside(Wait wait) {
  Link& link = Link::get();
  link.block(Standing::kOutside, nullptr);
  const auto result = wait();
  const int error = errno;
  link.unblock();
  errno = error;
  return result;
}

/// Until there is something in a channel. @return false if a signal came before
bool wait_at(const ChannelPlace& at, pollfd wanted) {
  AtChannel one{at.channel, at.key};
  const auto look = [&](std::int64_t ms) { return real_poll(&wanted, 1, static_cast<int>(ms)); };
  return stand_at({&one, 1}, -1, look, [&] { return at.channel->next_ns(); }).ready > 0;
}

/// Something was read: this thread does not go on before it was written. Who waits for room may go on.
ssize_t has_read(int descriptor, ssize_t got, bool peeked = false) {
  if (got < 0 || !Link::opened()) return got;
  const int error = errno;
  const ChannelPlace at = read_at(descriptor);
  if (at) {
    const std::int64_t ns = got == 0 || peeked ? at.channel->next_ns()
                                               : at.channel->take(static_cast<std::size_t>(got));
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
  if (const ChannelPlace at = read_at(descriptor)) {
    pollfd wanted{descriptor, POLLIN, 0};
    const int flags = ::fcntl(descriptor, F_GETFL);
    const bool waits = flags >= 0 && (flags & O_NONBLOCK) == 0;
    return !waits || real_poll(&wanted, 1, 0) != 0 || wait_at(at, wanted);
  }
  const bool of_ranks = is_of_ranks(descriptor);
  if (of_ranks) own_speaker->polls = Outside::kPeer;
  pollfd wanted{descriptor, POLLIN, 0};
  if (real_poll(&wanted, 1, 0) != 0) return true;
  const int flags = ::fcntl(descriptor, F_GETFL);
  if (flags < 0 || (flags & O_NONBLOCK) != 0) return true;
  outside([&] {
    const int ready = real_poll(&wanted, 1, static_cast<int>(patience_ms(of_ranks)));
    if (ready != 0) return ready;
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

/// Before a call that may block. @return false if a signal came before it could be made
bool before_read(int descriptor, bool blocks = true) {
  Speaker* const me = followed();
  if (!me) return true;
  me->looks = 0;
  return !blocks || wait_readable(descriptor);
}

/// Channels that a thread waits for, and nothing else.
constexpr std::size_t kMostChannels = 64;

/// Descriptors that are waited for, and nothing else, as channels.
struct Awaited {
  std::vector<AtChannel> channels;
  std::vector<int> descriptors;

  /// The first time at which there is something in one that is ready.
  template <typename IsReady>
  std::int64_t first(IsReady is_ready) const {
    std::int64_t first = Channel::kNoTime;
    for (std::size_t i = 0; i < channels.size(); ++i) {
      if (!is_ready(descriptors[i])) continue;
      const std::int64_t ns = channels[i].channel->next_ns();
      if (ns != Channel::kNoTime && (first == Channel::kNoTime || ns < first)) first = ns;
    }
    return first;
  }
};

/// Waits for several descriptors. @param wait_ms waits so long (-1: for ever), and gives 0 if nothing came
/// @param awaited all that are waited for; nothing if one of them is no channel
/// @param is_ready whether a descriptor was found so
template <typename Wait, typename IsReady>
int wait_for_any(std::int64_t ns, bool for_ranks, Awaited awaited, Wait wait_ms, IsReady is_ready) {
  std::vector<AtChannel>& channels = awaited.channels;
  const int ready = wait_ms(0);
  if (ready != 0 || ns != 0) own_speaker->looks = 0;  // else it is a look, and nothing was there
  if (ready != 0 || ns == 0) {
    if (ready > 0) Link::get().go_on_from(awaited.first(is_ready));
    return ready;
  }
  if (!channels.empty() && channels.size() <= kMostChannels) {
    return stand_at(
               channels, ns, [&](std::int64_t ms) { return wait_ms(ms); },
               [&] { return awaited.first(is_ready); })
        .ready;
  }
  const std::int64_t all_ms = ns < 0 ? -1 : (ns + kNsOfMs - 1) / kNsOfMs;
  const std::int64_t patience = patience_ms(for_ranks);
  const int came = outside([&] {
    const bool more = all_ms < 0 || all_ms > patience;
    const int first = wait_ms(more ? patience : all_ms);
    if (first != 0 || !more) return first;
    Link::get().tell_own();
    return wait_ms(all_ms < 0 ? -1 : all_ms - patience);
  });
  if (came == 0 && ns > 0) sleep_ns(ns);  // the time-out is the thread's, too
  return came;
}

bool any_of_ranks(const pollfd* wanted, nfds_t count) {
  for (nfds_t i = 0; i < count; ++i) {
    if (is_of_ranks(wanted[i].fd)) return true;
  }
  return false;
}

/// Of the descriptors that are read; none if another one is waited for, too. @param each calls its argument with each
/// descriptor, and whether it is read only
template <typename Each>
Awaited channels_of(Each each) {
  Awaited awaited;
  bool all = true;
  each([&](int descriptor, bool reads) {
    const ChannelPlace at = all && reads ? read_at(descriptor) : ChannelPlace();
    all = all && at;
    if (!at) return;
    awaited.channels.push_back({at.channel, at.key});
    awaited.descriptors.push_back(descriptor);
  });
  return all ? awaited : Awaited();
}

/// The same for poll and ppoll.
int poll_for(pollfd* wanted, nfds_t count, std::int64_t ns, const sigset_t* mask) {
  if (count == 0 && ns >= 0) {
    sleep_ns(ns);
    return 0;
  }
  if (!followed()) {
    const timespec most = to_timespec(ns);
    return real_ppoll(wanted, count, ns < 0 ? nullptr : &most, mask);
  }
  const auto awaited = channels_of([&](auto add) {
    for (nfds_t i = 0; i < count; ++i) {
      if (wanted[i].fd >= 0) add(wanted[i].fd, (wanted[i].events & POLLOUT) == 0);
    }
  });
  const bool for_ranks = awaited.channels.empty() && any_of_ranks(wanted, count);
  const auto look = [&](std::int64_t ms) {
    const timespec most = to_timespec(ms * kNsOfMs);
    return real_ppoll(wanted, count, ms < 0 ? nullptr : &most, mask);
  };
  return wait_for_any(ns, for_ranks, awaited, look, [&](int descriptor) {
    return std::any_of(wanted, wanted + count, [descriptor](const pollfd& one) {
      return one.fd == descriptor && one.revents != 0;
    });
  });
}

/// The same for select and pselect.
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
  const auto awaited = channels_of([&](auto add) {
    for (int each = 0; each < count; ++each) {
      const bool reads = in && FD_ISSET(each, in);
      const bool more = (out && FD_ISSET(each, out)) || (other && FD_ISSET(each, other));
      if (reads || more) add(each, !more);
    }
  });
  const auto look = [&](std::int64_t ms) {
    if (in) *in = ins;
    if (out) *out = outs;
    if (other) *other = others;
    const timespec most = to_timespec(ms * kNsOfMs);
    return real_pselect(count, in, out, other, ms < 0 ? nullptr : &most, mask);
  };
  return wait_for_any(ns, false, awaited, look,
                      [in](int descriptor) { return in && FD_ISSET(descriptor, in); });
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

FLOPCAST_INTERPOSED int epoll_wait(int epoll, epoll_event* events, int count, int ms) {
  if (!followed()) return real_epoll_wait(epoll, events, count, ms);
  return wait_for_any(
      ms < 0 ? -1 : ms * kNsOfMs, false, {},
      [&](std::int64_t most) {
        return real_epoll_wait(epoll, events, count, static_cast<int>(most));
      },
      [](int) { return false; });
}

FLOPCAST_INTERPOSED int epoll_pwait(int epoll, epoll_event* events, int count, int ms,
                                    const sigset_t* mask) {
  if (!followed()) return real_epoll_pwait(epoll, events, count, ms, mask);
  return wait_for_any(
      ms < 0 ? -1 : ms * kNsOfMs, false, {},
      [&](std::int64_t most) {
        return real_epoll_pwait(epoll, events, count, static_cast<int>(most), mask);
      },
      [](int) { return false; });
}

FLOPCAST_INTERPOSED ssize_t read(int descriptor, void* to, size_t bytes) {
  if (!before_read(descriptor)) return -1;
  return has_read(descriptor, real_read(descriptor, to, bytes));
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

FLOPCAST_INTERPOSED int accept(int descriptor, sockaddr* from, socklen_t* size) {
  if (!before_read(descriptor)) return -1;
  return real_accept(descriptor, from, size);
}

FLOPCAST_INTERPOSED int accept4(int descriptor, sockaddr* from, socklen_t* size, int flags) {
  if (!before_read(descriptor)) return -1;
  return real_accept4(descriptor, from, size, flags);
}

FLOPCAST_INTERPOSED int connect(int descriptor, const sockaddr* to, socklen_t size) {
  const int connected = real_connect(descriptor, to, size);
  if (own_speaker && connected == 0) own_speaker->polls = Outside::kNothing;
  if (own_speaker && connected != 0 && errno != EINPROGRESS) own_speaker->polls = Outside::kServer;
  return connected;
}

/// How a connect that did not block has ended.
FLOPCAST_INTERPOSED int getsockopt(int descriptor, int level, int option, void* value,
                                   socklen_t* size) noexcept {
  const int got = real_getsockopt(descriptor, level, option, value, size);
  if (!own_speaker || got != 0 || level != SOL_SOCKET || option != SO_ERROR) return got;
  const int error = *static_cast<const int*>(value);
  own_speaker->polls = error != 0 ? Outside::kServer : Outside::kNothing;
  return got;
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
  }
  const ChannelPlace end = found > 0 ? end_of(found, false) : ChannelPlace();
  if (end) Link::get().go_on_from(end.channel->next_ns());
  return found;
}

FLOPCAST_INTERPOSED pid_t wait(int* status) { return ::waitpid(-1, status, 0); }
