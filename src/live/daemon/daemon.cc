#include "live/daemon/daemon.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <random>

#include "live/wire/mail.h"

namespace flopcast::live {
namespace {

template <typename T>
T* map_shared(const Descriptor& memory) {
  void* at = ::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                    memory.get(), 0);
  return at == MAP_FAILED ? nullptr : static_cast<T*>(at);
}

Diagnostic no_way(std::string_view what) {
  return {ErrorCode::kBadInput, "live run", fmt::format("{}: {}", what, std::strerror(errno)),
          "see limits on memory and open files: ulimit -a"};
}

std::string fresh_name() {
  std::random_device random;
  return fmt::format("flopcast-{}-{:08x}{:08x}", ::getpid(), random(), random());
}

}  // namespace

/// Expected while it has no region yet.
struct Daemon::Peer {
  std::int32_t rank = 0;
  Descriptor socket, memory;
  Region* region = nullptr;
  bool gone = false;
  std::uint32_t threads() const {
    return region ? std::min(region->threads.load(std::memory_order_acquire), Region::kThreads) : 0;
  }
  ~Peer() {
    if (region) ::munmap(region, sizeof(Region));
  }
};

Result<std::unique_ptr<Daemon>> Daemon::listen(Session& session, const DeviceFacts& device,
                                               std::uint32_t devices) {
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
  std::unique_ptr<Daemon> daemon(
      new Daemon(session, std::move(listener), std::move(memory), std::move(name)));
  daemon->common_ = map_shared<Common>(daemon->memory_);
  if (!daemon->common_) return no_way("no shared memory");
  daemon->common_->device = device;
  daemon->common_->devices = devices;
  daemon->common_->start_ns = static_cast<std::int64_t>(std::time(nullptr)) * 1'000'000'000;
  daemon->doorman_ = std::thread([raw = daemon.get()] { raw->welcome(); });
  return daemon;
}

Daemon::Daemon(Session& session, Descriptor listener, Descriptor memory, std::string name)
    : session_(session),
      listener_(std::move(listener)),
      memory_(std::move(memory)),
      name_(std::move(name)) {}

Daemon::~Daemon() {
  over_ = true;
  ::shutdown(listener_.get(), SHUT_RDWR);
  if (doorman_.joinable()) doorman_.join();
  if (common_) ::munmap(common_, sizeof(Common));
}

/// A thread of its own: a process that comes waits for nothing else.
void Daemon::welcome() {
  while (!over_) {
    Descriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!socket) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      return;
    }
    Hello hello;
    auto peer = std::make_unique<Peer>();
    peer->memory = receive_descriptor(socket.get(), &hello, sizeof hello);
    if (!peer->memory || hello.version != Region::kVersion) continue;
    peer->region = map_shared<Region>(peer->memory);
    if (!peer->region) continue;
    peer->rank = hello.rank;
    peer->socket = std::move(socket);
    const int own = peer->socket.get();
    {
      const std::lock_guard guard(lock_);
      newcomers_.push_back(std::move(peer));
    }
    const Hello back{Region::kVersion, ::getpid(), 0};
    send_descriptor(own, &back, sizeof back, memory_.get());
    common_->bell.ring();
  }
}

void Daemon::expect(std::int32_t rank) {
  session_.add_process(rank);
  peers_.push_back(std::make_unique<Peer>());
  peers_.back()->rank = rank;
}

void Daemon::gone(std::int32_t rank) {
  take_newcomers();
  for (std::uint32_t p = 0; p < peers_.size(); ++p) {
    if (peers_[p]->gone || peers_[p]->rank != rank) continue;
    std::optional<Diagnostic> ignored;
    hear(p, ignored);  // what it wrote before
    peers_[p]->gone = true;
    session_.lose(p);
  }
}

void Daemon::take_newcomers() {
  const std::lock_guard guard(lock_);
  for (std::unique_ptr<Peer>& newcomer : newcomers_) {
    const auto place = std::find_if(peers_.begin(), peers_.end(), [&](const auto& peer) {
      return !peer->region && peer->rank == newcomer->rank;
    });
    if (place != peers_.end()) {
      *place = std::move(newcomer);
    } else {
      session_.add_process(newcomer->rank);
      peers_.push_back(std::move(newcomer));
    }
  }
  newcomers_.clear();
}

/// All that this process has written. @return whether it has written anything
bool Daemon::hear(std::uint32_t process, std::optional<Diagnostic>& problem) {
  Peer& peer = *peers_[process];
  bool heard = false;
  for (std::uint32_t t = 0; t < peer.threads(); ++t) {
    Ring& ring = peer.region->rings[t];
    while (const Record* record = ring.front()) {
      const Record said = *record;
      ring.pop();
      heard = true;
      if (peer.gone || problem) continue;
      const auto signature = peer.region->arena.text(said.signature);
      problem = session_.take(process, t, said, signature.value_or(std::string_view()));
    }
  }
  return heard;
}

bool Daemon::anything_written() const {
  return std::any_of(peers_.begin(), peers_.end(), [](const auto& peer) {
    const std::uint32_t threads = peer->threads();
    for (std::uint32_t t = 0; t < threads; ++t) {
      if (peer->region->rings[t].front()) return true;
    }
    return false;
  });
}

void Daemon::look_who_is_gone() {
  for (std::uint32_t p = 0; p < peers_.size(); ++p) {
    if (peers_[p]->gone || !peers_[p]->region) continue;
    pollfd state{peers_[p]->socket.get(), POLLIN, 0};
    if (::poll(&state, 1, 0) <= 0 || (state.revents & (POLLHUP | POLLIN | POLLERR)) == 0) continue;
    std::optional<Diagnostic> ignored;
    hear(p, ignored);  // what it wrote before
    peers_[p]->gone = true;
    session_.lose(p);
  }
}

std::optional<Diagnostic> Daemon::step() {
  take_newcomers();
  std::optional<Diagnostic> problem;
  bool heard = false;
  for (std::uint32_t p = 0; p < peers_.size(); ++p) heard = hear(p, problem) || heard;
  if (problem) return problem;
  const std::vector<SessionAnswer> answers = session_.advance();
  for (const SessionAnswer& one : answers) {
    Answer& answer = peers_[one.process]->region->rings[one.thread].answer;
    answer.status = one.status;
    answer.time_ps = one.at.ps;
    answer.value = one.value;
    answer.count.fetch_add(1, std::memory_order_release);
    futex_wake(answer.count);
  }
  if (heard || !answers.empty()) return std::nullopt;
  look_who_is_gone();
  common_->bell.sleep([this] { return !anything_written(); });
  return std::nullopt;
}

std::size_t Daemon::alive() const {
  return static_cast<std::size_t>(
      std::count_if(peers_.begin(), peers_.end(), [](const auto& peer) { return !peer->gone; }));
}

}  // namespace flopcast::live
