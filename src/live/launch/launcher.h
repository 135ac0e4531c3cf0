// Processes of a live run: started, watched, and ended together.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "flopcast/base.h"
#include "live/wire/socket.h"

namespace flopcast::live {

/// What every process of the run is started with.
struct Command {
  std::vector<std::string> words;                  ///< program and arguments
  std::map<std::string, std::string> environment;  ///< set besides the caller's own
};

/// How a process ended.
struct Ending {
  std::size_t process = 0;  ///< in the order of start()
  int status = 0;           ///< exit status; 128 + signal where one ended it
};

/// Ends all processes when it goes, and they end when it is killed.
class Launcher {
 public:
  Launcher() = default;
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;
  ~Launcher();

  /// Starts a process in a group of its own. Errors: no such program, no room for another process.
  std::optional<Diagnostic> start(const Command& command);
  /// Processes that have ended since the last call. Does not wait.
  std::vector<Ending> ended();
  std::size_t running() const;
  /// Asks all processes and what they started to end, and makes them after a while.
  /// @param grace_ms between the two
  void end_all(int grace_ms = 2000);

 private:
  struct Child {
    pid_t pid = 0;
    bool ended = false;
  };
  bool reap();

  Descriptor guardian_;  ///< pipe to the process that ends the others if this one is killed
  std::vector<Child> children_;
  std::vector<Ending> endings_;
};

/// torchrun's environment for a rank of a run on one machine that stands for `nodes` of them.
std::map<std::string, std::string> rank_environment(std::uint32_t rank, std::uint32_t ranks,
                                                    std::uint32_t ranks_of_node,
                                                    std::uint16_t port);
/// A port of the loopback interface that nobody uses now.
Result<std::uint16_t> free_port();

}  // namespace flopcast::live
