#include "live/standin/clock/ends.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>

#include "live/standin/clock/real.h"
#include "live/wire/socket.h"

namespace flopcast::live {
namespace {

// --- what is known of descriptors ----------------------------------------------------------------

/// Looking it up takes calls of the system. Two threads that find out at once find the same.
class KnownEnds {
 public:
  /// @param file what is open there: another file under this number is another one's
  bool find(int descriptor, std::uint64_t file, EndKeys& ends) const {
    if (!has(descriptor)) return false;
    const Entry& entry = entries_[static_cast<std::size_t>(descriptor)];
    if (entry.file.load(std::memory_order_acquire) != file) return false;
    ends = {entry.kind.load(std::memory_order_relaxed), entry.read.load(std::memory_order_relaxed),
            entry.written.load(std::memory_order_relaxed)};
    std::atomic_thread_fence(std::memory_order_acquire);
    return entry.file.load(std::memory_order_relaxed) == file;
  }
  void put(int descriptor, std::uint64_t file, const EndKeys& ends) {
    if (!has(descriptor)) return;
    Entry& entry = entries_[static_cast<std::size_t>(descriptor)];
    entry.file.store(0, std::memory_order_seq_cst);
    entry.kind.store(ends.kind, std::memory_order_relaxed);
    entry.read.store(ends.read, std::memory_order_relaxed);
    entry.written.store(ends.written, std::memory_order_relaxed);
    entry.file.store(file, std::memory_order_release);
  }
  void forget(int descriptor) {
    if (has(descriptor)) entries_[static_cast<std::size_t>(descriptor)].file.store(0);
  }
  void forget_all() {
    for (Entry& entry : entries_) entry.file.store(0, std::memory_order_relaxed);
  }

