// Connections within this machine, by name or by port: channels, where both ends are of the run and in virtual time. Who accepts goes
// on no earlier than the other connects.
#include <sys/socket.h>

#include <cerrno>

#include "live/standin/clock/awaiting.h"
#include "live/standin/clock/ends.h"

namespace flopcast::live {
namespace {

constinit Real<int(int, int)> real_listen{"listen"};
constinit Real<int(int, sockaddr*, socklen_t*)> real_accept{"accept"};
constinit Real<int(int, sockaddr*, socklen_t*, int)> real_accept4{"accept4"};
constinit Real<int(int, const sockaddr*, socklen_t)> real_connect{"connect"};
constinit Real<int(int, int, int, void*, socklen_t*)> real_getsockopt{"getsockopt"};
constinit Real<int(int, int)> real_shutdown{"shutdown"};

int connect_to(int descriptor, const sockaddr* to, socklen_t size) {
  const ChannelPlace listener =
      followed() && to ? begin_connection(descriptor, to, size) : ChannelPlace();
  if (!listener) return real_connect(descriptor, to, size);
  Putting putting(listener, 1, put_time());
  const int connected = real_connect(descriptor, to, size);
  const int error = errno;
  putting.has_put(connected == 0 || error == EINPROGRESS ? 1 : 0);
  errno = error;
  return connected;
}

/// A connection is a channel of one machine: the clock of who is at the other end does not come here.
void refuse_other_machines(int accepted) {
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  if (!followed() || ::getpeername(accepted, reinterpret_cast<sockaddr*>(&peer), &size) != 0)
    return;
  const Machines& machines = Link::get().common().machines;
  if (!is_of_machines(machines, reinterpret_cast<sockaddr*>(&peer), false)) return;
  Link::refuse("a connection that the program itself accepts is not carried between machines",
               "let both ends be on one machine; stores and gloo's connections may be on several");
}

/// @param accept accepts really
template <typename Accept>
int accept_from(int descriptor, sockaddr* from, socklen_t* size, Accept accept) {
  if (!before_read(descriptor)) return -1;
  const socklen_t room = from && size ? *size : 0;
  const int accepted = accept();
  if (accepted < 0 || !Link::opened()) return accepted;
  const int error = errno;
  refuse_other_machines(accepted);
  meet_connection(accepted, followed() != nullptr);
  hide_name(from, size, room);
  if (const ChannelPlace listener = read_at(descriptor)) {
    const std::int64_t ns = listener.channel->take(1);
    if (followed())
      Link::get().go_on_from(ns);
    else
      listener.channel->meets.store(Channel::Meets::kStranger);
  }
  errno = error;
  return accepted;
}

}  // namespace
}  // namespace flopcast::live

using namespace flopcast::live;

FLOPCAST_INTERPOSED int listen(int descriptor, int most) noexcept {
  const int listens = real_listen(descriptor, most);
  const int error = errno;
  if (listens == 0 && followed()) open_listener(descriptor);
  errno = error;
  return listens;
}

FLOPCAST_INTERPOSED int accept(int descriptor, sockaddr* from, socklen_t* size) {
  return accept_from(descriptor, from, size, [&] { return real_accept(descriptor, from, size); });
}

FLOPCAST_INTERPOSED int accept4(int descriptor, sockaddr* from, socklen_t* size, int flags) {
  return accept_from(descriptor, from, size,
                     [&] { return real_accept4(descriptor, from, size, flags); });
}

FLOPCAST_INTERPOSED int connect(int descriptor, const sockaddr* to, socklen_t size) {
  const int connected = connect_to(descriptor, to, size);
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

FLOPCAST_INTERPOSED int shutdown(int descriptor, int how) noexcept {
  if (how != SHUT_RD && Link::opened()) end_written(descriptor);
  return real_shutdown(descriptor, how);
}
