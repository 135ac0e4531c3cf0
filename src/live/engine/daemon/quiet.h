// Whether anything outside of virtual time is going on: the processes of a run do what takes real time, and while they do,
// nobody's time is up.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "live/wire/region.h"

namespace flopcast::live {

/// A thread that runs or may run.
struct BusyThread {
  pid_t root = 0;  ///< the process of the run that it belongs to, or that has started its process
  pid_t process = 0, thread = 0;
  bool of_root() const { return root == process; }
};

/// What one walk over all threads saw.
struct Sight {
  bool busy = false;
  std::uint64_t runs = 0;  ///< how often each thread has run, in one number
};

class Quiet {
 public:
  /// Whether no thread of these processes, and of those that they or this one started, has anything to do: all stood still at one
  /// moment of the call, and what one of them had sent to another had arrived. A thread that has computed without a break
  /// for a minute counts no longer: whatever it does, nobody is waiting for it to stop.
  /// @param clocked threads that stand still until a time of the run: they look again and again whether it has come
  bool look(const std::vector<pid_t>& processes, const std::unordered_set<pid_t>& clocked);
  /// One walk. Where threads are on several machines, all stood still if nobody was busy and nobody ran between a first walk on
  /// each of them and a second one that began when all first ones were over.
  Sight see(const std::vector<pid_t>& processes, const std::unordered_set<pid_t>& clocked);
  /// Who had something to do when it looked last.
  const std::vector<BusyThread>& busy() const { return busy_; }

 private:
  using Clock = std::chrono::steady_clock;
  std::vector<BusyThread> busy_;
  std::unordered_map<pid_t, Clock::time_point>
      busy_since_;  ///< threads that the last walk found so
};

/// Adds threads of a process that stand still until a time of the run.
void add_clocked(Region& region, std::unordered_set<pid_t>& clocked);

/// Whether something that was sent from this machine to another of the run has not arrived there, or the other is not reached yet: a
/// message between machines is on its way though nobody runs.
bool is_sending(const Machines& machines);
/// The same of a line of the kernel's tables of connections: "0: own peer state sent:got ...", of one of this user's. The run's own
/// connections are none of the program's.
bool is_under_way(const std::string& line, const Machines& machines);

/// What a thread has done so far.
struct ThreadTimes {
  bool busy = false;         ///< it runs or may run now, or waits for a disk
  std::uint64_t cpu_ns = 0;  ///< that it has run
  std::uint64_t runs = 0;    ///< how often it was let run
};
/// None if it is gone.
std::optional<ThreadTimes> times_of(pid_t process, pid_t thread);
/// Whether a process has ended, or is about to: it runs no program any more, not even another.
bool has_ended(pid_t process);
/// The name of a process's thread, as the kernel keeps it; empty if it is gone.
std::string name_of(pid_t process, pid_t thread);

}  // namespace flopcast::live
