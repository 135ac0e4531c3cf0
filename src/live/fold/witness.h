// Whether ranks that are said to be alike are: those of them that are there are held against each other, call by call.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "live/engine/session/session.h"
#include "live/fold/trail.h"

namespace flopcast::live {

/// Hears a folded run.
class Witness final : public SessionListener {
 public:
  /// @param folding must live as long
  explicit Witness(const Folding& folding);

  /// The first call in which two ranks differ that stand for the same.
  const std::optional<Diagnostic>& problem() const { return problem_; }

  void came(std::int32_t rank) override { ranks_.push_back(rank); }
  void took(std::uint32_t process, std::uint32_t thread, const Record& record,
            std::string_view signature) override;
  void lost(std::uint32_t /*process*/) override {}
  void stopped(std::uint32_t /*process*/, std::uint32_t /*thread*/) override {}
  void answered(const SessionAnswer& /*answer*/) override {}

 private:
  /// Calls of one thread of ranks that are alike, from the first that not all of them have made.
  struct Calls {
    std::deque<std::pair<CallMark, std::int32_t>> made;  // with the rank that made it first
    std::uint64_t gone = 0;                              // before those
    std::map<std::int32_t, std::uint64_t> come;          // by rank: calls that it has made
  };
  void forget(Calls& calls) const;

  const Folding& folding_;
  std::vector<std::size_t> there_;  // by number of those alike: how many of them are there
  std::vector<std::int32_t> ranks_;  // by process
  Trails trails_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, Calls> calls_;  // by number of those alike, thread
  std::optional<Diagnostic> problem_;
};

}  // namespace flopcast::live
