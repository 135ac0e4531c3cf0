// A process of a run, as the engine has it.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "live/engine/daemon/daemon.h"

namespace flopcast::live {

/// Expected while it has no region yet.
struct Daemon::Peer {
  Hello hello;
  Descriptor socket, memory;
  MappedRegion mapped;  ///< of a process of this machine
  Region* region = nullptr;
  FarHost* far =
      nullptr;  ///< machine that it is on; null: this one, and all of `line` is of no use
  std::shared_ptr<FarLine> line;
  bool gone = false;
  Time looks_at = Time::min();                          ///< its watchdogs, last
  std::vector<std::pair<std::uint32_t, Record>> early;  ///< of a guest: thread, what it said
  std::uint32_t threads() const {
    return region ? std::min(region->threads.load(std::memory_order_acquire), Region::kThreads) : 0;
  }
  /// Of a child of a process of the run its own, not that of its parent, who said hello for it.
  pid_t pid() const {
    const pid_t own = region ? region->pid.load(std::memory_order_relaxed) : 0;
    return own > 0 ? own : hello.pid;
  }
  bool is_here() const { return !far && region && !gone; }
  std::optional<ThreadTimes> times(pid_t thread) const {
    return far ? far->times(line->number, thread) : times_of(pid(), thread);
  }
  std::string name_of(pid_t thread) const {
    return far ? far->name_of(line->number, thread) : live::name_of(pid(), thread);
  }
};

}  // namespace flopcast::live
