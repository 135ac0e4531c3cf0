// What the processes of a run write: passed on as it is, whole lines of one not inside those of another, and never
// mixed with a line of our own about how the run goes.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "flopcast/base.h"
#include "live/wire/socket.h"

namespace flopcast::live {

/// Processes write to pipes, or to terminals of their own where ours are terminals, so that they behave as they
/// would there. A thread passes on what comes.
class Outputs {
 public:
  /// @param processes how many will write. @param ours standard output and error
  static Result<std::unique_ptr<Outputs>> make(std::size_t processes, const int (&ours)[2]);
  ~Outputs();
  Outputs(const Outputs&) = delete;
  Outputs& operator=(const Outputs&) = delete;

  /// What a process is to have as its standard output (0) or error (1).
  int end_of(std::size_t process, int stream) const;
  /// To be called when all have been started: the ends of a process that is gone are closed then.
  void all_started();
  /// Passes on what is left, and takes our own line away.
  void finish();
  /// Shown as the last line of a terminal that standard error is; elsewhere nowhere.
  void show(std::string line);
  /// The last line that a process wrote to its standard error.
  std::string last_line(std::size_t process);

 private:
  struct Stream {
    std::size_t process = 0;
    int number = 0;  ///< 0: standard output, 1: standard error
    Descriptor ours, theirs;
    bool terminal = false;
    std::string held;  ///< of a line that has not ended and is not ours to begin yet
    std::string last;  ///< line, or as much of it as there was
    std::string told;  ///< the last line but that which is no remark of a library
    bool ended = false;
  };
  explicit Outputs(const int (&ours)[2]);
  void pass_on();
  bool read_from(Stream& stream);
  void release(Stream& stream, bool all);
  void write_out(const Stream& stream, std::string_view text);
  void remember(Stream& stream, std::string_view text) const;
  void erase_line();
  void draw_line();

  int ours_[2];
  bool terminal_[2];
  std::vector<Stream> streams_;
  std::thread thread_;
  std::atomic<bool> over_{false};
  std::mutex lock_;  ///< over all that follows
  std::string line_;
  bool drawn_ = false;
  const Stream* open_ = nullptr;  ///< whose line has begun and not ended
  std::chrono::steady_clock::time_point open_since_, drawn_at_;
};

}  // namespace flopcast::live
