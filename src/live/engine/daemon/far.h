// Processes of a run that are on other machines, as the daemon has them. Somebody there is to them what the daemon is to those of this
// machine; what they write comes into a region of this one, and what they are told goes there.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "flopcast/base.h"
#include "live/engine/daemon/quiet.h"
#include "live/engine/session/session.h"
#include "live/wire/region.h"

namespace flopcast::live {

/// The region of a process of another machine, written by whoever hears that machine. Zeroed by the kernel, and nobody else's.
class FarLine {
 public:
  /// @param of the machine's lines
  explicit FarLine(std::uint32_t of) : number(of) {
    void* const at = ::mmap(nullptr, sizeof(Region), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    region = at == MAP_FAILED ? nullptr : static_cast<Region*>(at);
  }
  FarLine(const FarLine&) = delete;
  FarLine& operator=(const FarLine&) = delete;
  ~FarLine() {
    if (region) ::munmap(region, sizeof(Region));
  }

  std::uint32_t number;
  Region* region;                        ///< null: no memory
  std::atomic<bool> left{false};         ///< the process has closed its line
  std::atomic<bool> ended{false};        ///< then: it runs no program any more
  std::atomic<bool> overwritten{false};  ///< it has written over counts of its records
};

/// Another machine. What is told here is sent, and nobody waits until it has come.
class FarHost {
 public:
  virtual ~FarHost() = default;
  virtual void answer(std::uint32_t line, const SessionAnswer& answer) = 0;
  /// So many more records of a ring were taken: there is room for as many.
  virtual void took(std::uint32_t line, std::uint32_t thread, std::uint32_t records) = 0;
  /// How far watchdogs see.
  virtual void show(std::uint32_t line, std::int64_t ns) = 0;
  virtual void look(std::uint32_t line, std::uint32_t wanted) = 0;
  virtual void cut(std::uint32_t line) = 0;
  virtual void leave_behind(std::uint32_t line, std::uint32_t thread) = 0;
  virtual void ask_where(std::uint32_t line, const Stacks& stacks) = 0;

  // Questions; the answer is waited for.
  virtual std::optional<ThreadTimes> times(std::uint32_t line, std::int32_t thread) = 0;
  virtual std::string name_of(std::uint32_t line, std::int32_t thread) = 0;
};

/// All other machines of the run.
class FarHosts {
 public:
  virtual ~FarHosts() = default;
  /// Has all of them look at their threads; walked() waits for what they saw, and everything that was written there before has been heard.
  virtual void begin_walk() = 0;
  virtual Sight walked(std::vector<BusyThread>& busy) = 0;
  /// Letters that were written here until now are on their way, ahead of all that is told from now on.
  virtual void carry() = 0;
  /// One that is not there any more, or has sent what makes no sense.
  virtual std::optional<Diagnostic> problem() = 0;
};

}  // namespace flopcast::live
