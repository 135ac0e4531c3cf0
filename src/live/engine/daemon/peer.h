// A process of a run, as the engine has it.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "live/engine/daemon/daemon.h"

namespace flopcast::live {

/// Expected while it has no region yet.
struct Daemon::Peer {
  Hello hello;
  Descriptor socket, memory;
  Region* region = nullptr;
  bool gone = false;
  Time looks_at = Time::min();                          ///< its watchdogs, last
  std::vector<std::pair<std::uint32_t, Record>> early;  ///< of a guest: thread, what it said
  std::uint32_t threads() const {
    return region ? std::min(region->threads.load(std::memory_order_acquire), Region::kThreads) : 0;
  }
  ~Peer() {
    if (region) ::munmap(region, sizeof(Region));
  }
};

}  // namespace flopcast::live
