// What a profiler wants to know of work: collected while the application runs, asked of the engine when it is flushed.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "live/standin/link/spinlock.h"
#include "live/standin/observe/readings.h"
#include "live/standin/shim/stream.h"

namespace flopcast::live {

/// A call of the application about work on a device.
struct ProfiledCall {
  Act act = Act::kNothing;
  std::uint32_t correlation = 0;
  std::uint32_t thread = 0;         ///< as CUPTI counts threads
  std::int64_t begin = 0, end = 0;  ///< virtual, nanoseconds of the run
  std::uint64_t kinds = 0;          ///< of rows that were wanted then
};

/// Work on a device, whose times the engine knows.
struct ProfiledWork {
  Record record;
  std::uint32_t number = 0;  ///< of the record in its process
  std::uint32_t correlation = 0;
  Dim3 grid, block;
  std::size_t shared = 0;
  std::uint64_t kinds = 0;
};

/// An id that the program gave to a call.
struct ExternalId {
  int kind = 0;
  std::uint64_t id = 0;
  std::uint32_t correlation = 0;
  std::uint64_t kinds = 0;
};

struct Profile {
  std::vector<ProfiledCall> calls;
  std::vector<ProfiledWork> work;
  std::vector<ExternalId> external;
};

/// The clock that the program wants times in, as it went beside virtual time and the clock on the program's wall.
struct ClockReading {
  std::int64_t virtual_ns = 0, wall_ns = 0;
  std::uint64_t program = 0;
};

class Profiler final : public Watcher {
 public:
  static Profiler& get();

  void begins(const Work& work, Record& record) override;
  void told(const Work& work, const Record& record, std::uint32_t number) override;
  void waited(Act act, std::int64_t begin) override;
  void looked() override;

  /// @param kinds of rows that are wanted from now on, a bit each
  void start(std::uint64_t kinds);
  void stop();
  /// Null: nanoseconds since 1970.
  void use_clock(std::uint64_t (*clock)());
  /// The program itself makes times of its clock's stamps by what was seen of both since it began: from then on
  /// rows have times, not stamps. @param stamp of the program's clock now
  void begin_readings(std::uint64_t stamp);
  ClockReadings end_readings(std::uint64_t stamp);
  /// A time as the program wants it.
  std::uint64_t program_time(std::int64_t virtual_ns) const;

  void push_external(int kind, std::uint64_t id);
  /// @return none if none of this kind was pushed
  std::optional<std::uint64_t> pop_external(int kind);

  /// What has come since; work that has not ended is kept for the next time.
  Profile take();
  void keep(ProfiledWork work);

 private:
  std::uint32_t new_call(Act act, std::int64_t begin);
  void read_clock();

  mutable Spinlock lock_;  ///< taken where time jumps, which a mutex's own waits are
  Profile profile_;
  std::uint32_t calls_ = 0;
  std::atomic<std::uint64_t> kinds_{0};
  std::uint64_t (*clock_)() = nullptr;
  std::optional<ClockReading> first_, last_;
  ClockReadings readings_;
};

}  // namespace flopcast::live
