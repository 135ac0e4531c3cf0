// The process's line to the engine: what its threads do goes out, answers come in, and every thread keeps its own
// virtual time.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "live/wire/region.h"

namespace flopcast::live {

/// An answer as the thread that waited sees it.
struct Told {
  std::uint32_t status = 0;
  std::uint64_t value = 0;
};

class Link {
 public:
  /// The line of this process. Opened at the first call; a process that nobody listens to ends with a
  /// line that says so, since nothing it would print could be true.
  static Link& get();

  /// Says what this thread does. Host time since the last record is added to it.
  void say(Record record);
  /// Says it and waits. The thread's time is then the answer's.
  Told ask(Record record);
  /// Says it and waits, but it is no part of the program: host time that has passed belongs to the
  /// record that follows.
  Told consult(Record record);
  /// The number of a text in the records of this process; 0 where there is no room left.
  std::uint32_t number(std::string_view text);

  /// So much of a device's memory is taken now.
  void fills(std::uint16_t device, std::uint64_t bytes);

  /// The host has computed for so long, in modelled time.
  void spend(std::int64_t nanoseconds);
  /// This thread's virtual time, since the start of the run.
  std::int64_t now_ns();
  /// What the engine is told of reads of this process.
  TaintedReads& tainted_reads() { return region_->tainted; }
  const Common& common() const { return *common_; }
  /// The file that all processes of the run share (mail.h).
  Common& shared() { return *common_; }
  int shared_file() const { return shared_file_; }

 private:
  struct Speaker;
  Link();
  Speaker& speaker();
  Told answered();
  void fall_silent();

  Common* common_ = nullptr;
  Region* region_ = nullptr;
  int shared_file_ = -1;
  static Link* only_;    ///< get()'s, for what runs after a fork
  bool silent_ = false;  ///< in a process that was forked
  int socket_ = -1;      ///< open as long as the process lives: the engine sees when it is gone
  std::atomic<std::uint32_t> numbers_{0};
  std::mutex texts_lock_;
  std::unordered_map<std::string, std::uint32_t> texts_;
};

}  // namespace flopcast::live
