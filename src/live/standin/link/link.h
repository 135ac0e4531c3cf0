// The process's line to the engine: what its threads do goes out, answers come in, and every thread keeps its own
// virtual time.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "live/standin/link/speaker.h"
#include "live/standin/link/spinlock.h"
#include "live/wire/channel.h"
#include "live/wire/region.h"
#include "live/wire/socket.h"

namespace flopcast::live {

/// An answer as the thread that waited sees it.
struct Told {
  std::uint32_t status = 0;
  std::uint64_t value = 0;
};

/// A line that somebody may take.
struct Line {
  Descriptor socket, memory, shared;  ///< to the engine, of the region, of all processes
  Region* region = nullptr;
};

/// A channel where a thread is about to stand still.
struct AtChannel {
  Channel* channel = nullptr;
  std::uint64_t key = 0;
  std::uint32_t wakes = 0;  ///< that it knows of
  bool serves = false;      ///< of a connection or counter: processes that have one act in turn
};

/// Which threads that stand still the engine is told of.
enum class Tell : std::uint8_t {
  kAll,       ///< but those that wait for a lock only where that takes long
  kLongSince  ///< who has stood still for long
};

/// Of a profiler: called before and after a thread's time jumps, because it sleeps, waits, or takes over another's.
inline std::atomic<void (*)()> at_jumps{nullptr};
inline void show_jump() {
  if (void (*const show)() = at_jumps.load(std::memory_order_relaxed)) show();
}

class Link {
 public:
  /// The line of this process. Opened at the first call; a process that nobody listens to ends with a
  /// line that says so, since nothing it would print could be true.
  static Link& get();
  /// The same where it is open already; else null.
  static Link* opened() { return only_.load(std::memory_order_acquire); }
  /// Whether it is this process's: a child that shares its parent's memory until it runs another program has none.
  bool is_of_process() const { return ::getpid() == region_->pid.load(std::memory_order_relaxed); }

  /// Says what this thread does. Host time since the last record is added to it. @return its number
  std::uint32_t say(Record record);
  /// Says it and waits. The thread's time is then the answer's.
  Told ask(Record record);
  /// Asks whether something has ended. Only the answer that it has not takes host time: a thread that looks again and
  /// again gets on, and how often others have looked first shows nowhere.
  Told inquire(Record record);
  /// Asks what goes on. A process that only watches the run stays none of it.
  Told look(Record record);
  /// Time of who has just looked.
  std::int64_t look_ns();
  /// Says it and waits, but it is no part of the program: host time that has passed belongs to the
  /// record that follows.
  Told consult(Record record);
  /// Records of this thread go to a keeper, or (null) no longer.
  void set_keeper(Keeper* keeper);
  /// Writes a record that a keeper of this thread kept.
  void write(const Record& record);
  /// The number of a text in the records of this process; 0 where there is no room left.
  std::uint32_t number(std::string_view text);
  /// The text of such a number; empty for 0.
  std::string_view text(std::uint32_t number) const;

  /// So much of a device's memory is taken now.
  void fills(std::uint16_t device, std::uint64_t bytes);

  /// The host has computed for so long, in modelled time.
  void spend(std::int64_t nanoseconds);
  /// This thread's framework has passed an operator.
  void spend_on_operator();
  /// Where host time is measured: what this thread has computed until now is in its time.
  static void measure();
  /// The same, but until the matching end this thread works for the stand-ins, which takes the program no time. They nest.
  void own_work(bool begins);
  /// This thread's virtual time, since the start of the run.
  std::int64_t now_ns();
  /// Host time that the threads of this process have taken.
  std::int64_t host_ns() const;
  /// What the engine is told of reads of this process.
  TaintedReads& tainted_reads() { return region_->tainted; }
  /// How this process's watchdogs see the run's time.
  Watch& watch() { return region_->watch; }
  const Common& common() const { return *common_; }
  /// The file that all processes of the run share (mail.h).
  Common& shared() { return *common_; }
  int shared_file() const { return shared_file_; }
  Channels& channels() { return *channels_; }
  /// Descriptors of the line: a program that closes all it has does not mean them.
  std::array<int, 2> descriptors() const { return {socket_, shared_file_}; }
  bool is_own(int descriptor) const {
    return descriptor >= 0 && (descriptor == socket_ || descriptor == shared_file_);
  }
  /// When virtual time began, since 1970; also in a child process, which has no line yet.
  static std::int64_t start_ns();
  /// Ends a program whose line is cut: nothing that it would print could be true. Asked wherever it waits for the engine
  /// or has an answer, and at its end.
  /// @param waits for something that only the engine could say
  void end_if_cut(bool waits) const;
  /// Ends a program that does what this run cannot follow: nothing that it would print could be true.
  [[noreturn]] static void refuse(const char* what, const char* hint) { give_up(what, hint); }
  /// At the end of this process, which may have said its last before the line was cut.
  static void end_of_program(int status);
  /// Whether the engine shares this memory.
  bool is_own(const void* address) const;
  /// The thread that has this ring, or had it last.
  const Speaker& speaker_of(std::uint32_t ring) const { return speakers_[ring]; }

