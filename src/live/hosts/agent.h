// A machine of a run whose engine is on another one: to the processes here it is what the daemon is there.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "flopcast/base.h"
#include "live/engine/daemon/door.h"
#include "live/engine/daemon/quiet.h"
#include "live/hosts/connection.h"
#include "live/hosts/frames.h"
#include "live/hosts/gateway.h"
#include "live/hosts/post_office.h"
#include "live/wire/region.h"

namespace flopcast::live {

/// How the engine has ended a run.
struct EndOfRun {
  bool well = false;
  std::string why;  ///< empty where it has ended well
};

class Agent {
 public:
  /// Finds the engine. Errors: nobody is there, or sends this one away.
  static Result<std::unique_ptr<Agent>> join(const MachineGroup& group,
                                             const std::function<bool()>& stop);
  ~Agent();
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  /// Value of FLOPCAST_LIVE_SOCKET for the processes of this machine.
  const std::string& name() const { return door_->name(); }
  /// The program's own store, on the first machine.
  std::uint16_t port() const { return welcome_.port; }
  /// The interface by which the others come.
  std::string interface() const;

  /// Tells the engine what was written here, and does what it asks for; sleeps, a millisecond at most, if there was nothing.
  void step();
  /// How it has ended; none: it has not. Where the engine is lost, that is an end, too.
  std::optional<EndOfRun> end();
  /// A process that was started here has ended. The engine is told when it has heard all that it wrote.
  void tell_ending(std::size_t process, int status, const std::string& last_line);
  void tell_stopped();
  /// All processes of this machine have ended. @param remarks functions that are not there and that they called
  void leave(const std::vector<std::string>& remarks);

 private:
  /// A process of this machine.
  struct Line {
    explicit Line(Caller caller) : who(std::move(caller)), region(who.region.get()) {}
    Caller who;
    Region* region;
    std::uint32_t number = 0;
    bool left = false;                          ///< it has closed its line, and the engine knows
    bool overwritten = false;                   ///< the engine has been told so
    std::uint32_t texts = 0;                    ///< told of its arena
    std::uint32_t sent[Region::kThreads] = {};  ///< records of each ring
    std::atomic<std::uint32_t> taken[Region::kThreads] = {};  ///< of those, by the engine
    std::uint32_t looked[Watch::kPlaces] = {};  ///< of its watchdogs, as it was told last
    std::atomic<std::uint32_t> asked{0};        ///< where threads are
    std::uint32_t told = 0;
    /// As Daemon::Peer has it.
    pid_t pid() const {
      const pid_t own = region->pid.load(std::memory_order_relaxed);
      return own > 0 ? own : who.hello.pid;
    }
  };
  explicit Agent(std::unique_ptr<Connection> connection) : connection_(std::move(connection)) {}
  std::optional<Diagnostic> prepare(const MachineGroup& group);
  // By the thread that hears the engine.
  void hear_all();
  bool hear(std::vector<std::byte> bytes);
  bool hear_of_line(FrameReader& frame);
  static bool hear_question(Line& line, FrameReader& frame);
  void lose(std::string why);
  // By step()'s.
  bool tell_all();
  bool take_records(Line& line, std::vector<FrameWriter>& frames);
  void tell_new_lines();
  void tell_texts(Line& line);
  void tell_places(Line& line);
  void tell_stacks(Line& line);
  bool tell_who_leaves();
  void tell_state(const Line& line);
  void answer(const std::vector<std::byte>& question);
  void answer_walk(std::uint32_t question);
  bool anything_to_do();
  std::vector<Line*> lines();
  void send(FrameWriter& frame) { connection_->send(frame); }

  std::unique_ptr<Connection> connection_;
  WelcomeFrame welcome_;
  std::unique_ptr<Door> door_;
  std::optional<PostOffice> office_;
  Quiet quiet_;
  std::chrono::steady_clock::time_point looked_;  ///< who leaves
  std::chrono::steady_clock::time_point told_readers_;
  std::vector<FrameWriter> endings_;  ///< that the engine has not been told
  std::mutex lock_;
  std::vector<std::unique_ptr<Line>> lines_;  ///< by number; under the lock, as all below
  std::size_t told_lines_ = 0;                ///< the first of them that the engine does not know
  std::deque<std::vector<std::byte>> questions_;
  std::optional<EndOfRun> end_;
  std::thread hears_;
};

}  // namespace flopcast::live
