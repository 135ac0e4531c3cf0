// What is written: others of the run that read it are in the time of who wrote it. A write that finds no room waits
// for whoever reads.
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include "live/standin/clock/channels.h"
#include "live/standin/clock/ends.h"

namespace flopcast::live {
namespace {

constinit Real<ssize_t(int, const void*, size_t)> real_write{"write"};
constinit Real<ssize_t(int, const iovec*, int)> real_writev{"writev"};
constinit Real<ssize_t(int, const void*, size_t, int)> real_send{"send"};
constinit Real<ssize_t(int, const void*, size_t, int, const sockaddr*, socklen_t)> real_sendto{
    "sendto"};
constinit Real<ssize_t(int, const msghdr*, int)> real_sendmsg{"sendmsg"};
constinit Real<int(int, int, int, int*)> real_socketpair{"socketpair"};
constinit Real<int(pollfd*, nfds_t, int)> real_room_poll{"poll"};

/// @param call writes
template <typename Call>
ssize_t put_into(const ChannelPlace& at, std::size_t bytes, Call call) {
  Putting putting(at, bytes, put_time());
  const ssize_t put = call();
  const int error = errno;
  putting.has_put(put);
  errno = error;
  return put;
}
template <typename Call>
ssize_t put_at(int descriptor, std::size_t bytes, Call call) {
  const ChannelPlace at = Link::opened() ? written_at(descriptor) : ChannelPlace();
  return at ? put_into(at, bytes, call) : call();
}

std::size_t size_of(const iovec* parts, std::size_t count) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i) bytes += parts[i].iov_len;
  return bytes;
}

/// Until there is room: whoever reads makes it.
void wait_for_room(int descriptor, const ChannelPlace& at) {
  pollfd wanted{descriptor, POLLOUT, 0};
  const auto look = [&](std::int64_t ms) {
    return real_room_poll(&wanted, 1, static_cast<int>(ms));
  };
  while (look(0) == 0) {
    const ChannelPlace room = room_of(at.key, true);
    AtChannel one{room.channel, room.key};
    stand_at({&one, 1}, -1, look, [&] { return room.channel->next_ns(); });
  }
}

/// How much can be written at once, without waiting in the kernel.
std::size_t room_in_pipe(int descriptor) {
  int waiting = 0;
  const int whole = ::fcntl(descriptor, F_GETPIPE_SZ);
  if (whole <= 0 || ::ioctl(descriptor, FIONREAD, &waiting) != 0) return PIPE_BUF;
  return waiting == 0 ? static_cast<std::size_t>(whole) : PIPE_BUF;
}

/// All of it, as a write does that may wait.
ssize_t write_all(int descriptor, const ChannelPlace& at, const char* from, std::size_t bytes) {
  std::size_t done = 0;
  do {
    wait_for_room(descriptor, at);
    const std::size_t pipe = room_in_pipe(descriptor);
    const bool socket = ::fcntl(descriptor, F_GETPIPE_SZ) < 0;
    const std::size_t part = socket ? bytes - done : std::min(bytes - done, pipe);
    const ssize_t put = put_into(at, part, [&] {
      return socket ? real_send(descriptor, from + done, part, MSG_DONTWAIT)
                    : real_write(descriptor, from + done, part);
    });
    if (put < 0 && socket && errno == EAGAIN) continue;
    if (put < 0) return done > 0 ? static_cast<ssize_t>(done) : -1;
    done += static_cast<std::size_t>(put);
  } while (done < bytes);
  return static_cast<ssize_t>(done);
}

/// What is written at a counter is how much it has more.
ssize_t count_up(int descriptor, const ChannelPlace& at, const void* from, std::size_t bytes) {
  std::uint64_t more = 0;
  if (bytes == sizeof more) std::memcpy(&more, from, sizeof more);
  Putting putting(at, more, put_time());
  const ssize_t put = real_write(descriptor, from, bytes);
  const int error = errno;
  if (put < 0) putting.has_put(0);
  errno = error;
  return put;
}

bool may_wait(int descriptor) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  return flags >= 0 && (flags & O_NONBLOCK) == 0;
}

}  // namespace
}  // namespace flopcast::live

using namespace flopcast::live;

FLOPCAST_INTERPOSED ssize_t write(int descriptor, const void* from, size_t bytes) {
  const ChannelPlace at = Link::opened() ? written_at(descriptor) : ChannelPlace();
  if (!at) return real_write(descriptor, from, bytes);
  if (ends_of(descriptor).kind == EndKeys::Kind::kCounter)
    return count_up(descriptor, at, from, bytes);
  if (followed() && may_wait(descriptor))
    return write_all(descriptor, at, static_cast<const char*>(from), bytes);
  return put_into(at, bytes, [&] { return real_write(descriptor, from, bytes); });
}

FLOPCAST_INTERPOSED ssize_t writev(int descriptor, const iovec* parts, int count) {
  const std::size_t bytes = count < 0 ? 0 : size_of(parts, static_cast<std::size_t>(count));
  return put_at(descriptor, bytes, [&] { return real_writev(descriptor, parts, count); });
}

FLOPCAST_INTERPOSED ssize_t send(int descriptor, const void* from, size_t bytes, int flags) {
  return put_at(descriptor, bytes, [&] { return real_send(descriptor, from, bytes, flags); });
}

FLOPCAST_INTERPOSED ssize_t sendto(int descriptor, const void* from, size_t bytes, int flags,
                                   const sockaddr* to, socklen_t size) {
  return put_at(descriptor, bytes,
                [&] { return real_sendto(descriptor, from, bytes, flags, to, size); });
}

FLOPCAST_INTERPOSED ssize_t sendmsg(int descriptor, const msghdr* message, int flags) {
  return put_at(descriptor, size_of(message->msg_iov, message->msg_iovlen),
                [&] { return real_sendmsg(descriptor, message, flags); });
}

FLOPCAST_INTERPOSED int socketpair(int domain, int type, int protocol, int* ends) noexcept {
  const int made = real_socketpair(domain, type, protocol, ends);
  const int error = errno;
  if (made == 0 && followed()) join_sockets(ends[0], ends[1]);
  errno = error;
  return made;
}

FLOPCAST_INTERPOSED int eventfd_write(int descriptor, eventfd_t more) {
  return ::write(descriptor, &more, sizeof more) == sizeof more ? 0 : -1;
}
