#include "live/engine/daemon/door.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <random>
#include <string_view>

#include "live/wire/mail.h"

namespace flopcast::live {
namespace {

/// Null where it is smaller than that: looking beyond its end would end the engine.
template <typename T>
T* map_shared(const Descriptor& memory) {
  struct ::stat facts {};
  if (::fstat(memory.get(), &facts) != 0 || static_cast<std::size_t>(facts.st_size) < sizeof(T))
    return nullptr;
  void* at = ::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                    memory.get(), 0);
  return at == MAP_FAILED ? nullptr : static_cast<T*>(at);
}

Diagnostic no_way(std::string_view what) {
  return {ErrorCode::kBadInput, "live run", fmt::format("{}: {}", what, std::strerror(errno)),
          "see limits on memory and open files: ulimit -a"};
}

/// A socket has no name in the file system, but whoever guesses it may come: others of the machine may not.
bool is_own_user(const Descriptor& socket) {
  ucred other{};
  socklen_t size = sizeof other;
  return ::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &other, &size) == 0 &&
         other.uid == ::geteuid();
}

std::string fresh_name() {
  std::random_device random;
  return fmt::format("flopcast-{}-{:08x}{:08x}", ::getpid(), random(), random());
}

}  // namespace

MappedRegion::~MappedRegion() {
  if (region_) ::munmap(region_, sizeof(Region));
}

Result<std::unique_ptr<Door>> Door::open() {
  std::string name = fresh_name();
  sockaddr_un address;
  const socklen_t size = socket_address(name, address);
  Descriptor listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!listener || ::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::listen(listener.get(), SOMAXCONN) != 0)
    return no_way("no socket");
  Descriptor memory(::memfd_create("flopcast", MFD_CLOEXEC));
  if (!memory || ::ftruncate(memory.get(), kCommonFileBytes) != 0)
    return no_way("no shared memory");
  std::unique_ptr<Door> door(new Door(std::move(listener), std::move(memory), std::move(name)));
  door->common_ = map_shared<Common>(door->memory_);
  if (!door->common_) return no_way("no shared memory");
  return door;
}

Door::~Door() {
  over_ = true;
  if (common_) common_->over.store(1, std::memory_order_release);
  ::shutdown(listener_.get(), SHUT_RDWR);
  if (doorman_.joinable()) doorman_.join();
  if (common_) ::munmap(common_, sizeof(Common));
}

void Door::welcome(std::function<void(Caller caller)> admit) {
  doorman_ = std::thread([this, admit = std::move(admit)] { stand(admit); });
}

/// A thread of its own: a process that comes waits for nothing else.
void Door::stand(const std::function<void(Caller caller)>& admit) {
  while (!over_) {
    Descriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!socket) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      return;
    }
    if (!is_own_user(socket)) continue;
    Caller caller;
    caller.memory = receive_descriptor(socket.get(), &caller.hello, sizeof caller.hello);
    if (!caller.memory || caller.hello.version != Region::kVersion) continue;
    caller.region = MappedRegion(map_shared<Region>(caller.memory));
    if (!caller.region.get()) continue;
    const int own = socket.get();
    caller.socket = std::move(socket);
    admit(std::move(caller));
    const Hello back{.version = Region::kVersion, .pid = ::getpid()};
    send_descriptor(own, &back, sizeof back, memory_.get());
    common_->bell.ring();
  }
}

}  // namespace flopcast::live
