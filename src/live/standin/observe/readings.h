// Moments at which a program's own clock was read: what its stamps are in virtual time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace flopcast::live {

/// Stamps of a clock that goes on while the machine works, such as the processor's cycles, say nothing of virtual time by
/// themselves. Between two moments at which both were seen they share out what has passed.
class ClockReadings {
 public:
  /// @param wall_ns since 1970, virtual
  void add(std::uint64_t program, std::int64_t wall_ns) {
    // Threads that do not wait for each other may be at different times: stamps of both never go backwards.
    if (!seen_.empty()) {
      program = std::max(program, seen_.back().program);
      wall_ns = std::max(wall_ns, seen_.back().wall_ns);
    }
    const std::size_t count = seen_.size();
    const bool stood =
        count >= 2 && seen_[count - 1].wall_ns == wall_ns && seen_[count - 2].wall_ns == wall_ns;
    if (stood) {
      seen_.back().program = program;
    } else {
      seen_.push_back({program, wall_ns});
    }
  }
  void clear() { seen_.clear(); }
  bool empty() const { return seen_.empty(); }

  /// The virtual time of a stamp, in nanoseconds since 1970; at the nearest moment where it lies outside of all.
  std::int64_t wall_of(std::uint64_t program) const {
    if (seen_.empty()) return static_cast<std::int64_t>(program);
    const auto after =
        std::lower_bound(seen_.begin(), seen_.end(), program,
                         [](const Seen& one, std::uint64_t at) { return one.program < at; });
    if (after == seen_.begin()) return seen_.front().wall_ns;
    if (after == seen_.end()) return seen_.back().wall_ns;
    const Seen& before = *(after - 1);
    const double share = static_cast<double>(program - before.program) /
                         static_cast<double>(after->program - before.program);
    const double passed = share * static_cast<double>(after->wall_ns - before.wall_ns);
    return before.wall_ns + static_cast<std::int64_t>(passed);
  }

 private:
  struct Seen {
    std::uint64_t program = 0;
    std::int64_t wall_ns = 0;
  };
  std::vector<Seen> seen_;
};

}  // namespace flopcast::live
