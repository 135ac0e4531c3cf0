#include "live/link/link.h"

#include <pthread.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <new>
#include <utility>

#include "live/wire/socket.h"

namespace flopcast::live {
namespace {

[[noreturn]] void give_up(const char* what) {
  std::fprintf(stderr, "flopcast: error: %s (start this program by `flopcast run`)\n", what);
  std::_Exit(3);
}

/// The first of these variables that is set, as a number; `otherwise` if none is.
std::int32_t number_of(std::initializer_list<const char*> variables, std::int32_t otherwise) {
  for (const char* name : variables) {
    if (const char* text = std::getenv(name)) return static_cast<std::int32_t>(std::atoi(text));
  }
  return otherwise;
}

/// As launchers number processes: torchrun, Open MPI, MPICH, Slurm.
Hello own_name() {
  return {Region::kVersion, ::getpid(),
          number_of({"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"}, -1),
          number_of({"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"}, 0)};
}

template <typename T>
T* share(int descriptor) {
  void* memory =
      ::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<T*>(memory);
}

}  // namespace

/// What a thread knows of itself.
struct Link::Speaker {
  Ring* ring = nullptr;
  std::int64_t clock_ns = 0;  ///< end of the last record
  std::int64_t gap_ns = 0;    ///< host time since
  std::uint32_t answers = 0;  ///< taken so far
};

Link::Link() {
  const char* name = std::getenv(kSocketVariable);
  if (!name) give_up("no simulated cluster is there");
  sockaddr_un address;
  const socklen_t size = socket_address(name, address);
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket || ::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), size) != 0)
    give_up("the simulated cluster is gone");
  const Descriptor memory(::memfd_create("flopcast", MFD_CLOEXEC));
  if (!memory || ::ftruncate(memory.get(), sizeof(Region)) != 0)
    give_up("shared memory cannot be made");
  region_ = share<Region>(memory.get());
  if (!region_) give_up("shared memory cannot be mapped");
  const Hello hello = own_name();
  region_->version = hello.version;
  region_->pid = hello.pid;
  region_->rank = hello.rank;
  Hello back;
  if (!send_descriptor(socket.get(), &hello, sizeof hello, memory.get()))
    give_up("the simulated cluster is gone");
  Descriptor common = receive_descriptor(socket.get(), &back, sizeof back);
  if (!common || back.version != Region::kVersion)
    give_up("the simulated cluster is of another version");
  common_ = share<Common>(common.get());
  if (!common_) give_up("shared memory cannot be mapped");
  shared_file_ = common.release();
  socket_ = socket.release();
}

Link& Link::get() {
  // Never destroyed: threads say things until the process is gone.
  static Link* const link = [] {
    Link* const made = new Link;
    only_ = made;
    ::pthread_atfork(nullptr, nullptr, [] { only_->fall_silent(); });
    return made;
  }();
  return *link;
}

Link* Link::only_ = nullptr;

/// In a process that was forked from one with a line: the rings are the parent's, and so is the socket, whose end
/// says that the parent is gone. As with CUDA itself, such a process has no GPU before it runs another program.
void Link::fall_silent() {
  silent_ = true;
  ::close(std::exchange(socket_, -1));
}

Link::Speaker& Link::speaker() {
  static thread_local Speaker speaker;
  if (!speaker.ring) {
    const std::uint32_t index = region_->threads.fetch_add(1);
    if (index >= Region::kThreads) give_up("a process has more threads than can be followed (256)");
    speaker.ring = &region_->rings[index];
  }
  return speaker;
}

void Link::say(Record record) {
  if (silent_) return;
  Speaker& me = speaker();
  record.gap_ns = me.gap_ns;
  record.number = numbers_.fetch_add(1);
  me.clock_ns += me.gap_ns + record.duration_ns;
  me.gap_ns = 0;
  me.ring->write(record, common_->bell);
}

Told Link::ask(Record record) {
  if (silent_) return {ECHILD, 0};
  record.flags |= kAnswerWanted;
  say(record);
  return answered();
}

Told Link::consult(Record record) {
  Speaker& me = speaker();
  const std::int64_t gap_ns = std::exchange(me.gap_ns, 0);
  record.duration_ns = 0;
  const Told told = ask(record);
  me.gap_ns = gap_ns;
  return told;
}

Told Link::answered() {
  Speaker& me = speaker();
  Answer& answer = me.ring->answer;
  while (answer.count.load(std::memory_order_acquire) == me.answers)
    futex_wait(answer.count, me.answers);
  ++me.answers;
  // Host times are whole nanoseconds: what a wait adds below that is the engine's to keep.
  me.clock_ns = answer.time_ps / 1000;
  return {answer.status, answer.value};
}

std::uint32_t Link::number(std::string_view text) {
  const std::lock_guard lock(texts_lock_);
  const auto [found, made] = texts_.try_emplace(std::string(text), 0);
  if (made) found->second = region_->arena.add(text).value_or(0);
  return found->second;
}

void Link::fills(std::uint16_t device, std::uint64_t bytes) {
  if (silent_ || device >= Region::kDevices) return;
  std::atomic<std::uint64_t>& most = region_->most_memory[device];
  std::uint64_t known = most.load(std::memory_order_relaxed);
  while (known < bytes && !most.compare_exchange_weak(known, bytes)) {
  }
}

void Link::spend(std::int64_t nanoseconds) { speaker().gap_ns += nanoseconds; }

std::int64_t Link::now_ns() {
  const Speaker& me = speaker();
  return me.clock_ns + me.gap_ns;
}

}  // namespace flopcast::live