 private:
  struct Entry {
    std::atomic<std::uint64_t> file{0};  ///< 0: nothing is known
    std::atomic<EndKeys::Kind> kind{EndKeys::Kind::kNone};
    std::atomic<std::uint64_t> read{0}, written{0};
  };
  static bool has(int descriptor) { return descriptor >= 0 && descriptor < kEntries; }
  static constexpr int kEntries = 1 << 14;
  std::array<Entry, kEntries> entries_{};
};
constinit KnownEnds known_ends;

// --- sockets -------------------------------------------------------------------------------------

struct Address {
  sockaddr_storage bytes{};
  socklen_t size = sizeof bytes;
  sockaddr* any() { return reinterpret_cast<sockaddr*>(&bytes); }
};

/// The beginning of names that connecting sockets are given.
constexpr std::string_view kGivenName{"\0flopcast-end-", 14};

/// Of an address of AF_UNIX: a path, or a name that begins with a zero; empty if it has none.
std::string_view name_of_address(const sockaddr* address, socklen_t size) {
  constexpr socklen_t kBegin = offsetof(sockaddr_un, sun_path);
  if (address->sa_family != AF_UNIX || size <= kBegin) return {};
  const char* const name = reinterpret_cast<const sockaddr_un*>(address)->sun_path;
  const std::size_t most = size - kBegin;
  return {name, name[0] == '\0' ? most : strnlen(name, most)};
}

/// A port, and whose it is where that decides whether a peer is on this machine; 0: it is none of TCP's.
struct Port {
  std::uint16_t number = 0;
  bool loopback = false;
  std::array<std::uint8_t, 16> host{};
};

Port port_of(const sockaddr* address) {
  Port port;
  if (address->sa_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(*address);
    port.number = ntohs(v4.sin_port);
    std::memcpy(port.host.data() + 12, &v4.sin_addr, 4);
  } else if (address->sa_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(*address);
    port.number = ntohs(v6.sin6_port);
    std::memcpy(port.host.data(), &v6.sin6_addr, 16);
    port.loopback = IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
    if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) std::memset(port.host.data(), 0, 12);
  }
  constexpr std::uint8_t kLoopback = 127;
  port.loopback = port.loopback || (port.host[0] == 0 && port.host[12] == kLoopback);
  return port;
}

bool is_local(const Port& own, const Port& peer) { return peer.loopback || own.host == peer.host; }

EndKeys by_ports(std::uint16_t own, std::uint16_t peer) {
  return {EndKeys::Kind::kSocket, key_of(Named::kByPorts, peer, own),
          key_of(Named::kByPorts, own, peer)};
}

std::uint64_t hash_of(std::string_view name) { return std::hash<std::string_view>()(name); }

/// @param connects its own name was given to it, else the peer's
EndKeys by_name(std::string_view name, bool connects) {
  const std::uint64_t hash = hash_of(name);
  const std::uint64_t to_server = key_of(Named::kToServer, hash);
  const std::uint64_t to_client = key_of(Named::kToClient, hash);
  return connects ? EndKeys{EndKeys::Kind::kSocket, to_client, to_server}
                  : EndKeys{EndKeys::Kind::kSocket, to_server, to_client};
}

/// @param again whether it may be another thing later: it is not connected yet
EndKeys ends_of_socket(int descriptor, std::uint64_t inode, bool& again) {
  Address own, peer;
  if (::getsockname(descriptor, own.any(), &own.size) != 0) return {};
  int listens = 0;
  socklen_t size = sizeof listens;
  if (::getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens != 0) {
    const std::uint64_t key = listener_at(own.any(), own.size);
    return {key == 0 ? EndKeys::Kind::kNone : EndKeys::Kind::kListener, key, 0};
  }
  const bool connected = ::getpeername(descriptor, peer.any(), &peer.size) == 0;
  again = !connected;
  if (own.bytes.ss_family == AF_UNIX) {
    const std::string_view own_name = name_of_address(own.any(), own.size);
    if (own_name.starts_with(kGivenName)) return by_name(own_name, true);
    const std::string_view other = connected ? name_of_address(peer.any(), peer.size) : "";
    if (other.starts_with(kGivenName)) return by_name(other, false);
    return {EndKeys::Kind::kPair, key_of(Named::kSocket, inode), 0};
  }
  if (!connected) return {};
  const Port here = port_of(own.any()), there = port_of(peer.any());
  if (here.number == 0 || there.number == 0 || !is_local(here, there)) return {};
  return by_ports(here.number, there.number);
}

// --- counters ------------------------------------------------------------------------------------

/// The kernel's number of an eventfd; 0 if it is none.
std::uint64_t counter_number(int descriptor) {
  std::array<char, 64> path{};
  std::snprintf(path.data(), path.size(), "/proc/self/fdinfo/%d", descriptor);
  const Descriptor file(::open(path.data(), O_RDONLY | O_CLOEXEC));
  std::array<char, 512> text{};
  if (!file || ::pread(file.get(), text.data(), text.size() - 1, 0) <= 0) return 0;
  constexpr std::string_view kLine = "eventfd-id:";
  const char* const found = std::strstr(text.data(), kLine.data());
  return found ? std::strtoull(found + kLine.size(), nullptr, 10) + 1 : 0;
}

}  // namespace

std::uint64_t key_of(Named what, std::uint64_t first, std::uint64_t second) {
  std::uint64_t key = (first ^ static_cast<std::uint64_t>(what) << 56) * 0xbf58476d1ce4e5b9u;
  key = (key ^ key >> 29 ^ second) * 0x94d049bb133111ebu;
  key ^= key >> 31;
  return key == 0 || key == ~std::uint64_t{0} ? 1 : key;
}

