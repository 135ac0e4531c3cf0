// Whether anything outside of virtual time is going on: the processes of a run do what takes real time, and while they do,
// nobody's time is up.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace flopcast::live {

class Quiet {
 public:
  /// Whether no thread of these processes, and of those that they or this one started, has anything to do: all stood still at one
  /// moment of the call, and what one of them had sent to another had arrived. A thread that has computed without a break
  /// for a minute counts no longer: whatever it does, nobody is waiting for it to stop.
  /// @param clocked threads that stand still until a time of the run: they look again and again whether it has come
  bool look(const std::vector<pid_t>& processes, const std::unordered_set<pid_t>& clocked);

 private:
  using Clock = std::chrono::steady_clock;
  /// What one walk over all threads saw.
  struct Sight {
    bool busy = false;
    std::uint64_t runs = 0;  ///< how often each thread has run, in one number
  };
  Sight see(const std::vector<pid_t>& processes, const std::unordered_set<pid_t>& clocked);

  std::unordered_map<pid_t, Clock::time_point>
      busy_since_;  ///< threads that the last walk found so
};

}  // namespace flopcast::live
