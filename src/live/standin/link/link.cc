#include "live/standin/link/link.h"

#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

#include "live/standin/link/teller.h"
#include "live/wire/launchers.h"
#include "live/wire/socket.h"

namespace flopcast::live {
namespace {

/// Between two looks at a thread's processor time, some 0.4 ms; and from when on work is a program's own.
constexpr std::uint64_t kLookCycles = 1'000'000;
constexpr std::int64_t kLongWorkNs = 10'000'000;

std::uint64_t cycles_now() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  return static_cast<std::uint64_t>(real_ns(CLOCK_MONOTONIC));
#endif
}

/// A launcher that has not numbered this process has not counted it either: its own variables may be those of
/// a launcher further out, which has started the whole run.
Hello own_name() {
  Hello hello{.version = Region::kVersion, .pid = ::getpid()};
  for (const LauncherVariables& launcher : kLaunchers) {
    const char* const rank = std::getenv(launcher.rank);
    if (!rank) continue;
    if (hello.rank < 0) hello.rank = static_cast<std::int32_t>(std::atoi(rank));
    const char* const ranks = std::getenv(launcher.ranks);
    if (ranks && hello.ranks == 0) hello.ranks = static_cast<std::int32_t>(std::atoi(ranks));
  }
  return hello;
}

template <typename T>
T* share(int descriptor, std::uint64_t at) {
  void* memory = ::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                        descriptor, static_cast<off_t>(at));
  return memory == MAP_FAILED ? nullptr : static_cast<T*>(memory);
}

/// Of the run that this process or the one that it was forked from is part of.
constinit std::int64_t start_of_run_ns = 0;

}  // namespace

constinit thread_local Speaker* own_speaker = nullptr;
constinit thread_local bool is_helper_thread = false;
/// Of a thread in real time that has said something.
constinit thread_local Speaker* helper_speaker = nullptr;

/// Whether the program has closed the line, by a call of the kernel itself.
bool Link::is_closed() const {
  struct ::stat facts {};
  return ::fstat(socket_, &facts) != 0 || facts.st_ino != socket_file_;
}