EndKeys ends_of(int descriptor) {
  struct ::stat facts {};
  if (::fstat(descriptor, &facts) != 0) return {};
  if (S_ISFIFO(facts.st_mode)) {
    const std::uint64_t key = key_of(Named::kPipe, facts.st_ino, facts.st_dev);
    return {EndKeys::Kind::kPipe, key, key};
  }
  const bool nameless =
      (facts.st_mode & S_IFMT) == 0;  // an eventfd, an epoll, ...: all of one file
  if (!nameless && !S_ISSOCK(facts.st_mode)) return {};
  const int error = errno;
  const std::uint64_t file = std::uint64_t{facts.st_ino} << 1 | (nameless ? 1 : 0);
  EndKeys ends;
  if (known_ends.find(descriptor, file, ends)) return ends;
  bool again = false;
  if (!nameless) {
    ends = ends_of_socket(descriptor, facts.st_ino, again);
  } else if (const std::uint64_t number = counter_number(descriptor)) {
    const std::uint64_t key = key_of(Named::kCounter, number);
    ends = {EndKeys::Kind::kCounter, key, key};
  }
  if (!again) known_ends.put(descriptor, file, ends);
  errno = error;
  return ends;
}

void forget_ends(int descriptor) { known_ends.forget(descriptor); }
void forget_all_ends() { known_ends.forget_all(); }

bool is_of_machines(const Machines& machines, const sockaddr* address, bool own_too) {
  if (!machines.are_several()) return false;
  const Port port = port_of(address);
  Machines::Address host;
  std::copy(port.host.begin(), port.host.end(), host);
  if (port.number == 0 || port.loopback || !machines.has(host)) return false;
  return own_too || std::memcmp(host, machines.addresses[machines.own], sizeof host) != 0;
}

std::uint64_t listener_at(const sockaddr* address, socklen_t size) {
  if (address->sa_family == AF_UNIX) {
    const std::string_view name = name_of_address(address, size);
    return name.empty() ? 0 : key_of(Named::kListener, hash_of(name));
  }
  const Port port = port_of(address);
  return port.number == 0 ? 0 : key_of(Named::kListener, port.number, AF_INET);
}

EndKeys name_connecting(int descriptor, const sockaddr* to) {
  int type = 0;
  socklen_t type_size = sizeof type;
  Address own;
  if (::getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &type_size) != 0 ||
      type != SOCK_STREAM || ::getsockname(descriptor, own.any(), &own.size) != 0 ||
      own.bytes.ss_family != to->sa_family)
    return {};
  if (to->sa_family == AF_UNIX) {
    const std::string_view known = name_of_address(own.any(), own.size);
    if (!known.empty()) return known.starts_with(kGivenName) ? by_name(known, true) : EndKeys();
    static constinit std::atomic<std::uint32_t> given{0};
    const std::uint64_t salt =
        key_of(Named::kSocket, static_cast<std::uint64_t>(::getpid()) << 32 | ++given,
               static_cast<std::uint64_t>(real_ns(CLOCK_MONOTONIC)));
    const std::string name(kGivenName.substr(1));
    sockaddr_un address;
    const socklen_t size = socket_address(name + std::to_string(salt), address);
    if (::bind(descriptor, reinterpret_cast<sockaddr*>(&address), size) != 0) return {};
    return by_name(name_of_address(reinterpret_cast<sockaddr*>(&address), size), true);
  }
  if (port_of(own.any()).number == 0) {
    // The kernel would choose one while it connects; the peer may be there before this thread knows which.
    if (::bind(descriptor, own.any(), own.size) != 0) return {};
    own.size = sizeof own.bytes;
    if (::getsockname(descriptor, own.any(), &own.size) != 0) return {};
  }
  const std::uint16_t here = port_of(own.any()).number, there = port_of(to).number;
  return here == 0 || there == 0 ? EndKeys() : by_ports(here, there);
}

void hide_name(sockaddr* address, socklen_t* size, socklen_t room) {
  if (!address || !size || room < sizeof address->sa_family) return;
  if (!name_of_address(address, std::min(*size, room)).starts_with(kGivenName)) return;
  *size = sizeof address->sa_family;
}

}  // namespace flopcast::live
