// Processes that this one starts. Each has a line of its own, which the engine knows before it begins: its first thread
// goes on where the one was that started it.
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "live/standin/link/link.h"
#include "live/standin/link/teller.h"

namespace flopcast::live {
namespace {

/// What a program is told of the line that it inherits: its descriptors (socket, memory, what all share), and where on its own
/// line its maker was.
constexpr const char* kLineVariable = "FLOPCAST_LIVE_LINE";

struct Bequest {
  int socket = -1, memory = -1, shared = -1;
  long long clock_ns = 0, host_ns = 0;
};

std::optional<Bequest> bequest_in(const char* text) {
  Bequest left;
  const bool whole = text && std::sscanf(text, "%d,%d,%d,%lld,%lld", &left.socket, &left.memory,
                                         &left.shared, &left.clock_ns, &left.host_ns) == 5;
  return whole ? std::optional(left) : std::nullopt;
}

std::optional<Bequest> own_bequest() { return bequest_in(std::getenv(kLineVariable)); }

void close_all(const Bequest& left) {
  for (const int each : {left.socket, left.memory, left.shared}) ::close(each);
}

/// Null if it is none.
Region* share_region(int memory) {
  struct ::stat facts {};
  if (::fstat(memory, &facts) != 0 || facts.st_size != static_cast<off_t>(sizeof(Region)))
    return nullptr;
  void* const at = ::mmap(nullptr, sizeof(Region), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_NORESERVE, memory, 0);
  if (at == MAP_FAILED) return nullptr;
  auto* const region = static_cast<Region*>(at);
  if (region->version == Region::kVersion) return region;
  ::munmap(at, sizeof(Region));
  return nullptr;
}

/// Whoever waits at a channel was woken by nobody of its own process.
constexpr std::uint32_t kNoRing = ~std::uint32_t{0};

Record woken_at(std::int64_t ns) {
  Record record;
  record.act = Act::kWoken;
  record.word[0] = kNoRing;
  record.word[1] = 1;
  record.word[3] = static_cast<std::uint64_t>(ns);
  return record;
}

}  // namespace

// --- by fork ------------------------------------------------------------------------------------

/// Threads of other purposes, and processes in real time, have children in real time.
struct ForkHandlers {
  ForkHandlers() { ::pthread_atfork(Link::before_fork, Link::after_fork, Link::begin_child); }
};
static const ForkHandlers fork_handlers;

Line Link::line_of_child(std::int32_t rank) {
  const auto own = static_cast<std::uint64_t>(::getpid());
  Record record;
  record.act = Act::kFork;
  record.flags = kAnswerWanted;
  record.word[0] = own << 32 | ++made_;
  Line line = open_line(record.word[0], rank);
  Speaker& me = speaker();
  if (me.keeper) me.keeper->let_go();
  write(me, record);
  answered(me);
  return line;
}

void Link::before_fork() {
  Link* const link = opened();
  if (!link) return;
  link->forking_.lock();
  if (own_speaker && own_speaker->ring && link->is_of_process())
    link->of_child_ = link->line_of_child(link->region_->rank);
  link->threads_lock_.lock();
  link->texts_lock_.lock();
}

void Link::after_fork() {
  Link* const link = opened();
  if (!link) return;
  link->texts_lock_.unlock();
  link->threads_lock_.unlock();
  if (link->of_child_) ::munmap(link->of_child_->region, sizeof(Region));
  link->of_child_.reset();
  link->forking_.unlock();
}

void Link::begin_child() {
  Link* const link = opened();
  if (!link) return;
  if (link->of_child_) return link->become_child();
  // The parent's line is its own: the engine sees its end when the parent is gone.
  ::close(std::exchange(link->socket_, -1));
  ::close(std::exchange(link->shared_file_, -1));
  only_.store(nullptr);
  own_speaker = nullptr;
  helper_speaker = nullptr;
  is_helper_thread = false;
}

/// Of the parent's threads this one is left.
void Link::become_child() {
  texts_lock_.unlock();
  threads_lock_.unlock();
  const Speaker& parent = *own_speaker;
  const std::int64_t clock_ns = parent.clock_ns, host_ns = parent.host_ns;
  const Region* const old = region_;
  Line line = std::move(*std::exchange(of_child_, std::nullopt));
  ::close(std::exchange(socket_, -1));
  line.region->arena.take_over(old->arena);
  line.region->pid.store(::getpid());
  use(std::move(line));
  ::munmap(const_cast<Region*>(old), sizeof(Region));
  numbers_.store(0);
  free_rings_.clear();
  for (std::atomic<std::uint16_t>& count : waiting_) count.store(0);
  speakers_ = std::make_unique<Speaker[]>(Region::kThreads);
  Speaker& first = take_ring();
  first.clock_ns = clock_ns;
  first.host_ns = host_ns;
  first.draws = made_.load() << 16;
  first.cpu_ns = real_ns(CLOCK_THREAD_CPUTIME_ID);
  made_.store(0);
  enter(first);
  helper_speaker = nullptr;
  begin_telling(region_->stacks);
  forking_.unlock();
}

// --- by another program -------------------------------------------------------------------------

void Link::disinherit() {
  if (const auto left = own_bequest()) close_all(*left);
  ::unsetenv(kLineVariable);
}

std::string Link::bequeath(std::int32_t rank) {
  Line line = line_of_child(rank >= 0 ? rank : region_->rank);
  ::munmap(line.region, sizeof(Region));
  for (const Descriptor* each : {&line.socket, &line.memory, &line.shared})
    ::fcntl(each->get(), F_SETFD, 0);
  std::string text = kLineVariable;
  for (const std::int64_t each :
       {std::int64_t{line.socket.release()}, std::int64_t{line.memory.release()},
        std::int64_t{line.shared.release()}, own_speaker->now_ns(), own_speaker->host_ns})
    text += (text.back() == 'E' ? '=' : ',') + std::to_string(each);
  return text;
}

void Link::take_back(const std::string& bequest) {
  if (const auto left = bequest_in(bequest.c_str() + bequest.find('=') + 1)) close_all(*left);
}

bool Link::inherits() {
  const auto left = own_bequest();
  if (!left) return false;
  // A wrapper may have started another program before, whose line it is.
  Region* const region = share_region(left->memory);
  const bool is_free = region && region->pid.load() == 0;
  if (region) ::munmap(region, sizeof(Region));
  return is_free;
}

std::optional<Line> Link::inherited_line() {
  if (!inherits()) return std::nullopt;
  const auto left = own_bequest();
  Line line{Descriptor(left->socket), Descriptor(left->memory), Descriptor(left->shared),
            share_region(left->memory)};
  for (const Descriptor* each : {&line.socket, &line.memory, &line.shared})
    ::fcntl(each->get(), F_SETFD, FD_CLOEXEC);
  line.region->pid.store(::getpid());
  return line;
}

void Link::enter_inherited() {
  const auto left = own_bequest();
  Speaker& first = take_ring();
  first.clock_ns = left->clock_ns;
  first.host_ns = left->host_ns;
  first.cpu_ns = real_ns(CLOCK_THREAD_CPUTIME_ID);
  enter(first);
  ::unsetenv(kLineVariable);
}

// --- by what processes hand each other ----------------------------------------------------------

void Link::go_on_from(std::int64_t ns) {
  Speaker& me = *own_speaker;
  if (ns <= me.now_ns()) return;
  show_jump();
  write(me, woken_at(ns));
  me.clock_ns = std::max(me.clock_ns, ns);
  show_jump();
}

/// What names a channel on one machine (a port, a number of the kernel's) may name one on another, too.
std::uint64_t Link::key_in_run(std::uint64_t key) const {
  return key ^ std::uint64_t{common_->machines.own} * 0x9e3779b97f4a7c15u;
}

void Link::block_at(std::span<const AtChannel> at, std::int64_t after_ns) {
  measure();
  Speaker& me = *own_speaker;
  if (me.keeper) me.keeper->let_go();
  me.looks = 0;
  me.at.store(nullptr, std::memory_order_relaxed);
  show_jump();
  const std::lock_guard guard(threads_lock_);
  for (const AtChannel& one : at) {
    const bool serves = one.serves && one.channel->meets.load() != Channel::Meets::kNotKnown;
    Record record;
    record.act = Act::kWaitsFor;
    record.word[0] = key_in_run(one.key);
    record.word[1] = one.wakes;
    record.word[2] = serves ? 1 : 0;
    if (serves) in_turn_.store(true, std::memory_order_relaxed);
    write(me, record);
  }
  Record record;
  record.act = Act::kIdle;
  if (after_ns > 0) {
    record.flags = kAnswerWanted;
    record.word[0] = static_cast<std::uint64_t>(after_ns);
    me.timed = true;
  }
  // It looks from time to time; whoever wakes it says so before.
  me.ring->clocked.store(static_cast<std::int32_t>(syscall(SYS_gettid)), std::memory_order_relaxed);
  write(me, record);
  me.standing.store(Standing::kIdle, std::memory_order_release);
}

bool Link::unblock_at(std::int64_t ns) {
  Speaker& me = *own_speaker;
  std::unique_lock guard(threads_lock_);
  me.ring->clocked.store(0, std::memory_order_relaxed);
  me.standing.store(Standing::kRuns, std::memory_order_relaxed);
  const bool timed = std::exchange(me.timed, false);
  guard.unlock();
  if (!timed && ns == Channel::kNoTime) {
    go_on_from_idle(me);
    take_turn();
    show_jump();
    return true;
  }
  const std::int64_t before = me.clock_ns;
  if (!timed || !expired()) {
    Record record = woken_at(std::max<std::int64_t>(ns, 0));
    if (ns == Channel::kNoTime) record.word[1] = 0;
    write(me, record);
  }
  bool woken = true;
  if (timed) woken = answered(me).status == 0;
  me.clock_ns = std::max({me.clock_ns, before, woken ? ns : 0});
  if (woken) take_turn();
  show_jump();
  return woken;
}

void Link::take_turn() {
  if (!acts_in_turn() || !own_speaker || !own_speaker->ring) return;
  Record record;
  record.act = Act::kTurn;
  record.flags = kAnswerWanted;
  write(*own_speaker, record);
  tell_blocked(Tell::kAll);
  answered(*own_speaker);
}

void Link::wake_at(Channel& channel, std::uint64_t key) {
  if (channel.waiters.load(std::memory_order_seq_cst) == 0) return;
  Record record;
  record.act = Act::kWakes;
  record.word[0] = key_in_run(key);
  record.word[1] = channel.wakes.fetch_add(1) + 1;
  write(speaker(), record);
}

}  // namespace flopcast::live
