#include "live/hosts/connection.h"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <asio/buffer.hpp>
#include <asio/connect.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/write.hpp>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/text/numbers.h"

namespace flopcast::live {
namespace {

using Tcp = asio::ip::tcp;

/// Others may be started long before the first machine is.
constexpr auto kNobodyListensFor = std::chrono::seconds(300);
constexpr auto kTryAgainAfter = std::chrono::milliseconds(50);
/// Without a sign of life from the other machine.
constexpr int kCutAfterMs = 8000, kAskAfterS = 3, kAskEveryS = 1, kAskTimes = 5;

void set_option(int socket, int level, int option, int value) {
  ::setsockopt(socket, level, option, &value, sizeof value);
}

/// Answers are short and waited for, and an end that nobody tells is seen by what the system asks the other one.
void prepare(int socket) {
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, kAskAfterS);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, kAskEveryS);
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, kAskTimes);
  set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, kCutAfterMs);
}

void copy_address(const asio::ip::address& from, Machines::Address& to) {
  std::memset(to, 0, sizeof to);
  if (from.is_v4()) {
    const auto bytes = from.to_v4().to_bytes();
    std::copy(bytes.begin(), bytes.end(), to + 12);
    return;
  }
  const asio::ip::address_v6 v6 = from.to_v6();
  const auto bytes = v6.to_bytes();
  std::copy(bytes.begin(), bytes.end(), to);
  if (v6.is_v4_mapped()) std::memset(to, 0, 12);
}

Diagnostic no_meeting(const MeetingPlace& place, const std::string& what, std::string hint) {
  return usage_error("--meet", fmt::format("{}:{}: {}", place.host, place.port, what),
                     std::move(hint));
}

}  // namespace

struct Connection::Socket {
  asio::io_context context{1};
  Tcp::socket tcp{context};
};

struct MeetingPoint::Listener {
  asio::io_context context{1};
  Tcp::acceptor tcp{context};
};

Result<MeetingPlace> meeting_place_of(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  MeetingPlace place;
  if (colon != std::string::npos && colon > 0) {
    place.host = text.substr(0, colon);
    if (place.host.size() > 2 && place.host.front() == '[' && place.host.back() == ']')
      place.host = place.host.substr(1, place.host.size() - 2);
    place.port = parse_whole<std::uint16_t>(text.substr(colon + 1)).value_or(0);
  }
  if (place.port == 0) {
    return usage_error("--meet", fmt::format("'{}' is no place to meet", text),
                       "an address of the first machine and a free port of it: 10.0.0.1:29400");
  }
  return place;
}

// --- a connection -------------------------------------------------------------------------------

Connection::Connection(std::unique_ptr<Socket> socket) : socket_(std::move(socket)) {
  prepare(socket_->tcp.native_handle());
  asio::error_code ignored;
  peer_ = socket_->tcp.remote_endpoint(ignored).address().to_string(ignored);
}

Connection::~Connection() { shut(); }

Result<std::unique_ptr<Connection>> Connection::open(const MeetingPlace& place,
                                                     const std::function<bool()>& stop) {
  const auto until = std::chrono::steady_clock::now() + kNobodyListensFor;
  for (;;) {
    auto socket = std::make_unique<Socket>();
    asio::error_code error;
    Tcp::resolver resolver(socket->context);
    const auto found = resolver.resolve(place.host, std::to_string(place.port), error);
    if (error)
      return no_meeting(place, error.message(), "name the first machine as others find it");
    asio::connect(socket->tcp, found, error);
    if (!error) return std::unique_ptr<Connection>(new Connection(std::move(socket)));
    if (stop && stop()) return no_meeting(place, "stopped before anybody listened there", "");
    if (std::chrono::steady_clock::now() > until) {
      return no_meeting(place, fmt::format("nobody listens there: {}", error.message()),
                        "start the same command on the first machine");
    }
    std::this_thread::sleep_for(kTryAgainAfter);
  }
}

bool Connection::send(FrameWriter& frame) { return send(frame.frame()); }

bool Connection::send(std::span<const std::byte> frame) {
  const std::lock_guard guard(sending_);
  asio::error_code error;
  asio::write(socket_->tcp, asio::buffer(frame.data(), frame.size()), error);
  // What is left of it would be taken for the next one.
  if (error) socket_->tcp.shutdown(Tcp::socket::shutdown_both, error);
  return !error;
}

