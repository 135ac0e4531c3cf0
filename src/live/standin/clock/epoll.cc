// epoll: waits for a set of descriptors, as asyncio, libuv and ZeroMQ make them. What is in a set, the kernel tells.
#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <string>

#include "live/standin/clock/awaiting.h"
#include "live/wire/socket.h"

namespace flopcast::live {
namespace {

constinit Real<int(int, epoll_event*, int, int)> real_epoll_wait{"epoll_wait"};
constinit Real<int(int, epoll_event*, int, int, const sigset_t*)> real_epoll_pwait{"epoll_pwait"};

/// Lines "tfd: 6 events: 19 data: 6 ...", all but the first number in hexadecimal digits.
std::string told_of_set(int epoll) {
  std::array<char, 64> path{};
  std::snprintf(path.data(), path.size(), "/proc/self/fdinfo/%d", epoll);
  const Descriptor file(::open(path.data(), O_RDONLY | O_CLOEXEC));
  std::string text;
  if (!file) return text;
  for (std::size_t size = 0, room = 4096;; room *= 2) {
    text.resize(room);
    const ssize_t got =
        ::pread(file.get(), text.data() + size, room - size, static_cast<off_t>(size));
    size += static_cast<std::size_t>(std::max<ssize_t>(got, 0));
    text.resize(size);
    if (got <= 0) return text;
  }
}

Awaited awaited_by(int epoll) {
  Awaited awaited;
  const std::string text = told_of_set(epoll);
  for (std::size_t at = text.find("tfd:"); at != text.npos; at = text.find("tfd:", at + 1)) {
    int descriptor = -1;
    unsigned events = 0;
    unsigned long long data = 0;
    if (std::sscanf(text.c_str() + at, "tfd: %d events: %x data: %llx", &descriptor, &events,
                    &data) != 3)
      continue;
    const bool again = (events & (EPOLLET | EPOLLONESHOT)) == 0;
    const bool writes = (events & EPOLLOUT) != 0;
    const unsigned others = events & ~(EPOLLET | EPOLLONESHOT | EPOLLOUT | EPOLLERR | EPOLLHUP);
    if (writes || others != 0) awaited.add(descriptor, data, others != 0, writes, again);
  }
  return awaited;
}

/// @param wait as epoll_wait does, for so many ms
template <typename Wait>
int epoll_for(int epoll, epoll_event* events, int most, std::int64_t ns, Wait wait) {
  int count = 0;
  const auto look = [&](std::int64_t ms) { return count = wait(static_cast<int>(ms)); };
  const auto find = [&](std::uint64_t data) {
    return std::find_if(events, events + std::max(count, 0),
                        [data](const epoll_event& one) { return one.data.u64 == data; });
  };
  const auto is_ready = [&](std::uint64_t data) {
    return find(data) != events + std::max(count, 0);
  };
  const auto drop = [&](std::uint64_t data) {
    std::copy(find(data) + 1, events + count, find(data));
    --count;
    return 1;
  };
  return wait_for_any(ns, false, most > 0 ? awaited_by(epoll) : Awaited(), look, is_ready, drop);
}

}  // namespace
}  // namespace flopcast::live

using namespace flopcast::live;

FLOPCAST_INTERPOSED int epoll_wait(int epoll, epoll_event* events, int most, int ms) {
  const auto wait = [&](int how_long) { return real_epoll_wait(epoll, events, most, how_long); };
  if (!followed()) return wait(ms);
  return epoll_for(epoll, events, most, ms < 0 ? -1 : ms * kNsOfMs, wait);
}

FLOPCAST_INTERPOSED int epoll_pwait(int epoll, epoll_event* events, int most, int ms,
                                    const sigset_t* mask) {
  const auto wait = [&](int how_long) {
    return real_epoll_pwait(epoll, events, most, how_long, mask);
  };
  if (!followed()) return wait(ms);
  return epoll_for(epoll, events, most, ms < 0 ? -1 : ms * kNsOfMs, wait);
}
