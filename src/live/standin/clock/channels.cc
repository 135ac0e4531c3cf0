#include "live/standin/clock/channels.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string_view>

#include "live/standin/clock/awaiting.h"
#include "live/standin/clock/ends.h"

namespace flopcast::live {
namespace {

/// The line, if this process is of the run.
Link* own_line() {
  Link* const link = Link::opened();
  return link && link->is_of_process() ? link : nullptr;
}

ChannelPlace place_of_key(std::uint64_t key, bool make) {
  Link* const link = own_line();
  if (!link || key == 0) return {};
  return {make ? &link->channels().make(key) : link->channels().find(key), key};
}

/// What may be a channel of this place; one of a connection that a thread in real time serves is none.
ChannelPlace of_the_run(const ChannelPlace& at) {
  return at && at.channel->meets.load() == Channel::Meets::kStranger ? ChannelPlace() : at;
}

/// Where named semaphores lie in this process.
class Semaphores {
 public:
  static Semaphores& get() {
    static Semaphores* const all = new Semaphores;
    return *all;
  }
  void put(const void* at, std::uint64_t key) {
    const std::lock_guard guard(lock_);
    keys_[at] = key;
  }
  std::uint64_t key(const void* at) {
    const std::lock_guard guard(lock_);
    const auto found = keys_.find(at);
    return found == keys_.end() ? 0 : found->second;
  }

