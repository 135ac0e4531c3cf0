// The engine's side of a live run: processes that come and go, the records they write, the answers they get.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "live/session/session.h"
#include "live/wire/region.h"
#include "live/wire/socket.h"

namespace flopcast::live {

class Daemon {
 public:
  /// Listens under a name that no other process of the machine has. Errors: no socket, no shared memory.
  static Result<std::unique_ptr<Daemon>> listen(Session& session, const DeviceFacts& device,
                                                std::uint32_t devices);
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  /// Value of FLOPCAST_LIVE for the processes of the run.
  const std::string& name() const { return name_; }

  /// A process with this rank will come. All are to be expected before the first step.
  void expect(std::int32_t rank);
  /// The process of a rank has ended, whether or not it ever came.
  void gone(std::int32_t rank);
  /// Hears what has been written and answers what can be answered; sleeps, a tenth of a second at most,
  /// if there was nothing. @return what a process did wrong
  std::optional<Diagnostic> step();
  /// Processes that are expected, or have come and are not gone.
  std::size_t alive() const;

 private:
  struct Peer;
  Daemon(Session& session, Descriptor listener, Descriptor memory, std::string name);
  void welcome();
  void take_newcomers();
  bool hear(std::uint32_t process, std::optional<Diagnostic>& problem);
  bool anything_written() const;
  void look_who_is_gone();

  Session& session_;
  Descriptor listener_, memory_;
  std::string name_;
  Common* common_ = nullptr;
  std::vector<std::unique_ptr<Peer>> peers_;  ///< by process of the session
  std::mutex lock_;
  std::vector<std::unique_ptr<Peer>> newcomers_;  ///< under the lock
  std::atomic<bool> over_{false};
  std::thread doorman_;
};

}  // namespace flopcast::live
