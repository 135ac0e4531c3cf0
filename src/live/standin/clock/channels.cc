#include "live/standin/clock/channels.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string_view>

namespace flopcast::live {
namespace {

/// What a key names.
enum class Named : std::uint64_t { kPipe = 1, kSocket, kSemaphore, kRoom, kEnd, kEndOfChildren };

std::uint64_t key_of(Named what, std::uint64_t first, std::uint64_t second = 0) {
  std::uint64_t key = (first ^ static_cast<std::uint64_t>(what) << 56) * 0xbf58476d1ce4e5b9u;
  key = (key ^ key >> 29 ^ second) * 0x94d049bb133111ebu;
  key ^= key >> 31;
  return key == 0 || key == ~std::uint64_t{0} ? 1 : key;
}

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

/// 0: it is neither a pipe nor a socket.
std::uint64_t key_of_descriptor(int descriptor) {
  struct ::stat facts {};
  if (::fstat(descriptor, &facts) != 0) return 0;
  if (S_ISFIFO(facts.st_mode)) return key_of(Named::kPipe, facts.st_ino, facts.st_dev);
  return S_ISSOCK(facts.st_mode) ? key_of(Named::kSocket, facts.st_ino) : 0;
}

bool is_pipe(int descriptor) {
  struct ::stat facts {};
  return ::fstat(descriptor, &facts) == 0 && S_ISFIFO(facts.st_mode);
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

ChannelPlace read_at(int descriptor) { return place_of_key(key_of_descriptor(descriptor), false); }

ChannelPlace written_at(int descriptor) {
  if (!own_line()) return {};
  const std::uint64_t key = key_of_descriptor(descriptor);
  if (key == outputs[0] || key == outputs[1]) return {};
  if (is_pipe(descriptor)) return place_of_key(key, true);
  const ChannelPlace own = place_of_key(key, false);
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
  const std::uint64_t first = key_of_descriptor(one), second = key_of_descriptor(other);
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
  for (const int each : {0, 1}) outputs[each] = key_of_descriptor(each + 1);
}

void share_pipes() {
  for_each_descriptor([](int descriptor) {
    if (is_pipe(descriptor)) static_cast<void>(written_at(descriptor));
  });
}

void share_descriptors() {
  share_pipes();
  static_cast<void>(end_of(::getpid(), true));
  static_cast<void>(end_of_children_of(::getppid(), true));
}

void close_channel(int descriptor) {
  if (!followed() || !own_line()) return;
  const std::uint64_t key = key_of_descriptor(descriptor);
  if (key == 0) return;
  const ChannelPlace own = place_of_key(key, false);
  close_at(own);
  if (own) close_at(place_of_key(own.channel->peer.load(), false));
  close_at(room_of(key, false));
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

Putting::~Putting() { at_.channel->writers.fetch_sub(1, std::memory_order_seq_cst); }

}  // namespace flopcast::live
