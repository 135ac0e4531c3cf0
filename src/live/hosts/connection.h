// A connection between two machines of a run, and where the others find the first of them. Over Asio's sockets.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "flopcast/base.h"
#include "live/hosts/frame.h"
#include "live/wire/region.h"

namespace flopcast::live {

/// "HOST:PORT", "[v6]:PORT"; a port may be left out of neither.
struct MeetingPlace {
  std::string host;
  std::uint16_t port = 0;
};
Result<MeetingPlace> meeting_place_of(const std::string& text);

/// Ends are seen within seconds also where nothing says so: a machine that is switched off, a cable that is drawn.
class Connection {
 public:
  /// Tries again until somebody listens there. Errors: no such machine, nobody in time, stopped.
  static Result<std::unique_ptr<Connection>> open(const MeetingPlace& place,
                                                  const std::function<bool()>& stop);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// By any thread. @return false if it is cut
  bool send(FrameWriter& frame);
  bool send(std::span<const std::byte> frame);
  /// By one thread. @param most bytes @param ms it is to come within; negative: whenever it does
  /// @return without its length; none if it is cut, the frame is longer, or has not come in time
  std::optional<std::vector<std::byte>> receive(std::uint32_t most = kMostFrame, int ms = -1);
  /// The other side's receive() ends, and ours.
  void shut();
  /// Address of this end, and of the other.
  void copy_addresses(Machines::Address& own, Machines::Address& peer) const;
  /// "10.0.0.2", for messages.
  const std::string& peer() const { return peer_; }

 private:
  friend class MeetingPoint;
  struct Socket;
  using Until = std::optional<std::chrono::steady_clock::time_point>;
  bool read(std::span<std::byte> into, const Until& until);
  explicit Connection(std::unique_ptr<Socket> socket);
  std::unique_ptr<Socket> socket_;
  std::string peer_;
  std::mutex sending_;
};

/// Where the others come.
class MeetingPoint {
 public:
  /// Errors: the address is none of this machine's, or its port is taken.
  static Result<std::unique_ptr<MeetingPoint>> open(const MeetingPlace& place);
  ~MeetingPoint();
  MeetingPoint(const MeetingPoint&) = delete;
  MeetingPoint& operator=(const MeetingPoint&) = delete;
  /// The next that comes within this time; null if nobody does.
  std::unique_ptr<Connection> accept(int ms);

 private:
  struct Listener;
  explicit MeetingPoint(std::unique_ptr<Listener> listener);
  std::unique_ptr<Listener> listener_;
};

/// The network interface of this machine that has an address; empty: none.
std::string interface_with(const Machines::Address& address);

}  // namespace flopcast::live
