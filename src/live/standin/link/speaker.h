// What a thread of the application knows of itself, and what other threads of its process may know of it.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <ctime>

#include "live/wire/ring.h"

namespace flopcast::live {

/// A point on a thread's line of time, as another thread takes it over.
struct Moment {
  std::int64_t ns = 0;        ///< since the start of the run
  std::uint32_t ring = 0;     ///< of the thread
  std::uint32_t records = 0;  ///< that it had written by then
  std::int64_t after_ns = 0;  ///< since the end of the last of them
};

/// Whether a thread can go on, and who knows.
enum class Standing : std::uint32_t {
  kRuns,
  kBlocked,  ///< another thread must do something first; the engine takes it for running
  kForLock,  ///< the same, but not for long: who holds a lock lets go of it, or it was woken already
  kOutside,    ///< the same, and it waits for something that is not of the run
  kBeingTold,  ///< another thread is telling the engine
  kIdle,       ///< the engine knows: nothing comes from it until it is woken
};

/// What is not of the run, and is looked for again and again.
enum class Outside : std::uint8_t {
  kNothing,
  kChild,   ///< the end of a child process
  kServer,  ///< somebody to connect to
  kPeer,    ///< what another rank says
};

/// Keeps records of its thread back until more is known of them. Their numbers, gaps and times are already theirs.
class Keeper {
 public:
  virtual ~Keeper() = default;
  /// @return whether it keeps the record. If not, all that it has kept must have been written
  virtual bool keep(const Record& record) = 0;
  /// Writes all that it has kept: the thread may stand still for long.
  virtual void let_go() = 0;
};

/// A thread in virtual time. Its numbers are its own, but while it stands still others speak for it, under
/// the lock of its process's threads.
struct Speaker {
  Ring* ring = nullptr;           ///< null: nobody listens (a child of a rank)
  std::uint32_t index = 0;        ///< of the ring
  std::uint32_t records = 0;      ///< written in the ring, by those who had it before too
  std::uint32_t answers = 0;      ///< taken from it
  std::int64_t clock_ns = 0;      ///< end of the last record
  std::int64_t gap_ns = 0;        ///< host time since
  std::int64_t host_ns = 0;       ///< host time of all records
  std::int64_t cpu_ns = 0;        ///< of the processor, when it was measured last
  std::uint64_t cycles = 0;       ///< then, where host time is modelled
  int own_work = 0;               ///< works for the stand-ins, so many deep: that is not measured
  std::uint64_t name = 0;         ///< who made it and in which order
  std::uint32_t made = 0;         ///< threads that it made
  std::uint32_t draws = 0;        ///< of the system's random numbers
  std::uint32_t looks = 0;        ///< at clocks, and nothing else
  bool looks_for_others = false;  ///< between them, at what other processes may do
  bool helper = false;            ///< lives in real time
  bool timed = false;             ///< stands still until a time, and was not woken
  Outside polls = Outside::kNothing;  ///< has just looked whether it is there, in vain
  bool again = false;                 ///< has not got the lock of the interpreter, and asks again
  bool told = false;                  ///< and the engine took it for standing still
  const void* last_lock = nullptr;    ///< mutex that it locked last
  Keeper* keeper = nullptr;           ///< of records that the thread itself writes

  std::atomic<std::uint32_t> moves{
      0};  ///< mutexes that it locked, changes that it announced, waits that it began, questions
  std::atomic<bool> in_use{false};
  std::atomic<Standing> standing{Standing::kRuns};
  std::atomic<const void*> at{nullptr};  ///< what it waits for
  std::atomic<std::uint32_t> notified{
      0};  ///< so often others have announced that, whoever was woken by it
  std::atomic<std::int64_t> since_ns{0};  ///< of real time

  std::int64_t now_ns() const { return clock_ns + gap_ns; }
  /// This thread itself says so.
  std::uint32_t move() {
    const std::uint32_t now = moves.load(std::memory_order_relaxed) + 1;
    moves.store(now, std::memory_order_release);
    return now;
  }
};

/// How long a thread stands still before others tell the engine, though it only waits for a lock.
inline constexpr std::int64_t kLongNs = 20'000'000;
/// How long it stands still before it tells the engine itself: nobody of the run seems to be about to wake it.
inline constexpr std::int64_t kTooLongNs = 1'000'000'000;

/// A clock of the system, as it is.
inline std::int64_t real_ns(clockid_t clock) {
  timespec now{};
  syscall(SYS_clock_gettime, clock, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

/// This thread, if it lives in virtual time.
extern constinit thread_local Speaker* own_speaker __attribute__((tls_model("initial-exec")));
/// It serves the program's libraries and lives in real time. What it says to the engine takes no time.
extern constinit thread_local Speaker* helper_speaker;  ///< what it says is said by this one
extern constinit thread_local bool is_helper_thread __attribute__((tls_model("initial-exec")));

}  // namespace flopcast::live
