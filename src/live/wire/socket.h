// How a process finds the engine and they share memory: a socket without a name in the file system, over which
// each gives the other a descriptor. The kernel forgets all of it when the processes are gone, however
// they went.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

namespace flopcast::live {

/// Names the socket to the processes of a run.
inline constexpr const char* kSocketVariable = "FLOPCAST_LIVE_SOCKET";

/// A descriptor; closes itself.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int get() const { return number_; }
  int release() { return std::exchange(number_, -1); }
  explicit operator bool() const { return number_ >= 0; }

 private:
  int number_;
};

/// What a process says when it comes.
struct Hello {
  std::uint32_t version = 0;  ///< Region::kVersion
  std::int32_t pid = 0;
  std::int32_t rank = -1;  ///< as its launcher numbers it; -1: that has said nothing
  std::int32_t ranks = 0;  ///< that the launcher starts; 0: it has said nothing
  /// Of a process that another one of the run is about to start, and names so (Act::kFork); else 0.
  std::uint64_t child = 0;
};

/// The address of an abstract socket, which no other user of the machine can take for a file.
inline socklen_t socket_address(const std::string& name, sockaddr_un& address) {
  address = {};
  address.sun_family = AF_UNIX;
  const std::size_t size =
      name.size() < sizeof address.sun_path - 1 ? name.size() : sizeof address.sun_path - 1;
  std::memcpy(address.sun_path + 1, name.data(), size);
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + size);
}

/// A message that has room for a descriptor.
class WithDescriptor {
 public:
  WithDescriptor(void* message, std::size_t size) : data_{message, size} {
    header.msg_iov = &data_;
    header.msg_iovlen = 1;
    header.msg_control = control_;
    header.msg_controllen = sizeof control_;
  }
  WithDescriptor(const WithDescriptor&) = delete;
  WithDescriptor& operator=(const WithDescriptor&) = delete;
  msghdr header{};

 private:
  iovec data_;
  alignas(cmsghdr) char control_[CMSG_SPACE(sizeof(int))] = {};
};

/// Sends a message with a descriptor. @return whether it went
inline bool send_descriptor(int socket, const void* message, std::size_t size, int descriptor) {
  WithDescriptor whole(const_cast<void*>(message), size);
  cmsghdr* rights = CMSG_FIRSTHDR(&whole.header);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(rights), &descriptor, sizeof descriptor);
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(socket, &whole.header, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(size);
}

/// Receives such a message of exactly this size. @return its descriptor; none if there was none
inline Descriptor receive_descriptor(int socket, void* message, std::size_t size) {
  WithDescriptor whole(message, size);
  ssize_t got = 0;
  do {
    got = ::recvmsg(socket, &whole.header, MSG_CMSG_CLOEXEC | MSG_WAITALL);
  } while (got < 0 && errno == EINTR);
  const cmsghdr* rights = CMSG_FIRSTHDR(&whole.header);
  int number = -1;
  if (rights && rights->cmsg_level == SOL_SOCKET && rights->cmsg_type == SCM_RIGHTS)
    std::memcpy(&number, CMSG_DATA(rights), sizeof number);
  Descriptor descriptor(number);
  return got == static_cast<ssize_t>(size) ? std::move(descriptor) : Descriptor();
}

}  // namespace flopcast::live
