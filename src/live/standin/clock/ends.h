// What is read and written at a descriptor, as processes of the run know it: the same for both ends, whoever holds them.
#pragma once

#include <sys/socket.h>

#include <cstdint>

#include "live/wire/region.h"

namespace flopcast::live {

/// What a key of a channel names.
enum class Named : std::uint64_t {
  kPipe = 1,
  kSocket,
  kSemaphore,
  kRoom,
  kEnd,
  kEndOfChildren,
  kCounter,
  kListener,
  kToServer,
  kToClient,
  kByPorts
};
std::uint64_t key_of(Named what, std::uint64_t first, std::uint64_t second = 0);

/// Channels of a descriptor, by key.
struct EndKeys {
  enum class Kind : std::uint8_t {
    kNone,    ///< nothing that could be a channel
    kPipe,    ///< both ends have one key
    kPair,    ///< of socketpair: the channel read knows the other one's
    kSocket,  ///< of a connection within this machine
    kListener,
    kCounter  ///< an eventfd
  };
  Kind kind = Kind::kNone;
  std::uint64_t read = 0;     ///< 0: none
  std::uint64_t written = 0;  ///< the same; of a pair see above
};

EndKeys ends_of(int descriptor);
/// Of a descriptor that is about to be closed, or means something else now.
void forget_ends(int descriptor);
void forget_all_ends();

/// Whether an address is one of the other machines of the run, where it is on several; `own_too`: or this one's among them.
bool is_of_machines(const Machines& machines, const sockaddr* address, bool own_too);
/// What connections to an address wait in; 0: none of this machine's.
std::uint64_t listener_at(const sockaddr* address, socklen_t size);
/// Gives a socket that is about to connect an address of its own, by which the other end knows it: an ephemeral port, or a name that
/// nobody else has. @return its ends; none if it is of another kind
EndKeys name_connecting(int descriptor, const sockaddr* to);
/// The address of a peer that was named so is what it would have been. @param room that there was for it
void hide_name(sockaddr* address, socklen_t* size, socklen_t room);

}  // namespace flopcast::live
