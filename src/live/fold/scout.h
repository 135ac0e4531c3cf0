// What a rank does that runs alone, as far as its first step: which groups it knows of, what it does in them, and what it calls.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "live/engine/session/session.h"
#include "live/fold/trail.h"

namespace flopcast::live {

/// Ranks of the run that a program puts together, in their order.
struct KnownGroup {
  std::vector<std::int32_t> ranks;
  std::string what;  ///< what for, as the program says it; empty: it does not
};

/// Of one rank.
struct Scouted {
  std::int32_t rank = 0;
  std::vector<KnownGroup> groups;  ///< in the order in which it came to know of them
  std::set<std::vector<std::int32_t>>
      together;                  ///< groups with whose other members it calls collectives
  std::set<std::int32_t> peers;  ///< ranks to which it sends alone, or from which it receives
  std::map<std::uint32_t, std::vector<CallMark>> calls;  ///< by the thread's place
  bool stepped = false;                                  ///< an optimizer has
  bool gone = false;
  bool child = false;  ///< of a rank: a compiler's worker, one that loads data
};

/// The first call in which two differ: "call 7 is a copy of 4 bytes in rank 0, and rank 3 makes none".
std::string difference(const Scouted& a, const Scouted& b, const Trails& trails);

/// Hears a run whose ranks are alone.
class Scout final : public SessionListener {
 public:
  /// @param trails of all runs whose ranks are compared
  explicit Scout(Trails& trails) : trails_(trails) { trails_.forget_threads(); }

  /// All have come as far as their first step, or ended.
  bool enough(std::size_t ranks) const;
  /// The ranks, in the order in which they came.
  std::vector<Scouted> take();

  void came(std::int32_t rank) override;
  void took(std::uint32_t process, std::uint32_t thread, const Record& record,
            std::string_view signature) override;
  void lost(std::uint32_t process) override;
  void stopped(std::uint32_t /*process*/, std::uint32_t /*thread*/) override {}
  void answered(const SessionAnswer& /*answer*/) override {}

 private:
  void know(Scouted& scouted, const Record& record, std::uint32_t process,
            std::string_view signature);
  void call(Scouted& scouted, std::uint32_t process, const Record& record);
  static void end_group_call(Scouted& scouted, const std::vector<std::int32_t>& ranks,
                             const std::set<std::int32_t>& peers);

  /// Sends and receives that go out together.
  struct GroupCall {
    std::uint32_t calls = 0;                                           // so far
    std::map<std::vector<std::int32_t>, std::set<std::int32_t>> with;  // by ranks of a communicator
  };

  std::vector<Scouted> all_;  // by process
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::vector<std::int32_t>>
      communicators_;                        // by process and number: ranks of the run
  std::map<std::uint32_t, GroupCall> open_;  // by process
  Trails& trails_;
};

}  // namespace flopcast::live