  // --- children: link/children.cc ---

  /// Whether the program that started this one, and lives in virtual time, has left a line for it.
  static bool inherits();
  /// The line is closed: this program lives in real time.
  static void disinherit();
  /// Called by whoever, in virtual time, is about to become another program in a process of its own: the line of that
  /// program, as the setting of its environment. The descriptors that it names stay open there.
  /// @param rank as the program's environment has it; -1: this process's
  std::string bequeath(std::int32_t rank);
  /// The other program did not start.
  static void take_back(const std::string& bequest);
  /// This thread does not go on before a time that another process has left.
  void go_on_from(std::int64_t ns);
  /// This thread stands still until another process puts something into one of these, or takes it out; or for so long (0: as
  /// long as it takes).
  void block_at(std::span<const AtChannel> at, std::int64_t after_ns);
  /// It goes on. @param ns when what it has found was put there; Channel::kNoTime: nobody of the run did
  /// @return false if its time has come
  bool unblock_at(std::int64_t ns);
  /// This thread has waited and may go on: when it is its turn, where the threads of this process act in turn.
  void take_turn();
  bool acts_in_turn() const { return in_turn_.load(std::memory_order_relaxed); }
  /// Those who stand still at the channel are woken by this thread, before they really are.
  void wake_at(Channel& channel, std::uint64_t key);

  // --- threads: link/threads.cc ---

  /// The thread that this one is about to start: it begins now, and the engine knows.
  Speaker& make_thread();
  /// This is that thread.
  static void enter(Speaker& speaker);
  /// It has ended, or was not started after all. @return where
  Moment end_thread(Speaker& speaker);

  /// Where this thread is.
  static Moment moment();
  /// This thread does not go on before: what it does next comes after what the other had done.
  void go_on_after(const Moment& moment);

  /// This thread stands still. Nothing is told: while others of the process run, nobody has to know.
  void block(Standing why, const void* at);
  /// It goes on.
  void unblock();
  /// The engine is told that this thread stands still.
  void tell_own();
  /// The engine is told of others that do.
  void tell_blocked(Tell which);
  /// Those who wait for this can count what is announced: who waits piece by piece must not miss one in between.
  void note(const void* at);
  /// Those who wait for this (or one of them) are woken by this thread: they run from now on, in its time if the
  /// engine was told that they stand still, however long it takes until they really do.
  void wake(const void* at, bool all);
  /// The same by a thread in real time, for those who stand still until a time: they go on where the run is.
  void wake_from_outside(const void* at, bool all);

  /// This thread stands still, and goes on by itself when nobody can do anything before `after_ns` from now.
  void block_until(std::int64_t after_ns, const void* at);
  /// Whether that has come.
  bool expired() const;
  /// It goes on. @return whether it was woken; else its time has come
  bool unblock_timed();

 private:
  Link();
  Speaker& speaker();
  Speaker& newcomer();
  Speaker& helper();
  std::uint32_t write(Speaker& speaker, Record record);
  Told answered(Speaker& speaker);
  void take_measured(Speaker& speaker) const;
  void notice_work(Speaker& speaker, bool of_program) const;
  bool tell(Speaker& speaker, Standing was);
  std::atomic<std::uint16_t>& waiting_for(const void* at);
  Speaker& take_ring();
  void go_on_from_idle(Speaker& speaker);
  void catch_up();
  static Moment moment_of(const Speaker& speaker);
  static Line open_line(std::uint64_t child, std::int32_t rank);
  static std::optional<Line> inherited_line();
  void use(Line line);
  Line line_of_child(std::int32_t rank);
  void enter_inherited();
  static void before_fork();
  static void after_fork();
  static void begin_child();
  void become_child();
  std::uint64_t key_in_run(std::uint64_t key) const;
  friend struct ForkHandlers;
  void put(Ring& ring, const Record& record);
  bool is_closed() const;
  bool is_hung_up() const;
  [[noreturn]] static void give_up(const char* what,
                                   const char* hint = "start this program by `flopcast run`");

  Common* common_ = nullptr;
  Region* region_ = nullptr;
  int shared_file_ = -1;
  static std::atomic<Link*> only_;
  static Spinlock opening_;
  Channels* channels_ = nullptr;
  Spinlock forking_;
  std::optional<Line> of_child_;        ///< while a thread forks
  std::atomic<std::uint32_t> made_{0};  ///< children
  std::atomic<bool> in_turn_{false};
  int socket_ = -1;        ///< open as long as the process lives: the engine sees when it is gone
  ino_t socket_file_ = 0;  ///< what it was: another under its number is no line
  std::atomic<std::uint32_t> numbers_{0};
  std::mutex texts_lock_;
  std::unordered_map<std::string, std::uint32_t> texts_;

  Spinlock threads_lock_;
  std::vector<std::uint32_t> free_rings_;  ///< under the lock: of threads that have ended
  std::atomic<std::uint16_t> waiting_[256] =
      {};                                ///< threads that stand still, by what they wait for
  std::unique_ptr<Speaker[]> speakers_;  ///< by ring
};

}  // namespace flopcast::live