bool Connection::read(std::span<std::byte> into, const Until& until) {
  for (std::size_t done = 0; done < into.size();) {
    if (until) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
          *until - std::chrono::steady_clock::now());
      pollfd wanted{socket_->tcp.native_handle(), POLLIN, 0};
      if (left.count() <= 0 || ::poll(&wanted, 1, static_cast<int>(left.count())) <= 0)
        return false;
    }
    asio::error_code error;
    done += socket_->tcp.read_some(asio::buffer(into.data() + done, into.size() - done), error);
    if (error && error != asio::error::interrupted) return false;
  }
  return true;
}

std::optional<std::vector<std::byte>> Connection::receive(std::uint32_t most, int ms) {
  Until until;
  if (ms >= 0) until = std::chrono::steady_clock::now() + std::chrono::milliseconds(ms);
  std::uint32_t size = 0;
  if (!read(std::as_writable_bytes(std::span(&size, 1)), until) || size == 0 || size > most)
    return std::nullopt;
  std::vector<std::byte> frame(size);
  if (!read(frame, until)) return std::nullopt;
  return frame;
}

void Connection::shut() {
  asio::error_code ignored;
  socket_->tcp.shutdown(Tcp::socket::shutdown_both, ignored);
}

void Connection::copy_addresses(Machines::Address& own, Machines::Address& peer) const {
  asio::error_code ignored;
  copy_address(socket_->tcp.local_endpoint(ignored).address(), own);
  copy_address(socket_->tcp.remote_endpoint(ignored).address(), peer);
}

// --- where they meet ----------------------------------------------------------------------------

MeetingPoint::MeetingPoint(std::unique_ptr<Listener> listener) : listener_(std::move(listener)) {}
MeetingPoint::~MeetingPoint() = default;

Result<std::unique_ptr<MeetingPoint>> MeetingPoint::open(const MeetingPlace& place) {
  auto listener = std::make_unique<Listener>();
  asio::error_code error;
  Tcp::resolver resolver(listener->context);
  const auto found = resolver.resolve(place.host, std::to_string(place.port), error);
  if (error) return no_meeting(place, error.message(), "name an address of this machine");
  const Tcp::endpoint at = found.begin()->endpoint();
  Tcp::acceptor& tcp = listener->tcp;
  const auto fails = [&error] { return static_cast<bool>(error); };
  tcp.open(at.protocol(), error);
  if (!fails()) tcp.set_option(asio::socket_base::reuse_address(true), error);
  if (!fails()) tcp.bind(at, error);
  if (!fails()) tcp.listen(asio::socket_base::max_listen_connections, error);
  if (fails()) {
    return no_meeting(place, error.message(),
                      "name an address of this machine and a port that nobody uses");
  }
  return std::unique_ptr<MeetingPoint>(new MeetingPoint(std::move(listener)));
}

std::unique_ptr<Connection> MeetingPoint::accept(int ms) {
  pollfd wanted{listener_->tcp.native_handle(), POLLIN, 0};
  if (::poll(&wanted, 1, ms) <= 0) return nullptr;
  auto socket = std::make_unique<Connection::Socket>();
  asio::error_code error;
  listener_->tcp.accept(socket->tcp, error);
  if (error) return nullptr;
  return std::unique_ptr<Connection>(new Connection(std::move(socket)));
}

std::string interface_with(const Machines::Address& address) {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return {};
  std::string name;
  for (const ifaddrs* one = all; one && name.empty(); one = one->ifa_next) {
    if (!one->ifa_addr) continue;
    Machines::Address has{};
    if (one->ifa_addr->sa_family == AF_INET) {
      std::memcpy(has + 12, &reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr, 4);
    } else if (one->ifa_addr->sa_family == AF_INET6) {
      std::memcpy(has, &reinterpret_cast<const sockaddr_in6*>(one->ifa_addr)->sin6_addr, 16);
    } else {
      continue;
    }
    if (std::memcmp(has, address, sizeof has) == 0) name = one->ifa_name;
  }
  ::freeifaddrs(all);
  return name;
}

}  // namespace flopcast::live
