#include "live/engine/daemon/daemon.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>

#include "live/engine/daemon/peer.h"
#include "live/engine/session/record_check.h"

namespace flopcast::live {
namespace {

/// Whether a record is of a program that uses GPUs.
bool is_work(const Record& record) {
  switch (record.act) {
    case Act::kKernel:
    case Act::kCopy:
    case Act::kFill:
    case Act::kHostWork:
    case Act::kRecordEvent:
    case Act::kMakeStream:
    case Act::kAllocate:
    case Act::kMakeGroup:
    case Act::kGraphLaunch:
      return true;
    case Act::kAskUse:
      return false;
    default:
      return (record.flags & kAnswerWanted) != 0;
  }
}

/// The engine sleeps so long at most: meanwhile it does not hear of kernels and the like.
constexpr std::int64_t kLookAgainNs = 1'000'000;
// gloo's loops sleep for 10 ms before they notice that a thread waits for their next round; TCP sends again after 200 ms.
constexpr auto kMostPatienceOfSleep = std::chrono::milliseconds(30);
constexpr auto kMostPatienceOfWait = std::chrono::milliseconds(1200);
constexpr std::int64_t kSlowerThanPatience = 1000;
/// torchrun looks every tenth of a second.
constexpr auto kLaunchersSee = std::chrono::seconds(1);
/// Who acts in turn may wait for one who waits for it, in memory that both look at again and again.
constexpr auto kLongestTurn = std::chrono::seconds(5);
constexpr auto kLookWhoIsGoneAfter = std::chrono::milliseconds(20);

}  // namespace

Result<std::unique_ptr<Daemon>> Daemon::listen(Session& session, const MachineFacts& machine) {
  Result<std::unique_ptr<Door>> door = Door::open();
  if (!door) return door.error();
  std::unique_ptr<Daemon> daemon(new Daemon(session, std::move(*door)));
  Common& common = daemon->common();
  common.device = machine.device;
  common.devices = machine.devices;
  common.start_ns = machine.start_ns;
  common.host_factor = machine.host_factor;
  daemon->chips_ = machine.chips;
  session.set_node(machine.devices);
  daemon->door_->welcome([raw = daemon.get()](Caller caller) {
    auto peer = std::make_unique<Peer>();
    peer->hello = caller.hello;
    peer->socket = std::move(caller.socket);
    peer->memory = std::move(caller.memory);
    peer->mapped = std::move(caller.region);
    peer->region = peer->mapped.get();
    raw->admit(std::move(peer));
  });
  return daemon;
}

Daemon::Daemon(Session& session, std::unique_ptr<Door> door)
    : session_(session), door_(std::move(door)) {
  session_.set_outside([this](const Leap& leap) { return is_quiet(leap); },
                       [this](std::uint32_t process, Time at) { return look(process, at); });
}

Daemon::~Daemon() {
  session_.set_outside({});
  door_.reset();  // before the lines are closed
}

void Daemon::admit(std::unique_ptr<Peer> peer) {
  const std::lock_guard guard(lock_);
  (peer->hello.child != 0 ? children_ : newcomers_).push_back(std::move(peer));
}

void Daemon::set_hosts(FarHosts& hosts, const Machines& machines) {
  hosts_ = &hosts;
  common().machines = machines;
}

void Daemon::welcome_far(const Hello& hello, FarHost& host, std::shared_ptr<FarLine> line) {
  auto peer = std::make_unique<Peer>();
  peer->hello = hello;
  peer->far = &host;
  peer->region = line->region;
  peer->line = std::move(line);
  admit(std::move(peer));
  common().bell.ring();
}

void Daemon::expect(std::int32_t rank, std::int32_t pid) {
  session_.add_process(rank);
  peers_.push_back(std::make_unique<Peer>());
  peers_.back()->hello.rank = rank;
  peers_.back()->hello.pid = pid;
  all_known_ = true;
}

void Daemon::gone(std::int32_t rank) {
  std::optional<Diagnostic> ignored;
  take_newcomers(ignored);
  for (std::uint32_t p = 0; p < peers_.size(); ++p) {
    const Peer& peer = *peers_[p];
    if (!peer.gone && peer.hello.rank == rank && peer.hello.child == 0) lose(p);
  }
}

void Daemon::lose(std::uint32_t process) {
  std::optional<Diagnostic> ignored;
  hear(process, ignored);  // what it wrote before
  Peer& peer = *peers_[process];
  peer.gone = true;
  constexpr std::uint32_t kEndedWell = 1;
  // Else it runs another program now.
  const bool ends = peer.far ? peer.line->ended.load() : has_ended(peer.hello.pid);
  const bool failed = peer.region && peer.region->ended.load() != kEndedWell && ends;
  session_.lose(process, failed);
  // Whoever started it sees that, and may end the others: until then they do nothing more.
  if (failed) frozen_until_ = std::chrono::steady_clock::now() + kLaunchersSee;
}

bool Daemon::is_known(std::int32_t rank) const {
  return std::any_of(peers_.begin(), peers_.end(),
                     [rank](const auto& peer) { return peer->hello.rank == rank; });
}

/// Of a rank that has ended, another process may take the place.
bool Daemon::is_there(std::int32_t rank) const {
  return std::any_of(peers_.begin(), peers_.end(),
                     [rank](const auto& peer) { return !peer->gone && peer->hello.rank == rank; });
}

std::optional<Diagnostic> Daemon::too_many(std::int64_t ranks) const {
  if (ranks <= std::int64_t{chips_}) return std::nullopt;
  return usage_error(
      "--on",
      fmt::format("the program starts {} ranks, and the cluster has {} chips", ranks, chips_),
      "name a larger cluster, or start fewer ranks");
}

/// A rank that was expected takes its place; whoever else comes is a guest.
void Daemon::take_newcomers(std::optional<Diagnostic>& problem) {
  const std::lock_guard guard(lock_);
  for (std::unique_ptr<Peer>& newcomer : newcomers_) {
    const Hello& hello = newcomer->hello;
    const auto most = static_cast<std::int32_t>(chips_);
    const std::int64_t starts = std::max<std::int64_t>(std::int64_t{hello.rank} + 1, hello.ranks);
    if (!problem) problem = too_many(starts);
    // A launcher's ranks are known by the first that comes; of others that are expected, not all may be there.
    const bool tells = hello.rank >= 0 && !all_known_;
    const std::int32_t all = tells ? std::min(hello.ranks, most) : 0;
    for (std::int32_t rank = 0; rank < all; ++rank) {
      if (!is_known(rank)) expect(rank);
    }
    if (hello.rank >= 0 && !is_known(hello.rank)) {
      expect(hello.rank);
      all_known_ = hello.ranks > 0;
    }
    const auto place = std::find_if(peers_.begin(), peers_.end(), [&hello](const auto& peer) {
      return !peer->region && !peer->gone && peer->hello.rank == hello.rank &&
             (peer->hello.pid == 0 || peer->hello.pid == hello.pid);
    });
    if (place != peers_.end()) {
      session_.set_pid(static_cast<std::uint32_t>(place - peers_.begin()),
                       static_cast<std::uint32_t>(hello.pid));
      *place = std::move(newcomer);
    } else {
      guests_.push_back(std::move(newcomer));
    }
  }
  newcomers_.clear();
}

/// Guests hold nobody up: launchers, workers that compile, programs that only ask what GPUs there are. One that
/// puts work on a GPU becomes a process of the run, of its rank if it has one, else of that GPU's.
bool Daemon::hear_guests(std::optional<Diagnostic>& problem) {
  bool heard = false;
  for (std::unique_ptr<Peer>& guest : guests_) {
    std::optional<std::uint16_t> works_on;
    for (std::uint32_t t = 0; t < guest->threads() && !works_on; ++t) {
      Ring& ring = guest->region->rings[t];
      while (const Record* record = ring.front()) {
        if (is_work(*record)) works_on = record->device;
        if (works_on) break;
        if (record->act == Act::kAskUse) break;  // tell_guests()
        guest->early.emplace_back(t, *record);
        ring.pop();
        if (guest->far) guest->far->took(guest->line->number, t, 1);
      }
    }
    if (!works_on) continue;
    heard = true;
    if (auto wrong = become_process(guest, *works_on); wrong && !problem) problem = wrong;
  }
  std::erase(guests_, nullptr);
  return heard;
}

/// Who watches a device (nvidia-smi) is no process of the run: it is told what is known by now.
bool Daemon::tell_guests() {
  bool told = false;
  for (const std::unique_ptr<Peer>& guest : guests_) {
    for (std::uint32_t t = 0; t < guest->threads(); ++t) {
      Ring& ring = guest->region->rings[t];
      const Record* const record = ring.front();
      if (!record || record->act != Act::kAskUse) continue;
      std::optional<SessionAnswer> answer = SessionAnswer();
      answer->status = EINVAL;
      if (!check_record(guest->hello.rank, *record)) {
        answer = session_.use_of(guest->hello.rank, record->device,
                                 static_cast<DeviceUse>(record->word[0]), record->word[1]);
      }
      if (!answer) continue;
      guest->early.emplace_back(t, *record);
      guest->early.back().second.act =
          Act::kNothing;  // should it become a process: it was answered
      guest->early.back().second.flags &= static_cast<std::uint8_t>(~kAnswerWanted);
      ring.pop();
      if (guest->far) guest->far->took(guest->line->number, t, 1);
      answer->thread = t;
      give(*guest, *answer);
      told = true;
    }
  }
  return told;
}

void Daemon::give(Peer& peer, const SessionAnswer& one) {
  if (peer.far) return peer.far->answer(peer.line->number, one);
  peer.region->rings[one.thread].give(one.status, one.at.ps, one.value);
}

/// @param guest stays one where it cannot be
std::optional<Diagnostic> Daemon::become_process(std::unique_ptr<Peer>& guest,
                                                 std::uint16_t device) {
  std::int32_t& rank = guest->hello.rank;
  if (rank < 0) rank = device;
  while (guest->region->rank < 0 && is_there(rank)) ++rank;
  if (rank >= static_cast<std::int32_t>(chips_)) {
    return usage_error(
        "--on", fmt::format("more processes use GPUs than the cluster has chips: {}", chips_),
        "name a larger cluster");
  }
  const std::uint32_t process = session_.add_process(rank);
  const auto early = std::exchange(guest->early, {});
  session_.set_pid(process, static_cast<std::uint32_t>(guest->hello.pid));
  peers_.push_back(std::move(guest));
  for (const auto& [thread, record] : early) {
    if (auto problem = tell(process, thread, record)) return problem;
  }
  return std::nullopt;
}

std::optional<Diagnostic> Daemon::tell(std::uint32_t process, std::uint32_t thread,
                                       const Record& record) {
  const auto signature = peers_[process]->region->arena.text(record.signature);
  Record said = record;
  if (said.act == Act::kFork) {
    if (auto problem = adopt(process, said)) return problem;
  }
  return session_.take(process, thread, said, signature.value_or(std::string_view()));
}

/// A process that this one is about to start has its line already: it is of the same rank. @param record then names it
std::optional<Diagnostic> Daemon::adopt(std::uint32_t parent, Record& record) {
  const std::lock_guard guard(lock_);
  const auto child = std::find_if(children_.begin(), children_.end(), [&](const auto& peer) {
    return peer->hello.child == record.word[0] && peer->far == peers_[parent]->far;
  });
  const std::int32_t own = peers_[parent]->hello.rank;
  if (child == children_.end())
    return overwritten(own, "has said that it starts a process which has no line");
  std::int32_t& rank = (*child)->hello.rank;
  if (rank < 0) rank = own;
  if (auto problem = too_many(std::int64_t{rank} + 1)) return problem;
  record.word[0] = session_.add_child(rank);
  peers_.push_back(std::move(*child));
  children_.erase(child);
  return std::nullopt;
}

/// All that this process has written. @return whether it has written anything
bool Daemon::hear(std::uint32_t process, std::optional<Diagnostic>& problem) {
  Peer& peer = *peers_[process];
  bool heard = false;
  for (std::uint32_t t = 0; t < peer.threads(); ++t) {
    Ring& ring = peer.region->rings[t];
    if (!ring.makes_sense() || (peer.far && peer.line->overwritten.load())) {
      if (!peer.gone && !problem)
        problem = overwritten(peer.hello.rank, "has more records waiting than there is room for");
      continue;
    }
    std::uint32_t records = 0;
    for (const Record* record = ring.front(); record; record = ring.front()) {
      const Record said = *record;
      ring.pop();
      ++records;
      if (peer.gone || problem) continue;
      problem = tell(process, t, said);
    }
    if (records > 0 && peer.far) peer.far->took(peer.line->number, t, records);
    heard = heard || records > 0;
  }
  return heard;
}

bool Daemon::anything_written() const {
  const auto has_written = [](const std::unique_ptr<Peer>& peer) {
    const std::uint32_t threads = peer->threads();
    for (std::uint32_t t = 0; t < threads; ++t) {
      if (peer->region->rings[t].front()) return true;
    }
    return false;
  };
  return std::any_of(peers_.begin(), peers_.end(), has_written) ||
         std::any_of(guests_.begin(), guests_.end(), has_written);
}

/// All may stand still at one moment although one of them only sleeps until it does what others wait for, in a thread that
/// knows no virtual time. The further a leap goes, the longer nothing has to have been heard of before it.
std::chrono::nanoseconds patience(const Leap& leap) {
  const std::chrono::nanoseconds most = leap.gives_up ? kMostPatienceOfWait : kMostPatienceOfSleep;
  return std::min(most, std::chrono::nanoseconds(leap.over.ps / 1000 / kSlowerThanPatience));
}

std::vector<pid_t> Daemon::processes_alive() const {
  std::vector<pid_t> processes;
  for (const auto& peer : peers_) {
    if (peer->is_here()) processes.push_back(peer->pid());
  }
  return processes;
}

std::unordered_set<pid_t> Daemon::clocked_threads() const {
  std::unordered_set<pid_t> clocked;
  for (const auto& peer : peers_) {
    if (peer->is_here()) add_clocked(*peer->region, clocked);
  }
  return clocked;
}

/// @param walker knows who has computed on this machine, and since when
bool Daemon::all_stand_still(Quiet& walker) {
  if (!hosts_) return walker.look(processes_alive(), clocked_threads());
  std::uint64_t runs[2] = {};
  for (std::uint64_t& each : runs) {
    hosts_->begin_walk();
    const Sight here = walker.see(processes_alive(), clocked_threads());
    std::vector<BusyThread> busy;
    const Sight there = hosts_->walked(busy);
    if (here.busy || there.busy || is_sending(common().machines)) return false;
    each = here.runs + there.runs;
  }
  return runs[0] == runs[1];
}

/// Whether the processes of the run, and all that this one has started for them, stand still, and nothing of what they
/// said is unheard.
bool Daemon::is_quiet(const Leap& leap) {
  const auto now = std::chrono::steady_clock::now();
  if (!quiet_at_ || quiet_at_->second != leap.heard) quiet_at_ = std::pair(now, leap.heard);
  if (now - quiet_at_->first < patience(leap)) return false;
  if (!all_stand_still(quiet_) || anything_written()) return false;
  // One that was ended from outside stands still, too, and its threads come to no time of theirs any more.
  return std::none_of(peers_.begin(), peers_.end(),
                      [](const auto& peer) { return is_leaving(*peer); });
}

/// Watchdogs' clocks go on where nobody lets them look, too.
void Daemon::show_present() {
  const std::vector<Time> present = session_.present();
  for (std::size_t p = 0; p < peers_.size(); ++p) {
    if (peers_[p]->region) show(*peers_[p], present[p]);
  }
}

/// Only the engine writes the time, and it never goes back.
void Daemon::show(Peer& peer, Time present) {
  std::atomic<std::int64_t>& now = peer.region->watch.now_ns;
  if (now.load(std::memory_order_relaxed) >= present.ps / 1000) return;
  now.store(present.ps / 1000);
  if (peer.far) peer.far->show(peer.line->number, present.ps / 1000);
}

/// Makes a process's watchdogs look at this time. @return whether all of them have
bool Daemon::look(std::uint32_t process, Time at) {
  Peer& peer = *peers_[process];
  if (peer.gone || !peer.region) return true;
  Watch& watch = peer.region->watch;
  const auto all = [&watch](auto condition) {
    return std::all_of(std::begin(watch.places), std::end(watch.places), condition);
  };
  if (all([](const Watch::Place& place) { return place.looked.load() == 0; })) return true;
  if (peer.looks_at != at) {
    peer.looks_at = at;
    show(peer, at);
    const std::uint32_t wanted = watch.wanted.fetch_add(1, std::memory_order_seq_cst) + 1;
    if (peer.far) {
      peer.far->look(peer.line->number, wanted);
    } else {
      futex_wake(watch.wanted);
    }
  }
  const std::uint32_t done = watch.wanted.load() + 1;
  const bool have_looked = all([done](const Watch::Place& place) {
    const std::uint32_t looked = place.looked.load(std::memory_order_acquire);
    return looked == 0 || looked == done;
  });
  if (!have_looked) looking_ = process;
  return have_looked;
}

bool Daemon::is_leaving(const Peer& peer) {
  if (peer.gone || !peer.region) return false;
  if (peer.far) return peer.line->left.load(std::memory_order_acquire);
  pollfd state{peer.socket.get(), POLLIN, 0};
  return ::poll(&state, 1, 0) > 0 && (state.revents & (POLLHUP | POLLIN | POLLERR)) != 0;
}

void Daemon::look_who_is_gone() {
  for (std::uint32_t p = 0; p < peers_.size(); ++p) {
    if (!is_leaving(*peers_[p])) continue;
    Peer& peer = *peers_[p];
    lose(p);
    // Where it still is, it ends.
    if (peer.far) {
      peer.far->cut(peer.line->number);
    } else {
      ::shutdown(peer.socket.get(), SHUT_RDWR);
    }
  }
  std::erase_if(guests_, [](const auto& guest) { return is_leaving(*guest); });
}

std::uint64_t Daemon::most_memory(std::int32_t rank) const {
  std::uint64_t most = 0;
  for (const auto& peer : peers_) {
    if (peer->hello.rank != rank || !peer->region) continue;
    for (const auto& device : peer->region->most_memory) most = std::max(most, device.load());
  }
  return most;
}

std::optional<Diagnostic> Daemon::step() {
  std::optional<Diagnostic> problem;
  take_newcomers(problem);
  bool heard = hear_guests(problem);
  for (std::uint32_t p = 0; p < peers_.size(); ++p) heard = hear(p, problem) || heard;
  if (hosts_ && !problem) problem = hosts_->problem();
  if (problem) return problem;
  if (hosts_) hosts_->carry();
  looking_.reset();
  const bool frozen = std::chrono::steady_clock::now() < frozen_until_;
  const std::vector<SessionAnswer> answers =
      frozen ? std::vector<SessionAnswer>() : session_.advance();
  heard = tell_guests() || heard;
  for (const SessionAnswer& one : answers) {
    give(*peers_[one.process], one);
  }
  const auto now = std::chrono::steady_clock::now();
  if (heard || !answers.empty()) {
    went_on_ = now;
    return std::nullopt;
  }
  if (now - went_on_ > kLongestTurn) {
    session_.let_out_of_turn();
    went_on_ = now;
  }
  // Processes go seldom, and asking costs a call each.
  if (now - looked_ > kLookWhoIsGoneAfter) {
    looked_ = now;
    show_present();
    look_who_is_gone();
    look_who_has_stopped();
  }
  common().bell.sleep([this] { return !anything_written(); }, kLookAgainNs);
  return std::nullopt;
}

TaintSummary Daemon::taint() const {
  TaintSummary all;
  for (const auto& peer : peers_) {
    if (!peer->region) continue;
    const TaintedReads& told = peer->region->tainted;
    all.reads += told.reads.load();
    all.assumed += told.assumed.load();
    const auto take = [&](const std::atomic<std::uint32_t>& state, const char* text,
                          std::size_t most, std::vector<std::string>& into) {
      if (state.load(std::memory_order_acquire) != TaintedReads::kWritten) return;
      const std::string_view said(text, strnlen(text, most));
      into.push_back(fmt::format("rank {}: {}", peer->hello.rank, said));
    };
    take(told.state, told.first, sizeof told.first, all.first);
    take(told.origin_state, told.origin, sizeof told.origin, all.origins);
  }
  return all;
}

std::vector<HostStretch> Daemon::host_work() const {
  std::vector<HostStretch> all;
  for (const auto& peer : peers_) {
    if (!peer->region) continue;
    const HostWork& work = peer->region->host_work;
    const std::uint32_t count = std::min(work.count.load(), HostWork::kMost);
    for (const HostWork::Stretch& one : std::span(work.stretches, count)) {
      // A process may have written anything there.
      const std::int64_t at_ns = std::clamp<std::int64_t>(one.at_ns, 0, Time::max().ps / 1000);
      all.push_back({peer->hello.rank, Time::from_ns(at_ns),
                     static_cast<double>(std::max<std::int64_t>(one.taken_ns, 0)) * 1e-9});
    }
  }
  return all;
}

std::size_t Daemon::alive() const {
  return static_cast<std::size_t>(
      std::count_if(peers_.begin(), peers_.end(), [](const auto& peer) { return !peer->gone; }));
}

}  // namespace flopcast::live