 private:
  Spinlock lock_;
  std::map<const void*, std::uint64_t> keys_;
};

constinit std::uint64_t outputs[2] = {};

template <typename Each>
void for_each_descriptor(Each each) {
  DIR* const all = ::opendir("/proc/self/fd");
  if (!all) return;
  while (const dirent* const entry = ::readdir(all)) {
    const int number = entry->d_name[0] == '.' ? -1 : std::atoi(entry->d_name);
    if (number >= 0 && number != ::dirfd(all)) each(number);
  }
  ::closedir(all);
}

void close_at(const ChannelPlace& at) {
  if (!at || !own_speaker) return;
  const std::int64_t now = put_time();
  at.channel->close(now);
  Link::get().wake_at(*at.channel, at.key);
}

}  // namespace

ChannelPlace read_at(int descriptor) {
  if (!own_line()) return {};
  const EndKeys ends = ends_of(descriptor);
  const bool counts = ends.kind == EndKeys::Kind::kCounter;
  ChannelPlace at = of_the_run(place_of_key(ends.read, counts));
  at.serves =
      counts || ends.kind == EndKeys::Kind::kSocket || ends.kind == EndKeys::Kind::kListener;
  return at;
}

ChannelPlace written_at(int descriptor) {
  if (!own_line()) return {};
  const EndKeys ends = ends_of(descriptor);
  if (ends.read != 0 && (ends.read == outputs[0] || ends.read == outputs[1])) return {};
  if (ends.kind == EndKeys::Kind::kPipe || ends.kind == EndKeys::Kind::kCounter)
    return place_of_key(ends.written, true);
  if (ends.kind != EndKeys::Kind::kPair) return of_the_run(place_of_key(ends.written, false));
  const ChannelPlace own = place_of_key(ends.read, false);
  return own ? place_of_key(own.channel->peer.load(), false) : ChannelPlace();
}

ChannelPlace room_of(std::uint64_t key, bool make) {
  return place_of_key(key_of(Named::kRoom, key), make);
}
ChannelPlace end_of(pid_t process, bool make) {
  return place_of_key(key_of(Named::kEnd, static_cast<std::uint64_t>(process)), make);
}
ChannelPlace end_of_children_of(pid_t process, bool make) {
  return place_of_key(key_of(Named::kEndOfChildren, static_cast<std::uint64_t>(process)), make);
}

ChannelPlace semaphore_at(const void* semaphore) {
  return own_line() ? place_of_key(Semaphores::get().key(semaphore), false) : ChannelPlace();
}

void join_sockets(int one, int other) {
  const std::uint64_t first = ends_of(one).read, second = ends_of(other).read;
  if (first == 0 || second == 0 || !own_line()) return;
  place_of_key(first, true).channel->peer.store(second);
  place_of_key(second, true).channel->peer.store(first);
}

void name_semaphore(const void* semaphore, const char* name, bool is_new, unsigned value) {
  const std::uint64_t key =
      key_of(Named::kSemaphore, std::hash<std::string_view>()(name ? name : ""));
  Semaphores::get().put(semaphore, key);
  const ChannelPlace at = place_of_key(key, is_new);
  if (!at || !is_new) return;
  at.channel->begin(key);
  if (value > 0) at.channel->put(value, Channel::kNoTime);
}

void leave_outputs() {
  for (const int each : {0, 1}) outputs[each] = ends_of(each + 1).read;
}

void share_pipes() {
  for_each_descriptor([](int descriptor) {
    if (ends_of(descriptor).kind == EndKeys::Kind::kPipe) static_cast<void>(written_at(descriptor));
  });
}

void share_descriptors() {
  share_pipes();
  static_cast<void>(end_of(::getpid(), true));
  static_cast<void>(end_of_children_of(::getppid(), true));
}

void open_listener(int descriptor) {
  const EndKeys ends = ends_of(descriptor);
  if (ends.kind != EndKeys::Kind::kListener || !own_line()) return;
  const ChannelPlace at = place_of_key(ends.read, true);
  at.channel->begin(at.key);
  at.channel->meets.store(Channel::Meets::kConnections);
}

ChannelPlace begin_connection(int descriptor, const sockaddr* to, socklen_t size) {
  Link* const link = own_line();
  // Who listens on another machine is no one that is known by the same port here.
  if (!link || is_of_machines(link->common().machines, to, false)) return {};
  const ChannelPlace listener = place_of_key(listener_at(to, size), false);
  if (!listener || listener.channel->meets.load() != Channel::Meets::kConnections) return {};
  const EndKeys ends = name_connecting(descriptor, to);
  if (ends.kind != EndKeys::Kind::kSocket) return {};
  for (const std::uint64_t key : {ends.read, ends.written}) {
    const ChannelPlace at = place_of_key(key, true);
    at.channel->begin(key);
    at.channel->meets.store(Channel::Meets::kNobodyYet);
  }
  return listener;
}

void meet_connection(int descriptor, bool in_the_run) {
  if (!own_line()) return;
  const EndKeys ends = ends_of(descriptor);
  if (ends.kind != EndKeys::Kind::kSocket) return;
  const auto met = in_the_run ? Channel::Meets::kRun : Channel::Meets::kStranger;
  for (const std::uint64_t key : {ends.read, ends.written}) {
    if (const ChannelPlace at = place_of_key(key, false)) at.channel->meets.store(met);
  }
}

void end_written(int descriptor) {
  if (!followed()) return;
  close_at(written_at(descriptor));
}

void close_channel(int descriptor) {
  if (!followed() || !own_line()) return;
  const EndKeys ends = ends_of(descriptor);
  const bool stays = ends.kind == EndKeys::Kind::kListener || ends.kind == EndKeys::Kind::kCounter;
  if (ends.read == 0 || stays) return;
  const ChannelPlace own = place_of_key(ends.read, false);
  close_at(own);
  if (ends.kind == EndKeys::Kind::kPair && own)
    close_at(place_of_key(own.channel->peer.load(), false));
  if (ends.kind == EndKeys::Kind::kSocket) close_at(place_of_key(ends.written, false));
  close_at(room_of(ends.read, false));
}

void close_channels(bool of_program) {
  if (!followed() || !own_line()) return;
  for_each_descriptor([&](int descriptor) {
    if (of_program || (::fcntl(descriptor, F_GETFD) & FD_CLOEXEC) != 0) close_channel(descriptor);
  });
  if (!of_program) return;
  close_at(end_of(::getpid(), false));
  close_at(end_of_children_of(::getppid(), false));
}

std::int64_t put_time() {
  if (!followed()) return Channel::kNoTime;
  Link::measure();
  return own_speaker->now_ns() + 1;
}

Putting::Putting(const ChannelPlace& at, std::uint64_t amount, std::int64_t ns)
    : at_(at), amount_(amount), number_(0) {
  at_.channel->writers.fetch_add(1, std::memory_order_seq_cst);
  number_ = at_.channel->put(amount, ns);
  if (followed() || is_helper_thread) Link::get().wake_at(*at_.channel, at_.key);
}

void Putting::has_put(std::int64_t amount) {
  const std::uint64_t put = amount < 0 ? 0 : static_cast<std::uint64_t>(amount);
  if (put < amount_) at_.channel->put_less(number_, amount_ - put);
}

void Awaited::add(int descriptor, std::uint64_t name, bool reads, bool writes, bool again) {
  const auto put = [&](const ChannelPlace& at) {
    if (!at) return;
    channels_.push_back({at.channel, at.key, 0, at.serves});
    named_.push_back({name, again});
  };
  if (reads) put(read_at(descriptor));
  const ChannelPlace to = writes ? written_at(descriptor) : ChannelPlace();
  if (to) put(room_of(to.key, true));
}

void Awaited::forget_strangers() {
  for (std::size_t i = channels_.size(); i-- > 0;) {
    if (channels_[i].channel->meets.load() != Channel::Meets::kStranger) continue;
    channels_.erase(channels_.begin() + static_cast<std::ptrdiff_t>(i));
    named_.erase(named_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

Putting::~Putting() { at_.channel->writers.fetch_sub(1, std::memory_order_seq_cst); }

}  // namespace flopcast::live
