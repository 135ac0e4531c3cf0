// Processes of a live run: started, watched, and ended together.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
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
  int output[2] = {-1, -1};         ///< becomes its standard output and error; -1: the caller's own
  std::vector<int> inherited = {};  ///< descriptors that it gets besides
};

/// A rank that a fork server makes.
struct ForkedRank {
  std::map<std::string, std::string> environment;  ///< set besides the server's
  int output[2] = {-1, -1};                        ///< becomes its standard output and error
};

/// A program of Python that all ranks run.
struct ForkedProgram {
  std::string script;
  std::vector<std::string> arguments;
  std::vector<std::string> imports;  ///< modules that are loaded before ranks are made
};

/// How a process ended.
struct Ending {
  std::size_t process = 0;  ///< in the order in which they were started
  int status = 0;           ///< exit status; 128 + signal where one ended it
};

/// Ends all processes when it goes, and they end when it is killed.
class Launcher {
 public:
  /// @param mark in the environment of every process that is started, and of no others: by it those are found that
  /// left their group
  explicit Launcher(std::string mark = {}) : mark_(std::move(mark)) {}
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;
  ~Launcher();

  /// Starts a process in a group of its own. Errors: no such program, no room for another process.
  std::optional<Diagnostic> start(const Command& command);
  /// Starts a process that makes the ranks out of itself (serve.py, as the last of its words). They are this launcher's processes,
  /// as if started one by one. Returns when all are there. Errors: as start(); the server ends.
  /// @param stop looked at while the server gets ready; true gives up
  std::optional<Diagnostic> serve(const Command& server, const ForkedProgram& program,
                                  const std::vector<ForkedRank>& ranks,
                                  const std::function<bool()>& stop);
  /// Of a process, in the order in which they were started.
  pid_t pid_of(std::size_t process) const { return children_[process].pid; }
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
    bool forked = false;  ///< by the server
  };
  Result<pid_t> spawn(const Command& command);
  bool reap();
  void hear_server();
  void tell_all(int signal) const;

  std::string mark_;
  Descriptor guardian_;  ///< socket of the process that ends the others if this one is killed
  std::vector<Child> children_;
  pid_t server_ = 0;    ///< its process group holds the ranks that it made
  Descriptor reports_;  ///< of the server: lines
  std::string heard_;   ///< of a line that has not ended
  std::size_t first_forked_ = 0;
  std::vector<Ending> endings_;
};

/// torchrun's environment for a rank. @param master address of the machine of the first one
std::map<std::string, std::string> rank_environment(std::uint32_t rank, std::uint32_t ranks,
                                                    std::uint32_t ranks_of_node,
                                                    const std::string& master, std::uint16_t port);
/// What a launcher of others is told of the node that it runs on: the settings of torchrun, as its own variables give
/// them, and the node's number as Slurm and common scripts have it.
std::map<std::string, std::string> launcher_environment(std::uint32_t node, std::uint32_t nodes,
                                                        std::uint32_t ranks_of_node,
                                                        const std::string& master,
                                                        std::uint16_t port);
/// A port of the loopback interface that nobody uses now.
Result<std::uint16_t> free_port();

}  // namespace flopcast::live