/// Whether either side has shut it.
bool Link::is_hung_up() const {
  pollfd state{socket_, POLLRDHUP, 0};
  const timespec now{};
  return syscall(SYS_ppoll, &state, 1L, &now, nullptr, 0L) > 0 &&
         (state.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

void Link::end_if_cut(bool waits) const {
  constexpr const char* kHint = "let it use only descriptors that it has opened";
  if (is_closed()) give_up("the program has closed its line to the simulated cluster", kHint);
  if (!is_hung_up()) return;
  if (common_->over.load(std::memory_order_acquire) == 0)
    give_up("the program's line to the simulated cluster is cut", kHint);
  if (waits) give_up("the simulated cluster is gone");
}

void Link::end_of_program(int status) {
  // A child that shares its parent's memory until it runs another program has no line.
  const Link* const link = opened();
  if (!link || !link->is_of_process()) return;
  link->end_if_cut(false);
  link->region_->ended.store(static_cast<std::uint32_t>(status & 0xff) + 1);
}

void Link::give_up(const char* what, const char* hint) {
  std::fflush(stdout);  // what it printed until now
  std::fprintf(stderr, "flopcast: error: %s (%s)\n", what, hint);
  syscall(SYS_exit_group, 3);
  std::abort();
}

/// @param child of Hello; 0: the line is this process's own
Line Link::open_line(std::uint64_t child, std::int32_t rank) {
  const char* name = std::getenv(kSocketVariable);
  if (!name) give_up("no simulated cluster is there");
  sockaddr_un address;
  const socklen_t size = socket_address(name, address);
  Line line;
  line.socket = Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!line.socket ||
      ::connect(line.socket.get(), reinterpret_cast<sockaddr*>(&address), size) != 0)
    give_up("the simulated cluster is gone");
  line.memory = Descriptor(::memfd_create("flopcast", MFD_CLOEXEC));
  if (!line.memory || ::ftruncate(line.memory.get(), sizeof(Region)) != 0)
    give_up("shared memory cannot be made");
  line.region = share<Region>(line.memory.get(), 0);
  if (!line.region) give_up("shared memory cannot be mapped");
  Hello hello = own_name();
  hello.child = child;
  if (child != 0) hello.rank = rank;
  line.region->version = hello.version;
  line.region->pid = child == 0 ? hello.pid : 0;
  line.region->rank = hello.rank;
  Hello back;
  if (!send_descriptor(line.socket.get(), &hello, sizeof hello, line.memory.get()))
    give_up("the simulated cluster is gone");
  line.shared = receive_descriptor(line.socket.get(), &back, sizeof back);
  if (!line.shared) give_up("the simulated cluster is gone, or of another version");
  if (back.version != Region::kVersion) give_up("the simulated cluster is of another version");
  return line;
}

void Link::use(Line line) {
  region_ = line.region;
  if (!common_) {
    common_ = share<Common>(line.shared.get(), 0);
    channels_ = share<Channels>(line.shared.get(), kChannelsBegin);
    if (!common_ || !channels_) give_up("shared memory cannot be mapped");
    start_of_run_ns = common_->start_ns;
    shared_file_ = line.shared.release();
  }
  struct ::stat facts {};
  if (::fstat(line.socket.get(), &facts) == 0) socket_file_ = facts.st_ino;
  socket_ = line.socket.release();
}

Link::Link() : speakers_(std::make_unique<Speaker[]>(Region::kThreads)) {
  if (std::optional<Line> line = inherited_line()) {
    use(std::move(*line));
    enter_inherited();
  } else {
    use(open_line(0, 0));
  }
  begin_telling(region_->stacks);
}

Link& Link::get() {
  // Never destroyed: threads say things until the process is gone.
  if (!only_.load(std::memory_order_acquire)) {
    const std::lock_guard guard(opening_);
    if (!only_.load(std::memory_order_relaxed)) only_.store(new Link, std::memory_order_release);
  }
  return *only_.load(std::memory_order_relaxed);
}

constinit std::atomic<Link*> Link::only_{nullptr};
constinit Spinlock Link::opening_;

Speaker& Link::speaker() {
  if (is_helper_thread) {
    if (!helper_speaker) helper_speaker = &helper();
    return *helper_speaker;
  }
  if (!own_speaker) own_speaker = &newcomer();
  return *own_speaker;
}

std::uint32_t Link::say(Record record) {
  catch_up();
  Speaker& me = speaker();
  me.polls = Outside::kNothing;
  me.looks = 0;
  return write(me, record);
}

std::uint32_t Link::write(Speaker& me, Record record) {
  // What a call into NVIDIA's libraries takes is modelled even where the rest is measured: here it does nothing.
  record.duration_ns = common_->host.of(record);
  take_measured(me);
  if (me.helper) record.flags |= kOfHelper;
  const std::int64_t host = me.gap_ns + record.duration_ns;
  const std::int64_t slept =
      record.act == Act::kSleep ? static_cast<std::int64_t>(record.word[0]) : 0;
  record.gap_ns = std::exchange(me.gap_ns, 0);
  record.number = numbers_.fetch_add(1);
  ++me.records;
  me.clock_ns += host + slept;
  me.host_ns += host;
  if (me.keeper && &me == own_speaker && me.keeper->keep(record)) return record.number;
  put(*me.ring, record);
  if (!me.keeper && record.act == Act::kKernel && (record.flags & kOfGraph) == 0)
    spend(common_->host.outside);
  return record.number;
}

void Link::spend_on_operator() {
  if (own_speaker && common_->host_factor == 0) own_speaker->gap_ns += common_->host.per_operator;
}

void Link::set_keeper(Keeper* keeper) { speaker().keeper = keeper; }

void Link::write(const Record& record) { put(*own_speaker->ring, record); }

void Link::put(Ring& ring, const Record& record) {
  ring.write(record, common_->bell, [this] { end_if_cut(true); });
}

Told Link::ask(Record record) {
  record.flags |= kAnswerWanted;
  show_jump();
  say(record);
  // Those who stand still say nothing before this thread goes on, unless somebody else wakes them.
  tell_blocked(record.act == Act::kSleep ? Tell::kLongSince : Tell::kAll);
  const Told told = answered(speaker());
  show_jump();
  return told;
}

Told Link::inquire(Record record) {
  catch_up();
  Speaker& me = speaker();
  me.polls = Outside::kNothing;
  me.looks = 0;
  const std::uint32_t cost = common_->host.call[static_cast<std::size_t>(record.act)];
  record.duration_ns = 0;
  record.flags |= kAnswerWanted;
  write(me, record);
  tell_blocked(Tell::kAll);
  const Told told = answered(me);
  if (told.value == 0) spend(std::max<std::uint32_t>(cost, 1));
  return told;
}

Told Link::look(Record record) {
  if (own_speaker || is_helper_thread) return ask(record);
  if (!helper_speaker) helper_speaker = &helper();
  record.flags |= kAnswerWanted;
  write(*helper_speaker, record);
  return answered(*helper_speaker);
}

std::int64_t Link::look_ns() {
  if (own_speaker) return now_ns();
  return helper_speaker ? helper_speaker->now_ns() : 0;
}

Told Link::consult(Record record) {
  catch_up();
  Speaker& me = speaker();
  take_measured(me);
  const std::int64_t gap_ns = std::exchange(me.gap_ns, 0);
  record.duration_ns = 0;
  record.flags |= kAnswerWanted;
  write(me, record);
  tell_blocked(Tell::kAll);
  const Told told = answered(me);
  me.gap_ns = gap_ns;
  return told;
}

Told Link::answered(Speaker& me) {
  me.move();
  Answer& answer = me.ring->answer;
  for (std::int64_t most_ns = kLongNs; answer.count.load(std::memory_order_acquire) == me.answers;
       most_ns = kAnswerLookNs) {
    futex_wait(answer.count, me.answers, most_ns);
    tell_blocked(Tell::kLongSince);
    if (most_ns == kAnswerLookNs) end_if_cut(true);
  }
  end_if_cut(false);
  ++me.answers;
  // Host times are whole nanoseconds: what a wait adds below that is the engine's to keep.
  me.clock_ns = answer.time_ps / 1000;
  return {answer.status, answer.value};
}

/// Of the processor since it was looked at last.
static std::int64_t processor_ns(Speaker& me) {
  const std::int64_t now = real_ns(CLOCK_THREAD_CPUTIME_ID);
  // A child by vfork, which is this thread but for its clock until it becomes another program.
  if (now < me.cpu_ns) return 0;
  return now - std::exchange(me.cpu_ns, now);
}

void Link::take_measured(Speaker& me) const {
  if (&me != own_speaker) return;  // another stands still
  if (common_->host_factor == 0) return notice_work(me, me.own_work == 0);
  const std::int64_t taken = processor_ns(me);
  if (me.own_work == 0)
    me.gap_ns += static_cast<std::int64_t>(static_cast<double>(taken) * common_->host_factor);
}

/// Before this thread says or is told what time it is: it may have stood still in a call that nobody watches.
void Link::catch_up() {
  Speaker* const me = own_speaker;
  if (!me || !me->ring) return;
  if (me->ring->left_behind.load(std::memory_order_relaxed) == 0) return;
  me->ring->left_behind.store(0, std::memory_order_relaxed);
  go_on_from_idle(*me);
}

/// Looks at the processor's clock, which takes longer than a record, only where cycles say that something may be to be seen.
void Link::notice_work(Speaker& me, bool of_program) const {
  const std::uint64_t cycles = cycles_now();
  if (cycles - me.cycles < kLookCycles) return;
  me.cycles = cycles;
  const std::int64_t taken = processor_ns(me);
  if (!of_program || me.helper || taken < kLongWorkNs || !region_) return;
  HostWork& work = region_->host_work;
  const std::uint32_t place = work.count.fetch_add(1, std::memory_order_relaxed);
  if (place < HostWork::kMost) work.stretches[place] = {me.now_ns(), taken};
}

void Link::measure() {
  Link* const link = own_speaker ? opened() : nullptr;
  if (link) link->catch_up();
  if (link && link->common_->host_factor != 0) link->take_measured(*own_speaker);
}

void Link::own_work(bool begins) {
  if (!own_speaker) return;
  take_measured(*own_speaker);
  own_speaker->own_work += begins ? 1 : -1;
}

std::uint32_t Link::number(std::string_view text) {
  const std::lock_guard lock(texts_lock_);
  const auto [found, made] = texts_.try_emplace(std::string(text), 0);
  if (made) found->second = region_->arena.add(text).value_or(0);
  return found->second;
}

void Link::fills(std::uint16_t device, std::uint64_t bytes) {
  if (device >= Region::kDevices) return;
  std::atomic<std::uint64_t>& most = region_->most_memory[device];
  std::uint64_t known = most.load(std::memory_order_relaxed);
  while (known < bytes && !most.compare_exchange_weak(known, bytes)) {
  }
}

std::string_view Link::text(std::uint32_t number) const {
  return region_->arena.text(number).value_or(std::string_view());
}

void Link::spend(std::int64_t nanoseconds) {
  if (common_->host_factor == 0) speaker().gap_ns += nanoseconds;
}

std::int64_t Link::start_ns() { return start_of_run_ns; }

bool Link::is_own(const void* address) const {
  const auto lies_in = [address](const void* begin, std::size_t bytes) {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    return at - reinterpret_cast<std::uintptr_t>(begin) < bytes;
  };
  return lies_in(region_, sizeof *region_) || lies_in(common_, sizeof *common_) ||
         lies_in(channels_, sizeof *channels_);
}

std::int64_t Link::now_ns() {
  catch_up();
  Speaker& me = speaker();
  take_measured(me);
  return me.now_ns();
}

}  // namespace flopcast::live
