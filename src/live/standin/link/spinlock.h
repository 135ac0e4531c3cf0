// A lock that makes no call that the clock library takes over.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

namespace flopcast::live {

class Spinlock {
 public:
  void lock() {
    while (held_.exchange(true, std::memory_order_acquire)) ::syscall(SYS_sched_yield);
  }
  void unlock() { held_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> held_{false};
};

}  // namespace flopcast::live
